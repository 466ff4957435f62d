//! The sender: it lacks one leaf of each tree.

use quorate_engine::{Ctx, Error, Result};
use quorate_ring::Bits;
use quorate_ring::columns::xor_if;
use quorate_ring::threads::side_by_side;

use super::check::{self, Hash};
use super::columns::{Columns, GROUP_WORDS, Scratch, taken};
use super::{Batch, GROUP, cost};
use crate::blocks::Blocks;
use crate::communication::Cost;
use crate::error::LOST;
use crate::options::Options;
use crate::source::{Sender, Sent};
use crate::tree::Tree;
use zeroize::Zeroize;

/// The sender's end for a session.
pub(crate) struct SoftSender {
    pub(super) peer: usize,
    pub(super) options: Options,
    pub(super) delta: u128,
    /// The trees; none in a dry run, which draws nothing.
    pub(super) trees: Vec<Tree>,
}

impl Drop for SoftSender {
    fn drop(&mut self) {
        self.delta.zeroize();
    }
}

impl SoftSender {
    pub(crate) fn new(peer: usize, options: Options, delta: u128, trees: Vec<Tree>) -> SoftSender {
        SoftSender { peer, options, delta, trees }
    }

    /// Runs steps 1 and 3, with the corrections of the receiver's message.
    fn expand(&self, batch: Batch, instance: u128, message: &Bits) -> Columns {
        if message.is_shape() {
            return Columns::shape(batch, self.options);
        }
        let mut columns = Columns::zeros(batch);
        let mut rest = message.words_of(0);
        let corrected = (self.trees.len() - 1) * GROUP_WORDS;
        let work = columns.tiles_mut(batch).map(|(tile, columns)| {
            let (corrections, after) = rest.split_at(corrected * tile.1);
            rest = after;
            (tile, columns, corrections)
        });
        side_by_side(work.collect(), |(tile, columns, corrections)| {
            self.expand_tile(instance, tile, (columns, corrections));
        });
        columns
    }

    /// Runs steps 1 and 3 for one tile: its columns, with its corrections.
    fn expand_tile(&self, instance: u128, tile: (usize, usize), (columns, corrections): (&mut [u64], &[u64])) {
        let mut scratch = Scratch::new(self.options);
        scratch.begin(instance, tile);
        let width = tile.1 * GROUP_WORDS;
        let (mut rest, mut first_column) = (columns, 0);
        for (i, tree) in self.trees.iter().enumerate() {
            let own = taken(&mut rest, tree.depth * width);
            scratch.sum(tree, own);
            if i > 0 {
                let correction = &corrections[(i - 1) * width..i * width];
                for (j, column) in own.chunks_exact_mut(width).enumerate() {
                    xor_if(column, correction, self.delta >> (first_column + j) & 1 == 1);
                }
            }
            first_column += tree.depth;
        }
    }

    /// Challenges the receiver.
    async fn verify(&self, ctx: &Ctx, batch: Batch, instance: u128, columns: &Columns) -> Result<()> {
        let challenge = ctx.fresh_random::<{ check::CHALLENGE_BYTES }>()?;
        ctx.exchange_bytes(&[(self.peer, &challenge)], &[]).await?;
        let digests = Hash::new(&challenge).columns(batch, columns);
        let answer = ctx.exchange_bytes(&[], &[(self.peer, check::ANSWER_BYTES)]).await?.pop().unwrap_or_default();
        match columns.is_shape() || check::holds(instance, self.delta, digests, &answer) {
            true => Ok(()),
            false => Err(Error::Cheating { check: check::CHECK }),
        }
    }

    /// Adds the chosen bits' part: q_i = q_i + d_i Delta.
    fn turn(&self, blocks: &mut Blocks, differences: &Bits) {
        for (i, block) in blocks.as_mut_slice().iter_mut().enumerate() {
            let bit = u128::from(differences.words_of(0)[i / 64] >> (i % 64) & 1);
            *block ^= self.delta & 0u128.wrapping_sub(bit);
        }
    }
}

impl Sender for SoftSender {
    fn delta(&self) -> u128 {
        self.delta
    }

    fn granularity(&self) -> usize {
        GROUP
    }

    fn cost(&self, len: usize, given: bool) -> Cost {
        cost(self.options, len, given)
    }

    async fn extend(&self, ctx: &Ctx, len: usize, given: bool) -> Result<Sent> {
        let batch = Batch::new(len, self.options);
        let instance = ctx.randomness().instance();
        let shape = batch.message(self.options, given);
        let message = ctx.exchange::<Bits>(&[], &[(self.peer, shape)]).await?.pop().ok_or(LOST)?;
        let columns = self.expand(batch, instance, &message);
        if batch.checked {
            self.verify(ctx, batch, instance, &columns).await?;
        }
        let mut blocks = columns.rows(batch);
        if given {
            self.turn(&mut blocks, &message.slice_lanes(batch.correction_bits(self.options)..shape.1));
        }
        Ok(Sent { blocks, instance })
    }
}
