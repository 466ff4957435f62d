//! Truncation in the paper's cheaper forms, with weaker guarantees than [`trunc_exact`](crate::truncate), form D. Only
//! tests have them, to compare with the paper.
//!
//! **Source**: TruncP, TruncP1 and TruncP2 (Fig. 10 and section IX of spdz2k-primitives, the sign of the error
//! corrected). **Deviation**: r comes from edaBits with a cut at d. u and v compare r with the opened c, so no bit
//! decomposition of a is needed. **Model**: that of the sharing. **Notation**: |x| <= 2^(l-1), d < l <= k; a = x +
//! 2^(l-1); c = Open(r - a); v = [r mod 2^d < c mod 2^d], u = [r < c], which is [r < a].
//!
//! b = floor(r / 2^d) - floor(c / 2^d) = floor(a / 2^d) + v - 2^(k-d) u.
//!
//! | form | result | off by 2^(k-d) | rounds up | correlations besides the edaBit | online rounds |
//! |---|---|---|---|---|---|
//! | `trunc_p` | b | with probability a / 2^k, at most 2^(l-k) | sometimes | | 1 |
//! | `trunc_p1` | b - v | as for `trunc_p` | never | a random bit mod 2^k | 2 + ceil(log2 d) |
//! | `trunc_p2` | b + 2^(k-d) u | never | sometimes | a random bit mod 2^d | 2 + ceil(log2 k) |
//!
//! A party that learns a result also learns its rounding, and whether it is off, in the forms that round or fail: these
//! are bits about a and r. Exact truncation reveals nothing.

use quorate_engine::{Ctx, Error, Linear, Misuse, Result};
use quorate_ring::{Bits, Ring, Vector};

use crate::compare::borrow_pairs;
use crate::prefix::rows;
use crate::{Gadgets, stream};

/// The wraps, u or v, for which a result is corrected.
#[derive(Clone, Copy)]
struct Corrected {
    v: bool,
    u: bool,
}

/// Returns x / 2^shift of a value of `bits` signed bits, rounded down or up; sometimes off by 2^(k - shift).
///
/// # Errors
/// [`Misuse::Other`] unless shift < bits <= k; any error that ends a run.
pub async fn trunc_p<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, shift: u32, bits: u32) -> Result<S::A> {
    truncated(s, ctx, x, (shift, bits), Corrected { v: false, u: false }).await
}

/// Returns floor(x / 2^shift) of a value of `bits` signed bits; sometimes off by 2^(k - shift).
///
/// # Errors
/// Those of [`trunc_p`].
pub async fn trunc_p1<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, shift: u32, bits: u32) -> Result<S::A> {
    truncated(s, ctx, x, (shift, bits), Corrected { v: true, u: false }).await
}

/// Returns x / 2^shift of a value of `bits` signed bits, rounded down or up, never off by more.
///
/// # Errors
/// Those of [`trunc_p`].
pub async fn trunc_p2<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, shift: u32, bits: u32) -> Result<S::A> {
    truncated(s, ctx, x, (shift, bits), Corrected { v: false, u: true }).await
}

async fn truncated<S: Gadgets>(
    s: &S,
    ctx: &Ctx,
    x: &S::A,
    (shift, bits): (u32, u32),
    corrected: Corrected,
) -> Result<S::A> {
    let (ring, len) = s.shape(x);
    if shift >= bits || bits > ring.bits() {
        return Err(Misuse::Other { what: "a truncation must leave a bit of the value, which fits its ring" }.into());
    }
    if shift == 0 {
        return Ok(x.clone());
    }
    let work = async move |s: &S, ctx: &Ctx, x: S::A| chunk(s, ctx, &x, (shift, bits), corrected).await;
    let operands = |range| stream::slice(s, x, range);
    stream::to_vector(s, ctx, stream::chunks(len, 2 * ring.bits()), operands, work).await
}

async fn chunk<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, (d, bits): (u32, u32), corrected: Corrected) -> Result<S::A> {
    let (ring, len) = s.shape(x);
    let k = ring.bits();
    let r = s.edabits(ctx, ring, Some(d), len).await?;
    let mut offset = if ctx.is_dry() { Vector::shape(ring, len) } else { Vector::zeros(ring, len) };
    offset.add_scalar(1 << (bits - 1));
    let c = s.open(ctx, &s.sub(&r.value, &s.add_public(x, &offset))).await?;
    let shifted = r.shifted.ok_or(Error::Bug { what: "an edaBit without its cut" })?;
    let opened = c.to_bits(0..k);
    let floor = c.map(|mut c| {
        c.shr_logical(d);
        c.add_scalar(1 << (bits - 1 - d));
        c.neg_assign();
        c
    });
    let mut result = s.add_public(&shifted, &floor);
    if corrected.v {
        let v = below(s, ctx, (&opened, &r.bits), d).await?;
        result = s.sub(&result, &s.bit_to_ring(ctx, &v, ring).await?);
    }
    if corrected.u {
        let u = below(s, ctx, (&opened, &r.bits), k).await?;
        let u = s.bit_to_ring(ctx, &u, Ring::of(d)).await?;
        result = s.add(&result, &s.linear(&u, &Linear::Raise(ring, k - d)));
    }
    Ok(result)
}

/// Returns r < c of their lower `width` bits.
async fn below<S: Gadgets>(s: &S, ctx: &Ctx, (c, r): (&Bits, &S::B), width: u32) -> Result<S::B> {
    let low: Vec<u32> = (0..width).collect();
    s.carry(ctx, borrow_pairs(s, &c.gather_rows(&low), &rows(s, r, &low), true)).await
}
