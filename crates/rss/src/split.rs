//! Summands of three parties: x as the sum of a number that one party knows and a number that the two others know.
//!
//! **Source**: ours; the idea of a share that two parties hold in the clear is that of section 3 of the paper, and of
//! its Input (Appendix A.1). **Model**: semi-honest, 1 of 3. **Notation**: a batch falls into three blocks. In block j
//! party j knows A = x_{j+1} + x_{j+2} (indices around the circle, x_q the share that only party q lacks) and the
//! others know B = x_j; A + B = x. So each party has one third of an owner's work.
//!
//! | operation | rounds | sent by all parties, per element |
//! |---|---|---|
//! | [`Rss::owned`]: a sharing of what the owner knows | 1 | 1 element |
//! | [`Rss::placed`]: a sharing of what the others know | 0 | 0 |
//! | [`Rss::recombined`]: a sharing of A + B, both | 1 | 1 element |
//! | [`Rss::paired`]: owned times placed | 1 | 2 elements |
//!
//! **owned** is Input: the share that j+1 lacks is sent to j+2, the share that j+2 lacks is drawn, and the share that j
//! lacks is 0. **paired**: with A = A' + A'' (A' drawn by j and j+1, A'' held by j and j+2) party j+1 sends A' B - r
//! and party j+2 sends A'' B - s, each to the other; r and s are drawn from k_{j+2} and k_{j+1}. The result's shares
//! are s, r, and the sum of the two messages. Each receiver lacks the key of the mask; party j receives nothing. Every
//! bilinear form of A and B is computed in this way: [`Rss::sum_of_others`] of the form of A' and B at one party, and
//! of A'' and B at the other.

use std::ops::Range;

use quorate_engine::{Ctx, Result};
use quorate_ring::{Bits, Module, Vector};

use crate::setup::Rss;
use crate::share::{Shared, Wiped};

/// A module whose elements lie next to each other.
pub(crate) trait Batch: Module {
    /// Returns this shape with another number of elements.
    fn resized(shape: Self::Shape, len: usize) -> Self::Shape;
    /// Returns the number of elements.
    fn len(shape: Self::Shape) -> usize;
    /// Returns the elements of a range.
    fn part(&self, range: Range<usize>) -> Self;
    /// Joins parts, one after the other.
    fn join(parts: &[&Self]) -> Self;
}

impl Batch for Vector {
    fn resized((ring, _): Self::Shape, len: usize) -> Self::Shape {
        (ring, len)
    }
    fn len((_, len): Self::Shape) -> usize {
        len
    }
    fn part(&self, range: Range<usize>) -> Self {
        self.slice(range)
    }
    fn join(parts: &[&Self]) -> Self {
        Vector::concat(parts)
    }
}

impl Batch for Bits {
    fn resized((rows, _): Self::Shape, len: usize) -> Self::Shape {
        (rows, len)
    }
    fn len((_, lanes): Self::Shape) -> usize {
        lanes
    }
    fn part(&self, range: Range<usize>) -> Self {
        self.slice_lanes(range)
    }
    fn join(parts: &[&Self]) -> Self {
        Bits::concat_lanes(parts)
    }
}

/// Returns the blocks of a batch: thirds, cut at whole words of bits so that only the last block is rounded on the
/// wire.
pub(crate) fn blocks(len: usize) -> [Range<usize>; 3] {
    let third = len.div_ceil(3).next_multiple_of(64);
    [0, 1, 2].map(|j: usize| (j * third).min(len)..((j + 1) * third).min(len))
}

/// A party's knowledge of both summands: A in its own block, B in the blocks of the next party and of the one after.
pub(crate) struct Halves<M: Module> {
    pub mine: Wiped<M>,
    pub theirs: [Wiped<M>; 2],
}

impl<M: Module> Halves<M> {
    /// Applies a function to A and to B.
    pub fn map<N: Module>(&self, map: impl Fn(&M) -> N) -> Halves<N> {
        Halves { mine: Wiped(map(&self.mine)), theirs: [Wiped(map(&self.theirs[0])), Wiped(map(&self.theirs[1]))] }
    }
}

impl Rss {
    /// Returns the share of `x` that only party `by` places after this one lacks; `by` is 1 or 2.
    fn lacked<'x, M: Module>(&self, x: &'x Shared<M>, by: usize) -> &'x M {
        &x.shares[self.lacked_by(by)]
    }

    fn lacked_by(&self, by: usize) -> usize {
        self.maps.index(1 << ((self.maps.me + by) % 3)).unwrap_or(0)
    }

    /// Returns a sharing, from the blocks of the share that the next party lacks and of the share that the one after
    /// lacks. Blocks are those of this party, of the next and of the one after.
    fn sharing_of_blocks<M: Batch>(&self, next: [&M; 3], after: [&M; 3]) -> Shared<M> {
        // Block `by` places after this party's stands at (me + by) mod 3.
        let place = |blocks: [&M; 3]| {
            let ordered = [0, 1, 2].map(|j| blocks[(j + 3 - self.maps.me) % 3]);
            M::join(&ordered)
        };
        let (next, after) = (place(next), place(after));
        let shape = next.shape_of();
        let shares = if self.lacked_by(1) == 0 { vec![next, after] } else { vec![after, next] };
        Shared::new(shape, shares)
    }

    /// Returns the ranges of the blocks of this party, of the next and of the one after.
    pub(crate) fn turned_blocks(&self, len: usize) -> [Range<usize>; 3] {
        let all = blocks(len);
        [0, 1, 2].map(|by| all[(self.maps.me + by) % 3].clone())
    }

    /// Returns A and B, where this party knows them.
    pub(crate) fn halves<M: Batch>(&self, x: &Shared<M>, len: usize) -> Halves<M> {
        let [own, next, after] = self.turned_blocks(len);
        let mut mine = Wiped(self.lacked(x, 1).part(own.clone()));
        mine.add_assign(&Wiped(self.lacked(x, 2).part(own)));
        Halves { mine, theirs: [Wiped(self.lacked(x, 1).part(next)), Wiped(self.lacked(x, 2).part(after))] }
    }

    /// Returns a sharing of A for a batch of `len`.
    pub(crate) async fn owned<M: Batch>(&self, ctx: &Ctx, mine: &M, len: usize) -> Result<Shared<M>> {
        let [_, next, after] =
            self.turned_blocks(len).map(|block| self.blank(ctx, M::resized(mine.shape_of(), block.len())));
        self.owned_beside(ctx, mine, [&next, &after], len).await
    }

    /// Returns a sharing of A + B.
    pub(crate) async fn recombined<M: Batch>(&self, ctx: &Ctx, halves: &Halves<M>, len: usize) -> Result<Shared<M>> {
        self.owned_beside(ctx, &*halves.mine, [&*halves.theirs[0], &*halves.theirs[1]], len).await
    }

    /// Returns a sharing of A plus `theirs`, which the others know: it becomes the third share, which is 0 in a sharing
    /// of A.
    async fn owned_beside<M: Batch>(&self, ctx: &Ctx, mine: &M, theirs: [&M; 2], len: usize) -> Result<Shared<M>> {
        let shape = mine.shape_of();
        let [own, next, after] = self.turned_blocks(len).map(|block| M::resized(shape, block.len()));
        let mut streams = self.streams(ctx);
        let drawn_next: Wiped<M> = Wiped(streams[self.lacked_by(1)].draw(after));
        let drawn_after: Wiped<M> = Wiped(streams[self.lacked_by(2)].draw(own));
        let mut rest = Wiped(mine.clone());
        rest.sub_assign(&drawn_after);
        let outgoing = [(ctx.next(2), &*rest)];
        let incoming = [(ctx.next(1), next)];
        let (sends, receives) = (usize::from(M::len(own) > 0), usize::from(M::len(next) > 0));
        let mut received = ctx.exchange(&outgoing[..sends], &incoming[..receives]).await?;
        let received = Wiped(received.pop().unwrap_or_else(|| self.blank(ctx, next)));
        Ok(self.sharing_of_blocks([&*rest, theirs[0], &*drawn_next], [&*drawn_after, &*received, theirs[1]]))
    }

    /// Returns a sharing of B.
    pub(crate) fn placed<M: Batch>(&self, ctx: &Ctx, theirs: &[Wiped<M>; 2], len: usize) -> Shared<M> {
        let shape = theirs[0].shape_of();
        let [own, next, after] = self.turned_blocks(len).map(|block| self.blank(ctx, M::resized(shape, block.len())));
        self.sharing_of_blocks([&own, &*theirs[0], &after], [&own, &next, &*theirs[1]])
    }

    /// Adds B to a sharing.
    pub(crate) fn add_placed(&self, x: &mut Shared<Vector>, theirs: &[Wiped<Vector>; 2]) {
        let [_, next, after] = self.turned_blocks(x.shape.1);
        for (by, start, theirs) in [(1, next.start, &theirs[0]), (2, after.start, &theirs[1])] {
            x.shares[self.lacked_by(by)].add_at(start, theirs);
        }
    }

    /// Returns A B for an owned sharing of A.
    pub(crate) async fn paired<M: Batch>(
        &self,
        ctx: &Ctx,
        owned: &Shared<M>,
        theirs: &[Wiped<M>; 2],
        len: usize,
    ) -> Result<Shared<M>> {
        let mut products = self.shares_of_owned(owned, len);
        for (product, theirs) in products.iter_mut().zip(theirs) {
            let share = std::mem::replace(product, Wiped(self.blank(ctx, theirs.shape_of())));
            product.add_mul_assign(&share, theirs);
        }
        self.sum_of_others(ctx, products, len).await
    }

    /// Returns this party's share A'' in the next block, and A' in the one after. The third share, which is B's, is not
    /// used.
    pub(crate) fn shares_of_owned<M: Batch>(&self, owned: &Shared<M>, len: usize) -> [Wiped<M>; 2] {
        let [_, next, after] = self.turned_blocks(len);
        [Wiped(self.lacked(owned, 2).part(next)), Wiped(self.lacked(owned, 1).part(after))]
    }

    /// Returns, in each block, a sharing of the sum of the two other parties' values. This party's values are those for
    /// the next block and the one after.
    pub(crate) async fn sum_of_others<M: Batch>(
        &self,
        ctx: &Ctx,
        summands: [Wiped<M>; 2],
        len: usize,
    ) -> Result<Shared<M>> {
        let blocks = self.turned_blocks(len);
        let shapes = blocks.map(|block| M::resized(summands[0].shape_of(), block.len()));
        // Two draws from each key: first for the block before that of the party that lacks it, then for the block
        // after.
        let mut streams = self.streams(ctx);
        let (own_next, masked_next): (M, Wiped<M>) = {
            let stream = &mut streams[self.lacked_by(1)];
            (stream.draw(shapes[0]), Wiped(stream.draw(shapes[2])))
        };
        let (masked_after, own_after): (Wiped<M>, M) = {
            let stream = &mut streams[self.lacked_by(2)];
            (Wiped(stream.draw(shapes[1])), stream.draw(shapes[0]))
        };
        let [mut to_after, mut to_next] = summands;
        to_after.sub_assign(&masked_after);
        to_next.sub_assign(&masked_next);
        let used = shapes.map(|shape| M::len(shape) > 0);
        let outgoing = [(used[1], ctx.next(2), &*to_after), (used[2], ctx.next(1), &*to_next)];
        let outgoing: Vec<_> = outgoing.into_iter().filter(|m| m.0).map(|m| (m.1, m.2)).collect();
        let incoming = [(used[1], ctx.next(2), shapes[1]), (used[2], ctx.next(1), shapes[2])];
        let incoming: Vec<_> = incoming.into_iter().filter(|m| m.0).map(|m| (m.1, m.2)).collect();
        let mut received = ctx.exchange(&outgoing, &incoming).await?.into_iter().map(Wiped);
        for (sum, _) in [(&mut to_after, used[1]), (&mut to_next, used[2])].into_iter().filter(|s| s.1) {
            if let Some(other) = received.next() {
                sum.add_assign(&other);
            }
        }
        Ok(self.sharing_of_blocks([&own_next, &*to_after, &*masked_next], [&own_after, &*masked_after, &*to_next]))
    }
}
