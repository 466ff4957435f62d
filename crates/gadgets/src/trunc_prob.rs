//! Probabilistic truncation: x / 2^m rounded down or up, in one online round.
//!
//! **Source**: TruncPr, Protocol 3 of rss-ring (section 5), with its carries corrected (see the backend's
//! `trunc_masks`). **Notation**: a = x + 2^(k-2), so that 0 <= a < 2^(k-1); r uniform in Z_2^k; c = Open(a + r); c' = c
//! mod 2^(k-1). a + (r mod 2^(k-1)) = c' + 2^(k-1) b with b = c_{k-1} xor r_{k-1}, and floor(c' / 2^m) - floor((r mod
//! 2^(k-1)) / 2^m) + 2^(k-1-m) b differs from a / 2^m by less than 1.
//!
//! Domain: -2^(k-2) <= x < 2^(k-2), m <= k - 2. Within it the result is never off by 2^(k-m). Correlations: one
//! truncation mask. Online rounds: 1. Opened: k bits. **Model**: that of the sharing. An opened result reveals the
//! rounding bit, [c mod 2^m < a mod 2^m]: the ideal functionality outputs it, too. `trunc_exact` does not reveal it.

use quorate_engine::{Ctx, Linear, Misuse, Result};
use quorate_ring::{Ring, Vector};

use crate::convert::flip;
use crate::{Gadgets, stream};

/// Refuses a shift that leaves no room for the sign and the rounding.
///
/// # Errors
/// [`Misuse::Other`] for a shift above k - 2.
pub fn check_shift(ring: Ring, shift: u32) -> Result<()> {
    match shift {
        0 => Ok(()),
        _ if shift + 2 <= ring.bits() => Ok(()),
        _ => Err(Misuse::Other { what: "a probabilistic truncation must leave at least two bits" }.into()),
    }
}

/// Returns x / 2^shift, rounded down or up.
///
/// # Errors
/// Those of [`check_shift`], and any error that ends a run.
pub async fn trunc_prob<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, shift: u32) -> Result<S::A> {
    let (ring, len) = s.shape(x);
    check_shift(ring, shift)?;
    if shift == 0 {
        return Ok(x.clone());
    }
    let work = async move |s: &S, ctx: &Ctx, x: S::A| trunc_chunk(s, ctx, &x, shift).await;
    stream::to_vector(s, ctx, stream::chunks(len, ring.bits()), |range| stream::slice(s, x, range), work).await
}

async fn trunc_chunk<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, m: u32) -> Result<S::A> {
    let (ring, len) = s.shape(x);
    let k = ring.bits();
    let masks = s.trunc_masks(ctx, ring, m, len).await?;
    let mut offset = if ctx.is_dry() { Vector::shape(ring, len) } else { Vector::zeros(ring, len) };
    offset.add_scalar(1 << (k - 2));
    let c = s.open(ctx, &s.add(&s.add_public(x, &offset), &masks.value)).await?;
    let wrapped = flip(s, &masks.top, &c.to_bits(k - 1..k));
    let wrapped = s.linear(&wrapped, &Linear::Raise(ring, k - 1 - m));
    let c = c.map(|c| {
        let mut c = c.convert(Ring::of(k - 1)).convert(ring);
        c.shr_logical(m);
        c.add_scalar(ring.mask() + 1 - (1 << (k - 2 - m)));
        c
    });
    Ok(s.add_public(&s.sub(&wrapped, &masks.shifted), &c))
}
