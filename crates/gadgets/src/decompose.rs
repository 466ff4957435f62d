//! Bit decomposition (A2B): the bits of an element of Z_2^k.
//!
//! **Source**: the masked opening of Protocol 8 of rss-ring; x = c - r with c = Open(x + r) public, and a borrow prefix
//! network. Correlations: edaBit(k). Online rounds: 1 + ceil(log2(k-1)). Opened: k bits. **Model**: that of the
//! sharing.

use quorate_engine::{Ctx, Result, Sharing};

use crate::compare::borrow_pairs;
use crate::prefix::{self, Pairs, rows};
use crate::stream;

/// Returns the bits of x: k rows, lowest first.
pub async fn bit_decompose<S: Sharing>(s: &S, ctx: &Ctx, x: &S::A) -> Result<S::B> {
    stream::to_bits(s, ctx, x, async |s: &S, ctx: &Ctx, x: S::A| decompose_chunk(s, ctx, &x).await).await
}

async fn decompose_chunk<S: Sharing>(s: &S, ctx: &Ctx, x: &S::A) -> Result<S::B> {
    let (ring, len) = s.shape(x);
    let k = ring.bits();
    if k == 1 {
        return s.lsb(ctx, x).await;
    }
    let r = s.edabits(ctx, ring, None, len).await?;
    let c = s.open(ctx, &s.add(x, &r.value)).await?.to_bits(0..k);
    let difference = s.xor_public(&r.bits, &c);
    let Pairs { generate, propagate } = borrow_pairs(s, &c, &r.bits, false);
    let low: Vec<u32> = (0..k - 1).collect();
    let pairs = Pairs { generate: rows(s, &generate, &low), propagate: rows(s, &propagate, &low) };
    let borrows = prefix::all(s, ctx, pairs).await?;
    let upper: Vec<u32> = (1..k).collect();
    let upper = s.xor(&rows(s, &difference, &upper), &borrows);
    Ok(s.concat_rows(&[&rows(s, &difference, &[0]), &upper]))
}
