//! Packing: k bits an element, without gaps.

use crate::memory;
use crate::simd::multiversion;
use crate::word::Word;

/// Appends the low `bits` bits of each word.
pub(crate) fn pack<W: Word>(out: &mut Vec<u8>, words: &[W], bits: u32) {
    let (start, bytes) = (out.len(), (words.len() * bits as usize).div_ceil(8));
    memory::make_room(out, bytes);
    if bits == W::BITS {
        return out.extend_from_slice(bytemuck::cast_slice(words));
    }
    out.resize(start + bytes, 0);
    pack_at(&mut out[start..], words, bits);
}

/// Packs the low `bits` bits of each word into exactly the bytes that they take.
pub(crate) fn pack_at<W: Word>(out: &mut [u8], words: &[W], bits: u32) {
    match W::BITS {
        full if bits == full => out.copy_from_slice(bytemuck::cast_slice(words)),
        192 => pack_limbs::<3>(out, bytemuck::cast_slice(words), bits),
        256 => pack_limbs::<4>(out, bytemuck::cast_slice(words), bits),
        128 => pack_wide(out, bytemuck::cast_slice(words), bits),
        _ => pack_narrow(out, words, bits),
    }
}

/// Reads exactly `words.len()` elements of `bits` bits.
pub(crate) fn unpack<W: Word>(words: &mut [W], bytes: &[u8], bits: u32) {
    match W::BITS {
        full if bits == full => bytemuck::cast_slice_mut(words).copy_from_slice(bytes),
        192 => unpack_limbs::<3>(bytemuck::cast_slice_mut(words), bytes, bits),
        256 => unpack_limbs::<4>(bytemuck::cast_slice_mut(words), bytes, bits),
        128 => unpack_wide(bytemuck::cast_slice_mut(words), bytes, bits),
        _ => unpack_narrow(words, bytes, bits),
    }
}

/// Appends the low `bits` bits of each word, without gaps, in the format of [`Vector::pack`](crate::Vector::pack).
///
/// # Panics
/// Unless 1 <= bits <= 64.
pub fn pack_words(out: &mut Vec<u8>, words: &[u64], bits: u32) {
    assert!((1..=64).contains(&bits), "{bits} bits of a word");
    pack(out, words, bits);
}

/// Reads the output of [`pack_words`].
///
/// # Panics
/// Unless 1 <= bits <= 64 and there are exactly ceil(words bits / 8) bytes.
pub fn unpack_words(words: &mut [u64], bytes: &[u8], bits: u32) {
    assert!((1..=64).contains(&bits), "{bits} bits of a word");
    assert_eq!(bytes.len(), (words.len() * bits as usize).div_ceil(8), "bytes of {} words", words.len());
    unpack(words, bytes, bits);
}

multiversion! {
    /// Packs elements of at most 64 bits through a 64-bit accumulator.
    fn pack_narrow[W: Word](out: &mut [u8], words: &[W], bits: u32) {
        let mask = u64::MAX >> (64 - bits);
        let (mut acc, mut fill, mut at) = (0u64, 0u32, 0usize);
        for word in words {
            let value = word.wide64() & mask;
            acc |= value << fill;
            fill += bits;
            if fill >= 64 {
                out[at..at + 8].copy_from_slice(&acc.to_le_bytes());
                at += 8;
                fill -= 64;
                // The part of the value that did not fit: its upper `fill` bits, none if fill is 0.
                acc = (value >> 1) >> (bits - fill - 1);
            }
        }
        let rest = out.len() - at;
        out[at..].copy_from_slice(&acc.to_le_bytes()[..rest]);
    }
}

multiversion! {
    /// Packs elements of 65 to 127 bits through a 128-bit accumulator.
    fn pack_wide[](out: &mut [u8], words: &[u128], bits: u32) {
        let mask = u128::MAX >> (128 - bits);
        let (mut acc, mut fill, mut at) = (0u128, 0u32, 0usize);
        for word in words {
            let value = *word & mask;
            acc |= value << fill;
            fill += bits;
            if fill >= 128 {
                out[at..at + 16].copy_from_slice(&acc.to_le_bytes());
                at += 16;
                fill -= 128;
                acc = (value >> 1) >> (bits - fill - 1);
            }
        }
        let rest = out.len() - at;
        out[at..].copy_from_slice(&acc.to_le_bytes()[..rest]);
    }
}

multiversion! {
    /// Packs elements of more than 128 bits that do not fill their highest limb, limb by limb.
    fn pack_limbs[const N: usize](out: &mut [u8], words: &[[u64; N]], bits: u32) {
        let top = bits - 64 * (N as u32 - 1);
        let mask = u64::MAX >> (64 - top);
        let (mut acc, mut fill, mut at) = (0u64, 0u32, 0usize);
        for word in words {
            for limb in &word[..N - 1] {
                out[at..at + 8].copy_from_slice(&(acc | (limb << fill)).to_le_bytes());
                at += 8;
                acc = (limb >> 1) >> (63 - fill);
            }
            let value = word[N - 1] & mask;
            acc |= value << fill;
            fill += top;
            if fill >= 64 {
                out[at..at + 8].copy_from_slice(&acc.to_le_bytes());
                at += 8;
                fill -= 64;
                acc = (value >> 1) >> (top - fill - 1);
            }
        }
        let rest = out.len() - at;
        out[at..].copy_from_slice(&acc.to_le_bytes()[..rest]);
    }
}

/// Returns eight bytes from `at` on, zeros beyond the end.
#[inline(always)]
fn load(bytes: &[u8], at: usize) -> u64 {
    match bytes.get(at..at + 8) {
        Some(chunk) => u64::from_le_bytes(chunk.try_into().expect("eight bytes")),
        None => {
            let rest = &bytes[at.min(bytes.len())..];
            let mut word = [0; 8];
            word[..rest.len()].copy_from_slice(rest);
            u64::from_le_bytes(word)
        }
    }
}

multiversion! {
    /// Unpacks elements of at most 64 bits.
    fn unpack_narrow[W: Word](words: &mut [W], bytes: &[u8], bits: u32) {
        let mask = u64::MAX >> (64 - bits);
        if bits <= 57 {
            for (i, word) in words.iter_mut().enumerate() {
                let bit = i * bits as usize;
                *word = W::low64((load(bytes, bit / 8) >> (bit % 8)) & mask);
            }
        } else {
            for (i, word) in words.iter_mut().enumerate() {
                let bit = i * bits as usize;
                let (low, high) = (load(bytes, bit / 8), bytes.get(bit / 8 + 8).copied().unwrap_or(0));
                let shift = (bit % 8) as u32;
                let value = (low >> shift) | ((u64::from(high) << 1) << (63 - shift));
                *word = W::low64(value & mask);
            }
        }
    }
}

multiversion! {
    /// Unpacks elements of 65 to 127 bits.
    fn unpack_wide[](words: &mut [u128], bytes: &[u8], bits: u32) {
        let mask = u128::MAX >> (128 - bits);
        for (i, word) in words.iter_mut().enumerate() {
            let bit = i * bits as usize;
            let (at, shift) = (bit / 8, (bit % 8) as u32);
            let low = u128::from(load(bytes, at)) | u128::from(load(bytes, at + 8)) << 64;
            let high = bytes.get(at + 16).copied().unwrap_or(0);
            let value = (low >> shift) | ((u128::from(high) << 1) << (127 - shift));
            *word = value & mask;
        }
    }
}

multiversion! {
    /// Unpacks elements of more than 128 bits that do not fill their highest limb.
    fn unpack_limbs[const N: usize](words: &mut [[u64; N]], bytes: &[u8], bits: u32) {
        let mask = u64::MAX >> (64 * N as u32 - bits);
        for (i, word) in words.iter_mut().enumerate() {
            let bit = i * bits as usize;
            let (at, shift) = (bit / 8, (bit % 8) as u32);
            let mut low = load(bytes, at);
            for (j, limb) in word.iter_mut().enumerate() {
                let high = load(bytes, at + 8 * (j + 1));
                *limb = (low >> shift) | ((high << 1) << (63 - shift));
                low = high;
            }
            word[N - 1] &= mask;
        }
    }
}
