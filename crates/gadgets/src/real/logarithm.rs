//! The natural logarithm: log(2^p m 2^-f) = (p - f) log 2 + log m.

use quorate_engine::{Ctx, Result};
use quorate_ring::Ring;

use super::cubic::evaluate;
use super::float::{MANTISSA, SEGMENT_ROWS, below_sign, mantissa_argument, normalise};
use super::local::{combine, not, plus, reduce, row_sums, times};
use super::tables::LOG;
use super::{check_fine, chunks};
use crate::{Gadgets, Sign, stream};

/// log 2 with the table's bits after the point.
const LN2: i64 = 49_946_518_145_322_874;

/// The largest number of bits after the point of results before their final form.
const MOST_KEPT: u32 = 32;

/// Returns the natural logarithm of every element, with `from` bits after the point of arguments and `to` of results;
/// the lowest element, -2^(k-1), where x is not positive.
///
/// Error: at most 1 unit of 2^-to, or 2^-22.9 where that is more, for every positive x. The result lies in
/// [-from log 2, (k - 1 - from) log 2].
///
/// The parts of that error, for more than 16 bits after the point:
/// - The linear, square and cubic terms use 24, 20 and 16 bits after the point of the distance from the segment's
///   middle, all rounded down. Together with the error of the cubic itself this costs at most 1.14 2^-24 (a test bounds
///   it from the table). Most of it comes from the 24 bits: 0.99 2^-24.
/// - The mantissa has min(to + 5, 32) bits, rounded down. From 24 on these are the bits above; with 22 or 23 (to = 17
///   and 18) it is off by less than 2^-22 more, 1/16 of a unit.
/// - LN2 is within 2^-57 of log 2, and at most 126 times LN2 is added: an error below 2^-50.
/// - The result is rounded to the nearest multiple of 2^-min(to, 32): the error is at most half of that.
///
/// So up to 22 bits it is within 1/2 + 1/16 unit and 1.14 2^-24, which is a unit at most; from 23 on within 2^-24 +
/// 1.14 2^-24 < 2^-22.9. The bound of the first part is nearly reached: the error at 1 + 2^-16 - 2^-32 is 1.12 2^-24.
///
/// # Errors
/// [`quorate_engine::Misuse`] unless both are at most 60 and the ring has at most 126 bits, enough for -from log 2.
pub async fn log<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, (from, to): (u32, u32)) -> Result<S::A> {
    let (ring, len) = s.shape(x);
    // Both from log 2 and (k - 1 - from) log 2 must be below 2^(k - 1 - to).
    let furthest = from.max((ring.bits() - 1).saturating_sub(from));
    let whole = (furthest * 7).div_ceil(10).next_power_of_two().trailing_zeros();
    check_fine(ring, from.max(to), to + 1 + whole.max(1), s.most_bits())?;
    let work = async move |s: &S, ctx: &Ctx, x: S::A| chunk(s, ctx, &x, (from, to)).await;
    stream::to_vector(s, ctx, chunks(len), |range| stream::slice(s, x, range), work).await
}

async fn chunk<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, (from, to): (u32, u32)) -> Result<S::A> {
    let ring = s.shape(x).0;
    let (bits, not_negative) = below_sign(s, ctx, x).await?;
    let float = normalise(s, ctx, &bits, (to + 5).clamp(6, MANTISSA)).await?;
    let mut argument = mantissa_argument(s, ctx, &float.mantissa, &SEGMENT_ROWS, None).await?;
    let bit_of_position = |bit: u32| (0..ring.bits() - 1).filter(|p| p >> bit & 1 == 1).collect::<Vec<u32>>();
    let bits_of_position = if ring.bits() <= 64 { 6 } else { 7 };
    let position: Vec<_> = (0..bits_of_position).map(bit_of_position).collect();
    argument.others = Some(row_sums(s, &float.position, &position));
    let cubic = async |ctx: Ctx| evaluate(s, &ctx, &LOG, &argument).await;
    let positive = async |ctx: Ctx| s.and(&ctx, &float.nonzero, &not_negative).await;
    let (cubic, positive) = ctx.join(cubic, positive).await?;
    let position = cubic.others.ok_or(quorate_engine::Error::Bug { what: "a position was not lifted" })?;
    let power = combine(s, &position, &[(0..bits_of_position).map(|bit| LN2 << bit).collect()]);
    // More bits would exceed the precision of the table.
    let kept = to.min(MOST_KEPT);
    let constant = (1i128 << (LOG.scale - kept - 1)) - i128::from(LN2) * i128::from(from);
    let sum = plus(s, &s.add(&cubic.value, &power), constant);
    let rounded = s.trunc_exact(ctx, &sum, LOG.scale - kept).await?;
    let rounded = match ring.bits() <= 64 {
        true => reduce(s, &rounded, ring),
        // The logarithm of 2^126 is also below 2^7, so the sum fits with the table's 56 bits after the point.
        false => s.convert(ctx, &reduce(s, &rounded, Ring::of(kept + 8)), ring, Sign::Signed).await?,
    };
    let rounded = times(s, &rounded, 1 << (to - kept));
    let defined = async |ctx: Ctx| s.mask(&ctx, &positive, &rounded).await;
    let undefined = async |ctx: Ctx| s.bit_to_msb(&ctx, &not(s, &positive), ring).await;
    let (defined, undefined) = ctx.join(defined, undefined).await?;
    Ok(s.add(&defined, &undefined))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A segment's cubic where its terms see these distances from the middle.
    fn cubic(row: &[i64; 4], t: [f64; 3]) -> f64 {
        let scaled = |j: usize| row[j] as f64 / f64::from(LOG.scale - [0, 24, 40, 48][j]).exp2();
        scaled(0) + scaled(1) * t[0] + scaled(2) * t[1] * t[1] + scaled(3) * t[2].powi(3)
    }

    /// Returns a bound on the distance of a segment's cubic, with distances that are not rounded, from the logarithm.
    /// It comes from the differences at some points, and from how fast the difference and its slope can change between
    /// them (the third derivatives are below 2 each).
    fn off(row: &[i64; 4], middle: f64) -> f64 {
        const STEPS: i32 = 64;
        let half_step = f64::from(-13).exp2() / 2.0;
        let c = |j: usize| row[j] as f64 / f64::from(LOG.scale - [0, 24, 40, 48][j]).exp2();
        let at = |i: i32| f64::from(2 * i - STEPS) * half_step;
        let most = |value: &dyn Fn(f64) -> f64| (0..=STEPS).map(|i| value(at(i)).abs()).fold(0.0, f64::max);
        let value = most(&|t| cubic(row, [t; 3]) - (middle + t).ln());
        let slope = most(&|t| c(1) + 2.0 * c(2) * t + 3.0 * c(3) * t * t - 1.0 / (middle + t));
        let bend = most(&|t| 2.0 * c(2) + 6.0 * c(3) * t + (middle + t).powi(-2));
        value + (slope + (bend + 4.0 * half_step) * half_step) * half_step
    }

    #[test]
    fn the_table_is_within_its_bound() {
        assert_eq!((LOG.after_point, LOG.segment, LOG.rows.len()), ([24, 20, 16], -6, 64));
        let unit = |bits: i32| f64::from(-bits).exp2();
        let (half, mut most) = (unit(7), 0.0f64);
        for (i, row) in LOG.rows.iter().enumerate() {
            let c = |j: usize| (row[j] as f64 / f64::from(LOG.scale - [0, 24, 40, 48][j]).exp2()).abs();
            // The error of each term if its distance is up to a unit too low.
            let linear = c(1) * unit(24);
            let square = c(2) * (2.0 * half + unit(20)) * unit(20);
            let cube = c(3) * (3.0 * half * half + 3.0 * half * unit(16) + unit(32)) * unit(16);
            most = most.max(off(row, 1.0 + (2 * i + 1) as f64 * half) + linear + square + cube);
        }
        assert!(most < 1.14 * unit(24), "{} 2^-24", most / unit(24));
        // An argument at which the bound is nearly reached.
        let distance = unit(16) - unit(32);
        let seen = LOG.after_point.map(|bits| (distance * f64::from(bits).exp2()).floor() * unit(bits as i32) - half);
        let reached = (1.0 + distance).ln() - cubic(&LOG.rows[0], seen);
        assert!(reached > 1.1 * unit(24) && reached < most, "{} 2^-24", reached / unit(24));
    }
}
