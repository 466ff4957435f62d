//! Branch-free selection by secret bits: masks, conditional changes of blocks, and sums of selected words.
//!
//! Nothing here branches on a bit: a mask is `0 - (bit & one)`, where `one` is 1 behind an optimisation barrier. If the
//! compiler could see its value, it could turn the mask into a branch (docs/decisions/0083).

use std::hint::black_box;

/// Makes masks of secret bits: all ones for 1, 0 for 0.
#[derive(Clone, Copy, Debug)]
pub struct Masks {
    one: u64,
}

impl Default for Masks {
    fn default() -> Masks {
        Masks::new()
    }
}

impl Masks {
    /// Returns a maker of masks. It holds the barrier, so call this once before a loop.
    #[inline]
    pub fn new() -> Masks {
        Masks { one: black_box(1) }
    }

    /// Returns the mask of bit `i` of a word, as a word.
    #[inline]
    pub fn word(self, word: u64, i: usize) -> u64 {
        0u64.wrapping_sub(word >> i & self.one)
    }

    /// Returns the mask of bit `i` of a word, as a block of 128 bits.
    #[inline]
    pub fn block(self, word: u64, i: usize) -> u128 {
        0u128.wrapping_sub((word >> i & self.one).into())
    }
}

/// Calls `change` on each block with the mask of its bit. Bits are packed, 64 to a word, lowest first. Blocks without a
/// bit are left unchanged.
#[inline]
pub fn each(blocks: &mut [u128], bits: &[u64], change: impl Fn(&mut u128, u128)) {
    let masks = Masks::new();
    for (blocks, &word) in blocks.chunks_mut(u64::BITS as usize).zip(bits) {
        for (i, block) in blocks.iter_mut().enumerate() {
            change(block, masks.block(word, i));
        }
    }
}

/// Xors `block` into the blocks whose bit is set.
pub fn xor(blocks: &mut [u128], bits: &[u64], block: u128) {
    each(blocks, bits, |into, mask| *into ^= block & mask);
}

/// Returns the xor of the words whose bit is set.
pub fn sum(words: &[u64], bits: &[u64]) -> u64 {
    let (masks, mut sum) = (Masks::new(), 0);
    for (words, &chosen) in words.chunks(u64::BITS as usize).zip(bits) {
        for (i, word) in words.iter().enumerate() {
            sum ^= word & masks.word(chosen, i);
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_choose() {
        let bits: [u64; 2] = [0x8000_0000_0000_0005, 2];
        let is_set = |i: usize| bits[i / 64] >> (i % 64) & 1 == 1;
        let words: Vec<u64> = (1..=70).map(|i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        let expected = (0..70).filter(|&i| is_set(i)).fold(0, |sum, i| sum ^ words[i]);
        assert_eq!(sum(&words, &bits), expected);
        let mut blocks: Vec<u128> = words.iter().map(|&word| word.into()).collect();
        xor(&mut blocks, &bits, u128::MAX);
        for (i, (block, word)) in blocks.iter().zip(&words).enumerate() {
            assert_eq!(*block, u128::from(*word) ^ if is_set(i) { u128::MAX } else { 0 });
        }
        let masks = Masks::default();
        assert_eq!((masks.word(4, 2), masks.word(4, 1), masks.block(1 << 63, 63)), (u64::MAX, 0, u128::MAX));
    }
}
