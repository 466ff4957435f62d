//! Quotients of mantissas from two digits, for results with many fractional bits in rings of any size.
//!
//! The leading 64 bits of x and 59 of y are normalised by moving rows of bits, so that the digits of
//! [`long_quotient`](super::long_quotient) work in Z_2^64 for any ring of the operands. All truncations are exact, so
//! the result is a function of x and y alone.
//!
//! Two digits are 0.3 to 3.7 units of 2^-53 too low. Four units are added: the result is above the quotient by less
//! than 2^-51. A whole quotient below 2^50 units therefore stays whole once it is moved to its place and rounded down.
//! Cutting bits off x lowers the quotient by less than 2^-62, and cutting bits off y raises it by less than 2^-57.

use quorate_engine::{Ctx, Result};

use super::float;
use super::local::{WIDE, plus, times};
use super::long_quotient::{Cuts, DIVIDEND_TOP, DIVISOR_TOP, FIRST, SECOND, digit, rounded};
use super::quotient::{QUOTIENT_BITS, RECIPROCAL_BITS, dividend, divisor};
use super::tables::DIVISOR;
use crate::Gadgets;
use crate::prefix::rows;

/// Rows of a mantissa after its leading bit.
pub(super) const MANTISSA: u32 = DIVIDEND_TOP;

/// Returns the quotient of two mantissas in (1/2, 2), with [`QUOTIENT_BITS`] bits after the point. It is not too low,
/// and too high by less than 2^-51.
pub(super) async fn mantissa_quotient<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::B, y: &S::B) -> Result<S::A> {
    let whole = async |ctx: Ctx| {
        let x = async |ctx: Ctx| normal(s, &ctx, x, DIVIDEND_TOP).await;
        ctx.join(x, async |ctx: Ctx| normal(s, &ctx, y, DIVISOR_TOP).await).await
    };
    let first = async |ctx: Ctx| {
        let leading = first_rows(s, y, float::MANTISSA);
        let inverse = async |ctx: Ctx| {
            let value = divisor(s, &ctx, &leading).await?;
            rounded(s, &ctx, Cuts::Down, &value, 3 << (DIVISOR.scale - 2), DIVISOR.scale - RECIPROCAL_BITS).await
        };
        let (inverse, dividend) = ctx.join(inverse, async |ctx: Ctx| dividend(s, &ctx, x).await).await?;
        let product = s.mul(&ctx, &inverse, &dividend).await?;
        let first = rounded(s, &ctx, Cuts::Down, &product, 5 << (QUOTIENT_BITS - 2), QUOTIENT_BITS - FIRST).await?;
        Ok((plus(s, &first, -2), inverse))
    };
    let ((x, y), (first, inverse)) = ctx.join(whole, first).await?;
    let up = FIRST + DIVISOR_TOP - DIVIDEND_TOP;
    let rest = s.sub(&times(s, &x, 1 << up), &s.mul(ctx, &first, &y).await?);
    let second = digit(s, ctx, Cuts::Down, (&rest, &inverse), 0, SECOND - FIRST).await?;
    // Two units down, as for all digits, and four up.
    let second = times(s, &plus(s, &second, 2), 1 << (QUOTIENT_BITS - SECOND));
    Ok(s.add(&times(s, &first, 1 << (QUOTIENT_BITS - FIRST)), &second))
}

/// Returns a mantissa as a number with its leading bit at `top`, rounded down. One round.
async fn normal<S: Gadgets>(s: &S, ctx: &Ctx, mantissa: &S::B, top: u32) -> Result<S::A> {
    let leading = first_rows(s, mantissa, top);
    let count = s.bit_shape(&leading).0 as u32;
    let lowest_first: Vec<u32> = (0..count).rev().collect();
    let value = float::word(s, ctx, &rows(s, &leading, &lowest_first), WIDE).await?;
    Ok(plus(s, &times(s, &value, 1 << (top - count)), 1 << top))
}

/// Returns the first rows of a mantissa, or all if it has fewer.
fn first_rows<S: Gadgets>(s: &S, mantissa: &S::B, count: u32) -> S::B {
    let count = count.min(s.bit_shape(mantissa).0 as u32);
    rows(s, mantissa, &(0..count).collect::<Vec<_>>())
}
