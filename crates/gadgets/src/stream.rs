//! Element-wise gadgets as streams of chunks.

use std::ops::Range;

use quorate_engine::{Chunks, Ctx, Result, Sharing};
use quorate_ring::{Bits, Vector};

/// Bytes of working memory per element that a bit-wise gadget needs for each bit of the ring, all shares together.
const BYTES_PER_BIT: usize = 8;

/// Chunks for a gadget that works on the bits of `len` elements of so many bits.
pub fn chunks(len: usize, bits: u32) -> Chunks {
    Chunks::of_bytes(len, bits as usize * BYTES_PER_BIT)
}

/// The elements of a range.
pub fn slice<S: Sharing>(s: &S, x: &S::A, range: Range<usize>) -> S::A {
    s.linear(x, &move |share: &Vector| share.slice(range.clone()))
}

/// The lanes of a range.
pub fn slice_lanes<S: Sharing>(s: &S, x: &S::B, range: Range<usize>) -> S::B {
    s.linear_bits(x, &move |share: &Bits| share.slice_lanes(range.clone()))
}

/// Runs an element-wise gadget whose result is bits.
pub async fn to_bits<S: Sharing>(
    s: &S,
    ctx: &Ctx,
    x: &S::A,
    work: impl AsyncFn(Ctx, S::A) -> Result<S::B>,
) -> Result<S::B> {
    let (ring, len) = s.shape(x);
    let chunk = async |ctx: Ctx, range: Range<usize>| work(ctx, slice(s, x, range)).await;
    let mut parts = run(ctx, chunks(len, ring.bits()), chunk).await?;
    Ok(match parts.len() {
        1 => parts.remove(0),
        _ => s.concat_lanes(&parts.iter().collect::<Vec<_>>()),
    })
}

/// Runs an element-wise gadget whose result is a vector; `work` gets the range, to slice its operands.
pub async fn to_vector<S: Sharing>(
    s: &S,
    ctx: &Ctx,
    chunks: Chunks,
    work: impl AsyncFn(Ctx, Range<usize>) -> Result<S::A>,
) -> Result<S::A> {
    let mut parts = run(ctx, chunks, work).await?;
    Ok(match parts.len() {
        1 => parts.remove(0),
        _ => s.concat(&parts.iter().collect::<Vec<_>>()),
    })
}

/// The results of all chunks, in order. No elements make one chunk, of none: its shape is the result's.
async fn run<T>(ctx: &Ctx, chunks: Chunks, work: impl AsyncFn(Ctx, Range<usize>) -> Result<T>) -> Result<Vec<T>> {
    if chunks.len == 0 {
        return ctx.join_all(1, async |ctx: Ctx, _| work(ctx, 0..0).await).await;
    }
    let mut parts = Vec::with_capacity(chunks.count());
    ctx.stream(chunks, work, |_, part| parts.push(part)).await?;
    Ok(parts)
}
