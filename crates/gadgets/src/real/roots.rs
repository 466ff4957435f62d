//! Square roots: sqrt(2^p m) is 2^floor(p/2) times sqrt(m) or sqrt(2m).
//!
//! Results s of 2^31 units and more, for which the table is too coarse, take a step of Newton's method. It adds r /
//! (2s), where r = x 2^f - s^2 is small, so that it is exact in the ring. 1 / (2s) is the slope of the root, which the
//! table gives.

use quorate_engine::{Ctx, Result};
use quorate_ring::Ring;

use super::cubic::{Lifted, evaluate, from_bits, select};
use super::float::{
    Exponent, Float, MANTISSA, SEGMENT_ROWS, below_sign, denormalise, enough_for, mantissa_argument, normalise,
};
use super::local::{WIDE, combine, element_rows, lift, not, reduce, repeat_row, row_sums, times};
use super::onehot::Number;
use super::tables::{RSQRT, SQRT, Table};
use super::{MAX_FRAC, check_fine, chunks};
use crate::prefix::rows;
use crate::{Gadgets, stream};

/// Returns the square root of every element, with `from` bits after the point of arguments and `to` of results; 0 where
/// x is negative.
///
/// `argument_bits` is a proven bound: every x is below 2^argument_bits units; k - 1 always holds. If roots may be 2^31
/// units or more, they take one correction: twelve rounds.
///
/// Error: at most 2 units of 2^-to. In rings of more than 64 bits, and if from or to is above 16, no root is corrected,
/// and the error is at most 2 units or 2^-28 of the root, whichever is more. Exact squares whose root is below 2^28
/// units have exact roots. The result lies in [0, 2^((k - 1 - from) / 2)], up to the error, which must fit.
///
/// # Errors
/// [`quorate_engine::Misuse`] unless both are at most 60 and the ring has at least to + 2 and at most 126 bits.
pub async fn sqrt<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, (from, to): (u32, u32), argument_bits: u32) -> Result<S::A> {
    let ring = s.shape(x).0;
    let corrects = ring.bits() <= 64 && from == to && to <= MAX_FRAC;
    let long = LongRoot::of(ring.bits(), argument_bits.min(ring.bits() - 1), to).filter(|_| corrects);
    let twice = |p, from, to| p - from + 2 * to;
    let root = Root { table: &SQRT, from, to, twice, zero_is_over: false, mantissa: MANTISSA, long };
    root.of(s, ctx, x).await
}

/// Returns 1 / sqrt(x) of every element, with `from` bits after the point of arguments and `to` of results; the largest
/// element, 2^(k-1) - 1, where x is not positive and where the result does not fit.
///
/// Error: at most 2 units of 2^-to for every positive x whose result fits; if to > 16, 2 units or 2^-28 of the result,
/// whichever is more. The result lies in (0, 2^(from / 2)].
///
/// # Errors
/// Those of [`sqrt`].
pub async fn rsqrt<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, (from, to): (u32, u32)) -> Result<S::A> {
    let twice = |p, from, to| 2 * to + from - p;
    let root = Root { table: &RSQRT, from, to, twice, zero_is_over: true, mantissa: enough_for(to), long: None };
    root.of(s, ctx, x).await
}

#[derive(Clone, Copy)]
struct Root {
    table: &'static Table,
    /// Bits after the point of arguments.
    from: u32,
    /// Bits after the point of results.
    to: u32,
    /// Twice the exponent of the result in units, from the leading bit's place, `from` and `to`.
    twice: fn(i32, i32, i32) -> i32,
    zero_is_over: bool,
    /// The number of rows of the mantissa that count.
    mantissa: u32,
    /// The correction of results, if they may be long.
    long: Option<LongRoot>,
}

impl Root {
    async fn of<S: Gadgets>(self, s: &S, ctx: &Ctx, x: &S::A) -> Result<S::A> {
        let (ring, len) = s.shape(x);
        check_fine(ring, self.from.max(self.to), self.to + 2, s.most_bits())?;
        let work = async move |s: &S, ctx: &Ctx, x: S::A| self.chunk(s, ctx, &x).await;
        stream::to_vector(s, ctx, chunks(len), |range| stream::slice(s, x, range), work).await
    }

    async fn chunk<S: Gadgets>(&self, s: &S, ctx: &Ctx, x: &S::A) -> Result<S::A> {
        let ring = s.shape(x).0;
        let (bits, not_negative) = below_sign(s, ctx, x).await?;
        let float = normalise(s, ctx, &bits, self.mantissa).await?;
        let odd = (0..ring.bits() - 1).filter(|&p| self.twice(p) & 1 == 1).collect();
        let parity = row_sums(s, &float.position, &[odd]);
        let root = async |ctx: Ctx| {
            let argument = mantissa_argument(s, &ctx, &float.mantissa, &SEGMENT_ROWS, Some(&parity)).await?;
            evaluate(s, &ctx, self.table, &argument).await
        };
        let exponent = async |ctx: Ctx| self.exponent(s, &ctx, &float, &not_negative, ring).await;
        let (root, exponent) = ctx.join(root, exponent).await?;
        let Some(long) = self.long else {
            return denormalise(s, ctx, &root.value, self.table.scale, exponent, ring).await;
        };
        let result = async |ctx: Ctx| denormalise(s, &ctx, &root.value, self.table.scale, exponent, ring).await;
        let factor = async |ctx: Ctx| long.factor(s, &ctx, &float.position, &not_negative, &root.lifted, self.to).await;
        let (result, factor) = ctx.join(result, factor).await?;
        long.corrected(s, ctx, x, &result, &reduce(s, &factor, ring), self.to).await
    }

    /// Returns twice the exponent of the result, in its units, for a leading bit at p.
    fn twice(&self, p: u32) -> i32 {
        (self.twice)(p as i32, self.from as i32, self.to as i32)
    }

    /// Returns the exponent of the root; there is none for negative numbers.
    async fn exponent<S: Gadgets>(
        &self,
        s: &S,
        ctx: &Ctx,
        float: &Float<S::B>,
        not_negative: &S::B,
        ring: Ring,
    ) -> Result<Exponent<S::B>> {
        let of = |p: u32| self.twice(p) >> 1;
        let last = ring.bits() as i32 - 1;
        let positions = 0..ring.bits() - 1;
        let number = Number::of_one_hot(s, &float.position, |p| u32::try_from(of(p)).ok().filter(|_| of(p) <= last));
        let too_large: Vec<u32> = positions.clone().filter(|&p| of(p) > last).collect();
        let too_large = row_sums(s, &float.position, &[too_large]);
        let highs = s.bit_shape(&number.high).0 as u32;
        let all = s.concat_rows(&[&number.high, &float.nonzero, &too_large]);
        let all = s.and(ctx, &repeat_row(s, not_negative, highs as usize + 2), &all).await?;
        let high = rows(s, &all, &(0..highs).collect::<Vec<_>>());
        let over = self.zero_is_over.then(|| not(s, &row_sums(s, &all, &[vec![highs, highs + 1]])));
        let most = positions.map(of).filter(|&u| u <= last).max().unwrap_or(0).max(0) as u32;
        Ok(Exponent { number: Number { low: number.low, high }, over, most })
    }
}

/// Results below 2^31 units are accurate enough.
const SHORT: u32 = 31;
/// Bits after the point of the mantissa of 1 / (2s), and of the place in which it is linear.
const SLOPE_BITS: u32 = 12;
const PLACE_BITS: u32 = 10;

/// The correction of roots of 2^31 units and more.
#[derive(Clone, Copy)]
struct LongRoot {
    /// The largest exponent of a result, in units.
    most: u32,
    /// Bits after the point of 1 / (2s): the largest number with which r / (2s) fits.
    point: u32,
}

impl LongRoot {
    /// Returns the correction for arguments below 2^bits in a ring of k bits; `None` if all their roots are short.
    fn of(k: u32, bits: u32, frac: u32) -> Option<LongRoot> {
        let most = (bits.max(1) - 1 + frac) / 2;
        // The error of a result is less than 2^-30 of it and 2 units.
        let error = most.saturating_sub(29).max(3);
        (most >= SHORT).then(|| LongRoot { most, point: k - 2 - error })
    }

    /// Returns 1 / (2s), over Z_2^64; 0 for short results. Five rounds.
    async fn factor<S: Gadgets>(
        &self,
        s: &S,
        ctx: &Ctx,
        position: &S::B,
        not_negative: &S::B,
        segment: &Lifted<S::A>,
        frac: u32,
    ) -> Result<S::A> {
        let (positions, len) = s.bit_shape(position);
        let exponents = SHORT..=self.most;
        let of = |e: u32| (0..positions as u32).filter(|p| (p + frac) / 2 == e).collect();
        let one_hot = row_sums(s, position, &exponents.clone().map(of).collect::<Vec<_>>());
        let power = async |ctx: Ctx| {
            let count = s.bit_shape(&one_hot).0;
            let positive = s.and(&ctx, &repeat_row(s, not_negative, count), &one_hot).await?;
            let lifted = lift(s, &ctx, &positive, WIDE).await?;
            Ok(combine(s, &lifted, &[exponents.clone().map(|e| 1 << (self.point - e - SLOPE_BITS)).collect()]))
        };
        let slope = async |ctx: Ctx| {
            let lines = select(s, &ctx, &slopes(), segment, len).await?;
            let places: Vec<u32> = (SEGMENT_ROWS.len() as u32 + 1..=MANTISSA).collect();
            let place = from_bits(s, &ctx, &SQRT, PLACE_BITS, &segment.places, &places, len);
            let risen = s.mul(&ctx, &element_rows(s, &lines, 1..2, len), &place).await?;
            Ok(s.add(&element_rows(s, &lines, 0..1, len), &risen))
        };
        let (power, slope) = ctx.join(power, slope).await?;
        s.mul(ctx, &power, &slope).await
    }

    /// Returns s + r / (2s). Two rounds and a truncation.
    async fn corrected<S: Gadgets>(
        &self,
        s: &S,
        ctx: &Ctx,
        x: &S::A,
        root: &S::A,
        factor: &S::A,
        frac: u32,
    ) -> Result<S::A> {
        let rest = s.sub(&times(s, x, 1 << frac), &s.mul(ctx, root, root).await?);
        let change = s.mul(ctx, &rest, factor).await?;
        Ok(s.add(root, &s.trunc_exact(ctx, &change, self.point).await?))
    }
}

/// Returns 1 / (2 sqrt) at the middle of each segment, with 12 bits after the point, and its slope in the place, with 2
/// bits. These are the table's linear coefficients and twice its square ones, halved for sqrt(2m).
fn slopes() -> [Vec<i64>; 2] {
    let nearest = |x: i64, shift: u32| (x + (1 << (shift - 1))) >> shift;
    let [after1, after2, _] = SQRT.after_point;
    let column = |power: usize, shift: u32| {
        let half = SQRT.rows.len() / 2;
        SQRT.rows.iter().enumerate().map(|(i, row)| nearest(row[power], shift + u32::from(i >= half))).collect()
    };
    let (linear, square) = (SQRT.scale - after1, SQRT.scale - 2 * after2);
    [column(1, linear - SLOPE_BITS), column(2, square - (SLOPE_BITS - PLACE_BITS) - 1)]
}
