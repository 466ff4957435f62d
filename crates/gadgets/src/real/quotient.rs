//! Reciprocal and division.

use std::ops::Range;

use quorate_engine::{Ctx, Misuse, Result};

use super::cubic::evaluate;
use super::float::{
    Exponent, Float, MANTISSA, SEGMENT_ROWS, denormalise, enough_for, magnitude, mantissa_argument, normalise, word,
};
use super::local::{WIDE, not, plus, repeat_row, row_sums, times};
use super::onehot::Number;
use super::tables::{DIVISOR, RECIPROCAL};
use super::{MAX_FRAC, check_fine, chunks, fine_quotient, long_quotient};
use crate::adder;
use crate::equality::and_all;
use crate::prefix::rows;
use crate::{Gadgets, stream};

/// Bits of a divisor's reciprocal, and of a dividend's mantissa, after the point.
pub(super) const RECIPROCAL_BITS: u32 = 32;
const DIVIDEND_BITS: u32 = 30;
/// Bits of a quotient of mantissas after the point.
pub(super) const QUOTIENT_BITS: u32 = RECIPROCAL_BITS + DIVIDEND_BITS;
/// Quotients below 2^31 are accurate enough without a remainder.
const SHORT: u32 = 31;

/// Returns 1 / x of every element, with `from` bits after the point of arguments and `to` of results. It is the largest
/// element, 2^(k-1) - 1, where x is 0, and the largest element with the sign of x where the result does not fit.
///
/// Error: at most 2 units of 2^-to for every other x, or 2^-28 of the result if to > 16 and that is more. Magnitudes
/// are rounded down, and exact reciprocals below 2^(28 - to) are exact. The result's magnitude is at most 2^from.
///
/// # Errors
/// [`quorate_engine::Misuse`] unless both are at most 60 and the ring has at least to + 2 and at most 126 bits.
pub async fn reciprocal<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, (from, to): (u32, u32)) -> Result<S::A> {
    let (ring, len) = s.shape(x);
    check_fine(ring, from.max(to), to + 2, s.most_bits())?;
    let work = async move |s: &S, ctx: &Ctx, x: S::A| reciprocal_chunk(s, ctx, &x, (from, to)).await;
    stream::to_vector(s, ctx, chunks(len), |range| stream::slice(s, x, range), work).await
}

async fn reciprocal_chunk<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, (from, to): (u32, u32)) -> Result<S::A> {
    let ring = s.shape(x).0;
    let (bits, sign) = magnitude(s, ctx, x).await?;
    let float = normalise(s, ctx, &bits, enough_for(to)).await?;
    let argument = mantissa_argument(s, ctx, &float.mantissa, &SEGMENT_ROWS, None).await?;
    let value = evaluate(s, ctx, &RECIPROCAL, &argument).await?.value;
    let exponent = |p: u32| (from + to) as i32 - p as i32;
    let fits = |p: u32| exponent(p) < ring.bits() as i32;
    let number = Number::of_one_hot(s, &float.position, |p| u32::try_from(exponent(p)).ok().filter(|_| fits(p)));
    let too_large: Vec<u32> = (0..ring.bits()).filter(|&p| !fits(p)).collect();
    let over = s.xor(&not(s, &float.nonzero), &row_sums(s, &float.position, &[too_large]));
    let most = (from + to).min(ring.bits() - 1);
    let exponent = Exponent { number, over: Some(over), most };
    let magnitude = denormalise(s, ctx, &value, RECIPROCAL.scale, exponent, ring).await?;
    with_sign(s, ctx, &sign, &magnitude).await
}

/// Returns (1 - 2 sign) x. One round.
pub(super) async fn with_sign<S: Gadgets>(s: &S, ctx: &Ctx, sign: &S::B, x: &S::A) -> Result<S::A> {
    let negative = s.mask(ctx, sign, x).await?;
    Ok(s.sub(x, &times(s, &negative, 2)))
}

/// Returns x 2^up / y, element by element. This is x / y if the result has up + f_x - f_y bits after the point, where x
/// has f_x and y has f_y of them: for instance, if all have `up`. If y is 0 or the quotient does not fit, it is the
/// largest element, 2^(k-1) - 1, with the quotient's sign (that of x for y = 0); 0 / 0 is 0.
///
/// `quotient_bits` is a proven bound: quotients by a divisor that is not 0 have magnitudes below 2^quotient_bits units,
/// if they fit the ring at all; k - 1 always holds.
///
/// Error: in rings of at most 64 bits, with up <= 16, the magnitude is exact, rounded down. If it is proven to have at
/// most 31 bits, it costs fewer rounds and is within 4 units; exact quotients below 2^26 units of operands with at most
/// 31 significant bits are then exact. With up > 16 it is within a unit or 2^-50 of itself, whichever is more; exact
/// quotients below 2^50 units of operands with at most 59 significant bits are exact. In rings of more than 64 bits,
/// with up <= 16, it is within 4 units or 2^-28 of itself.
///
/// # Errors
/// [`Misuse`] unless up <= 60 and the ring has at least 2 and at most 126 bits, and if the operands differ in length or
/// ring.
pub async fn divide<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, y: &S::A, up: u32, quotient_bits: u32) -> Result<S::A> {
    let (ring, len) = s.shape(x);
    check_fine(ring, up, 2, s.most_bits())?;
    if s.shape(y).1 != len {
        return Err(Misuse::Length { what: "a division", left: len, right: s.shape(y).1 }.into());
    }
    if s.shape(y).0 != ring {
        return Err(Misuse::Other { what: "a division of operands over different rings" }.into());
    }
    let operands = |range: Range<usize>| (stream::slice(s, x, range.clone()), stream::slice(s, y, range));
    let work = async move |s: &S, ctx: &Ctx, (x, y): (S::A, S::A)| match quotient_bits.min(ring.bits() - 1) {
        ..=SHORT => mantissas_chunk(s, ctx, &x, &y, up, Digits::One).await,
        _ if up > MAX_FRAC => mantissas_chunk(s, ctx, &x, &y, up, Digits::Two).await,
        _ if ring.bits() > 64 => mantissas_chunk(s, ctx, &x, &y, up, Digits::One).await,
        bits => long_quotient::divide_chunk(s, ctx, &x, &y, up, bits).await,
    };
    stream::to_vector(s, ctx, chunks(len), operands, work).await
}

/// The way to compute a quotient of mantissas.
#[derive(Clone, Copy, PartialEq)]
enum Digits {
    /// One product.
    One,
    /// Two digits: [`fine_quotient`].
    Two,
}

/// Returns the quotients of a chunk, each from a single quotient of mantissas.
async fn mantissas_chunk<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, y: &S::A, up: u32, digits: Digits) -> Result<S::A> {
    let (ring, len) = s.shape(x);
    let (bits, signs) = magnitude(s, ctx, &s.concat(&[x, y])).await?;
    let rows = if digits == Digits::One { MANTISSA } else { fine_quotient::MANTISSA };
    let both = normalise(s, ctx, &bits, rows).await?;
    let (x, y) = (both.lanes(s, 0..len), both.lanes(s, len..2 * len));
    let mantissa = async |ctx: Ctx| match digits {
        Digits::One => mantissa_quotient(s, &ctx, &x.mantissa, &y.mantissa).await,
        Digits::Two => fine_quotient::mantissa_quotient(s, &ctx, &x.mantissa, &y.mantissa).await,
    };
    let exponent = async |ctx: Ctx| exponent_difference(s, &ctx, &x, &y, ring.bits(), up).await;
    let (mantissa, exponent) = ctx.join(mantissa, exponent).await?;
    // The point moves with the exponents.
    let point = QUOTIENT_BITS + first_too_large(ring.bits()) - ring.bits();
    let magnitude = denormalise(s, ctx, &mantissa, point, exponent, ring).await?;
    let sign = s.xor(&stream::slice_lanes(s, &signs, 0..len), &stream::slice_lanes(s, &signs, len..2 * len));
    with_sign(s, ctx, &sign, &magnitude).await
}

/// Returns the quotient of two mantissas, in (1/2, 2), with 62 bits after the point.
async fn mantissa_quotient<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::B, y: &S::B) -> Result<S::A> {
    let reciprocal = async |ctx: Ctx| {
        let value = divisor(s, &ctx, y).await?;
        let cut = DIVISOR.scale - RECIPROCAL_BITS;
        s.trunc_exact(&ctx, &plus(s, &value, (1 << cut) - 1), cut).await
    };
    let (reciprocal, dividend) = ctx.join(reciprocal, async |ctx: Ctx| dividend(s, &ctx, x).await).await?;
    s.mul(ctx, &reciprocal, &dividend).await
}

/// Returns 1 / m for a mantissa, from the table. Six rounds.
pub(super) async fn divisor<S: Gadgets>(s: &S, ctx: &Ctx, mantissa: &S::B) -> Result<S::A> {
    let argument = mantissa_argument(s, ctx, mantissa, &[6, 5, 4, 3, 2, 1, 0], None).await?;
    Ok(evaluate(s, ctx, &DIVISOR, &argument).await?.value)
}

/// Returns a mantissa with 30 bits after the point, rounded down. One round.
pub(super) async fn dividend<S: Gadgets>(s: &S, ctx: &Ctx, mantissa: &S::B) -> Result<S::A> {
    let count = DIVIDEND_BITS.min(s.bit_shape(mantissa).0 as u32);
    let leading: Vec<u32> = (0..count).rev().collect();
    let value = word(s, ctx, &rows(s, mantissa, &leading), WIDE).await?;
    Ok(plus(s, &times(s, &value, 1 << (DIVIDEND_BITS - count)), 1 << DIVIDEND_BITS))
}

/// Returns the smallest exponent that is too large: exponents of quotients over Z_2^k are shifted to make it so.
fn first_too_large(k: u32) -> u32 {
    if k <= 64 { 64 } else { 128 }
}

/// Returns the exponent of the quotient, plus 64 - k (128 - k for more than 64 bits): the difference of the positions
/// plus a constant, as eight (nine) bits.
pub(super) async fn exponent_difference<S: Gadgets>(
    s: &S,
    ctx: &Ctx,
    x: &Float<S::B>,
    y: &Float<S::B>,
    k: u32,
    frac: u32,
) -> Result<Exponent<S::B>> {
    let (most, bits) = (first_too_large(k), first_too_large(k).ilog2() + 2);
    let bits_of = |of: &dyn Fn(u32) -> u32| -> Vec<Vec<u32>> {
        (0..bits).map(|bit| (0..k).filter(|&p| of(p) >> bit & 1 == 1).collect()).collect()
    };
    let plus = row_sums(s, &x.position, &bits_of(&|p| p + frac + most - k));
    let minus = row_sums(s, &y.position, &bits_of(&|p| p.wrapping_neg()));
    let sum = adder::add(s, ctx, &plus, &minus, &[]).await?.bits;
    let (negative, large) = (rows(s, &sum, &[bits - 1]), rows(s, &sum, &[bits - 2]));
    let conditions = s.concat_rows(&[&not(s, &negative), &not(s, &large), &x.nonzero, &y.nonzero]);
    let low = rows(s, &sum, &(0..bits - 2).collect::<Vec<_>>());
    let inside = async |ctx: Ctx| and_all(s, &ctx, conditions).await;
    let number = async |ctx: Ctx| Number::of_bits(s, &ctx, &low).await;
    let (inside, number) = ctx.join(inside, number).await?;
    // Too large: not negative, large, and both nonzero; or a division of a nonzero number by zero.
    let at_zero = s.concat_rows(&[&not(s, &y.nonzero), &x.nonzero]);
    let too_large = s.concat_rows(&[&not(s, &negative), &large, &x.nonzero, &y.nonzero]);
    let masked = async |ctx: Ctx| s.and(&ctx, &repeat_row(s, &inside, s.bit_shape(&number.high).0), &number.high).await;
    let over = async |ctx: Ctx| {
        ctx.join(async |ctx: Ctx| and_all(s, &ctx, at_zero).await, async |ctx: Ctx| and_all(s, &ctx, too_large).await)
            .await
    };
    let (high, (at_zero, too_large)) = ctx.join(masked, over).await?;
    let number = Number { low: number.low, high };
    Ok(Exponent { number, over: Some(s.xor(&at_zero, &too_large)), most: k - 1 })
}
