//! BitAdd: the sum of two numbers given by shared bits.
//!
//! **Source**: used by Protocols 3 and 7 of rss-ring; Sklansky 1960 for the prefix network. **Model**: that of AND.
//! Rounds: 1 + ceil(log2(k - 1)). ANDs for k bits without carries out: k - 1 for the generates, and those of the
//! network over k - 1 positions.

use quorate_engine::{Ctx, Result, Sharing};

use crate::prefix::{self, Pairs, rows};

/// A sum modulo 2^k, and the requested carries.
pub struct Sum<B> {
    /// The k bits of the sum, lowest first.
    pub bits: B,
    /// The carries, one row each, in the order of the request.
    pub carries: Vec<B>,
}

/// Returns x + y modulo 2^k for k rows of bits each. Also returns the carries into the positions `wanted` (1..=k; k is
/// the carry out).
pub async fn add<S: Sharing>(s: &S, ctx: &Ctx, x: &S::B, y: &S::B, wanted: &[usize]) -> Result<Sum<S::B>> {
    let width = s.bit_shape(x).0;
    let sum = s.xor(x, y);
    let positions = if wanted.contains(&width) { width } else { width - 1 };
    if positions == 0 {
        return Ok(Sum { bits: sum, carries: Vec::new() });
    }
    let used: Vec<u32> = (0..positions as u32).collect();
    let generate = s.and(ctx, &rows(s, x, &used), &rows(s, y, &used)).await?;
    let carried = prefix::all(s, ctx, Pairs { generate, propagate: rows(s, &sum, &used) }).await?;
    let carries = wanted.iter().map(|&into| rows(s, &carried, &[into as u32 - 1])).collect();
    if width == 1 {
        return Ok(Sum { bits: sum, carries });
    }
    let upper: Vec<u32> = (1..width as u32).collect();
    let into_upper: Vec<u32> = (0..width as u32 - 1).collect();
    let upper = s.xor(&rows(s, &sum, &upper), &rows(s, &carried, &into_upper));
    let bits = s.concat_rows(&[&rows(s, &sum, &[0]), &upper]);
    Ok(Sum { bits, carries })
}
