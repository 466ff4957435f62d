//! The receiver: it owns the trees.

use quorate_engine::{Ctx, Error, Result};
use quorate_ring::{Bits, Module, Wiped};

use super::check::{self, Digest, Hash};
use super::columns::{Columns, GROUP_WORDS, Scratch, charge_work};
use super::{Batch, GROUP, cost};
use crate::cost::Cost;
use crate::options::Options;
use crate::source::{Choices, Received, Receiver};
use crate::tree::Tree;

/// The receiver's end for a session.
pub(crate) struct SoftReceiver {
    pub(super) peer: usize,
    pub(super) options: Options,
    /// None in a dry run.
    pub(super) trees: Vec<Tree>,
}

/// What steps 1 and 2 leave behind.
struct Expanded {
    /// u, all groups of it: one row.
    u: Wiped<Bits>,
    columns: Columns,
    message: Vec<u8>,
}

impl SoftReceiver {
    pub(crate) fn new(peer: usize, options: Options, trees: Vec<Tree>) -> SoftReceiver {
        SoftReceiver { peer, options, trees }
    }

    /// Steps 1 and 2.
    fn expand(&self, batch: Batch, instance: u128) -> Expanded {
        let mut u = Wiped(Bits::zeros(1, batch.all_groups() * GROUP));
        let mut columns = Columns::zeros(batch);
        let mut message = Vec::with_capacity(batch.correction_bytes(self.options) + batch.len.div_ceil(8));
        let mut scratch = Scratch::new(self.options);
        let u_words: &mut [u64] = bytemuck::cast_slice_mut(u.bytes_mut());
        for tile in batch.tiles() {
            scratch.begin(instance, tile);
            let width = tile.1 * GROUP_WORDS;
            let u = &mut u_words[tile.0 * GROUP_WORDS..][..width];
            let mut rest = columns.tile_mut(tile);
            for (i, tree) in self.trees.iter().enumerate() {
                let (own, others) = rest.split_at_mut(tree.depth * width);
                rest = others;
                let sum = scratch.sum(tree, own);
                if i == 0 {
                    u.copy_from_slice(sum);
                    continue;
                }
                let start = message.len();
                message.extend_from_slice(bytemuck::cast_slice(sum));
                message[start..].iter_mut().zip(bytemuck::cast_slice::<u64, u8>(u)).for_each(|(c, u)| *c ^= u);
            }
        }
        Expanded { u, columns, message }
    }

    /// Answers the sender's challenge.
    async fn prove(&self, ctx: &Ctx, batch: Batch, instance: u128, expanded: &mut Expanded) -> Result<()> {
        let challenge = ctx.exchange_bytes(&[], &[(self.peer, check::CHALLENGE_BYTES)]).await?.pop();
        let challenge: [u8; check::CHALLENGE_BYTES] =
            challenge.and_then(|bytes| bytes.try_into().ok()).ok_or(Error::Bug { what: "a challenge was lost" })?;
        let hash = Hash::new(&challenge);
        let words: &[u64] = bytemuck::cast_slice(expanded.u.bytes_mut());
        let u: Digest = hash.column(batch, |(first, count)| &words[first * GROUP_WORDS..(first + count) * GROUP_WORDS]);
        let answer = check::answer(instance, u, hash.columns(batch, &expanded.columns));
        ctx.exchange_bytes(&[(self.peer, &answer)], &[]).await?;
        Ok(())
    }

    async fn rehearse(&self, ctx: &Ctx, batch: Batch, instance: u128, choices: Choices<'_>) -> Result<Received> {
        charge_work(batch, self.options);
        let cost = cost(self.options, batch.len, matches!(choices, Choices::Given(_)));
        let answer = if batch.checked { check::ANSWER_BYTES } else { 0 };
        ctx.exchange_bytes(&[(self.peer, &vec![0; cost.by_receiver as usize - answer])], &[]).await?;
        if batch.checked {
            ctx.exchange_bytes(&[], &[(self.peer, check::CHALLENGE_BYTES)]).await?;
            ctx.exchange_bytes(&[(self.peer, &[0; check::ANSWER_BYTES])], &[]).await?;
        }
        let blocks = crate::Blocks::shape(batch.len);
        Ok(Received { choices: Bits::shape(1, batch.len), blocks, instance })
    }
}

impl Receiver for SoftReceiver {
    fn granularity(&self) -> usize {
        GROUP
    }

    fn cost(&self, len: usize, given: bool) -> Cost {
        cost(self.options, len, given)
    }

    async fn extend(&self, ctx: &Ctx, choices: Choices<'_>) -> Result<Received> {
        let batch = Batch::new(choices.len(), self.options);
        let instance = ctx.randomness().instance();
        if ctx.is_dry() {
            return self.rehearse(ctx, batch, instance, choices).await;
        }
        let mut expanded = self.expand(batch, instance);
        let own = Wiped(expanded.u.slice_lanes(0..batch.len));
        if let Choices::Given(wanted) = choices {
            let mut difference = wanted.clone();
            difference.add_assign(&own);
            difference.pack(&mut expanded.message);
        }
        ctx.exchange_bytes(&[(self.peer, &expanded.message)], &[]).await?;
        if batch.checked {
            self.prove(ctx, batch, instance, &mut expanded).await?;
        }
        let choices = match choices {
            Choices::Given(wanted) => wanted.clone(),
            Choices::Random(_) => own.clone(),
        };
        Ok(Received { choices, blocks: expanded.columns.rows(batch), instance })
    }
}
