//! Bit-matrix transposition between elements and rows of bits, 64 x 64 at a time.

use crate::simd::multiversion;
use crate::word::Word;

/// Transposes in place: bit j of word i changes places with bit i of word j.
#[inline(always)]
pub(crate) fn transpose64(block: &mut [u64; 64]) {
    let mut width = 32;
    let mut mask = 0x0000_0000_ffff_ffffu64;
    while width > 0 {
        for start in (0..64).step_by(2 * width) {
            for i in start..start + width {
                let swap = ((block[i] >> width) ^ block[i + width]) & mask;
                block[i] ^= swap << width;
                block[i + width] ^= swap;
            }
        }
        width /= 2;
        mask ^= mask << width;
    }
}

multiversion! {
    /// Writes bits `first` to `first + rows - 1` of the words as rows of `words.len()` lanes, 64 lanes to a word.
    fn rows_of[W: Word](out: &mut [u64], rows: usize, words: &[W], first: u32) {
        let row_words = words.len().div_ceil(64);
        for (column, lanes) in words.chunks(64).enumerate() {
            for low_row in (0..rows).step_by(64) {
                let shift = first + low_row as u32;
                let mut block = [0u64; 64];
                for (to, word) in block.iter_mut().zip(lanes) {
                    *to = (*word >> shift).wide64();
                }
                transpose64(&mut block);
                for (row, word) in (low_row..rows).zip(&block) {
                    out[row * row_words + column] = *word;
                }
            }
        }
    }
}

multiversion! {
    /// Sets each word to the sum of row_i 2^i over the first `rows` rows; the words start as zeros.
    fn columns_of[W: Word](out: &mut [W], bits: &[u64], rows: usize) {
        let row_words = out.len().div_ceil(64);
        for (column, lanes) in out.chunks_mut(64).enumerate() {
            for low_row in (0..rows).step_by(64) {
                let mut block = [0u64; 64];
                for (row, word) in (low_row..rows).zip(&mut block) {
                    *word = bits[row * row_words + column];
                }
                transpose64(&mut block);
                for (to, word) in lanes.iter_mut().zip(&block) {
                    *to = *to | (W::low64(*word) << low_row as u32);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::transpose64;

    #[test]
    fn blocks_transpose() {
        let mut block: [u64; 64] = std::array::from_fn(|i| (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let original = block;
        transpose64(&mut block);
        for (i, word) in original.iter().enumerate() {
            for (j, column) in block.iter().enumerate() {
                assert_eq!(word >> j & 1, column >> i & 1, "bit {j} of word {i}");
            }
        }
        transpose64(&mut block);
        assert_eq!(block, original);
    }
}
