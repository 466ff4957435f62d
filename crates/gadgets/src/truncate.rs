//! Exact truncation: floor(x / 2^d) over the full signed range of Z_2^k.
//!
//! **Source**: form D of TruncP (Fig. 10 of spdz2k-primitives, corrected), for l = k; r from edaBits with a cut at d.
//! With a = x + 2^(k-1) and c = Open(r - a): a = r - c + 2^k u, u = [r < c], and
//! floor(a / 2^d) = floor(r / 2^d) - floor(c / 2^d) - v + 2^(k-d) u, v = [r mod 2^d < c mod 2^d].
//! u counts modulo 2^d only, so its random bit lives in Z_2^d. Both bits come from one pass over r and c: the lower d
//! positions give v, the upper ones say whether it is carried on.
//!
//! Correlations: edaBit(k) cut at d, a random bit mod 2^k and one mod 2^d. Online rounds:
//! 2 + ceil(log2 max(d, k-d)) + 1. **Model**: that of the sharing. The result is exact, so nothing leaks beside it.

use quorate_engine::{Ctx, Linear, Result, Sharing};
use quorate_ring::{Bits, Ring, Vector};

use crate::compare::borrow_pairs;
use crate::prefix::{self, Pairs, rows};
use crate::{Gadgets, stream};

/// floor(x / 2^shift), rounding towards minus infinity. A shift of k - 1 or more leaves the sign: 0 or -1.
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
    let work = async |ctx: Ctx, range| trunc_chunk(s, &ctx, &stream::slice(s, x, range), shift).await;
    stream::to_vector(s, ctx, chunks, work).await
}

async fn trunc_chunk<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, d: u32) -> Result<S::A> {
    let (ring, len) = s.shape(x);
    let k = ring.bits();
    let r = s.edabits(ctx, ring, Some(d), len).await?;
    let offset = |value: u128| {
        let mut offset = Vector::zeros(ring, len);
        offset.add_scalar(value);
        offset
    };
    let a = s.add_public(x, &offset(1 << (k - 1)));
    let c = s.open(ctx, &s.sub(&r.value, &a)).await?;
    let (v, u) = wraps(s, ctx, &c.to_bits(0..k), &r.bits, d).await?;
    let low_ring = Ring::of(d);
    let (v, u) = ctx
        .join(
            async |ctx: Ctx| s.bit_to_ring(&ctx, &v, ring).await,
            async |ctx: Ctx| s.bit_to_ring(&ctx, &u, low_ring).await,
        )
        .await?;
    let u = s.linear(&u, &Linear::Raise(ring, k - d));
    let constant = c.map(|mut c| {
        c.shr_logical(d);
        c.add_scalar(1 << (k - 1 - d));
        c.neg_assign();
        c
    });
    let shifted = r.shifted.ok_or(quorate_engine::Error::Bug { what: "an edaBit without its cut" })?;
    Ok(s.add_public(&s.add(&s.sub(&shifted, &v), &u), &constant))
}

/// v = [r mod 2^d < c mod 2^d] and u = [r < c].
async fn wraps<S: Sharing>(s: &S, ctx: &Ctx, c: &Bits, r: &S::B, d: u32) -> Result<(S::B, S::B)> {
    two_carries(s, ctx, borrow_pairs(s, c, r, true), d).await
}

/// The carries (or borrows) into position d, 0 < d < width, and out of the top.
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
