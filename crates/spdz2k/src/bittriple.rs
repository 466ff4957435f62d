//! Triples of bits, in the form of the session's bits.
//!
//! With MACs they are ANDs without a leak ([`crate::bucket`]). Elements of Z_2^(1+s) are made of those
//! ([`crate::link`]), which takes less than triples over Z_2 (`triple`) would.
//!
//! A larger batch takes smaller buckets. So all that a program's correlations take of them, and its own ANDs, are made
//! together, where that is one batch; more than a batch is large enough kind by kind.

use quorate_engine::{Ctx, LinearBits, Result, Stocks};
use quorate_ring::Ring;

use crate::bits::TaggedBits;
use crate::bucket::MOST;
use crate::forms::SharedBits;
use crate::macs::MacBits;
use crate::party::Spdz2k;
use crate::stock::{Kind, Material};
use crate::tagged::Tagged;

/// Triples that were made together, and how many of them are used.
#[derive(Default)]
pub(crate) struct Ahead {
    triples: Option<[SharedBits; 3]>,
    used: usize,
}

impl Ahead {
    /// The next ones, where there are so many.
    fn next(&mut self, len: usize) -> Option<[SharedBits; 3]> {
        let triples = self.triples.as_ref().filter(|[x, ..]| self.used + len <= x.shape().1)?;
        let next = LinearBits::Lanes(self.used..self.used + len);
        self.used += len;
        Some(triples.each_ref().map(|part| part.linear(&next)))
    }
}

impl Spdz2k {
    /// Does work that takes so many triples of bits in all, which are made first where one batch is enough.
    pub(crate) async fn with_triples_ahead<T>(
        &self,
        ctx: &Ctx,
        len: usize,
        work: impl AsyncFnOnce() -> Result<T>,
    ) -> Result<T> {
        if !self.has_macs() || !(1..=MOST).contains(&len) {
            return work().await;
        }
        let Material { bits, .. } = self.make(ctx, &Kind::BitTriple, len).await?;
        *self.ahead.borrow_mut() = Ahead { triples: bits.try_into().ok(), used: 0 };
        let done = work().await;
        let ahead = self.ahead.take();
        debug_assert!(done.is_err() || ahead.used == len, "{} triples of bits are used of {len}", ahead.used);
        done
    }

    /// x, y, and x and y, in the form of the session's bits.
    pub(crate) async fn bit_triples(&self, ctx: &Ctx, len: usize) -> Result<[SharedBits; 3]> {
        if let Some(triples) = self.ahead.borrow_mut().next(len) {
            return Ok(triples);
        }
        if !self.has_macs() {
            let elements = self.bit_triples_as_elements(ctx, len).await?;
            return Ok(elements.map(|elements| SharedBits::elements(TaggedBits { rows: 1, lanes: len, elements })));
        }
        let none = MacBits::blank(ctx.is_dry(), self.keys.parties - 1, (1, 0));
        let mut parts = [0; 3].map(|_| vec![none.clone()]);
        for start in (0..len).step_by(MOST) {
            let made = self.some_ands(ctx, MOST.min(len - start)).await?;
            parts.iter_mut().zip(made).for_each(|(part, made)| part.push(made));
        }
        Ok(parts.map(|parts| SharedBits::macs(MacBits::concat_lanes(&parts.iter().collect::<Vec<_>>()))))
    }

    /// The same as elements of Z_2.
    pub(crate) async fn bit_triples_as_elements(&self, ctx: &Ctx, len: usize) -> Result<[Tagged; 3]> {
        let bit = Ring::of(1);
        let mut parts = [0; 3].map(|_| vec![self.nothing(ctx, bit)]);
        for start in (0..len).step_by(MOST) {
            let count = MOST.min(len - start);
            let ands = self.some_ands(ctx, count).await?;
            let all = self.elements_of(ctx, &MacBits::concat_lanes(&ands.each_ref())).await?;
            for (i, part) in parts.iter_mut().enumerate() {
                part.push(Tagged::of(bit, &all.map(|x| x.slice(i * count..(i + 1) * count))));
            }
        }
        Ok(parts.map(|parts| Tagged::concat(&parts.iter().collect::<Vec<_>>())))
    }

    async fn some_ands(&self, ctx: &Ctx, count: usize) -> Result<[MacBits; 3]> {
        let ands = self.keys.ands(ctx, &self.keys.tinyot()?, count).await?;
        // Of few ANDs more are made.
        Ok(if ands[0].len() == count { ands } else { ands.each_ref().map(|part| part.slice(0..count)) })
    }
}
