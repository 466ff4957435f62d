//! Products of row-major matrices over wrapping words.

use crate::simd::multiversion;
use crate::word::Word;

type Dims = (usize, usize, usize);

multiversion! {
    /// c += a b, row by row.
    fn accumulate[W: Word](c: &mut [W], a: &[W], b: &[W], dims: (usize, usize, usize)) {
        let (_, k, n) = dims;
        for (row, factors) in c.chunks_exact_mut(n).zip(a.chunks_exact(k)) {
            for (factor, line) in factors.iter().zip(b.chunks_exact(n)) {
                for (sum, word) in row.iter_mut().zip(line) {
                    *sum = sum.add(factor.mul(*word));
                }
            }
        }
    }
}

/// a b for a of m x k and b of k x n.
pub(crate) fn product<W: Word>(a: &[W], b: &[W], (m, k, n): Dims) -> Vec<W> {
    let mut c = vec![W::default(); m * n];
    if !a.is_empty() && !b.is_empty() {
        accumulate(&mut c, a, b, (m, k, n));
    }
    c
}

/// a b over 32-bit words.
pub(crate) fn product_u32(a: &[u32], b: &[u32], dims: Dims) -> Vec<u32> {
    product(a, b, dims)
}

/// a b over 64-bit words.
pub(crate) fn product_u64(a: &[u64], b: &[u64], dims: Dims) -> Vec<u64> {
    product(a, b, dims)
}
