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
/// Error: at most 1 unit of 2^-to, or 2^-24 where that is more, for every positive x. The result lies in
/// [-from log 2, (k - 1 - from) log 2].
///
/// # Errors
/// [`quorate_engine::Misuse`] unless both are at most 60 and the ring has at most 126 bits, enough for -from log 2.
pub async fn log<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, (from, to): (u32, u32)) -> Result<S::A> {
    let (ring, len) = s.shape(x);
    // Both from log 2 and (k - 1 - from) log 2 must be below 2^(k - 1 - to).
    let furthest = from.max((ring.bits() - 1).saturating_sub(from));
    let whole = (furthest * 7).div_ceil(10).next_power_of_two().trailing_zeros();
    check_fine(ring, from.max(to), to + 1 + whole.max(1), s.most_bits())?;
    let work = async |ctx: Ctx, range| chunk(s, &ctx, &stream::slice(s, x, range), (from, to)).await;
    stream::to_vector(s, ctx, chunks(len), work).await
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
