//! The tweakable circular correlation-robust hash.
//!
//! **Source**: Guo, Katz, Wang, Yu, "Efficient and Secure Multiparty Computation from Fixed-Key Block Ciphers", S&P
//! 2020 (ePrint 2019/074), section 7.4: TMMO(x, t) = pi(pi(x) xor t) xor pi(x), pi a random permutation.
//! **Deviation**: pi is AES-128 under a key derived from the session id, so that work spent against one session does
//! not help against another.
//! **Bound**: in the ideal-permutation model, against p queries to pi and q to the hash under a shift of min-entropy
//! 128 bits, the advantage is of order (pq + q^2) / 2^128: with q uses about 128 - log2(q) bits remain, 88 for q = 2^40.
//! **Tweaks**: no tweak is used twice with one shift in a session; the caller makes them from lane and position.
//! H(x, t) and H(x xor d, t xor d) are unrelated, unlike for AES(x xor t) xor x xor t.

use crate::cipher::Aes;
use crate::{SessionId, domains};

/// Blocks that are hashed together: enough for the widest AES unit, small enough for the first-level cache.
const CHUNK: usize = 256;

/// The hash of one session.
pub struct Tccr {
    permutation: Aes,
}

impl Tccr {
    /// The hash of this session.
    pub fn new(session: &SessionId) -> Tccr {
        let key = blake3::derive_key(domains::TCCR_KEY, session.as_bytes());
        Tccr { permutation: Aes::new(key.first_chunk().expect("32 bytes have 16")) }
    }

    /// H(x, tweak).
    pub fn hash(&self, x: u128, tweak: u128) -> u128 {
        let mut block = [x];
        self.hash_run(&mut block, tweak);
        block[0]
    }

    /// Replaces x_i by H(x_i, first_tweak + i).
    pub fn hash_run(&self, blocks: &mut [u128], first_tweak: u128) {
        for (i, chunk) in blocks.chunks_mut(CHUNK).enumerate() {
            let first = first_tweak.wrapping_add((i * CHUNK) as u128);
            self.hash_chunk(chunk, |j| first.wrapping_add(j as u128));
        }
    }

    /// Replaces x_i by H(x_i, tweak_i).
    ///
    /// # Panics
    /// Unless there are as many tweaks as blocks.
    pub fn hash_each(&self, blocks: &mut [u128], tweaks: &[u128]) {
        assert!(blocks.len() == tweaks.len(), "{} tweaks for {} blocks", tweaks.len(), blocks.len());
        for (chunk, tweaks) in blocks.chunks_mut(CHUNK).zip(tweaks.chunks(CHUNK)) {
            self.hash_chunk(chunk, |j| tweaks[j]);
        }
    }

    #[inline(always)]
    fn hash_chunk(&self, blocks: &mut [u128], tweak: impl Fn(usize) -> u128) {
        let mut inner = [0u128; CHUNK];
        let inner = &mut inner[..blocks.len()];
        self.permute(blocks);
        for (j, (to, from)) in inner.iter_mut().zip(blocks.iter()).enumerate() {
            *to = from ^ tweak(j);
        }
        self.permute(inner);
        for (to, from) in blocks.iter_mut().zip(inner.iter()) {
            *to ^= from;
        }
        zeroize::Zeroize::zeroize(inner);
    }

    /// pi on each block, its bytes in little-endian order.
    fn permute(&self, blocks: &mut [u128]) {
        if cfg!(target_endian = "big") {
            blocks.iter_mut().for_each(|block| *block = block.to_le());
        }
        self.permutation.encrypt(bytemuck::cast_slice_mut(blocks));
        if cfg!(target_endian = "big") {
            blocks.iter_mut().for_each(|block| *block = u128::from_le(*block));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};

    fn session() -> SessionId {
        SessionId::from_bytes([4; 32])
    }

    /// The definition, a block at a time, with a cipher of its own.
    fn defined(x: u128, tweak: u128) -> u128 {
        let key = blake3::derive_key(domains::TCCR_KEY, session().as_bytes());
        let cipher = aes::Aes128::new(&Array(*key.first_chunk().unwrap()));
        let pi = |x: u128| {
            let mut block = Array(x.to_le_bytes());
            cipher.encrypt_block(&mut block);
            u128::from_le_bytes(block.0)
        };
        pi(pi(x) ^ tweak) ^ pi(x)
    }

    #[test]
    fn agrees_with_its_definition() {
        let hash = Tccr::new(&session());
        for len in [0usize, 1, 2, 255, 256, 257, 600] {
            let inputs: Vec<u128> = (0..len as u128).map(|i| i * 0x1234_5678_9abc_def0_0fed_cba9 + 1).collect();
            let first = u128::MAX - 3;
            let mut run = inputs.clone();
            hash.hash_run(&mut run, first);
            let tweaks: Vec<u128> = (0..len as u128).map(|i| first.wrapping_add(i)).collect();
            let mut each = inputs.clone();
            hash.hash_each(&mut each, &tweaks);
            let expected: Vec<u128> = inputs.iter().zip(&tweaks).map(|(x, t)| defined(*x, *t)).collect();
            assert_eq!(run, expected);
            assert_eq!(each, expected);
        }
        assert_eq!(hash.hash(5, 6), defined(5, 6));
    }

    #[test]
    fn shifting_input_and_tweak_together_changes_the_hash() {
        let hash = Tccr::new(&session());
        for d in (0..128).map(|i| 1u128 << i).chain([u128::MAX, 0x55]) {
            for (x, t) in [(0u128, 0u128), (7, 9), (u128::MAX, 1)] {
                assert_ne!(hash.hash(x, t), hash.hash(x ^ d, t ^ d));
                assert_ne!(hash.hash(x, t), hash.hash(x ^ d, t));
                assert_ne!(hash.hash(x, t), hash.hash(x, t ^ d));
                assert_ne!(hash.hash(x, t) ^ hash.hash(x ^ d, t ^ d), d);
            }
        }
    }

    #[test]
    fn sessions_separate() {
        let other = Tccr::new(&SessionId::from_bytes([5; 32]));
        assert_ne!(Tccr::new(&session()).hash(1, 2), other.hash(1, 2));
    }
}
