//! Products from a triple, after its opening.
//!
//! **Source**: Beaver 1991. **Notation**: (a, b, c) the triple, d = x - a and e = y - b opened.

use quorate_ring::{Bits, Module};

use crate::share::{Share, blank};

/// Returns party `me`'s share of the product: c + d b + (a + d) e at party 0, and c + d b + a e at party 1.
/// `accumulate` adds a product of its last two arguments to its first one.
pub fn combined<M: Module, K: Default>(
    me: usize,
    [mut a, b, c]: [Share<M, K>; 3],
    (d, e): (&M, &M),
    accumulate: impl Fn(&mut M, &M, &M),
) -> Share<M, K> {
    let mut z = c;
    accumulate(&mut z, d, &b);
    if me == 0 {
        a.add_assign(d);
    }
    accumulate(&mut z, &a, e);
    z
}

/// Splits one row of bits into several.
pub fn in_rows<K: Default + Clone>(flat: &Share<Bits, K>, rows: usize, lanes: usize) -> Share<Bits, K> {
    if rows == 1 {
        return flat.clone();
    }
    let parts: Vec<Share<Bits, K>> =
        (0..rows).map(|row| flat.map(|bits| bits.slice_lanes(row * lanes..(row + 1) * lanes))).collect();
    if parts.is_empty() {
        return Share::of(blank(flat.is_shape(), (0, lanes)));
    }
    Share::of(Bits::concat_rows(&parts.iter().map(|part| &**part).collect::<Vec<_>>()))
}
