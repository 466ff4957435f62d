//! Sums of products of sums, in one pass: the local part of a product of replicated shares.

use crate::simd::multiversion;
use crate::word::Word;

/// The terms of a sum: for each, the indices of the x and of the y whose sums are multiplied. No list is empty.
pub type Terms = [(Vec<usize>, Vec<usize>)];

/// Words processed at a time: all their values stay in registers.
const RUN: usize = 64;

multiversion! {
    /// out = the sum over all terms of (the sum of some x) (the sum of some y), word by word, for any addition and
    /// multiplication. All slices have the length of `out`.
    words W;
    fn set_terms[W: Word, A: Fn(W, W) -> W + Copy, M: Fn(W, W) -> W + Copy](
        out: &mut [W], x: &[&[W]], y: &[&[W]], terms: &Terms, add: A, mul: M
    ) {
        let (runs, rest) = out.as_chunks_mut::<RUN>();
        let whole = runs.len() * RUN;
        // Loops rather than adapters of iterators, which may become functions of their own for a lesser processor.
        for (i, out) in runs.iter_mut().enumerate() {
            *out = run(x, y, i * RUN, terms, add, mul);
        }
        for (i, out) in rest.iter_mut().enumerate() {
            [*out] = run(x, y, whole + i, terms, add, mul);
        }
    }
}

/// Returns N words of the sum, from `at` on.
#[inline(always)]
fn run<W: Word, const N: usize>(
    x: &[&[W]],
    y: &[&[W]],
    at: usize,
    terms: &Terms,
    add: impl Fn(W, W) -> W + Copy,
    mul: impl Fn(W, W) -> W + Copy,
) -> [W; N] {
    let mut total = [W::default(); N];
    for (firsts, seconds) in terms {
        let (first, second) = (sum::<W, N>(x, firsts, at, add), sum::<W, N>(y, seconds, at, add));
        for ((total, first), second) in total.iter_mut().zip(first).zip(second) {
            *total = add(*total, mul(first, second));
        }
    }
    total
}

/// Returns N words of the sum of some vectors, from `at` on.
#[inline(always)]
fn sum<W: Word, const N: usize>(
    vectors: &[&[W]],
    places: &[usize],
    at: usize,
    add: impl Fn(W, W) -> W + Copy,
) -> [W; N] {
    let mut total = [W::default(); N];
    for &place in places {
        let words: &[W; N] = vectors[place][at..].first_chunk().expect("a run lies inside");
        for (total, word) in total.iter_mut().zip(words) {
            *total = add(*total, *word);
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use crate::simd::forced;
    use crate::{Bits, Ring, Terms, Vector};

    fn words(seed: u64, len: usize) -> Vec<u64> {
        (0..len as u64).map(|i| (seed + i * i).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)).collect()
    }

    fn terms() -> Vec<(Vec<usize>, Vec<usize>)> {
        vec![(vec![0], vec![1]), (vec![2, 0], vec![2]), (vec![1, 0, 2], vec![0, 1])]
    }

    fn sum<T: Copy>(all: &[Vec<T>], places: &[usize], at: usize, zero: T, add: impl Fn(T, T) -> T) -> T {
        places.iter().fold(zero, |sum, &place| add(sum, all[place][at]))
    }

    fn expected(x: &[Vec<u128>], y: &[Vec<u128>], at: usize, terms: &Terms, mask: u128) -> u128 {
        let of = |(firsts, seconds): &(Vec<usize>, Vec<usize>)| {
            let first = sum(x, firsts, at, 0, u128::wrapping_add);
            first.wrapping_mul(sum(y, seconds, at, 0, u128::wrapping_add))
        };
        terms.iter().map(of).fold(0, u128::wrapping_add) & mask
    }

    #[test]
    fn sums_of_products_of_sums_on_every_path() {
        let terms = terms();
        for bits in [1, 8, 13, 16, 32, 64, 100, 128] {
            let ring = Ring::of(bits);
            let vectors = |seed| (0..3u64).map(|i| Vector::from_u64s(ring, &words(seed + i, 200))).collect::<Vec<_>>();
            let (x, y) = (vectors(1), vectors(77));
            let [plain_x, plain_y] = [&x, &y].map(|all| all.iter().map(Vector::to_u128s).collect::<Vec<_>>());
            for range in [0..200, 3..67, 5..6, 9..9, 64..192] {
                let on_all = forced::on_all(|| {
                    let mut out = Vector::constant(ring, 3, range.len());
                    out.set_terms(&x, &y, range.clone(), &terms);
                    out.to_u128s()
                });
                let expected: Vec<_> =
                    range.clone().map(|at| expected(&plain_x, &plain_y, at, &terms, ring.mask())).collect();
                on_all.iter().for_each(|(path, got)| assert_eq!(*got, expected, "k {bits}, {range:?}, {path:?}"));
            }
        }
    }

    #[test]
    fn sums_of_products_of_bits() {
        let terms = terms();
        let matrices = |seed| {
            let matrix = |i: u64| {
                let mut bits = Bits::zeros(3, 64 * 30);
                bits.bytes_mut().chunks_mut(8).zip(words(seed + i, 90)).for_each(|(to, word)| {
                    to.copy_from_slice(&word.to_le_bytes());
                });
                bits
            };
            (0..3).map(matrix).collect::<Vec<_>>()
        };
        let (mut x, mut y) = (matrices(5), matrices(50));
        let read = |bits: &mut Bits| -> Vec<u64> {
            bits.bytes_mut().chunks(8).map(|chunk| u64::from_le_bytes(chunk.try_into().unwrap())).collect()
        };
        for range in [0..90, 7..80] {
            let mut out = Bits::zeros(1, 64 * range.len());
            out.set_terms(&x, &y, range.clone(), &terms);
            let [plain_x, plain_y] = [&mut x, &mut y].map(|all| all.iter_mut().map(read).collect::<Vec<_>>());
            let xor = |a: u64, b: u64| a ^ b;
            let of = |at: usize| {
                let product =
                    |(i, j): &(Vec<usize>, Vec<usize>)| sum(&plain_x, i, at, 0, xor) & sum(&plain_y, j, at, 0, xor);
                terms.iter().map(product).fold(0, xor)
            };
            assert_eq!(read(&mut out), range.map(of).collect::<Vec<_>>());
        }
    }

    #[test]
    fn shapes_stay_shapes() {
        let ring = Ring::of(20);
        let operands = [Vector::zeros(ring, 9), Vector::shape(ring, 9)];
        let mut out = Vector::zeros(ring, 4);
        out.set_terms(&operands, &operands, 2..6, &[(vec![0], vec![1])]);
        assert!(out.is_shape() && out.len() == 4);
    }
}
