//! The receiver: it owns the trees.

use quorate_engine::{Ctx, Error, Result};
use quorate_ring::threads::side_by_side;
use quorate_ring::{Bits, Module, Wiped};

use super::check::{self, Digest, Hash};
use super::columns::{Columns, GROUP_WORDS, Scratch, taken};
use super::{Batch, GROUP, cost};
use crate::communication::Cost;
use crate::options::Options;
use crate::rows::matrix;
use crate::source::{Choices, Received, Receiver};
use crate::tree::Tree;

/// The receiver's end for a session.
pub(crate) struct SoftReceiver {
    pub(super) peer: usize,
    pub(super) options: Options,
    /// The trees; none in a dry run, which draws nothing.
    pub(super) trees: Vec<Tree>,
}

/// The results of steps 1 and 2.
struct Expanded {
    /// u, one row for all groups.
    u: Wiped<Bits>,
    columns: Columns,
    /// The corrections, and room for the differences of chosen bits.
    message: Bits,
}

impl SoftReceiver {
    pub(crate) fn new(peer: usize, options: Options, trees: Vec<Tree>) -> SoftReceiver {
        SoftReceiver { peer, options, trees }
    }

    /// Runs steps 1 and 2.
    fn expand(&self, ctx: &Ctx, batch: Batch, instance: u128, given: bool) -> Expanded {
        let (rows, lanes) = batch.message(self.options, given);
        let (mut u, mut message) = (matrix(ctx, 1, batch.all_groups() * GROUP), matrix(ctx, rows, lanes).into_inner());
        if ctx.is_dry() {
            return Expanded { u, columns: Columns::shape(batch, self.options), message };
        }
        let mut columns = Columns::zeros(batch);
        let (mut u_rest, mut rest) = (u.words_of_mut(0), message.words_of_mut(0));
        let corrected = (self.trees.len() - 1) * GROUP_WORDS;
        let work = columns.tiles_mut(batch).map(|(tile, columns)| {
            let u = taken(&mut u_rest, tile.1 * GROUP_WORDS);
            (tile, columns, u, taken(&mut rest, corrected * tile.1))
        });
        side_by_side(work.collect(), |(tile, columns, u, corrections)| {
            self.expand_tile(instance, tile, (columns, u, corrections));
        });
        Expanded { u, columns, message }
    }

    /// Runs steps 1 and 2 for one tile: its columns, its part of u, and its corrections.
    fn expand_tile(
        &self,
        instance: u128,
        tile: (usize, usize),
        (columns, u, corrections): (&mut [u64], &mut [u64], &mut [u64]),
    ) {
        let mut scratch = Scratch::new(self.options);
        scratch.begin(instance, tile);
        let width = tile.1 * GROUP_WORDS;
        let (mut rest, mut corrections) = (columns, corrections);
        for (i, tree) in self.trees.iter().enumerate() {
            let sum = scratch.sum(tree, taken(&mut rest, tree.depth * width));
            if i == 0 {
                u.copy_from_slice(sum);
                continue;
            }
            let correction = taken(&mut corrections, width);
            correction.iter_mut().zip(sum.iter().zip(&*u)).for_each(|(c, (sum, u))| *c = sum ^ u);
        }
    }

    /// Answers the sender's challenge.
    async fn prove(&self, ctx: &Ctx, batch: Batch, instance: u128, expanded: &Expanded) -> Result<()> {
        let challenge = ctx.exchange_bytes(&[], &[(self.peer, check::CHALLENGE_BYTES)]).await?.pop();
        let challenge: [u8; check::CHALLENGE_BYTES] =
            challenge.and_then(|bytes| bytes.try_into().ok()).ok_or(Error::Bug { what: "a challenge was lost" })?;
        let answer = expanded.answer(batch, instance, &challenge);
        ctx.exchange_bytes(&[(self.peer, &answer)], &[]).await?;
        Ok(())
    }
}

impl Expanded {
    /// Returns the answer to a challenge; zeros in a dry run.
    fn answer(
        &self,
        batch: Batch,
        instance: u128,
        challenge: &[u8; check::CHALLENGE_BYTES],
    ) -> [u8; check::ANSWER_BYTES] {
        if self.columns.is_shape() {
            return [0; check::ANSWER_BYTES];
        }
        let (hash, words) = (Hash::new(challenge), self.u.words_of(0));
        let u: Digest = hash.column(batch, |(first, count)| &words[first * GROUP_WORDS..(first + count) * GROUP_WORDS]);
        check::answer(instance, u, hash.columns(batch, &self.columns))
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
        let mut expanded = self.expand(ctx, batch, instance, matches!(choices, Choices::Given(_)));
        let own = Wiped(expanded.u.slice_lanes(0..batch.len));
        if let Choices::Given(wanted) = choices {
            let mut difference = wanted.clone();
            difference.add_assign(&own);
            expanded.message.write_lanes_at(batch.correction_bits(self.options), &difference);
        }
        ctx.exchange(&[(self.peer, &expanded.message)], &[]).await?;
        if batch.checked {
            self.prove(ctx, batch, instance, &expanded).await?;
        }
        let choices = match choices {
            Choices::Given(wanted) => wanted.clone(),
            Choices::Random(_) => own.clone(),
        };
        Ok(Received { choices, blocks: expanded.columns.rows(batch), instance })
    }
}
