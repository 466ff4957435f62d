//! Convert: elements of Z_2^k in another ring.
//!
//! **Source**: Protocol 4 of rss-ring (section 6.1). Conversion to a smaller ring is local. **Deviation** for larger
//! rings: the paper decomposes x into bits and converts each of them. Here r, uniform in Z_2^k, is also known as an
//! element of the larger ring. Let a = x + o (o = 2^(k-1) for signed numbers, so that a is their order-preserving code)
//! and c = Open(a + r) over Z_2^k. Then a = c - r + 2^k u with u = [c < r]. This takes one BitLT with a public operand,
//! and one bit converted, only to Z_2^(k'-k), since it is shifted by k.
//!
//! Correlations: a wide edaBit(k, k') and a random bit mod 2^(k'-k). Online rounds: 2 + ceil(log2 k). Opened: k + 1
//! bits; 2 (k - 1) - ceil(log2 k) ANDs. The paper's: k conversions of k' bits each. **Model**: that of the sharing; c
//! is uniform.

use quorate_engine::{Ctx, Linear, Result};
use quorate_ring::{Ring, Vector};

use crate::compare::bit_lt_public;
use crate::{Gadgets, stream};

/// The reading of an element of Z_2^k as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// Two's complement.
    Signed,
    /// From 0 to 2^k - 1.
    Unsigned,
}

impl Sign {
    /// Returns the offset that makes every number of k bits at least 0.
    pub fn offset(self, ring: Ring) -> u128 {
        match self {
            Sign::Signed => 1 << (ring.bits() - 1),
            Sign::Unsigned => 0,
        }
    }
}

/// Converts x to another ring.
///
/// # Errors
/// Any error that ends a run.
pub async fn convert<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, ring: Ring, sign: Sign) -> Result<S::A> {
    let (from, len) = s.shape(x);
    if ring.bits() <= from.bits() {
        return Ok(s.linear(x, &Linear::Reduce(ring)));
    }
    let work = async move |s: &S, ctx: &Ctx, x: S::A| widen_chunk(s, ctx, &x, ring, sign.offset(from)).await;
    stream::to_vector(s, ctx, stream::chunks(len, 2 * ring.bits()), |range| stream::slice(s, x, range), work).await
}

async fn widen_chunk<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, wide: Ring, offset: u128) -> Result<S::A> {
    let (ring, len) = s.shape(x);
    let k = ring.bits();
    let r = s.wide_edabits(ctx, ring, wide, len).await?;
    let mut moved = if ctx.is_dry() { Vector::shape(ring, len) } else { Vector::zeros(ring, len) };
    moved.add_scalar(offset);
    let masked = s.add(&s.add_public(x, &moved), &s.linear(&r.value, &Linear::Reduce(ring)));
    let c = s.open(ctx, &masked).await?;
    let borrow = bit_lt_public(s, ctx, &c.to_bits(0..k), &r.bits).await?;
    let borrow = s.bit_to_ring(ctx, &borrow, Ring::of(wide.bits() - k)).await?;
    let borrow = s.linear(&borrow, &Linear::Raise(wide, k));
    let mut public = c.convert(wide);
    public.add_scalar(wide.mask() + 1 - offset);
    Ok(s.add_public(&s.sub(&borrow, &r.value), &public))
}
