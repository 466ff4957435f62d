//! Long rows of OTs: room for their results, and the chunks in which they are made.

use std::ops::RangeInclusive;

use quorate_engine::{Chunks, Ctx};
use quorate_ring::{Bits, Ring, Vector, Wiped};

/// OTs of a chunk of a long row; each takes about 4 bytes each way.
const CHUNK: usize = 1 << 15;
const BYTES_EACH: usize = 4;
/// Chunks under way: a small number stays in a core's cache, a larger one fills a long line.
const WINDOW: RangeInclusive<usize> = 4..=32;

/// Returns the chunks of [`Ot::triples`](crate::Ot::triples).
pub(crate) fn chunks(ring: Ring, len: usize) -> Chunks {
    let chunk = (CHUNK / ring.bits() as usize).next_multiple_of(512);
    Chunks { len, chunk, window: *WINDOW.start() }
}

/// Returns the chunks of [`Ot::select_triples`](crate::Ot::select_triples) with this number of rows; those of
/// [`Ot::bit_triples`](crate::Ot::bit_triples) have one.
pub(crate) fn bit_chunks(rows: usize, len: usize) -> Chunks {
    let chunk = (CHUNK / rows.div_ceil(128).max(1)).next_multiple_of(512);
    Chunks { len, chunk, window: *WINDOW.start() }
}

/// Returns zeros, or a shape in a dry run.
pub(crate) fn vectors(ctx: &Ctx, ring: Ring, len: usize) -> Wiped<Vector> {
    Wiped(if ctx.is_dry() { Vector::shape(ring, len) } else { Vector::zeros(ring, len) })
}

/// Returns zeros, or a shape in a dry run.
pub(crate) fn matrix(ctx: &Ctx, rows: usize, lanes: usize) -> Wiped<Bits> {
    Wiped(if ctx.is_dry() { Bits::shape(rows, lanes) } else { Bits::zeros(rows, lanes) })
}

/// Returns the number of chunks that fill a line that holds this many bytes each way.
pub(crate) fn window_of(line_bytes: usize) -> usize {
    line_bytes.div_ceil(CHUNK * BYTES_EACH).clamp(*WINDOW.start(), *WINDOW.end())
}
