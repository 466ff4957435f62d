//! The exponential function: e^x = 2^n 2^r for x log2 e = n + r, r in [0, 1).
//!
//! x log2 e is taken in Z_2^64 with f + 36 bits after the point, which is exact enough and cannot wrap for |x| < 64;
//! the bits of x itself show whether that holds. n moves the rows of 2^r to their place.

use quorate_engine::{Ctx, Result};
use quorate_ring::Ring;

use super::cubic::{Argument, Place, evaluate};
use super::float::{Exponent, denormalise, weighted};
use super::local::{WIDE, lift, not, plus, repeat_row, times};
use super::onehot::Number;
use super::tables::EXP2;
use super::{ONE_WORD, check, chunks};
use crate::equality::and_all;
use crate::prefix::rows;
use crate::{Gadgets, stream};

/// log2 e with 36 bits after the point.
const LOG2_E: i128 = 99_141_248_300;
const LOG2_E_BITS: u32 = 36;
/// |x| < 2^6 holds for every x whose power is neither 0 nor too large.
const WHOLE_BITS: u32 = 6;

/// Returns e^x of every element, all with `frac` bits after the point; the largest element, 2^(k-1) - 1, where the
/// result does not fit; 0 where it is below 2^-frac.
///
/// Error: at most 1.5 units of 2^-frac for x <= 8, a unit and 2^-27 of the result above. Rounded down; e^0 is exact.
///
/// # Errors
/// [`quorate_engine::Misuse`] unless frac <= 16 and the ring has at least frac + 2 and at most 64 bits.
pub async fn exp<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, frac: u32) -> Result<S::A> {
    let (ring, len) = s.shape(x);
    check(ring, frac, frac + 2, ONE_WORD)?;
    let work = async move |s: &S, ctx: &Ctx, x: S::A| exp_chunk(s, ctx, &x, frac).await;
    stream::to_vector(s, ctx, chunks(len), |range| stream::slice(s, x, range), work).await
}

async fn exp_chunk<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, frac: u32) -> Result<S::A> {
    let ring = s.shape(x).0;
    let k = ring.bits();
    // Exponents are shifted by 64 - k, so that 64 is always too large; the point moves with them.
    let offset = i128::from(frac + 64 - k) << (frac + LOG2_E_BITS);
    let (bits, power) = match ring {
        WIDE => wide_power_bits(s, ctx, x, offset).await?,
        _ => narrow_power_bits(s, ctx, x, frac, offset, Sign::OfTopBit).await?,
    };
    let sign = rows(s, &bits, &[k - 1]);
    let copies: Vec<u32> = (frac + WHOLE_BITS..k - 1).collect();
    let differs = s.xor(&rows(s, &bits, &copies), &repeat_row(s, &sign, copies.len()));
    let over = async |ctx: Ctx, inside: &S::B| Ok(Some(s.and(&ctx, &not(s, inside), &not(s, &sign)).await?));
    power_of_two(s, ctx, &power, frac + LOG2_E_BITS, differs, over, (ring, k - 1)).await
}

/// Returns e^(x + 1 unit) for -2^k <= x < 0, given modulo 2^k with `frac` bits after the point, as elements of Z_2^64
/// with `result_frac` bits after the point. All numbers of the ring are negative here, so its size is no limit.
pub(super) async fn exp_below<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, frac: u32, result_frac: u32) -> Result<S::A> {
    let offset = (i128::from(result_frac) << (frac + LOG2_E_BITS)) + LOG2_E;
    let (bits, power) = match s.shape(x).0 {
        WIDE => wide_power_bits(s, ctx, x, offset).await?,
        _ => narrow_power_bits(s, ctx, x, frac, offset, Sign::Minus).await?,
    };
    let k = s.shape(x).0.bits();
    let copies: Vec<u32> = (frac + WHOLE_BITS..k).collect();
    let zeros = not(s, &rows(s, &bits, &copies));
    let never = async |_: Ctx, _: &S::B| Ok(None);
    power_of_two(s, ctx, &power, frac + LOG2_E_BITS, zeros, never, (WIDE, result_frac)).await
}

/// Returns 2^power in the ring `to.0`, for exponents up to `to.1` (64 - k more in a smaller ring). It is 0 where a row
/// of `outside` is set or the exponent is not in 0..64, except where `over` makes it the largest element.
async fn power_of_two<S: Gadgets>(
    s: &S,
    ctx: &Ctx,
    power: &S::B,
    point: u32,
    outside: S::B,
    over: impl AsyncFnOnce(Ctx, &S::B) -> Result<Option<S::B>>,
    to: (Ring, u32),
) -> Result<S::A> {
    let (ring, most) = to;
    let above = rows(s, power, &(point + 6..WIDE.bits()).collect::<Vec<_>>());
    let condition = not(s, &s.concat_rows(&[&above, &outside]));
    let inside = async |ctx: Ctx| and_all(s, &ctx, condition).await;
    let exponent = rows(s, power, &(point..point + 6).collect::<Vec<_>>());
    let number = async |ctx: Ctx| Number::of_bits(s, &ctx, &exponent).await;
    let cubic = async |ctx: Ctx| Ok(evaluate(s, &ctx, &EXP2, &fraction(s, &ctx, power, point).await?).await?.value);
    let scale = async |ctx: Ctx| {
        let (inside, number) = ctx.join(inside, number).await?;
        let masked = async |ctx: Ctx| s.and(&ctx, &repeat_row(s, &inside, 8), &number.high).await;
        let over = async |ctx: Ctx| over(ctx, &inside).await;
        let (high, over) = ctx.join(masked, over).await?;
        Ok(Exponent { number: Number { low: number.low, high }, over, most })
    };
    let (value, exponent) = ctx.join(cubic, scale).await?;
    denormalise(s, ctx, &value, EXP2.scale + 64 - ring.bits(), exponent, ring).await
}

/// Returns the bits of x, and those of x log2 e + `constant`, which has the point of the product. For k = 64.
async fn wide_power_bits<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, constant: i128) -> Result<(S::B, S::B)> {
    let len = s.shape(x).1;
    let power = plus(s, &times(s, x, LOG2_E), constant);
    let both = s.bit_decompose(ctx, &s.concat(&[x, &power])).await?;
    Ok((stream::slice_lanes(s, &both, 0..len), stream::slice_lanes(s, &both, len..2 * len)))
}

/// The numbers that the elements of a ring stand for.
#[derive(Clone, Copy, PartialEq)]
enum Sign {
    /// Numbers in two's complement.
    OfTopBit,
    /// Numbers from -2^k to -1.
    Minus,
}

/// Returns the bits of x, and those of x log2 e + `constant`, which has the point of the product. For k < 64.
async fn narrow_power_bits<S: Gadgets>(
    s: &S,
    ctx: &Ctx,
    x: &S::A,
    frac: u32,
    constant: i128,
    sign: Sign,
) -> Result<(S::B, S::B)> {
    let (ring, len) = s.shape(x);
    let bits = s.bit_decompose(ctx, x).await?;
    // Bits beyond 2^6 do not matter: x is taken modulo 2^7, with a sign.
    let size = ring.bits() - u32::from(sign == Sign::OfTopBit);
    let low: Vec<u32> = (0..size.min(frac + WHOLE_BITS)).collect();
    let used: Vec<u32> = low.iter().copied().chain((sign == Sign::OfTopBit).then_some(size)).collect();
    let lifted = lift(s, ctx, &rows(s, &bits, &used), WIDE).await?;
    let magnitude = weighted(s, &lifted, &low, len);
    let x = match sign {
        Sign::Minus => plus(s, &magnitude, -(1 << low.len())),
        Sign::OfTopBit => {
            let negative = stream::slice(s, &lifted, low.len() * len..used.len() * len);
            s.sub(&magnitude, &times(s, &negative, 1 << low.len()))
        }
    };
    let power = plus(s, &times(s, &x, LOG2_E), constant);
    Ok((bits, s.bit_decompose(ctx, &power).await?))
}

/// Returns r, as an argument of the table. Two rounds.
async fn fraction<S: Gadgets>(s: &S, ctx: &Ctx, power: &S::B, point: u32) -> Result<Argument<S::A, S::B>> {
    let segment = Number::of_bits(s, ctx, &rows(s, power, &(point - 6..point).collect::<Vec<_>>())).await?;
    let after_point: Vec<u32> = (7..=EXP2.after_point[0]).collect();
    let seen: Vec<u32> = after_point.iter().map(|place| point - place).collect();
    Ok(Argument { segment, place: Place::Bits { rows: rows(s, power, &seen), after_point }, others: None })
}
