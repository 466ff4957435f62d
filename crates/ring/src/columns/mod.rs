//! Columns of packed bits: the kernels of OT extension.
//!
//! A column is a run of 64-bit words, one bit for each row. Nothing here branches on a value.

#[cfg(target_arch = "x86_64")]
mod x86;

use std::hint::black_box;

use crate::simd::multiversion;
use crate::transpose;

multiversion! {
    /// Computes [`fold_leaves`], one level of pairs after the other.
    fn fold[](leaves: &mut [u64], sums: &mut [u64], width: usize) {
        for (bit, sum) in sums.chunks_exact_mut(width).enumerate() {
            let half = width << bit;
            for pair in leaves.chunks_exact_mut(2 * half) {
                let (left, right) = pair.split_at_mut(half);
                for ((left, right), sum) in left[..width].iter_mut().zip(&right[..width]).zip(&mut *sum) {
                    *left ^= right;
                    *sum ^= right;
                }
            }
        }
    }
}

multiversion! {
    /// Computes [`fold`] for 16 leaves, each read once: `rest` are all but the first. In this form compilers keep them
    /// in registers.
    fn fold_16[](first: &mut [u64], rest: &[u64], a: &mut [u64], b: &mut [u64], c: &mut [u64], d: &mut [u64]) {
        let width = first.len();
        let (a, b, c, d) = (&mut a[..width], &mut b[..width], &mut c[..width], &mut d[..width]);
        let leaf = |x: usize| &rest[(x - 1) * width..x * width];
        let (x1, x2, x3, x4, x5) = (leaf(1), leaf(2), leaf(3), leaf(4), leaf(5));
        let (x6, x7, x8, x9, x10) = (leaf(6), leaf(7), leaf(8), leaf(9), leaf(10));
        let (x11, x12, x13, x14, x15) = (leaf(11), leaf(12), leaf(13), leaf(14), leaf(15));
        for i in 0..width {
            a[i] ^= (x1[i] ^ x3[i]) ^ (x5[i] ^ x7[i]) ^ (x9[i] ^ x11[i]) ^ (x13[i] ^ x15[i]);
            let (y2, y4, y6) = (x2[i] ^ x3[i], x4[i] ^ x5[i], x6[i] ^ x7[i]);
            let (y8, y10, y12, y14) = (x8[i] ^ x9[i], x10[i] ^ x11[i], x12[i] ^ x13[i], x14[i] ^ x15[i]);
            b[i] ^= (y2 ^ y6) ^ (y10 ^ y14);
            let (z4, z12) = (y4 ^ y6, y12 ^ y14);
            c[i] ^= z4 ^ z12;
            let z8 = y8 ^ y10 ^ z12;
            d[i] ^= z8;
            first[i] ^= x1[i] ^ y2 ^ z4 ^ z8;
        }
    }
}

multiversion! {
    /// a ^= b.
    fn xor_words[](a: &mut [u64], b: &[u64]) {
        for (a, b) in a.iter_mut().zip(b) {
            *a ^= b;
        }
    }
}

multiversion! {
    /// a ^= b and mask.
    fn xor_masked[](a: &mut [u64], b: &[u64], mask: u64) {
        for (a, b) in a.iter_mut().zip(b) {
            *a ^= b & mask;
        }
    }
}

/// Folds 2^d `leaves` of `width` words each, side by side. Column j of `sums` (d columns) gains the xor of the leaves
/// whose number has bit j set, and the first leaf becomes the xor of all. At most 16 leaves; all but the first may be
/// scratch afterwards.
///
/// # Panics
/// Unless the lengths fit.
pub fn fold_leaves(leaves: &mut [u64], sums: &mut [u64], width: usize) {
    let depth = sums.len() / width;
    assert!(sums.len() == depth * width && leaves.len() == width << depth, "leaves and sums of columns do not fit");
    assert!(depth <= 4, "{depth} columns are those of more than 16 leaves");
    if depth < 4 {
        return fold(leaves, sums, width);
    }
    let (first, rest) = leaves.split_at_mut(width);
    let (low, high) = sums.split_at_mut(2 * width);
    let ((a, b), (c, d)) = (low.split_at_mut(width), high.split_at_mut(width));
    fold_16(first, rest, a, b, c, d);
}

/// a ^= b.
///
/// # Panics
/// If the lengths differ.
pub fn xor(a: &mut [u64], b: &[u64]) {
    assert_eq!(a.len(), b.len(), "columns of different lengths");
    xor_words(a, b);
}

/// a ^= b if `bit`, in time that does not depend on it.
///
/// # Panics
/// If the lengths differ.
pub fn xor_if(a: &mut [u64], b: &[u64], bit: bool) {
    assert_eq!(a.len(), b.len(), "columns of different lengths");
    // The compiler must not see that the mask comes from a bit: it would branch on that bit.
    xor_masked(a, b, black_box(0u64.wrapping_sub(u64::from(bit))));
}

/// Returns the rows of 128 columns in `rows`: bit j of row i is bit i of column j. Columns lie one after the other.
///
/// # Panics
/// Unless there are 128 columns with a bit for each row, 64 rows to a word.
pub fn rows_of_128(columns: &[u64], rows: &mut [u128]) {
    assert!(columns.len() * 64 == rows.len() * 128, "{} words are not 128 columns of {}", columns.len(), rows.len());
    #[cfg(target_arch = "x86_64")]
    if x86::rows_of_128(columns, rows) {
        return;
    }
    rows.fill(0);
    transpose::columns_of(rows, columns, 128);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::forced;

    fn words(count: usize, seed: u64) -> Vec<u64> {
        (0..count as u64).map(|i| (i + seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)).collect()
    }

    #[test]
    fn leaves_fold_as_defined() {
        for (depth, width) in [(0usize, 3usize), (1, 1), (2, 5), (3, 8), (4, 16), (4, 11)] {
            let leaves = words(width << depth, 3);
            let before = words(width * depth, 9);
            let results = forced::on_all(|| {
                let (mut leaves, mut sums) = (leaves.clone(), before.clone());
                fold_leaves(&mut leaves, &mut sums, width);
                (leaves[..width].to_vec(), sums)
            });
            for (path, (all, sums)) in results {
                let xor = |chosen: &dyn Fn(usize) -> bool, w: usize| {
                    (0..1 << depth).filter(|&x| chosen(x)).fold(0, |sum, x| sum ^ leaves[x * width + w])
                };
                for w in 0..width {
                    assert_eq!(all[w], xor(&|_| true, w), "{path:?}");
                    for j in 0..depth {
                        let expected = before[j * width + w] ^ xor(&|x| x >> j & 1 == 1, w);
                        assert_eq!(sums[j * width + w], expected, "{path:?}: column {j}");
                    }
                }
            }
        }
    }

    #[test]
    fn rows_are_columns_turned() {
        for width in [1usize, 2, 8, 10, 16, 64] {
            let columns = words(128 * width, 5);
            for (path, rows) in forced::on_all(|| {
                let mut rows = vec![7u128; 64 * width];
                rows_of_128(&columns, &mut rows);
                rows
            }) {
                for (i, row) in rows.iter().enumerate() {
                    for j in 0..128 {
                        let bit = columns[j * width + i / 64] >> (i % 64) & 1;
                        assert_eq!((row >> j & 1) as u64, bit, "{path:?}: bit {j} of row {i}");
                    }
                }
            }
        }
    }

    #[test]
    fn masks_select() {
        let (a, b) = (words(77, 1), words(77, 2));
        for (path, (on, off, plain)) in forced::on_all(|| {
            let (mut on, mut off, mut plain) = (a.clone(), a.clone(), a.clone());
            xor_if(&mut on, &b, true);
            xor_if(&mut off, &b, false);
            xor(&mut plain, &b);
            (on, off, plain)
        }) {
            assert!(off == a && on == plain && (0..77).all(|i| on[i] == a[i] ^ b[i]), "{path:?}");
        }
    }
}
