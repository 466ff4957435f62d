//! Element-wise gadgets as streams of chunks, each at whichever worker of the party is free.

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
    work: impl AsyncFn(&S, &Ctx, S::A) -> Result<S::B> + Send + Sync + 'static,
) -> Result<S::B> {
    let (ring, len) = s.shape(x);
    to_lanes(s, ctx, chunks(len, ring.bits()), |range| slice(s, x, range), work).await
}

/// Runs an element-wise gadget whose result is bits; `operands` slices its operands.
pub async fn to_lanes<S: Sharing, I: Send + 'static>(
    s: &S,
    ctx: &Ctx,
    chunks: Chunks,
    operands: impl Fn(Range<usize>) -> I,
    work: impl AsyncFn(&S, &Ctx, I) -> Result<S::B> + Send + Sync + 'static,
) -> Result<S::B> {
    let whole = |first: &S::B| {
        let shape = (s.bit_shape(first).0, chunks.len);
        s.public_bits(&if ctx.is_dry() { Bits::shape(shape.0, shape.1) } else { Bits::zeros(shape.0, shape.1) })
    };
    let write = |x: &mut S::B, at: usize, part: &S::B| {
        s.update_bits(x, part, &UpdateBits::Write(at));
    };
    run((s, ctx), chunks.finer(S::FINER), operands, work, whole, write).await
}

/// Runs an element-wise gadget whose result is a vector; `operands` slices its operands.
pub async fn to_vector<S: Sharing, I: Send + 'static>(
    s: &S,
    ctx: &Ctx,
    chunks: Chunks,
    operands: impl Fn(Range<usize>) -> I,
    work: impl AsyncFn(&S, &Ctx, I) -> Result<S::A> + Send + Sync + 'static,
) -> Result<S::A> {
    let whole = |first: &S::A| {
        let ring = s.shape(first).0;
        s.public(&if ctx.is_dry() { Vector::shape(ring, chunks.len) } else { Vector::zeros(ring, chunks.len) })
    };
    let write = |x: &mut S::A, at: usize, part: &S::A| {
        s.update(x, part, &Update::Write(at));
    };
    run((s, ctx), chunks.finer(S::FINER), operands, work, whole, write).await
}

/// Returns the results of all chunks, each in its place. Without elements there is one empty chunk: its shape is that
/// of the result.
async fn run<S: Sharing, I: Send + 'static, T: Send + 'static>(
    (s, ctx): (&S, &Ctx),
    chunks: Chunks,
    operands: impl Fn(Range<usize>) -> I,
    work: impl AsyncFn(&S, &Ctx, I) -> Result<T> + Send + Sync + 'static,
    whole: impl Fn(&T) -> T,
    write: impl Fn(&mut T, usize, &T),
) -> Result<T> {
    const NOTHING: Error = Error::Bug { what: "a stream without chunks" };
    if chunks.len == 0 {
        let nothing = async |ctx: Ctx, _| work(s, &ctx, operands(0..0)).await;
        return ctx.join_all(1, nothing).await?.pop().ok_or(NOTHING);
    }
    let party = s.clone();
    let work = async move |ctx: Ctx, operands: I| work(&party, &ctx, operands).await;
    let mut result = None;
    ctx.spread(chunks, operands, work, |range, part| match &mut result {
        None if range.len() == chunks.len => result = Some(part),
        Some(result) => write(result, range.start, &part),
        None => write(result.insert(whole(&part)), range.start, &part),
    })
    .await?;
    result.ok_or(NOTHING)
}
