//! Products from a triple, after its opening.
//!
//! **Source**: Beaver 1991. **Notation**: (a, b, c) the triple, d = x - a and e = y - b opened.

use quorate_ring::{Bits, Module};

use crate::share::{Share, blank};

/// Returns party `me`'s share of the product: c + d b + (a + d) e at party 0, and c + d b + a e at party 1.
/// `accumulate` adds a product of its last two arguments to its first one.
pub fn combined<M: Module, K>(
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
pub fn in_rows<K>(flat: &Share<Bits, K>, rows: usize, lanes: usize) -> Share<Bits, K> {
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

#[cfg(test)]
mod tests {
    use quorate_ring::{Ring, Vector};

    use super::*;

    #[test]
    fn shares_of_products_add_up() {
        let ring = Ring::of(3);
        let vector = |word: u64| Vector::from_u64s(ring, &[word]);
        for (x, y, a, b) in (0..4096u64).map(|i| (i & 7, i >> 3 & 7, i >> 6 & 7, i >> 9)) {
            let [d, e] = [x.wrapping_sub(a), y.wrapping_sub(b)].map(vector);
            let shares = [[5, 1, 6], [a.wrapping_sub(5), b.wrapping_sub(1), (a * b).wrapping_sub(6)]];
            let share = |me: usize| {
                let triple = shares[me].map(|word| Share::<Vector>::of(vector(word)));
                combined(me, triple, (&d, &e), Vector::add_mul_assign)
            };
            let mut product = share(0);
            product.add_assign(&share(1));
            product.reduce();
            assert_eq!(product.to_u64s(), [(x * y) & 7]);
        }
    }

    #[test]
    fn one_row_becomes_several() {
        let bits = [true, false, true, true, false, false];
        let flat: Share<Bits> = Share::of(Bits::from_bools(1, 6, &bits));
        let rows = in_rows(&flat, 2, 3);
        assert_eq!((rows.shape_of(), rows.to_bools()), ((2, 3), bits.to_vec()));
        let none: Share<Bits> = Share::of(Bits::zeros(1, 0));
        assert_eq!(in_rows(&none, 0, 3).shape_of(), (0, 3));
    }
}
