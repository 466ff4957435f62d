//! Exact quotients that may be too long for one product of mantissas, from digits and a last remainder.
//!
//! With mantissas m_x, m_y in [1, 2), q = m_x / m_y is taken in digits of 28, 25 and 10 bits. A digit is the remainder
//! so far times an approximate 1 / m_y. The remainder is exact modulo 2^64, because it is small. Truncations inside may
//! round up or down, so each digit is made too low by a few units, and remainders stay positive. The quotient moved to
//! its place, Q', is too low by at most 3, and x 2^f - Q' y determines by how many.
//!
//! | | off by, in its units | remainder, in units of m_y |
//! |---|---|---|
//! | 1 / m_y, with 32 bits | relative 2^-29.4 at most, either way | |
//! | first digit, units of 2^-28 | 0.2 to 4.3 too low | below 4.3 2^-28 |
//! | second, 2^-53 | 0.3 to 3.7 too low | below 3.7 2^-53 |
//! | third, 2^-63 | 0 to 2.1 too low | |
//!
//! The result is a function of x and y alone: it does not depend on the rounding of inner truncations.

use quorate_engine::{Ctx, Result};
use quorate_ring::Ring;

use super::float::{Float, MANTISSA, denormalised_bits, magnitude, normalise, word};
use super::local::{WIDE, combine, element_rows, lift, not, plus, reduce, repeat_row, row_sums, times};
use super::onehot::Number;
use super::quotient::{RECIPROCAL_BITS, dividend, divisor, exponent_difference, with_sign};
use super::tables::DIVISOR;
use crate::equality::and_all;
use crate::prefix::rows;
use crate::{Gadgets, Sign, stream};

/// Quotients below 2^51 take two digits.
const TWO_DIGITS: u32 = 51;
/// Quotients below 2^61 are at most 1 too low before the last remainder.
const ONE_TEST: u32 = 61;
/// Longer quotients have divisors below 2^25, and remainders that fit this ring.
const SMALL: Ring = Ring::of(28);
/// The leading bit of a normalised divisor. Longer divisors have quotients below 2^20, for which one digit is enough.
pub(super) const DIVISOR_TOP: u32 = 58;
/// The leading bit of a normalised dividend.
pub(super) const DIVIDEND_TOP: u32 = 63;
/// Bits after the point of the digits.
pub(super) const FIRST: u32 = 28;
pub(super) const SECOND: u32 = 53;
const THIRD: u32 = 63;

/// Returns x / y, rounded towards 0, for quotients (by a divisor that is not 0) below 2^bits; saturated as in
/// [`divide`](super::quotient::divide).
pub(super) async fn divide_chunk<S: Gadgets>(
    s: &S,
    ctx: &Ctx,
    x: &S::A,
    y: &S::A,
    frac: u32,
    bits: u32,
) -> Result<S::A> {
    let (ring, len) = s.shape(x);
    let both = s.concat(&[x, y]);
    let magnitude = async |ctx: Ctx| magnitude(s, &ctx, &both).await;
    let widened = async |ctx: Ctx| s.convert(&ctx, &both, WIDE, Sign::Signed).await;
    let ((rows_of_both, signs), widened) = ctx.join(magnitude, widened).await?;
    let sizes = async |ctx: Ctx| with_sign(s, &ctx, &signs, &widened).await;
    let floats = async |ctx: Ctx| normalise(s, &ctx, &rows_of_both, MANTISSA).await;
    let (sizes, floats) = ctx.join(sizes, floats).await?;
    let (x, y) = (floats.lanes(s, 0..len), floats.lanes(s, len..2 * len));
    let sign = s.xor(&stream::slice_lanes(s, &signs, 0..len), &stream::slice_lanes(s, &signs, len..2 * len));
    let quotient = async |ctx: Ctx| mantissa_quotient(s, &ctx, (&x, &y), &sizes, ring.bits(), bits).await;
    let exponent = async |ctx: Ctx| exponent_difference(s, &ctx, &x, &y, ring.bits(), frac).await;
    let (quotient, mut exponent) = ctx.join(quotient, exponent).await?;
    let long = rows(s, &exponent.number.high, &[7]);
    // The quotient of the mantissas is below 2, not 4, so no row above k - 1 is set.
    exponent.most = ring.bits() - 2;
    let low = denormalised_bits(s, ctx, &quotient, THIRD + 64 - ring.bits(), exponent, ring).await?;
    let tests = if bits > ONE_TEST { 3 } else { 1 };
    let quotient = TooLow { bits: low, sign, long, divisible: y.nonzero, tests };
    quotient.corrected(s, ctx, &reduce(s, &sizes, ring), frac).await
}

/// Returns the quotient of the mantissas, with 63 bits after the point, too low.
async fn mantissa_quotient<S: Gadgets>(
    s: &S,
    ctx: &Ctx,
    (x, y): (&Float<S::B>, &Float<S::B>),
    sizes: &S::A,
    k: u32,
    bits: u32,
) -> Result<S::A> {
    let normal = async |ctx: Ctx| normal_sizes(s, &ctx, x, y, sizes, k).await;
    let first = async |ctx: Ctx| {
        let inverse = async |ctx: Ctx| {
            let value = divisor(s, &ctx, &y.mantissa).await?;
            rounded(s, &ctx, Cuts::EitherWay, &value, 3 << (DIVISOR.scale - 2), DIVISOR.scale - RECIPROCAL_BITS).await
        };
        let (inverse, dividend) = ctx.join(inverse, async |ctx: Ctx| dividend(s, &ctx, &x.mantissa).await).await?;
        let product = s.mul(&ctx, &inverse, &dividend).await?;
        Ok((plus(s, &rounded(s, &ctx, Cuts::EitherWay, &product, 5 << 60, 62 - FIRST).await?, -2), inverse))
    };
    let (normal, (first, inverse)) = ctx.join(normal, first).await?;
    let len = s.shape(&first).1;
    let (x, y) = (element_rows(s, &normal, 0..1, len), element_rows(s, &normal, 1..2, len));
    let up = FIRST + DIVISOR_TOP - DIVIDEND_TOP;
    let rest = s.sub(&times(s, &x, 1 << up), &s.mul(ctx, &first, &y).await?);
    let second = plus(s, &digit(s, ctx, Cuts::EitherWay, (&rest, &inverse), 0, SECOND - FIRST).await?, -2);
    let digits = s.add(&times(s, &first, 1 << (THIRD - FIRST)), &times(s, &second, 1 << (THIRD - SECOND)));
    if bits <= TWO_DIGITS {
        return Ok(digits);
    }
    let rest = s.sub(&times(s, &rest, 1 << (SECOND - FIRST)), &s.mul(ctx, &second, &y).await?);
    // The 2^40 taken off are 2^-8 units, more than the errors of the other factors.
    let third = plus(s, &digit(s, ctx, Cuts::EitherWay, (&rest, &inverse), 1 << 40, THIRD - SECOND).await?, -1);
    Ok(s.add(&digits, &third))
}

/// Returns the remainder times 1 / m_y, less `off` before the last truncation, in units that are 2^up times smaller.
/// Two truncations and a round.
pub(super) async fn digit<S: Gadgets>(
    s: &S,
    ctx: &Ctx,
    cuts: Cuts,
    (rest, inverse): (&S::A, &S::A),
    off: i128,
    up: u32,
) -> Result<S::A> {
    let leading = cut(s, ctx, cuts, rest, RECIPROCAL_BITS).await?;
    let product = s.mul(ctx, &leading, inverse).await?;
    cut(s, ctx, cuts, &plus(s, &product, -off), DIVISOR_TOP - up).await
}

/// The rounding of truncations inside a division.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Cuts {
    /// Down or up, at random, if the sharing guarantees that; for results that do not depend on it.
    EitherWay,
    /// Down.
    Down,
}

/// Returns x / 2^shift for |x| < 2^62, rounded down or up; down if the sharing does not guarantee that.
async fn cut<S: Gadgets>(s: &S, ctx: &Ctx, cuts: Cuts, x: &S::A, shift: u32) -> Result<S::A> {
    match cuts == Cuts::EitherWay && s.trunc_prob_failure(WIDE, shift, 63) == 0.0 {
        true => s.trunc_prob(ctx, x, shift).await,
        false => s.trunc_exact(ctx, x, shift).await,
    }
}

/// Returns x / 2^shift, rounded down or up, for x within 2^62 of `middle`, which is divisible by 2^shift.
pub(super) async fn rounded<S: Gadgets>(
    s: &S,
    ctx: &Ctx,
    cuts: Cuts,
    x: &S::A,
    middle: i128,
    shift: u32,
) -> Result<S::A> {
    let around = cut(s, ctx, cuts, &plus(s, x, -middle), shift).await?;
    Ok(plus(s, &around, middle >> shift))
}

/// Returns |x| and |y| times the powers of two that normalise them, modulo 2^64. Both are 0 where y is 0 or too long to
/// be normalised. Three rounds; four for rings that hold such y.
async fn normal_sizes<S: Gadgets>(
    s: &S,
    ctx: &Ctx,
    x: &Float<S::B>,
    y: &Float<S::B>,
    sizes: &S::A,
    k: u32,
) -> Result<S::A> {
    let up_to = |float: &Float<S::B>, top: u32| Number::of_one_hot(s, &float.position, |p| top.checked_sub(p));
    let (mut by_x, by_y) = (up_to(x, DIVIDEND_TOP), up_to(y, DIVISOR_TOP));
    if k > DIVISOR_TOP + 1 {
        let fits = row_sums(s, &y.position, &[(0..=DIVISOR_TOP).collect()]);
        by_x.high = s.and(ctx, &repeat_row(s, &fits, 8), &by_x.high).await?;
    }
    // The low row for 0 follows from the others, where it counts.
    let used = |by: &Number<S::B>| s.concat_rows(&[&by.high, &rows(s, &by.low, &[1, 2, 3, 4, 5, 6, 7])]);
    let lifted = lift(s, ctx, &s.concat_lanes(&[&used(&by_x), &used(&by_y)]), WIDE).await?;
    let len = s.shape(sizes).1;
    let high = combine(s, &element_rows(s, &lifted, 0..8, len), &[(0..8).map(|h| 1 << (8 * h)).collect()]);
    let low = combine(s, &element_rows(s, &lifted, 8..15, len), &[(1..8).map(|l| (1 << l) - 1).collect()]);
    let power = s.mul(ctx, &high, &plus(s, &low, 1)).await?;
    s.mul(ctx, &power, sizes).await
}

/// A quotient that is too low by at most `tests`, or saturated.
struct TooLow<B> {
    /// The bits below the sign's.
    bits: B,
    sign: B,
    /// Set for every quotient of 2^61 or more; then the divisor is below 2^25.
    long: B,
    /// Whether the divisor is not 0.
    divisible: B,
    tests: usize,
}

impl<B> TooLow<B> {
    /// Returns the quotient with its sign, increased as x 2^f - Q' y requires, up to the largest element.
    async fn corrected<S: Gadgets<B = B>>(&self, s: &S, ctx: &Ctx, sizes: &S::A, frac: u32) -> Result<S::A> {
        let (ring, twice) = s.shape(sizes);
        let len = twice / 2;
        let counted = async |ctx: Ctx| self.room(s, &ctx).await;
        let tests = async |ctx: Ctx| {
            let quotient = word(s, &ctx, &self.bits, ring).await?;
            let signed = async |ctx: Ctx| with_sign(s, &ctx, &self.sign, &quotient).await;
            let (x, y) = (element_rows(s, sizes, 0..1, len), element_rows(s, sizes, 1..2, len));
            let below = async |ctx: Ctx| {
                let product = s.mul(&ctx, &quotient, &y).await?;
                let rest = s.sub(&times(s, &x, 1 << frac), &product);
                self.below(s, &ctx, &rest, &y).await
            };
            ctx.join(signed, below).await
        };
        let (counted, (signed, below)) = ctx.join(counted, tests).await?;
        let enough = not(s, &below);
        let steps = s.and(ctx, &counted, &s.concat_rows(&[&enough, &enough])).await?;
        let steps = lift(s, ctx, &steps, ring).await?;
        let weights = [vec![1; self.tests], vec![-2; self.tests]].concat();
        Ok(s.add(&signed, &combine(s, &steps, &[weights])))
    }

    /// Returns in row j whether the remainder is below j + 1 divisors.
    async fn below<S: Gadgets<B = B>>(&self, s: &S, ctx: &Ctx, rest: &S::A, y: &S::A) -> Result<B> {
        if self.tests == 1 {
            return s.msb(ctx, &s.sub(rest, y)).await;
        }
        let first = async |ctx: Ctx| s.msb(&ctx, &s.sub(rest, y)).await;
        let others = async |ctx: Ctx| {
            let less = |times_y: i128| reduce(s, &s.sub(rest, &times(s, y, times_y)), SMALL);
            s.msb(&ctx, &s.concat(&[&less(2), &less(3)])).await
        };
        let (first, others) = ctx.join(first, others).await?;
        let len = s.shape(y).1;
        let part = |i: usize| stream::slice_lanes(s, &others, i * len..(i + 1) * len);
        Ok(s.concat_rows(&[&first, &part(0), &part(1)]))
    }

    /// Returns in row j whether step j + 1 counts: the divisor is not 0, and the quotient is that far from the largest
    /// element. Further rows give the same where the result is negative.
    async fn room<S: Gadgets<B = B>>(&self, s: &S, ctx: &Ctx) -> Result<B> {
        let count = s.bit_shape(&self.bits).0 as u32;
        let (bit0, bit1) = (rows(s, &self.bits, &[0]), rows(s, &self.bits, &[1]));
        let upper = rows(s, &self.bits, &(2..count).collect::<Vec<_>>());
        let upper = async |ctx: Ctx| and_all(s, &ctx, upper).await;
        let (upper, both) = ctx.join(upper, async |ctx: Ctx| s.and(&ctx, &bit0, &bit1).await).await?;
        let either = s.xor(&s.xor(&bit0, &bit1), &both);
        let ends = s.concat_rows(&[&both, &bit1, &either][..self.tests]);
        let full = s.and(ctx, &repeat_row(s, &upper, self.tests), &ends).await?;
        let conditions = s.concat_rows(&[&self.divisible, &self.long, &self.long][..self.tests]);
        let counted = s.and(ctx, &not(s, &full), &conditions).await?;
        let negative = s.and(ctx, &repeat_row(s, &self.sign, self.tests), &counted).await?;
        Ok(s.concat_rows(&[&counted, &negative]))
    }
}
