//! The sizes of points as keys ([`points`](crate::points)): their parts in a stock, and the chunks in which they are
//! made.

use quorate_engine::{Chunks, Misuse, Result};
use quorate_fss::Shape;
use quorate_ring::Ring;

/// The ring of nodes of a tree, and of parts of its corrections.
pub(crate) const BLOCK: Ring = Ring::of(128);
/// The largest number of bits of a point.
pub(crate) const MOST_BITS: u32 = 26;
/// The memory of the trees that grow together: more of it exceeds the caches.
const TREES_BYTES: usize = 1 << 19;
/// The largest number of keys whose trees grow together.
const MOST_KEYS: usize = 2048;
/// The memory of the trees of all batches under way, the number of these batches, and the largest number on a long
/// line.
const WINDOW_BYTES: usize = 1 << 26;
const WINDOW: usize = 8;
const LONGEST_WINDOW: usize = 64;

/// Returns the shape of keys of `place_bits` bits.
pub(crate) fn shape(place_bits: u32) -> Result<Shape> {
    match place_bits <= MOST_BITS {
        true => Shape::wide(place_bits).map_err(|_| Misuse::Other { what: "a point has at least one bit" }.into()),
        false => Err(Misuse::Other { what: "a point of more than 26 bits" }.into()),
    }
}

/// Returns the levels of a tree, the bits of a leaf's place, and the blocks of a key's corrections.
pub(crate) fn sizes(place_bits: u32) -> (usize, u32, usize) {
    Shape::wide(place_bits)
        .map_or((0, 0, 0), |shape| (shape.levels(), shape.leaf_bits().trailing_zeros(), shape.key_blocks()))
}

/// Returns the layout of a party's part of a point: r, the root, the corrections; with `bits`, also pads and a bit for
/// the sign of a look-up over Z_2^bits.
pub(crate) fn layout(place_bits: u32, bits: Option<u32>) -> (Vec<(Ring, usize)>, Vec<usize>) {
    let point = [(Ring::of(place_bits), 1), (BLOCK, 1), (BLOCK, sizes(place_bits).2)];
    let pads = bits.into_iter().flat_map(|bits| [(sign_ring(bits), 1); 3]);
    (point.into_iter().chain(pads).collect(), bits.into_iter().map(|_| 1).collect())
}

/// Returns the ring of pads for signs: 2 b needs one bit less than b.
pub(crate) fn sign_ring(bits: u32) -> Ring {
    Ring::of(bits - 1)
}

/// Returns the chunks of keys that are made together.
pub(crate) fn chunks(place_bits: u32, len: usize) -> Chunks {
    filling(place_bits, len, 0)
}

/// Returns chunks whose batches under way fill a line that takes `line_bytes` bytes each way: a level takes a block for
/// each key.
pub(crate) fn filling(place_bits: u32, len: usize, line_bytes: usize) -> Chunks {
    let tree_bytes = 16 << sizes(place_bits).0;
    let chunk = (TREES_BYTES / tree_bytes).clamp(4, MOST_KEYS);
    let most = (WINDOW_BYTES / (chunk * tree_bytes)).clamp(1, LONGEST_WINDOW);
    Chunks { len, chunk, window: line_bytes.div_ceil(16 * chunk).max(WINDOW).min(most) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_take_bounded_memory_whatever_the_line() {
        for n in 1..=MOST_BITS {
            for line_bytes in [0, 1 << 20, 1 << 30] {
                let chunks = filling(n, 1 << 20, line_bytes);
                assert!((16 << sizes(n).0) * chunks.chunk * chunks.window <= WINDOW_BYTES, "n = {n}: {chunks:?}");
                assert!(chunks.chunk >= 4 && chunks.window >= 1 && chunks.window <= LONGEST_WINDOW);
            }
        }
        assert_eq!(filling(16, 1 << 20, 0), Chunks { len: 1 << 20, chunk: 256, window: WINDOW });
        assert_eq!(filling(16, 1 << 20, 1 << 30).window, LONGEST_WINDOW);
    }
}
