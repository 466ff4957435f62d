//! The inner loops, each with a portable version and one for each width of AES.
//!
//! Trees are evaluated four at a time: block q of a [`Four`] belongs to key q. No function here branches on a block's
//! value or indexes by one.

mod check;
#[cfg(test)]
mod forgery_tests;
mod grow;
mod paths;
mod portable;
mod sums;
pub(crate) mod windows;
#[cfg(target_arch = "x86_64")]
mod x86;

use aes::cipher::{Array, KeyInit};

use crate::hash::{Hash, Kernel};

pub(crate) use check::{PROOF_BLOCKS, Sums, check, proof};
pub(crate) use grow::{Tally, split, sum, tally_controls, tally_leaves};
pub(crate) use paths::{add_leaves, correct, descend, next_turns};
pub(crate) use sums::{Planes, add_planes, add_words_32, add_words_64, count_ones, shift};

/// A node of each of four keys, or four blocks of one key.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C, align(64))]
pub(crate) struct Four(pub [u128; 4]);

// SAFETY: four integers of 16 bytes in 64 bytes: no padding, and zeros are a value.
unsafe impl bytemuck::Zeroable for Four {}
// SAFETY: as above; every pattern of bits is a value.
unsafe impl bytemuck::Pod for Four {}

pub(crate) const ZERO: Four = Four([0; 4]);

/// An AES-128 key of a session; public.
pub(crate) struct Permutation {
    pub cipher: aes::Aes128Enc,
    #[cfg(target_arch = "x86_64")]
    pub round_keys: [Four; 11],
}

impl Permutation {
    pub fn new(key: &[u8; 16]) -> Permutation {
        Permutation {
            cipher: aes::Aes128Enc::new(&Array(*key)),
            #[cfg(target_arch = "x86_64")]
            round_keys: round_keys(*key),
        }
    }
}

/// Returns the schedule of FIPS 197, section 5.2, each key four times. The key is public, so tables may be indexed by
/// its bytes; the cipher itself substitutes them.
#[cfg(target_arch = "x86_64")]
fn round_keys(key: [u8; 16]) -> [Four; 11] {
    let mut keys = [key; 11];
    let mut constant = 1u8;
    for round in 1..11 {
        let last = keys[round - 1];
        let mut word = [last[13], last[14], last[15], last[12]].map(substituted);
        word[0] ^= constant;
        constant = doubled(constant);
        for i in 0..16 {
            word[i % 4] ^= last[i];
            keys[round][i] = word[i % 4];
        }
    }
    keys.map(|key| Four([u128::from_le_bytes(key); 4]))
}

#[cfg(target_arch = "x86_64")]
const fn doubled(a: u8) -> u8 {
    a << 1 ^ if a >> 7 == 1 { 0x1b } else { 0 }
}

/// Returns the S-box: the inverse in GF(2^8), which is the 254th power, and an affine map.
#[cfg(target_arch = "x86_64")]
fn substituted(a: u8) -> u8 {
    let product = |mut a: u8, b: u8| {
        (0..8).fold(0, |sum, i| {
            let term = if b >> i & 1 == 1 { a } else { 0 };
            a = doubled(a);
            sum ^ term
        })
    };
    // 254 = 2 + 4 + ... + 128.
    let squares = std::iter::successors(Some(a), |&a| Some(product(a, a)));
    let inverse = squares.skip(1).take(7).fold(1, product);
    (0..5).fold(0x63, |sum, i| sum ^ inverse.rotate_left(i))
}

/// Runs a function of the module that `hash` selects.
macro_rules! on_kernel {
    ($hash:expr, $name:ident($($arg:expr),* $(,)?)) => {
        match $hash.kernel {
            Kernel::Portable => portable::$name($($arg),*),
            // SAFETY: a `Hash` has a kernel only after `Kernel::available` found its features on this processor.
            #[cfg(target_arch = "x86_64")]
            Kernel::AesNi => unsafe { x86::aes_ni::$name($($arg),*) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Kernel::Vaes256 => unsafe { x86::vaes_256::$name($($arg),*) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Kernel::Vaes512 => unsafe { x86::vaes_512::$name($($arg),*) },
            #[cfg(not(target_arch = "x86_64"))]
            _ => portable::$name($($arg),*),
        }
    };
}
use on_kernel;

/// Computes to_i = H(from_i xor tweak), up to the shorter length.
pub(crate) fn hash(hash: &Hash, from: &[Four], tweak: u128, to: &mut [Four]) {
    assert_eq!(from.len(), to.len(), "hashes of another number of blocks");
    on_kernel!(hash, hash(&hash.tree, from, tweak, to));
}

/// Computes the children of all nodes: 2i and 2i + 1 are those of node i.
pub(crate) fn level(hash: &Hash, from: &[Four], correction: &Four, to: &mut [Four]) {
    assert_eq!(2 * from.len(), to.len(), "a level has twice the nodes of the one above");
    on_kernel!(hash, level(&hash.tree, from, correction, to));
}

/// Computes the leaves of terminal nodes. Block j of node i is block `i * blocks + j` of each key's part of `out`,
/// which has `stride` blocks. Blocks after the last one, up to a multiple of 8, may be overwritten.
pub(crate) fn leaves(hash: &Hash, nodes: &[Four], corrections: &[Four], out: &mut [u128], stride: usize) {
    let blocks = (nodes.len() * corrections.len()).next_multiple_of(8);
    assert!(matches!(corrections.len(), 1 | 2 | 4), "a leaf has 1, 2 or 4 blocks");
    assert!(stride >= blocks && out.len() >= 3 * stride + blocks, "leaves of {blocks} blocks in less room");
    on_kernel!(hash, leaves(&hash.tree, nodes, corrections, out, stride));
}

/// One of the two values of four keys' leaves, (-1)^side (H(s xor tweak) + t CW') modulo 2^L. With all ones as `sign`,
/// -a is (a xor sign) + 1. So 1 is added where a control bit is not set, and 1 - CW' where it is.
pub(crate) struct Payload {
    pub tweak: u128,
    /// All ones for the second side.
    pub sign: u128,
    /// The summand where the control bit is set, xor the summand where it is not.
    pub flip: Four,
    pub mask: u128,
}

impl Payload {
    /// Makes the values' parameters from these CW'.
    pub fn new(tweak: u128, sign: u128, corrections: Four, mask: u128) -> Payload {
        let set = |correction: u128| (correction ^ sign).wrapping_sub(sign).wrapping_add(sign & 1);
        Payload { tweak, sign, flip: Four(corrections.0.map(|correction| sign & 1 ^ set(correction))), mask }
    }
}

/// Computes the values of leaves, key by key. That of node i is word i of each key's part of `out`, which has `stride`
/// words. Words after the last one, up to a multiple of 8, may be overwritten.
pub(crate) fn payloads(hash: &Hash, nodes: &[Four], payload: &Payload, out: &mut [u128], stride: usize) {
    let words = nodes.len().next_multiple_of(8);
    assert!(stride >= words && out.len() >= 3 * stride + words, "{words} values in less room");
    on_kernel!(hash, payloads(&hash.tree, nodes, payload, out, stride));
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_crypto::{SessionId, Tccr};

    pub fn hashes() -> Vec<Hash> {
        let session = Tccr::new(&SessionId::from_bytes([3; 32]));
        Kernel::available().into_iter().filter_map(|kernel| Hash::with_kernel(&session, kernel)).collect()
    }

    pub fn nodes(count: usize) -> Vec<Four> {
        let word = |i: usize| (i as u128 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835).rotate_left(77);
        (0..count).map(|i| Four([0, 1, 2, 3].map(|q| word(4 * i + q)))).collect()
    }

    /// FIPS 197, appendix A.1.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_key_schedule_is_that_of_the_standard() {
        let key = 0x2b7e_1516_28ae_d2a6_abf7_1588_09cf_4f3cu128.to_be_bytes();
        let keys = round_keys(key);
        let last = 0xd014_f9a8_c9ee_2589_e13f_0cc8_b663_0ca6u128.to_be_bytes();
        assert_eq!(keys[10].0[3].to_le_bytes(), last);
    }

    /// Computes H by the `aes` crate, a block at a time.
    pub fn defined(x: u128) -> u128 {
        use aes::cipher::BlockCipherEncrypt;
        let key = Tccr::new(&SessionId::from_bytes([3; 32])).permutation_key("quorate/fss/tree");
        let (low, high) = (x as u64, (x >> 64) as u64);
        let sigma = u128::from(high ^ low) << 64 | u128::from(high);
        let mut block = Array(sigma.to_le_bytes());
        aes::Aes128::new(&Array(key)).encrypt_block(&mut block);
        u128::from_le_bytes(block.0) ^ sigma
    }

    /// Tests all carries: corrections near zero and near the end of a half, and arbitrary ones.
    #[test]
    fn payloads_are_as_defined_on_every_path() {
        let corrections = [0, 1, u128::MAX, 1 << 64, (1 << 64) - 1, 1 << 127];
        let all = corrections.windows(4).map(|some| Four(some.try_into().unwrap())).chain(nodes(50).split_off(40));
        let all: Vec<Four> = all.collect();
        for hash in hashes() {
            for (count, &correction) in
                [1usize, 2, 5, 7, 8, 9, 16, 31, 64].iter().flat_map(|n| all.iter().map(|c| (*n, c)))
            {
                for (sign, mask) in [(0, u128::MAX), (u128::MAX, u128::MAX), (u128::MAX, (1 << 80) - 1), (0, 1)] {
                    let from = nodes(count);
                    let stride = count.next_multiple_of(8) + 3;
                    let mut out = vec![0; 4 * stride];
                    payloads(&hash, &from, &Payload::new(4, sign, correction, mask), &mut out, stride);
                    for (i, node) in from.iter().enumerate() {
                        for q in 0..4 {
                            let correction = if node.0[q] & 1 == 1 { correction.0[q] } else { 0 };
                            let value = defined(node.0[q] ^ 4).wrapping_add(correction);
                            let value = if sign == 0 { value } else { value.wrapping_neg() };
                            assert_eq!(out[q * stride + i], value & mask, "{:?}", hash.kernel);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn hashes_levels_and_leaves_are_as_defined_on_every_path() {
        for hash in hashes() {
            for count in [1usize, 2, 3, 4, 7, 8, 9, 16, 31, 64] {
                let (from, cw) = (nodes(count), nodes(9)[8]);
                let mut hashed = vec![ZERO; count];
                super::hash(&hash, &from, 6, &mut hashed);
                let mut children = vec![ZERO; 2 * count];
                level(&hash, &from, &cw, &mut children);
                for (i, node) in from.iter().enumerate() {
                    for q in 0..4 {
                        assert_eq!(hashed[i].0[q], defined(node.0[q] ^ 6), "{:?}", hash.kernel);
                        let left = defined(node.0[q]) ^ if node.0[q] & 1 == 1 { cw.0[q] } else { 0 };
                        assert_eq!([children[2 * i].0[q], children[2 * i + 1].0[q]], [left, left ^ node.0[q]]);
                    }
                }
                for blocks in [1usize, 2, 4] {
                    let corrections = nodes(blocks);
                    let stride = (count * blocks).next_multiple_of(8) + 8;
                    let mut out = vec![0; 4 * stride];
                    leaves(&hash, &from, &corrections, &mut out, stride);
                    for (i, node) in from.iter().enumerate() {
                        for (j, correction) in corrections.iter().enumerate() {
                            for q in 0..4 {
                                let mask = if node.0[q] & 1 == 1 { correction.0[q] } else { 0 };
                                let expected = defined(node.0[q] ^ (2 * j as u128 + 2)) ^ mask;
                                assert_eq!(out[q * stride + i * blocks + j], expected, "{:?}", hash.kernel);
                            }
                        }
                    }
                }
            }
        }
    }
}
