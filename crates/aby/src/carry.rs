//! Carries of the sum of two numbers, one of each party, computed by digits.
//!
//! **Source**: comparison by digits as in Rathee et al. 2020 (CrypTFlow2), with look-ups for the digits' generates and
//! propagates and a tree above them. **Model**: semi-honest, 1 of 2.
//!
//! | function | rounds | for D digits, besides the look-ups |
//! |---|---|---|
//! | carry out of all bits | 2 + ceil(log2 D) | a tree (see [`crate::tree`]) |
//! | carry into position d, and out | 3 + ceil(log2 of the longer part's digits) | two trees, one AND |
//! | all carries | 3 + ceil(log2 D) | a Sklansky network over D, and an AND for each inner position of an upper digit |

use quorate_engine::{Ctx, Result, Sharing};
use quorate_gadgets::prefix::Pairs;
use quorate_ring::Bits;

use crate::Share;
use crate::digits::{Digit, Table};
use crate::setup::Aby;
use crate::tree::rows;

type B = Share<Bits>;

/// Returns the generates and propagates of whole digits, from the rows that were looked up. If the lowest digit has no
/// propagate, any row stands for it: no prefix needs it.
fn pairs(digits: &[Digit], found: &B) -> Pairs<B> {
    let (mut generates, mut propagates, mut at) = (Vec::new(), Vec::new(), 0);
    for digit in digits {
        let outputs = digit.outputs() as u32;
        generates.push(at);
        propagates.push(at + outputs - 1);
        at += outputs;
    }
    Pairs { generate: rows(found, &generates), propagate: rows(found, &propagates) }
}

impl Aby {
    /// Returns the carry out of the sum of both parties' numbers, given by their bits.
    pub(crate) async fn carry(&self, ctx: &Ctx, own: &B) -> Result<B> {
        let table = Table::Carry { bits: own.rows() as u32 };
        let found = self.look_up(ctx, table, own).await?;
        self.group(ctx, pairs(&table.digits(), &found)).await
    }

    /// Returns the carries into position d, 0 < d < k, and out of all k bits.
    pub(crate) async fn carries(&self, ctx: &Ctx, own: &B, d: u32) -> Result<(B, B)> {
        let table = Table::Carries { low: d, high: own.rows() as u32 - d };
        let digits = table.digits();
        let found = self.look_up(ctx, table, own).await?;
        let Pairs { generate, propagate } = pairs(&digits, &found);
        let low = digits.iter().filter(|digit| digit.low < d).count();
        let part = |range: std::ops::Range<usize>| Pairs {
            generate: generate.map(|g| g.slice_rows(range.clone())),
            propagate: propagate.map(|p| p.slice_rows(range.clone())),
        };
        let (low, high) = (part(0..low), part(low..digits.len()));
        let (into, high) = ctx
            .join(
                async |ctx: Ctx| self.group(&ctx, low).await,
                async |ctx: Ctx| self.group_with_propagate(&ctx, high).await,
            )
            .await?;
        let carried = self.and(ctx, &high.propagate, &into).await?;
        let out = self.xor(&high.generate, &carried);
        Ok((into, out))
    }

    /// Returns whether each digit is the same in both parties' numbers.
    pub(crate) async fn equal_digits(&self, ctx: &Ctx, own: &B) -> Result<B> {
        self.look_up(ctx, Table::Equal { bits: own.rows() as u32 }, own).await
    }

    /// Returns the carries into the positions above each of these bits.
    pub(crate) async fn all_carries(&self, ctx: &Ctx, own: &B) -> Result<B> {
        let table = Table::Prefixes { bits: own.rows() as u32 };
        let digits = table.digits();
        let found = self.look_up(ctx, table, own).await?;
        let prefixes = Prefixes::new(&digits, own, &found);
        let out = self.prefixes(ctx, prefixes.whole_digits()).await?;
        let inner = match prefixes.inner_positions() {
            Some((generates, propagates, digits_below)) => {
                let carried = self.and(ctx, &propagates, &rows(&out, &digits_below)).await?;
                Some(self.xor(&generates, &carried))
            }
            None => None,
        };
        Ok(prefixes.in_order(&out, inner))
    }
}

/// The places of the generates and propagates of prefixes of digits: rows of `all`, one for each bit. A prefix of one
/// bit has the xor of the bits as its propagate, of which each party's own bit is a share.
struct Prefixes<'d> {
    digits: &'d [Digit],
    all: B,
    /// By bit: the rows of the generate and of the propagate of its digit up to this bit.
    places: Vec<(u32, u32)>,
}

impl<'d> Prefixes<'d> {
    fn new(digits: &'d [Digit], own: &B, found: &B) -> Prefixes<'d> {
        let (mut places, mut at) = (Vec::new(), 0);
        let own_at = found.rows() as u32;
        for (i, digit) in digits.iter().enumerate() {
            for t in 0..digit.width {
                // The lowest digit has no propagates: none is needed.
                let propagate = if t == 0 || i == 0 { own_at + digit.low } else { at + digit.width + t - 1 };
                places.push((at + t, propagate));
            }
            at += digit.outputs() as u32;
        }
        Prefixes { digits, all: Share::of(Bits::concat_rows(&[found, own])), places }
    }

    fn whole_digits(&self) -> Pairs<B> {
        let tops = self.digits.iter().map(|digit| self.places[(digit.low + digit.width - 1) as usize]);
        let (generates, propagates): (Vec<u32>, Vec<u32>) = tops.unzip();
        Pairs { generate: rows(&self.all, &generates), propagate: rows(&self.all, &propagates) }
    }

    /// Returns the generates, the propagates and the digits below of all inner positions of upper digits; `None`
    /// without any.
    fn inner_positions(&self) -> Option<(B, B, Vec<u32>)> {
        let within = |(i, digit): (usize, &Digit)| (digit.low..digit.low + digit.width - 1).map(move |at| (i, at));
        let inner: Vec<(usize, u32)> = self.digits.iter().enumerate().skip(1).flat_map(within).collect();
        let (generates, propagates): (Vec<u32>, Vec<u32>) =
            inner.iter().map(|&(_, at)| self.places[at as usize]).unzip();
        let below = inner.iter().map(|&(i, _)| i as u32 - 1).collect();
        (!inner.is_empty()).then(|| (rows(&self.all, &generates), rows(&self.all, &propagates), below))
    }

    /// Returns the carries out of each bit: out of whole digits, within the lowest, and within the others.
    fn in_order(&self, out: &B, inner: Option<B>) -> B {
        let lowest = self.digits[0].width - 1;
        let lowest_rows = rows(&self.all, &(0..lowest).map(|t| self.places[t as usize].0).collect::<Vec<_>>());
        let parts: Vec<&Bits> =
            [Some(out), Some(&lowest_rows), inner.as_ref()].into_iter().flatten().map(|part| &**part).collect();
        let stacked = Share::of(Bits::concat_rows(&parts));
        let (digits, mut next_inner) = (self.digits.len() as u32, self.digits.len() as u32 + lowest);
        let mut order = Vec::with_capacity(self.places.len());
        for (i, digit) in self.digits.iter().enumerate() {
            for t in 0..digit.width {
                order.push(match (t + 1 == digit.width, i) {
                    (true, _) => i as u32,
                    (false, 0) => digits + t,
                    (false, _) => {
                        next_inner += 1;
                        next_inner - 1
                    }
                });
            }
        }
        rows(&stacked, &order)
    }
}
