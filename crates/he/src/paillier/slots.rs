//! The slots of packed answers, and their masks.

use crypto_bigint::BoxedUint;
use zeroize::Zeroizing;

use crate::coins::Coins;
use crate::options::{SIGMA, slot_bits};
use crate::scheme::mask;

/// Draws a mask: 2 k + 1 uniform bits, and above them sigma bits that are not all ones. The masked number has at most 2
/// k + 1 bits, so the sum stays below 2^s.
pub fn draw_mask(k: u32, coins: &mut Coins) -> Zeroizing<BoxedUint> {
    loop {
        let drawn = coins.bits(slot_bits(k));
        if !all_ones(&drawn, 2 * k + 1, SIGMA) {
            return drawn;
        }
    }
}

/// Returns whether these bits, more than 64, are all set.
pub fn all_ones(words: &BoxedUint, from: u32, bits: u32) -> bool {
    let rest = bits - 64;
    (read(words, from, 64) == mask(64)) & (read(words, from + 64, rest) == mask(rest))
}

/// Returns up to 64 bits from a bit on.
pub fn read(words: &BoxedUint, from: u32, bits: u32) -> u64 {
    let words = words.as_words();
    let (at, shift) = (from as usize / 64, from % 64);
    let word = |i: usize| words.get(i).copied().unwrap_or(0);
    let high = if shift == 0 { 0 } else { word(at + 1) << (64 - shift) };
    (word(at) >> shift | high) & mask(bits)
}

/// Sets bits that were 0.
pub fn write(words: &mut BoxedUint, from: u32, value: &BoxedUint) {
    let (at, shift) = (from as usize / 64, from % 64);
    let words = words.as_mut_words();
    for (i, &word) in value.as_words().iter().enumerate() {
        words[at + i] |= word << shift;
        if shift > 0 && at + i + 1 < words.len() {
            words[at + i + 1] |= word >> (64 - shift);
        }
    }
}
