//! Exact truncation: floor(x / 2^d) over the full signed range of Z_2^k.
//!
//! **Source**: form D of TruncP (Fig. 10 of spdz2k-primitives, corrected), for l = k; r from edaBits with a cut at d.
//! With a = x + 2^(k-1) and c = Open(r - a): a = r - c + 2^k u, u = [r < c], and
//! floor(a / 2^d) = floor(r / 2^d) - floor(c / 2^d) - v + 2^(k-d) u, v = [r mod 2^d < c mod 2^d].
//! u counts modulo 2^d only, so its random bit lives in Z_2^d. Both bits come from one pass over r and c: the lower d
//! positions give v, the upper ones determine whether it is carried on.
//!
//! If -2^(k-2) <= x < 2^(k-2), a = x + 2^(k-2) lies below 2^(k-1). Then r is less than c exactly where c has its top
//! bit and r does not: u = c_{k-1} (1 - r_{k-1}), and no carry has to pass position d.
//!
//! Correlations: edaBit(k) cut at d, a random bit mod 2^k and one mod 2^d. Online rounds: 2 + ceil(log2 max(d, k-d)) +
//! 1; bounded, 2 + ceil(log2 d). **Model**: that of the sharing. The result is exact, so nothing else is revealed.

use quorate_engine::{Ctx, Error, Linear, LinearBits, Result, Sharing};
use quorate_ring::{Bits, Ring, Vector};

use crate::compare::borrow_pairs;
use crate::prefix::{self, Pairs, rows};
use crate::{Gadgets, stream};

const NO_CUT: Error = Error::Bug { what: "an edaBit without its cut" };

/// Returns floor(x / 2^shift), rounding towards minus infinity. A shift of k - 1 or more leaves the sign: 0 or -1.
pub async fn trunc_exact<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, shift: u32) -> Result<S::A> {
    let (ring, len) = s.shape(x);
    if shift == 0 {
        return Ok(x.clone());
    }
    let shift = shift.min(ring.bits() - 1);
    if shift == 0 {
        return Ok(x.clone());
    }
    let chunks = stream::chunks(len, 2 * ring.bits());
    let work = async move |s: &S, ctx: &Ctx, x: S::A| trunc_chunk(s, ctx, &x, shift).await;
    stream::to_vector(s, ctx, chunks, |range| stream::slice(s, x, range), work).await
}

async fn trunc_chunk<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, d: u32) -> Result<S::A> {
    let (ring, len) = s.shape(x);
    let k = ring.bits();
    let r = s.edabits(ctx, ring, Some(d), len).await?;
    let c = s.open(ctx, &s.sub(&r.value, &moved(s, ctx, x, k - 1))).await?;
    let (v, u) = wraps(s, ctx, &c.to_bits(0..k), &r.bits, d).await?;
    let (v, u) = as_elements(s, ctx, (&v, &u), ring, d).await?;
    let constant = c.map(|c| minus_quotient(c, d, k - 1 - d));
    Ok(quotient(s, &r.shifted.ok_or(NO_CUT)?, &constant, (&v, &u), d))
}

/// Returns floor(x / 2^shift) for -2^(k-2) <= x < 2^(k-2), which is not checked. A shift of k - 2 or more leaves the
/// sign.
pub async fn trunc_bounded<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, shift: u32) -> Result<S::A> {
    let (ring, len) = s.shape(x);
    let shift = shift.min(ring.bits().saturating_sub(2));
    if shift == 0 {
        return Ok(x.clone());
    }
    let work = async move |s: &S, ctx: &Ctx, x: S::A| bounded_chunk(s, ctx, &x, shift).await;
    stream::to_vector(s, ctx, stream::chunks(len, 2 * ring.bits()), |range| stream::slice(s, x, range), work).await
}

async fn bounded_chunk<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, d: u32) -> Result<S::A> {
    let (ring, len) = s.shape(x);
    let k = ring.bits();
    let r = s.edabits(ctx, ring, Some(d), len).await?;
    let c = s.open(ctx, &s.sub(&r.value, &moved(s, ctx, x, k - 2))).await?;
    let bits = c.to_bits(0..k);
    let low: Vec<u32> = (0..d).collect();
    let v = s.carry(ctx, borrow_pairs(s, &bits.gather_rows(&low), &rows(s, &r.bits, &low), true)).await?;
    let top = bits.row(k as usize - 1);
    let u = s.xor_public(&s.linear_bits(&rows(s, &r.bits, &[k - 1]), &LinearBits::Mask(&top)), &top);
    let (v, u) = as_elements(s, ctx, (&v, &u), ring, d).await?;
    let constant = c.map(|c| minus_quotient(c, d, k - 2 - d));
    Ok(quotient(s, &r.shifted.ok_or(NO_CUT)?, &constant, (&v, &u), d))
}

/// Returns x + 2^bit.
pub fn moved<S: Sharing>(s: &S, ctx: &Ctx, x: &S::A, bit: u32) -> S::A {
    let (ring, len) = s.shape(x);
    let mut offset = if ctx.is_dry() { Vector::shape(ring, len) } else { Vector::zeros(ring, len) };
    offset.add_scalar(1 << bit);
    s.add_public(x, &offset)
}

/// Converts v to Z_2^k, and u to Z_2^d. One round.
pub async fn as_elements<S: Gadgets>(
    s: &S,
    ctx: &Ctx,
    (v, u): (&S::B, &S::B),
    ring: Ring,
    d: u32,
) -> Result<(S::A, S::A)> {
    let v = async |ctx: Ctx| s.bit_to_ring(&ctx, v, ring).await;
    let u = async |ctx: Ctx| s.bit_to_ring(&ctx, u, Ring::of(d)).await;
    ctx.join(v, u).await
}

/// Returns -floor(c / 2^d) - 2^bit.
pub fn minus_quotient(mut c: Vector, d: u32, bit: u32) -> Vector {
    c.shr_logical(d);
    c.add_scalar(1 << bit);
    c.neg_assign();
    c
}

/// Returns floor(r / 2^d) - v + 2^(k-d) u plus the public part.
pub fn quotient<S: Sharing>(s: &S, shifted: &S::A, constant: &Vector, (v, u): (&S::A, &S::A), d: u32) -> S::A {
    let ring = s.shape(shifted).0;
    let u = s.linear(u, &Linear::Raise(ring, ring.bits() - d));
    s.add_public(&s.add(&s.sub(shifted, v), &u), constant)
}

/// Returns v = [r mod 2^d < c mod 2^d] and u = [r < c].
async fn wraps<S: Sharing>(s: &S, ctx: &Ctx, c: &Bits, r: &S::B, d: u32) -> Result<(S::B, S::B)> {
    two_carries(s, ctx, borrow_pairs(s, c, r, true), d).await
}

/// Returns the carries (or borrows) into position d, 0 < d < width, and out of the top.
pub async fn two_carries<S: Sharing>(s: &S, ctx: &Ctx, pairs: Pairs<S::B>, d: u32) -> Result<(S::B, S::B)> {
    let Pairs { generate, propagate } = pairs;
    let k = s.bit_shape(&generate).0 as u32;
    let part = |range: std::ops::Range<u32>| {
        let indices: Vec<u32> = range.collect();
        Pairs { generate: rows(s, &generate, &indices), propagate: rows(s, &propagate, &indices) }
    };
    let (low, high) = (part(0..d), part(d..k));
    let (v, high) = ctx
        .join(
            async |ctx: Ctx| prefix::group(s, &ctx, low).await,
            async |ctx: Ctx| prefix::group_with_propagate(s, &ctx, high).await,
        )
        .await?;
    let carried = s.and(ctx, &high.propagate, &v).await?;
    let u = s.xor(&high.generate, &carried);
    Ok((v, u))
}
