//! The natural logarithm: log(2^p m 2^-f) = (p - f) log 2 + log m.

use quorate_engine::{Ctx, Result};
use quorate_ring::Ring;

use super::cubic::evaluate;
use super::float::{SEGMENT_ROWS, below_sign, mantissa_argument, normalise};
use super::local::{combine, not, plus, reduce, row_sums};
use super::tables::LOG;
use super::{check, chunks};
use crate::{Gadgets, Sign, stream};

/// log 2 with the table's bits after the point.
const LN2: i64 = 49_946_518_145_322_874;

/// The natural logarithm of every element, all with `frac` bits after the point; the lowest element, -2^(k-1), where
/// x is not positive.
///
/// Error: at most 1 unit of 2^-frac for every positive x. The result lies in [-frac log 2, (k - 1 - frac) log 2].
///
/// # Errors
/// [`quorate_engine::Misuse`] unless frac <= 16 and the ring has at most 126 bits, enough for -frac log 2.
pub async fn log<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, frac: u32) -> Result<S::A> {
    let (ring, len) = s.shape(x);
    // Both frac log 2 and (k - 1 - frac) log 2 must be below 2^(k - 1 - frac), of which the second always is.
    let whole = (frac * 7).div_ceil(10).next_power_of_two().trailing_zeros();
    check(ring, frac, frac + 1 + whole.max(1), s.most_bits())?;
    let work = async |ctx: Ctx, range| chunk(s, &ctx, &stream::slice(s, x, range), frac).await;
    stream::to_vector(s, ctx, chunks(len), work).await
}

async fn chunk<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, frac: u32) -> Result<S::A> {
    let ring = s.shape(x).0;
    let (bits, not_negative) = below_sign(s, ctx, x).await?;
    let float = normalise(s, ctx, &bits, (frac + 5).max(6)).await?;
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
    let constant = (1i128 << (LOG.scale - frac - 1)) - i128::from(LN2) * i128::from(frac);
    let sum = plus(s, &s.add(&cubic.value, &power), constant);
    let rounded = s.trunc_exact(ctx, &sum, LOG.scale - frac).await?;
    let rounded = match ring.bits() <= 64 {
        true => reduce(s, &rounded, ring),
        // Even of 2^126 it is below 2^7, so that the sum fits with the table's 56 bits after the point.
        false => s.convert(ctx, &reduce(s, &rounded, Ring::of(frac + 8)), ring, Sign::Signed).await?,
    };
    let defined = async |ctx: Ctx| s.mask(&ctx, &positive, &rounded).await;
    let undefined = async |ctx: Ctx| s.bit_to_msb(&ctx, &not(s, &positive), ring).await;
    let (defined, undefined) = ctx.join(defined, undefined).await?;
    Ok(s.add(&defined, &undefined))
}
