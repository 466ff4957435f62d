//! Element-wise gadgets as streams of chunks.

use std::ops::Range;

use quorate_engine::{Chunks, Ctx, Error, Linear, LinearBits, Result, Sharing, Update, UpdateBits};
use quorate_ring::{Bits, Vector};

/// Bytes of working memory per element that a bit-wise gadget needs for each bit of the ring, all shares together.
const BYTES_PER_BIT: usize = 8;

/// Returns the chunks for a gadget that works on the bits of `len` elements of `bits` bits.
pub fn chunks(len: usize, bits: u32) -> Chunks {
    Chunks::of_bytes(len, bits as usize * BYTES_PER_BIT)
}

/// Returns the elements of a range.
pub fn slice<S: Sharing>(s: &S, x: &S::A, range: Range<usize>) -> S::A {
    s.linear(x, &Linear::Slice(range))
}

/// Returns the lanes of a range.
pub fn slice_lanes<S: Sharing>(s: &S, x: &S::B, range: Range<usize>) -> S::B {
    s.linear_bits(x, &LinearBits::Lanes(range))
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
    to_lanes(s, ctx, chunks(len, ring.bits()), chunk).await
}

/// Runs a gadget whose result is bits; `work` gets the range, to slice its operands.
pub async fn to_lanes<S: Sharing>(
    s: &S,
    ctx: &Ctx,
    chunks: Chunks,
    work: impl AsyncFn(Ctx, Range<usize>) -> Result<S::B>,
) -> Result<S::B> {
    let whole = |first: &S::B| {
        let shape = (s.bit_shape(first).0, chunks.len);
        s.public_bits(&if ctx.is_dry() { Bits::shape(shape.0, shape.1) } else { Bits::zeros(shape.0, shape.1) })
    };
    let write = |x: &mut S::B, at: usize, part: &S::B| {
        s.update_bits(x, part, &UpdateBits::Write(at));
    };
    run(ctx, chunks.finer(S::FINER), work, whole, write).await
}

/// Runs an element-wise gadget whose result is a vector; `work` gets the range, to slice its operands.
pub async fn to_vector<S: Sharing>(
    s: &S,
    ctx: &Ctx,
    chunks: Chunks,
    work: impl AsyncFn(Ctx, Range<usize>) -> Result<S::A>,
) -> Result<S::A> {
    let whole = |first: &S::A| {
        let ring = s.shape(first).0;
        s.public(&if ctx.is_dry() { Vector::shape(ring, chunks.len) } else { Vector::zeros(ring, chunks.len) })
    };
    let write = |x: &mut S::A, at: usize, part: &S::A| {
        s.update(x, part, &Update::Write(at));
    };
    run(ctx, chunks.finer(S::FINER), work, whole, write).await
}

/// Returns the results of all chunks, each in its place. Without elements there is one empty chunk: its shape is that
/// of the result.
async fn run<T>(
    ctx: &Ctx,
    chunks: Chunks,
    work: impl AsyncFn(Ctx, Range<usize>) -> Result<T>,
    whole: impl Fn(&T) -> T,
    write: impl Fn(&mut T, usize, &T),
) -> Result<T> {
    const NOTHING: Error = Error::Bug { what: "a stream without chunks" };
    if chunks.len == 0 {
        return ctx.join_all(1, async |ctx: Ctx, _| work(ctx, 0..0).await).await?.pop().ok_or(NOTHING);
    }
    let mut result = None;
    ctx.stream_alike(chunks, work, |range, part| match &mut result {
        None if range.len() == chunks.len => result = Some(part),
        Some(result) => write(result, range.start, &part),
        None => write(result.insert(whole(&part)), range.start, &part),
    })
    .await?;
    result.ok_or(NOTHING)
}
