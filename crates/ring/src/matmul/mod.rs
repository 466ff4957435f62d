//! Products of row-major matrices over wrapping words.
//!
//! Columns of b are packed into panels of `NR`; a tile of `MR` x `NR` sums stays in registers while it runs down a
//! panel of at most `KC` rows. Thin products (few rows, or few columns) are streams of multiply-adds or dot products;
//! products of long words are dot products.

#[cfg(target_arch = "x86_64")]
mod x86;

use crate::Carrier;
use crate::meter::Kernel as Metered;
use crate::simd::multiversion;
use crate::threads::{side_by_side, threads};
use crate::word::Word;
use crate::{memory, meter};

/// m, k, n: a is m x k, b is k x n.
pub(crate) type Dims = (usize, usize, usize);

/// Rows of a tile.
const MR: usize = 4;
/// Rows of a panel.
const KC: usize = 512;
/// The number of multiplications from which a product uses several threads: a few hundred microseconds, several times
/// what it takes to wake a thread.
const THREADED: usize = 1 << 21;
/// The number of columns below which a product is a set of dot products.
const THIN: usize = 8;

/// A kernel: adds to `sums` the product of `MR` rows of a with a packed panel of b.
type Kernel<W, const NR: usize> = fn(&[W], [&[W]; MR], &mut [[W; NR]; MR]);

multiversion! {
    /// The generic kernel.
    words W;
    fn tile[W: Word, const NR: usize](panel: &[W], rows: [&[W]; MR], sums: &mut [[W; NR]; MR]) {
        let mut local = *sums;
        let (lines, _) = panel.as_chunks::<NR>();
        let rows = rows.map(|row| &row[..lines.len()]);
        for (p, line) in lines.iter().enumerate() {
            for (sum, row) in local.iter_mut().zip(rows) {
                let factor = row[p];
                for (to, word) in sum.iter_mut().zip(line) {
                    *to = to.add(factor.mul(*word));
                }
            }
        }
        *sums = local;
    }
}

multiversion! {
    /// c += a b, a row of b at a time.
    words W;
    fn by_rows[W: Word](c: &mut [W], a: &[W], b: &[W], k: usize, n: usize) {
        for (row, factors) in c.chunks_exact_mut(n).zip(a.chunks_exact(k)) {
            for (factor, line) in factors.iter().zip(b.chunks_exact(n)) {
                for (sum, word) in row.iter_mut().zip(line) {
                    *sum = sum.add(factor.mul(*word));
                }
            }
        }
    }
}

multiversion! {
    /// c = a b, b given by columns.
    words W;
    fn by_dots[W: Word](c: &mut [W], a: &[W], columns: &[W], k: usize, n: usize) {
        for (sums, row) in c.chunks_exact_mut(n).zip(a.chunks_exact(k)) {
            for (sum, column) in sums.iter_mut().zip(columns.chunks_exact(k)) {
                *sum = row.iter().zip(column).fold(W::default(), |sum, (x, y)| sum.add(x.mul(*y)));
            }
        }
    }
}

/// The number of multiply-adds over words of at most 32 bits that take as long as one over words of 64 bits.
const NARROW: usize = 3;

/// Charges `count` products: their multiply-adds, and their operands, which come from memory. The latter dominate the
/// time of a thin product.
pub(crate) fn charge(carrier: Carrier, dims: Dims, count: usize) {
    let (kernel, amount) = work(carrier, dims);
    meter::charge(kernel, amount.saturating_mul(count));
    let (m, k, n) = dims;
    let ([left, right], bytes) = ([m, n].map(|side| side.saturating_mul(k)), carrier.bytes());
    // Columns are gathered, as lines or panels.
    let together = || left.saturating_add(right.saturating_mul(2));
    let read = match carrier {
        Carrier::U192 | Carrier::U256 => together(),
        _ if n < THIN || m >= MR => together(),
        _ => m.saturating_mul(right),
    };
    let [read, all] = [read, left.saturating_add(right)].map(|elements| elements.saturating_mul(bytes));
    meter::read_within(read.saturating_mul(count), all);
}

/// Returns the charge of a product: multiply-adds, including the columns that fill up the last panel.
fn work(carrier: Carrier, (m, k, n): Dims) -> (Metered, usize) {
    let (work, thin, width, of) = match carrier {
        Carrier::U8 | Carrier::U16 => (Metered::Matrix, Metered::Multiply, 64, NARROW),
        Carrier::U32 => (Metered::Matrix, Metered::Multiply, 16, NARROW),
        Carrier::U64 => (Metered::Matrix, Metered::Multiply, 8, 1),
        Carrier::U128 => (Metered::MatrixWide, Metered::MultiplyWide, 2, 1),
        Carrier::U192 | Carrier::U256 => {
            let (product, each) = meter::product(carrier);
            return (product, m.saturating_mul(k).saturating_mul(n).saturating_mul(each));
        }
    };
    if n < THIN || m < MR {
        return (thin, m.saturating_mul(k).saturating_mul(n));
    }
    let all = m.div_ceil(MR).saturating_mul(MR * k).saturating_mul(n.div_ceil(width).saturating_mul(width));
    (work, all.div_ceil(of))
}

/// Returns a b over 8-bit words.
pub(crate) fn product_u8(a: &[u8], b: &[u8], dims: Dims) -> Vec<u8> {
    product(a, b, dims, tile::<u8, 64>)
}

/// Returns a b over 16-bit words.
pub(crate) fn product_u16(a: &[u16], b: &[u16], dims: Dims) -> Vec<u16> {
    product(a, b, dims, tile::<u16, 64>)
}

/// Returns a b over 32-bit words.
pub(crate) fn product_u32(a: &[u32], b: &[u32], dims: Dims) -> Vec<u32> {
    match crate::simd_path() {
        crate::SimdPath::Avx512 => product(a, b, dims, tile::<u32, 64>),
        #[cfg(target_arch = "x86_64")]
        crate::SimdPath::Avx2 => product(a, b, dims, x86::tile_u32),
        _ => product(a, b, dims, tile::<u32, 16>),
    }
}

/// Returns a b over 64-bit words.
pub(crate) fn product_u64(a: &[u64], b: &[u64], dims: Dims) -> Vec<u64> {
    match crate::simd_path() {
        #[cfg(target_arch = "x86_64")]
        crate::SimdPath::Avx512 => product(a, b, dims, x86::tile_u64_avx512),
        #[cfg(target_arch = "x86_64")]
        crate::SimdPath::Avx2 => product(a, b, dims, x86::tile_u64_avx2),
        _ => product(a, b, dims, tile::<u64, 4>),
    }
}

/// Returns a b over 128-bit words.
pub(crate) fn product_u128(a: &[u128], b: &[u128], dims: Dims) -> Vec<u128> {
    product(a, b, dims, tile::<u128, 2>)
}

/// Returns a b as dot products of rows and columns: for few columns, and for words so long that registers hold no tile.
pub(crate) fn product_of_lines<W: Word>(a: &[W], b: &[W], (m, k, n): Dims) -> Vec<W> {
    let mut columns = memory::with_room(b.len());
    (0..n.min(b.len())).for_each(|j| columns.extend(b[j..].iter().step_by(n)));
    in_parts(a, (m, k, n), |c, a| by_dots(c, a, &columns, k, n))
}

fn product<W: Word, const NR: usize>(a: &[W], b: &[W], dims: Dims, kernel: Kernel<W, NR>) -> Vec<W> {
    let (_, k, n) = dims;
    if n < THIN {
        return product_of_lines(a, b, dims);
    }
    in_parts(a, dims, |c, a| match a.len() / k {
        rows if rows < MR => by_rows(c, a, b, k, n),
        rows => by_tiles(c, a, b, (rows, k, n), kernel),
    })
}

/// Returns the product whose rows `work` computes from those of a, on the number of threads that pays off.
fn in_parts<W: Word>(a: &[W], (m, k, n): Dims, work: impl Fn(&mut [W], &[W]) + Sync) -> Vec<W> {
    let mut c = memory::zeros(m * n);
    if a.is_empty() || c.is_empty() {
        return c;
    }
    // Each thread packs the panels that it needs; its rows are whole tiles.
    let threads = if m.saturating_mul(k).saturating_mul(n) < THREADED { 1 } else { threads() };
    let rows = m.div_ceil(threads).next_multiple_of(MR);
    side_by_side(c.chunks_mut(rows * n).zip(a.chunks(rows * k)).collect(), |(c, a)| work(c, a));
    c
}

fn by_tiles<W: Word, const NR: usize>(c: &mut [W], a: &[W], b: &[W], (m, k, n): Dims, kernel: Kernel<W, NR>) {
    let mut panel = Vec::with_capacity(KC.min(k) * NR);
    for top in (0..k).step_by(KC) {
        let depth = KC.min(k - top);
        for left in (0..n).step_by(NR) {
            let width = NR.min(n - left);
            pack_panel::<W, NR>(&mut panel, &b[top * n..(top + depth) * n], n, left..left + width);
            for first in (0..m).step_by(MR) {
                // The last tile may extend beyond the end: its extra rows repeat the last one and are not written.
                let rows = std::array::from_fn(|i| {
                    let start = (first + i).min(m - 1) * k + top;
                    &a[start..start + depth]
                });
                let mut sums = [[W::default(); NR]; MR];
                kernel(&panel, rows, &mut sums);
                for (row, sums) in (first..m).zip(&sums) {
                    let at = row * n + left;
                    c[at..at + width].iter_mut().zip(sums).for_each(|(to, sum)| *to = to.add(*sum));
                }
            }
        }
    }
}

/// Packs the given columns of b, `NR` to a line, with zeros beyond.
fn pack_panel<W: Word, const NR: usize>(panel: &mut Vec<W>, b: &[W], n: usize, columns: std::ops::Range<usize>) {
    panel.clear();
    for line in b.chunks_exact(n) {
        panel.extend_from_slice(&line[columns.clone()]);
        panel.resize(panel.len() + NR - columns.len(), W::default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limbs::{W192, W256};
    use crate::simd::forced::on_all;

    fn naive<W: Word>(a: &[W], b: &[W], (m, k, n): Dims) -> Vec<W> {
        let cell = |i: usize, j: usize| (0..k).fold(W::default(), |sum, p| sum.add(a[i * k + p].mul(b[p * n + j])));
        (0..m * n).map(|at| cell(at / n, at % n)).collect()
    }

    fn words<W: Word>(len: usize, start: u128) -> Vec<W> {
        let step = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835u128;
        let limbs =
            |word: u128| [word as u64, (word >> 64) as u64, (word >> 32) as u64, (word >> 96) as u64 ^ word as u64];
        (0..len as u128).map(|i| W::of_limbs(limbs((i + start).wrapping_mul(step).rotate_left(77)))).collect()
    }

    fn check<W: Word>(product: fn(&[W], &[W], Dims) -> Vec<W>) {
        let sizes = [0usize, 1, 3, 4, 5, 8, 17];
        let mut shapes: Vec<Dims> = Vec::new();
        for m in sizes {
            for k in sizes {
                shapes.extend(sizes.iter().map(|&n| (m, k, n)));
            }
        }
        shapes.extend([(7, 1030, 70), (65, 512, 33), (4, 513, 64), (2, 100, 300), (300, 100, 1)]);
        for dims in shapes {
            let (a, b) = (words::<W>(dims.0 * dims.1, 5), words::<W>(dims.1 * dims.2, 1 << 40));
            let expected = naive(&a, &b, dims);
            for (path, result) in on_all(|| product(&a, &b, dims)) {
                assert!(result == expected, "{dims:?} over {} bits on {path:?}", W::BITS);
            }
        }
    }

    #[test]
    fn every_path_and_word_agrees_with_the_definition() {
        check(product_u8);
        check(product_u16);
        check(product_u32);
        check(product_u64);
        check(product_u128);
        check(product_of_lines::<u64>);
        check(product_of_lines::<W192>);
        check(product_of_lines::<W256>);
    }

    #[test]
    fn extreme_words() {
        for word in [0u64, 1, u64::MAX, 1 << 63, u64::MAX >> 1, 0xffff_ffff, 0xffff_ffff_0000_0000] {
            let (a, b) = (vec![word; 5 * 20], vec![u64::MAX; 20 * 19]);
            for (path, result) in on_all(|| product_u64(&a, &b, (5, 20, 19))) {
                assert!(result == naive(&a, &b, (5, 20, 19)), "{word:x} on {path:?}");
            }
        }
    }

    #[test]
    fn threads_share_the_rows_of_a_large_product() {
        let dims = (67, 500, 70);
        assert!(dims.0 * dims.1 * dims.2 > THREADED);
        let (a, b) = (words::<u64>(dims.0 * dims.1, 5), words::<u64>(dims.1 * dims.2, 1 << 40));
        let expected = naive(&a, &b, dims);
        for count in [2, 3, 7] {
            crate::threads::set_threads(count).unwrap();
            assert!(product_u64(&a, &b, dims) == expected, "{count} threads");
        }
        crate::threads::set_threads(1).unwrap();
    }
}
