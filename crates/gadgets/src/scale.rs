//! Multiples by public numbers with fractional bits: n x + (m x) / 2^shift, over a ring that the product m x fits.
//!
//! **Source**: none; Convert, a local product and a truncation. x is read with its sign and converted to the product's
//! ring, if that is larger than its own. To round to the nearest, half of 2^shift is added and the product truncated
//! exactly; to round down or up, the product is truncated probabilistically. n x is added modulo 2^k, in which the sum
//! is right whenever it fits. If limits L are given, the signs of x, x - L - 1 and x + L show whether x is beyond its
//! limit. The first difference counts for x >= 0, the second for x < 0, and there neither wraps. If no ring holds m x,
//! x is split in two by an exact truncation; both parts are multiplied side by side and added. **Model**: that of the
//! sharing.
//!
//! | | rounds | bytes |
//! |---|---|---|
//! | no fractional bits | 0 | 0 |
//! | the product fits the ring of x | a truncation | of a truncation |
//! | it does not | Convert and a truncation there | of both |
//! | in two parts | a truncation, and those of the part that takes more | of the truncation and of both parts |
//! | limits, side by side with that | an MSB, a bit to the ring, a selection | of three MSBs, an AND, and both others |
//!
//! Timing depends only on lengths and on the public numbers.

use quorate_engine::{Ctx, Linear, Misuse, Result};
use quorate_ring::{Bits, Ring, Vector};

use crate::{Gadgets, Sign, stream};

/// The public factors of x, each list with one number for all elements or one for each.
#[derive(Clone, Copy, Debug)]
pub struct Scale<'a> {
    /// n.
    pub whole: &'a [i128],
    /// m.
    pub factors: &'a [i128],
    /// Fractional bits of m; without any, m is ignored.
    pub shift: u32,
    /// The ring of m x: that of x or a larger one.
    pub ring: Ring,
    /// Proven bits of x, with its sign.
    pub bits: u32,
    /// The rounding of m x.
    pub rounding: Rounding,
    /// L: numbers of larger magnitude become the largest element, with the sign of n x. No number is beyond a limit
    /// that is the largest element itself. Empty: no number is beyond.
    pub limits: &'a [i128],
    /// The multiples of floor(x / 2^t), where x is split in two. The fields above then apply to the t low bits.
    pub upper: Option<Upper<'a>>,
}

/// The multiplication of the upper bits of x.
#[derive(Clone, Copy, Debug)]
pub struct Upper<'a> {
    /// t.
    pub from: u32,
    /// The factors; without limits, and not split again.
    pub scale: &'a Scale<'a>,
}

/// The rounding of m x to a number without fractional bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// To the nearest; halves go up.
    Nearest,
    /// Down or up, at random. The product fits a quarter of its ring.
    EitherWay,
}

/// Returns the multiples of x, modulo 2^k.
///
/// # Errors
/// [`Misuse`] for a wrong count of public numbers, and any error that ends a run.
pub async fn scale<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, by: &Scale<'_>) -> Result<S::A> {
    let (ring, len) = s.shape(x);
    let upper = by.upper.iter().flat_map(|upper| [upper.scale.whole, upper.scale.factors]);
    for numbers in [by.whole, by.factors, by.limits].into_iter().chain(upper) {
        if numbers.len() > 1 && numbers.len() != len {
            return Err(Misuse::Length { what: "a scaling", left: len, right: numbers.len() }.into());
        }
    }
    if by.limits.is_empty() {
        return whole_multiple(s, ctx, x, by).await;
    }
    let scaled = async |ctx: Ctx| whole_multiple(s, &ctx, x, by).await;
    let (scaled, (beyond, sign)) = ctx.join(scaled, async |ctx: Ctx| beyond(s, &ctx, x, by.limits).await).await?;
    let most = (ring.mask() >> 1) as i128;
    let signed: Vec<i128> = by.whole.iter().map(|n| n.signum() * most).collect();
    // The largest element, or its negative for a negative x.
    let flipped = times(s, ctx, &sign, &signed.iter().map(|most| -2 * most).collect::<Vec<_>>());
    let instead = s.add_public(&flipped, &numbers(ctx, ring, &signed, len));
    s.mux(ctx, &beyond, &instead, &scaled).await
}

/// Returns the multiple, in one product or two, correct where it fits.
async fn whole_multiple<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, by: &Scale<'_>) -> Result<S::A> {
    let Some(upper) = by.upper else { return multiple(s, ctx, x, by).await };
    let high = s.trunc_exact(ctx, x, upper.from).await?;
    let low = s.sub(x, &s.linear(&high, &Linear::Scale(1 << upper.from)));
    let of_low = async |ctx: Ctx| multiple(s, &ctx, &low, by).await;
    let of_high = async |ctx: Ctx| multiple(s, &ctx, &high, upper.scale).await;
    let (of_low, of_high) = ctx.join(of_low, of_high).await?;
    Ok(s.add(&of_low, &of_high))
}

/// Returns n x + m x / 2^shift, right if it fits.
async fn multiple<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, by: &Scale<'_>) -> Result<S::A> {
    let whole = times(s, ctx, x, by.whole);
    match by.shift {
        0 => Ok(whole),
        _ => Ok(s.add(&whole, &fraction(s, ctx, x, by).await?)),
    }
}

/// Returns m x / 2^shift, rounded.
async fn fraction<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, by: &Scale<'_>) -> Result<S::A> {
    let (ring, len) = s.shape(x);
    let product = match by.ring.bits() > ring.bits() {
        false => times(s, ctx, x, by.factors),
        true => {
            let narrow = Ring::of(by.bits.min(ring.bits()));
            let narrow = s.linear(x, &Linear::Reduce(narrow));
            times(s, ctx, &s.convert(ctx, &narrow, by.ring, Sign::Signed).await?, by.factors)
        }
    };
    let quotient = match by.rounding {
        Rounding::Nearest => {
            let half = numbers(ctx, by.ring, &[1 << (by.shift - 1)], len);
            let moved = s.add_public(&product, &half);
            drop(product);
            s.trunc_exact(ctx, &moved, by.shift).await?
        }
        Rounding::EitherWay => s.trunc_prob(ctx, &product, by.shift).await?,
    };
    Ok(s.linear(&quotient, &Linear::Reduce(ring)))
}

/// Returns whether x is beyond its limit, and the sign of x as an element.
async fn beyond<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, limits: &[i128]) -> Result<(S::B, S::A)> {
    let (ring, len) = s.shape(x);
    let most = (ring.mask() >> 1) as i128;
    // No number is beyond the largest element: for that limit, the lowest element, one further down, is not beyond
    // either.
    let down: Vec<i128> = limits.iter().map(|&limit| limit + i128::from(limit == most)).collect();
    let up: Vec<i128> = limits.iter().map(|limit| -limit - 1).collect();
    let above = s.add_public(x, &numbers(ctx, ring, &up, len));
    let below = s.add_public(x, &numbers(ctx, ring, &down, len));
    let signs = s.msb(ctx, &s.concat(&[x, &above, &below])).await?;
    let [sign, not_above, below] = [0, 1, 2].map(|i| stream::slice_lanes(s, &signs, i * len..(i + 1) * len));
    let one = if ctx.is_dry() { Bits::shape(1, len) } else { Bits::constant(true, 1, len) };
    let above = s.xor_public(&not_above, &one);
    // `below` counts for negative numbers, `above` for others.
    let chosen = async |ctx: Ctx| s.and(&ctx, &sign, &s.xor(&above, &below)).await;
    let lifted = async |ctx: Ctx| s.bit_to_ring(&ctx, &sign, ring).await;
    let (chosen, lifted) = ctx.join(chosen, lifted).await?;
    Ok((s.xor(&above, &chosen), lifted))
}

fn times<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, factors: &[i128]) -> S::A {
    match factors {
        [one] => s.linear(x, &Linear::Scale(*one)),
        all => s.linear(x, &Linear::Factors(&numbers(ctx, s.shape(x).0, all, all.len()))),
    }
}

/// Returns public numbers, for `len` elements.
fn numbers(ctx: &Ctx, ring: Ring, values: &[i128], len: usize) -> Vector {
    match values {
        _ if ctx.is_dry() => Vector::shape(ring, len),
        [one] => Vector::constant(ring, *one as u128 & ring.mask(), len),
        all => Vector::from_i128s(ring, all),
    }
}
