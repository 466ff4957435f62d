//! Bit-matrix transposition between elements and rows of bits.
//!
//! Eight blocks of 64 x 64 bits are transposed side by side. Word i of all eight lies together, so every step of the
//! transposition is the same on eight neighbouring words. A row's eight words are neighbours in memory.

use crate::simd::multiversion;
use crate::word::Word;

/// Blocks side by side.
const SIDE: usize = 8;
/// Elements in them.
const LANES: usize = 64 * SIDE;

/// Word i of each block in `blocks[i]`.
type Blocks = [[u64; SIDE]; 64];

/// Exchanges the upper right with the lower left quarter in every square of 2 `width` bits that begins above row
/// `rows`.
#[inline(always)]
fn exchange(blocks: &mut Blocks, width: usize, rows: usize) {
    // Ones in the lower half of every run of 2 width bits.
    let mask = u64::MAX / ((1 << width) + 1);
    for square in blocks.chunks_exact_mut(2 * width).take(rows.div_ceil(2 * width)) {
        let (upper, lower) = square.split_at_mut(width);
        for (upper, lower) in upper.iter_mut().zip(lower) {
            for (high, low) in upper.iter_mut().zip(lower) {
                let swap = ((*high >> width) ^ *low) & mask;
                *high ^= swap << width;
                *low ^= swap;
            }
        }
    }
}

multiversion! {
    /// Writes bits `first` to `first + rows - 1` of the words as rows of `words.len()` lanes, 64 lanes to a word.
    limit avx2;
    fn rows_of[W: Word](out: &mut [u64], rows: usize, words: &[W], first: u32) {
        let row_words = words.len().div_ceil(64);
        let mut blocks = [[0; SIDE]; 64];
        for (strip, lanes) in words.chunks(LANES).enumerate() {
            let columns = lanes.len().div_ceil(64);
            for low_row in (0..rows).step_by(64) {
                let (shift, live) = (first + low_row as u32, (rows - low_row).min(64));
                for (column, lanes) in lanes.chunks(64).enumerate() {
                    for (to, word) in blocks.iter_mut().zip(lanes) {
                        to[column] = word.bits_from(shift);
                    }
                }
                // Rows from `live` on are not wanted: the wide exchanges come first, so that they drop out early.
                for width in [32, 16, 8, 4, 2, 1] {
                    exchange(&mut blocks, width, live);
                }
                for (row, words) in (low_row..low_row + live).zip(&blocks) {
                    let at = row * row_words + strip * SIDE;
                    out[at..at + columns].copy_from_slice(&words[..columns]);
                }
            }
        }
    }
}

multiversion! {
    /// Sets each word to the sum of row_i 2^i over the first `rows` rows; the words start as zeros.
    limit avx2;
    fn columns_of[W: Word](out: &mut [W], bits: &[u64], rows: usize) {
        let row_words = out.len().div_ceil(64);
        for (strip, lanes) in out.chunks_mut(LANES).enumerate() {
            let columns = lanes.len().div_ceil(64);
            for low_row in (0..rows).step_by(64) {
                let live = (rows - low_row).min(64);
                let mut blocks = [[0; SIDE]; 64];
                for (row, words) in (low_row..low_row + live).zip(&mut blocks) {
                    let at = row * row_words + strip * SIDE;
                    words[..columns].copy_from_slice(&bits[at..at + columns]);
                }
                // Rows from `live` on are zero: the narrow exchanges come first, so that they need not process these.
                for width in [1, 2, 4, 8, 16, 32] {
                    exchange(&mut blocks, width, live);
                }
                for (column, lanes) in lanes.chunks_mut(64).enumerate() {
                    for (to, words) in lanes.iter_mut().zip(&blocks) {
                        to.set_bits(low_row as u32, words[column]);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Blocks, exchange};

    #[test]
    fn blocks_transpose() {
        let word = |i: usize, c: usize| ((i * 8 + c) as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let original: Blocks = std::array::from_fn(|i| std::array::from_fn(|c| word(i, c)));
        let mut blocks = original;
        [32, 16, 8, 4, 2, 1].into_iter().for_each(|width| exchange(&mut blocks, width, 64));
        let bit = |blocks: &Blocks, row: usize, column: usize, c: usize| blocks[row][c] >> column & 1;
        for at in 0..8 * 64 * 64 {
            let (c, i, j) = (at % 8, at / 8 % 64, at / 512);
            assert_eq!(bit(&original, i, j, c), bit(&blocks, j, i, c), "bit {j} of word {i}");
        }
        [1, 2, 4, 8, 16, 32].into_iter().for_each(|width| exchange(&mut blocks, width, 64));
        assert_eq!(blocks, original);
    }
}
