//! The exponential function: e^x = 2^n 2^r for x log2 e = n + r, r in [0, 1).
//!
//! x log2 e is taken in Z_2^64 with f + 36 bits after the point, which is exact enough and cannot wrap for |x| < 64;
//! the bits of x itself say whether that holds. n moves the rows of 2^r to their place.

use quorate_engine::{Ctx, Result};
use quorate_ring::Ring;

use super::cubic::{Argument, Place, evaluate};
use super::float::{Exponent, denormalise, weighted};
use super::local::{WIDE, lift, not, plus, repeat_row, times};
use super::onehot::Number;
use super::tables::EXP2;
use super::{check, chunks};
use crate::equality::and_all;
use crate::prefix::rows;
use crate::{Gadgets, stream};

/// log2 e with 36 bits after the point.
const LOG2_E: i128 = 99_141_248_300;
const LOG2_E_BITS: u32 = 36;
/// |x| < 2^6 holds for every x whose power is neither 0 nor too large.
const WHOLE_BITS: u32 = 6;

/// e^x of every element, all with `frac` bits after the point; the largest element, 2^(k-1) - 1, where the result
/// does not fit; 0 where it is below 2^-frac.
///
/// Error: at most 2 units of 2^-frac for x <= 8, relative 2^-27 above. Rounded down; e^0 is exact.
///
/// # Errors
/// [`quorate_engine::Misuse`] unless frac <= 16 and the ring has at least frac + 2 and at most 64 bits.
pub async fn exp<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, frac: u32) -> Result<S::A> {
    let (ring, len) = s.shape(x);
    check(ring, frac, frac + 2)?;
    let work = async |ctx: Ctx, range| exp_chunk(s, &ctx, &stream::slice(s, x, range), frac, (ring, frac)).await;
    stream::to_vector(s, ctx, chunks(len), work).await
}

/// e^x for x with `frac` bits after the point, as elements of `to.0` with `to.1` bits after the point.
pub(super) async fn exp_chunk<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, frac: u32, to: (Ring, u32)) -> Result<S::A> {
    let (ring, result_frac) = to;
    let k = ring.bits();
    // Exponents are shifted by 64 - k, so that 64 is always too large; the point moves with them.
    let offset = result_frac + 64 - k;
    let (bits, power) = power_bits(s, ctx, x, frac, offset).await?;
    let point = frac + LOG2_E_BITS;
    let sign = rows(s, &bits, &[s.shape(x).0.bits() - 1]);
    let condition = within(s, &bits, &sign, &power, (frac + WHOLE_BITS, point + 6));
    let inside = async |ctx: Ctx| and_all(s, &ctx, condition).await;
    let exponent = rows(s, &power, &(point..point + 6).collect::<Vec<_>>());
    let number = async |ctx: Ctx| Number::of_bits(s, &ctx, &exponent).await;
    let cubic = async |ctx: Ctx| Ok(evaluate(s, &ctx, &EXP2, &fraction(s, &ctx, &power, point).await?).await?.value);
    let scale = async |ctx: Ctx| {
        let (inside, number) = ctx.join(inside, number).await?;
        let masked = async |ctx: Ctx| s.and(&ctx, &repeat_row(s, &inside, 8), &number.high).await;
        let over = async |ctx: Ctx| s.and(&ctx, &not(s, &inside), &not(s, &sign)).await;
        let (high, over) = ctx.join(masked, over).await?;
        Ok(Exponent { number: Number { low: number.low, high }, over: Some(over), most: k - 1 })
    };
    let (value, exponent) = ctx.join(cubic, scale).await?;
    denormalise(s, ctx, &value, EXP2.scale + 64 - k, exponent, ring).await
}

/// The bits of x, and those of x log2 e + `offset`.
async fn power_bits<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, frac: u32, offset: u32) -> Result<(S::B, S::B)> {
    let (ring, len) = s.shape(x);
    let constant = i128::from(offset) << (frac + LOG2_E_BITS);
    if ring == WIDE {
        let power = plus(s, &times(s, x, LOG2_E), constant);
        let both = s.bit_decompose(ctx, &s.concat(&[x, &power])).await?;
        return Ok((stream::slice_lanes(s, &both, 0..len), stream::slice_lanes(s, &both, len..2 * len)));
    }
    let bits = s.bit_decompose(ctx, x).await?;
    // What is beyond 2^6 does not matter: x is taken modulo 2^7, with a sign.
    let sign = ring.bits() - 1;
    let low: Vec<u32> = (0..sign.min(frac + WHOLE_BITS)).collect();
    let used: Vec<u32> = low.iter().copied().chain([sign]).collect();
    let lifted = lift(s, ctx, &rows(s, &bits, &used), WIDE).await?;
    let magnitude = weighted(s, &lifted, &low, len);
    let sign = stream::slice(s, &lifted, low.len() * len..used.len() * len);
    let x = s.sub(&magnitude, &times(s, &sign, 1 << low.len()));
    let power = plus(s, &times(s, &x, LOG2_E), constant);
    Ok((bits, s.bit_decompose(ctx, &power).await?))
}

/// Rows that are all 1 where |x| < 2^6 (its rows from `from.0` on are copies of the sign) and the exponent is in 0..64.
fn within<S: Gadgets>(s: &S, bits: &S::B, sign: &S::B, power: &S::B, from: (u32, u32)) -> S::B {
    let copies: Vec<u32> = (from.0..s.bit_shape(bits).0 as u32 - 1).collect();
    let above = rows(s, power, &(from.1..WIDE.bits()).collect::<Vec<_>>());
    let set = match copies.is_empty() {
        true => above,
        false => {
            let differs = s.xor(&rows(s, bits, &copies), &repeat_row(s, sign, copies.len()));
            s.concat_rows(&[&above, &differs])
        }
    };
    not(s, &set)
}

/// r, as an argument of the table. Two rounds.
async fn fraction<S: Gadgets>(s: &S, ctx: &Ctx, power: &S::B, point: u32) -> Result<Argument<S::A, S::B>> {
    let segment = Number::of_bits(s, ctx, &rows(s, power, &(point - 6..point).collect::<Vec<_>>())).await?;
    let after_point: Vec<u32> = (7..=EXP2.after_point[0]).collect();
    let seen: Vec<u32> = after_point.iter().map(|place| point - place).collect();
    Ok(Argument { segment, place: Place::Bits { rows: rows(s, power, &seen), after_point }, others: None })
}
