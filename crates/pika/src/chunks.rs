//! The chunks in which long products are computed, and correlations are dealt.

use quorate_engine::Chunks;
use quorate_ring::Ring;

/// The number of vectors of a chunk's length that a product works on at a time.
const CHUNK_VECTORS: usize = 12;

/// Returns chunks of `lines` lines of products with `pairs` pairs each.
pub(crate) fn of_products(ring: Ring, lines: usize, pairs: usize) -> Chunks {
    of_lines(lines, ring.carrier().bytes() * CHUNK_VECTORS * pairs)
}

/// Returns chunks of lines that take `bytes` bytes each.
pub(crate) fn of_lines(lines: usize, bytes: usize) -> Chunks {
    match Chunks::of_bytes(lines, bytes) {
        // If even the fewest lines of whole words take much memory, chunks have as many lines as fit instead.
        chunks if chunks.chunk * bytes > 16 << 20 => Chunks { chunk: ((4 << 20) / bytes).max(1), ..chunks },
        chunks => chunks,
    }
}
