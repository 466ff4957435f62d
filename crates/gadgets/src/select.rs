//! Selection by a shared bit.
//!
//! mask(x, v) = x v for a bit x over Z_2 and v over Z_2^k. With a random bit b: c = Open(x xor b) and w = b v in the
//! same round; x v = c v + (1 - 2c) w. Correlations: 1 daBit mod 2^k. Online rounds: 1 (a conversion and a product
//! would be 2). **Source**: B2A of Protocol 8 of rss-ring, with the product moved into the round of the opening.
//! **Model**: that of the sharing.

use std::ops::Range;

use quorate_engine::{Ctx, Linear, Result, Sharing};
use quorate_ring::Vector;

use crate::convert::signs;
use crate::{Gadgets, stream};

/// Returns x v: one row of bits times a vector.
pub async fn mask<S: Sharing>(s: &S, ctx: &Ctx, x: &S::B, v: &S::A) -> Result<S::A> {
    let (ring, len) = s.shape(v);
    let operands = |range: Range<usize>| (stream::slice_lanes(s, x, range.clone()), stream::slice(s, v, range));
    let work = async move |s: &S, ctx: &Ctx, (x, v): (S::B, S::A)| {
        let (b, as_bits) = s.dabits(ctx, ring, s.shape(&v).1).await?;
        let hidden = s.xor(&x, &as_bits);
        let open = async |ctx: Ctx| s.open_bits(&ctx, &hidden).await;
        let (c, w) = ctx.join(open, async |ctx: Ctx| s.mul(&ctx, &b, &v).await).await?;
        let kept = times(s, &v, &c.to_vector(ring));
        Ok(s.add(&kept, &times(s, &w, &signs(&c, ring))))
    };
    stream::to_vector(s, ctx, stream::chunks(len, 2 * ring.bits()), operands, work).await
}

/// Returns x where the bit is 1, y elsewhere.
pub async fn mux<S: Gadgets>(s: &S, ctx: &Ctx, bit: &S::B, x: &S::A, y: &S::A) -> Result<S::A> {
    Ok(s.add(y, &s.mask(ctx, bit, &s.sub(x, y)).await?))
}

fn times<S: Sharing>(s: &S, x: &S::A, factor: &Vector) -> S::A {
    s.linear(x, &Linear::Factors(factor))
}
