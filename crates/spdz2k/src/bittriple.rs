//! Triples of bits, in the form of the session's bits.
//!
//! With MACs they are ANDs without a leak ([`crate::bucket`]). Elements of Z_2^(1+s) are made from those
//! ([`crate::bits_as_elements`]), which takes less than triples over Z_2 (`triple`) would.
//!
//! A larger batch takes smaller buckets. So the ANDs that all of a program's correlations take, and the program's own
//! ANDs, are made together, in batches that are as large as allowed. Kinds draw from a batch until it is used up.

use std::ops::Range;

use quorate_authenticated::bits::TaggedBits;
use quorate_authenticated::macs::MacBits;
use quorate_authenticated::{SharedBits, Tagged};
use quorate_engine::{Ctx, Error, Held, LinearBits, Result, Stocks};
use quorate_ring::Ring;
use quorate_ring::meter::deferred;

use crate::bits_as_elements::elements_of;
use crate::bucket::{self, MOST};
use crate::maker::Maker;

/// x, y, and x AND y.
type Triples = [SharedBits; 3];

const MISCOUNTED: Error = Error::Bug { what: "correlations take other numbers of bit triples than was computed" };

/// Triples that are made together, for one kind after the other.
#[derive(Default)]
pub(crate) struct Ahead {
    /// The last batch; `from` is the first of its triples that is not used.
    batch: Option<Triples>,
    from: usize,
    /// The number of triples that are still to be made.
    left: usize,
    /// The number of triples of all batches that are used.
    used: usize,
    /// Triples without data, of which every batch is a part, where a dry run has counted the costs of all batches.
    counted: Option<Triples>,
}

impl Ahead {
    /// Returns the next triples, at most `most`, which count `times` times.
    fn next(&mut self, most: usize, times: usize) -> Option<Triples> {
        let batch = self.batch.take()?;
        let (from, len) = (self.from, batch[0].shape().1);
        let to = len.min(from + most);
        self.used += (to - from) * times;
        if (from, to) == (0, len) {
            return Some(batch);
        }
        let next = batch.each_ref().map(|part| part.linear(&LinearBits::Lanes(from..to)));
        if to < len {
            (self.batch, self.from) = (Some(batch), to);
        }
        Some(next)
    }
}

/// Forgets the batch when it is dropped, however the work ends.
struct Forgotten<'a>(&'a Held<Ahead>);

impl Drop for Forgotten<'_> {
    fn drop(&mut self) {
        self.0.take();
    }
}

/// The triples of bits of one party.
#[derive(Clone, Copy)]
pub(crate) struct BitTriples<'m> {
    pub maker: Maker<'m>,
    pub ahead: &'m Held<Ahead>,
}

impl BitTriples<'_> {
    /// Runs work that takes `len` triples of bits with MACs in all, and has them made together.
    ///
    /// Batches of these triples do not begin where batches of the work begin. So a dry run that counts equal batches
    /// once counts those of the triples first.
    pub async fn with_ahead<T>(&self, ctx: &Ctx, len: usize, work: impl AsyncFnOnce() -> Result<T>) -> Result<T> {
        self.ahead.replace(Ahead { left: len, ..Ahead::default() });
        let _forgotten = Forgotten(self.ahead);
        if ctx.counts_alike() {
            let batch = async |range: Range<usize>| some_ands(self.maker, ctx, range.len()).await;
            let made = ctx.in_turn(len, MOST, batch).await?;
            let counted = made.all().first().map(|first| first.each_ref().map(|part| SharedBits::macs(part.clone())));
            self.ahead.lock().counted = counted;
        }
        let done = work().await?;
        if self.ahead.lock().used == len * ctx.counted_times() { Ok(done) } else { Err(MISCOUNTED) }
    }

    /// Makes x, y, and x AND y, in the form of the session's bits.
    pub async fn make(&self, ctx: &Ctx, len: usize) -> Result<Triples> {
        if !self.maker.has_macs() {
            let elements = as_elements(self.maker, ctx, len).await?;
            return Ok(elements.map(|elements| SharedBits::elements(TaggedBits { rows: 1, lanes: len, elements })));
        }
        let (mut parts, mut missing) = (Vec::new(), len);
        while missing > 0 {
            let next = self.ahead.lock().next(missing, ctx.counted_times());
            match next {
                Some(part) => {
                    missing -= part[0].shape().1;
                    parts.push(part);
                }
                None => self.make_ahead(ctx, missing).await?,
            }
        }
        if parts.len() == 1 {
            return Ok(parts.swap_remove(0));
        }
        let none = self.maker.blank_bits(ctx.is_dry(), (1, 0));
        let all =
            |i: usize| SharedBits::concat_lanes(&parts.iter().map(|part| &part[i]).chain([&none]).collect::<Vec<_>>());
        Ok([0, 1, 2].map(all))
    }

    /// Makes the next batch: for all triples that are still to come, and at least those that are wanted now.
    async fn make_ahead(&self, ctx: &Ctx, wanted: usize) -> Result<()> {
        let count = self.ahead.lock().left.max(wanted).min(MOST);
        let mut counted = None;
        if let Some(all) = &self.ahead.lock().counted {
            let _not_charged = deferred(|| {
                counted =
                    Some(all.each_ref().map(|part| part.linear(&LinearBits::Lanes(0..count.min(part.shape().1)))));
            });
        }
        let batch = match counted {
            Some(batch) => batch,
            None => some_ands(self.maker, ctx, count).await?.map(SharedBits::macs),
        };
        let mut ahead = self.ahead.lock();
        (ahead.batch, ahead.from, ahead.left) = (Some(batch), 0, ahead.left.saturating_sub(count));
        Ok(())
    }
}

/// Makes x, y, and x AND y as elements of Z_2.
pub(crate) async fn as_elements(maker: Maker<'_>, ctx: &Ctx, len: usize) -> Result<[Tagged; 3]> {
    let bit = Ring::of(1);
    let batch = async |range: Range<usize>| {
        let ands = some_ands(maker, ctx, range.len()).await?;
        let all = elements_of(maker, ctx, &MacBits::concat_lanes(&ands.each_ref())).await?;
        Ok([0, 1, 2].map(|i| Tagged::of(bit, &all.map(|x| x.slice(i * range.len()..(i + 1) * range.len())))))
    };
    let (made, nothing) = (ctx.in_turn(len, MOST, batch).await?, maker.nothing(ctx, bit));
    let all = |i: usize| std::iter::once(&nothing).chain(made.all().into_iter().map(move |part| &part[i]));
    Ok([0, 1, 2].map(|i| Tagged::concat(&all(i).collect::<Vec<_>>())))
}

async fn some_ands(maker: Maker<'_>, ctx: &Ctx, count: usize) -> Result<[MacBits; 3]> {
    let ands = bucket::ands(ctx, &maker.tinyot()?, count).await?;
    // If few ANDs are wanted, more are made.
    Ok(if ands[0].len() == count { ands } else { ands.each_ref().map(|part| part.slice(0..count)) })
}

#[cfg(test)]
mod tests {
    use quorate_engine::{Phase, dry};
    use quorate_ring::{Bits, Wiped};

    use super::*;
    use crate::params::Params;
    use crate::party::Spdz2k;

    fn own(bits: &SharedBits) -> Vec<bool> {
        bits.clone().into_macs().own.to_bools()
    }

    /// Each triple is handed out once, in order.
    #[test]
    fn batches_are_used_up() {
        let all: Vec<bool> = (0..200).map(|i| i % 3 == 0 || i % 7 == 0).collect();
        let bits = SharedBits::macs(MacBits { own: Wiped(Bits::from_bools(1, 200, &all)), peers: vec![] });
        for draws in [vec![200], vec![300], vec![1, 199], vec![70, 70, 70], vec![3, 64, 100, 33]] {
            let mut ahead = Ahead { batch: Some([0; 3].map(|_| bits.clone())), ..Ahead::default() };
            let drawn: Vec<Triples> = draws.iter().filter_map(|&len| ahead.next(len, 1)).collect();
            assert!(drawn.len() == draws.len() && ahead.used == 200 && ahead.next(1, 1).is_none(), "{draws:?}");
            for i in 0..3 {
                assert_eq!(drawn.iter().flat_map(|part| own(&part[i])).collect::<Vec<_>>(), all, "{draws:?}");
            }
        }
    }

    #[test]
    fn a_count_that_is_off_is_a_defect_and_leaves_nothing() {
        for (counted, drawn, batches) in [(5, [5, 0], 1), (MOST + 2, [3, MOST - 1], 2), (5, [4, 0], 0), (5, [4, 2], 0)]
        {
            let make = async |ctx: &Ctx| {
                let s = Spdz2k::new_dry(2, ctx.me(), Params::default())?;
                let (maker, ahead) = (Maker::new(&s.online, &s.protocols.transfers)?, &s.protocols.ahead);
                let triples = BitTriples { maker, ahead };
                let draw = async || {
                    for len in drawn {
                        assert_eq!(triples.make(ctx, len).await?[0].shape(), (1, len));
                    }
                    Ok(())
                };
                let done = triples.with_ahead(ctx, counted, draw).await;
                assert!(ahead.lock().batch.is_none() && ahead.lock().left == 0);
                Ok(done)
            };
            let (done, costs) = dry::together(&[0; 2], Phase::Offline, make).unwrap().remove(0);
            match batches {
                0 => assert!(matches!(done, Err(Error::Bug { .. })), "{drawn:?} of {counted}"),
                _ => {
                    done.unwrap();
                    assert_eq!(costs.offline.rounds, 11 * batches, "{drawn:?} of {counted}");
                }
            }
        }
    }
}
