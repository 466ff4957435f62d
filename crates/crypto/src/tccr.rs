//! The tweakable circular correlation-robust hash.
//!
//! **Source**: Guo, Katz, Wang, Yu, "Efficient and Secure Multiparty Computation from Fixed-Key Block Ciphers", S&P
//! 2020 (ePrint 2019/074), section 7.4: TMMO(x, t) = pi(pi(x) xor t) xor pi(x), pi a random permutation.
//! **Deviation**: pi is AES-128 under a key derived from the session id, so that work spent against one session does
//! not help against another.
//! **Bound**: in the ideal-permutation model, against p queries to pi and q to the hash under a shift of min-entropy
//! 128 bits, the advantage is of order (pq + q^2) / 2^128: with q uses about 128 - log2(q) bits remain, 88 for q =
//! 2^40.
//! **Tweaks**: no tweak is used twice with one shift in a session; the caller makes them from lane and position.
//! H(x, t) and H(x xor d, t xor d) are unrelated, unlike for AES(x xor t) xor x xor t.
//! **Segments**: a caller that hashes very much under one shift changes the key regularly ([`Tccr::segment`]).
//! Permutations under different keys share no collisions, so the bound becomes a sum over keys, of order (p q' + q q')
//! / 2^128 where q' is the number of uses under one key; `docs/security/garbling.md` has the argument.

use crate::cipher::Aes;
use crate::{SessionId, domains};

/// Blocks hashed together: enough for the widest AES unit, within the first-level cache.
const CHUNK: usize = 256;

/// Blocks in a [`Run`].
pub const RUN: usize = 16;

/// Blocks hashed side by side under consecutive tweaks.
pub type Run = [u128; RUN];

/// The largest number of tweaks that one segment's key should serve.
pub const SEGMENT_TWEAKS: u128 = 1 << 12;

/// The hash of one session.
pub struct Tccr {
    key: [u8; 32],
    permutation: Aes,
    #[cfg(target_arch = "x86_64")]
    wide: Option<crate::wide::Vaes>,
}

impl Tccr {
    /// Returns the hash of this session.
    pub fn new(session: &SessionId) -> Tccr {
        Tccr::keyed(blake3::derive_key(domains::TCCR_KEY, session.as_bytes()))
    }

    /// Returns the hash for a part of this hash's uses, under a key of its own.
    pub fn segment(&self, index: u128) -> Tccr {
        let mut material = [0; 48];
        material[..32].copy_from_slice(&self.key);
        material[32..].copy_from_slice(&index.to_le_bytes());
        Tccr::keyed(blake3::derive_key(domains::TCCR_SEGMENT, &material))
    }

    /// Returns the key of another fixed-key permutation of this session, by the name of its use, of the form
    /// `quorate/crate/use`. The key is unrelated to that of this hash.
    pub fn permutation_key(&self, domain: &'static str) -> [u8; 16] {
        let mut hasher = blake3::Hasher::new_derive_key(domains::TCCR_OTHER);
        hasher.update(&self.key).update(domain.as_bytes());
        *hasher.finalize().as_bytes().first_chunk().expect("32 bytes have 16")
    }

    fn keyed(key: [u8; 32]) -> Tccr {
        let permutation_key = key.first_chunk().expect("32 bytes have 16");
        Tccr {
            permutation: Aes::new(permutation_key),
            #[cfg(target_arch = "x86_64")]
            wide: crate::wide::Vaes::new(permutation_key),
            key,
        }
    }

    /// Returns H(x, tweak).
    pub fn hash(&self, x: u128, tweak: u128) -> u128 {
        let mut block = [x];
        self.hash_run(&mut block, tweak);
        block[0]
    }

    /// Replaces x_i by H(x_i, first_tweak + i).
    pub fn hash_run(&self, blocks: &mut [u128], first_tweak: u128) {
        #[cfg(target_arch = "x86_64")]
        if self.wide.is_some() {
            let (pairs, rest) = blocks.as_chunks_mut::<{ 2 * RUN }>();
            let mut first = first_tweak;
            for pair in pairs {
                self.hash_pair(bytemuck::cast_mut(pair), [first, first.wrapping_add(RUN as u128)]);
                first = first.wrapping_add(2 * RUN as u128);
            }
            return self.hash_rest(rest, first);
        }
        for (i, chunk) in blocks.chunks_mut(CHUNK).enumerate() {
            let first = first_tweak.wrapping_add((i * CHUNK) as u128);
            self.hash_chunk(chunk, |j| first.wrapping_add(j as u128));
        }
    }

    /// Computes H(x_i, first tweak + i) for two first tweaks: replaces x_i by the first result, and writes the second
    /// to `others`.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn hash_twice(&self, blocks: &mut [u128], others: &mut [u128], first_tweaks: [u128; 2]) {
        assert!(blocks.len() == others.len(), "room for {} hashes of {} blocks", others.len(), blocks.len());
        let mut first = first_tweaks;
        for (blocks, others) in blocks.chunks_mut(CHUNK).zip(others.chunks_mut(CHUNK)) {
            #[cfg(target_arch = "x86_64")]
            if let Some(wide) = self.wide_for_run(first, blocks.len()) {
                wide.hash_twice(blocks, others, first);
                first = first.map(|first| first.wrapping_add(CHUNK as u128));
                continue;
            }
            self.permute(blocks);
            let mut inner = [0u128; CHUNK];
            let inner = &mut inner[..blocks.len()];
            let tweaked = |to: &mut [u128], first: u128| {
                let tweaks = (0..).map(|j| first.wrapping_add(j));
                to.iter_mut().zip(blocks.iter().zip(tweaks)).for_each(|(to, (from, tweak))| *to = from ^ tweak);
                self.permute(to);
            };
            tweaked(others, first[1]);
            tweaked(inner, first[0]);
            for ((block, other), inner) in blocks.iter_mut().zip(others).zip(&*inner) {
                *other ^= *block;
                *block ^= inner;
            }
            zeroize::Zeroize::zeroize(inner);
            first = first.map(|first| first.wrapping_add(CHUNK as u128));
        }
    }

    /// Replaces x_i by H(x_i, first + i), for less than a pair of runs.
    #[cfg(target_arch = "x86_64")]
    fn hash_rest(&self, blocks: &mut [u128], first: u128) {
        if !blocks.is_empty() {
            let mut pair = [0; 2 * RUN];
            pair[..blocks.len()].copy_from_slice(blocks);
            self.hash_pair(bytemuck::cast_mut(&mut pair), [first, first.wrapping_add(RUN as u128)]);
            blocks.copy_from_slice(&pair[..blocks.len()]);
            zeroize::Zeroize::zeroize(&mut pair);
        }
    }

    /// Replaces, in both runs, x_i by H(x_i, first tweak of the run + i).
    #[inline]
    pub fn hash_pair(&self, runs: &mut [Run; 2], first_tweaks: [u128; 2]) {
        #[cfg(target_arch = "x86_64")]
        if let Some(wide) = self.wide_for(first_tweaks) {
            return wide.hash_pair(runs, first_tweaks);
        }
        for (run, first) in runs.iter_mut().zip(first_tweaks) {
            self.hash_chunk(run, |j| first.wrapping_add(j as u128));
        }
    }

    /// Returns the wide kernels, if there are any and the tweaks of these runs do not carry beyond 64 bits.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    pub(crate) fn wide_for(&self, first_tweaks: [u128; 2]) -> Option<&crate::wide::Vaes> {
        self.wide_for_run(first_tweaks, RUN)
    }

    /// Returns the wide kernels, if there are any and the tweaks of runs of `len` blocks do not carry beyond 64 bits.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    fn wide_for_run(&self, first_tweaks: [u128; 2], len: usize) -> Option<&crate::wide::Vaes> {
        let carries = first_tweaks.iter().any(|&tweak| tweak as u64 > u64::MAX - len as u64);
        self.wide.as_ref().filter(|_| !carries)
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

    /// Applies pi to each block, with its bytes in little-endian order.
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
            let expected: Vec<u128> = inputs.iter().zip(&tweaks).map(|(x, t)| defined(*x, *t)).collect();
            assert_eq!(run, expected);
        }
        assert_eq!(hash.hash(5, 6), defined(5, 6));
    }

    #[test]
    fn two_hashes_of_a_block_agree_with_the_definition_on_every_path() {
        let mut hash = Tccr::new(&session());
        for len in [0usize, 1, 15, 16, 17, 255, 256, 300, 600] {
            let inputs: Vec<u128> = (0..len as u128).map(|i| i * i * 0x1234_5678_9abc_def0_0fed_cba9 + 7).collect();
            for first in [[0, 1 << 20], [u128::MAX - 3, 5], [u128::from(u64::MAX) - 9, 3 << 64]] {
                let expected = first.map(|first| {
                    (0..).zip(&inputs).map(|(i, x)| defined(*x, first.wrapping_add(i))).collect::<Vec<u128>>()
                });
                let check = |hash: &Tccr| {
                    let (mut blocks, mut others) = (inputs.clone(), vec![3; len]);
                    hash.hash_twice(&mut blocks, &mut others, first);
                    assert_eq!([blocks, others], expected, "{len} blocks");
                };
                check(&hash);
                #[cfg(target_arch = "x86_64")]
                {
                    let wide = hash.wide.take();
                    check(&hash);
                    hash.wide = wide;
                }
            }
        }
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
    fn pairs_of_runs_agree_with_the_definition_on_every_path() {
        let mut hash = Tccr::new(&session());
        let inputs = [[0u128; RUN], [1; RUN]].map(|run| {
            let mut next = run[0];
            run.map(|_| {
                next = next.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835).wrapping_add(11);
                next
            })
        });
        for first in [[0, 0], [7 << 64 | 5, 1 << 100], [u128::MAX - 3, 9], [u128::from(u64::MAX) - 7, 3 << 64]] {
            let expected: [Run; 2] = std::array::from_fn(|r| {
                std::array::from_fn(|i| defined(inputs[r][i], u128::wrapping_add(first[r], i as u128)))
            });
            let mut runs = inputs;
            hash.hash_pair(&mut runs, first);
            assert_eq!(runs, expected);
            #[cfg(target_arch = "x86_64")]
            let wide = hash.wide.take();
            let mut runs = inputs;
            hash.hash_pair(&mut runs, first);
            assert_eq!(runs, expected);
            #[cfg(target_arch = "x86_64")]
            {
                hash.wide = wide;
            }
        }
    }

    #[test]
    fn segments_separate() {
        let hash = Tccr::new(&session());
        let all =
            [hash.hash(1, 2), hash.segment(0).hash(1, 2), hash.segment(1).hash(1, 2), hash.segment(1 << 64).hash(1, 2)];
        assert!((0..all.len()).all(|i| !all[..i].contains(&all[i])));
        assert_eq!(hash.segment(7).hash(3, 4), Tccr::new(&session()).segment(7).hash(3, 4));
    }

    #[test]
    fn other_permutations_separate() {
        let hash = Tccr::new(&session());
        let other = Tccr::new(&SessionId::from_bytes([5; 32]));
        let all = [hash.permutation_key("a"), hash.permutation_key("b"), other.permutation_key("a")];
        assert!((0..all.len()).all(|i| !all[..i].contains(&all[i]) && all[i] != hash.key[..16]));
        assert_eq!(all[0], Tccr::new(&session()).permutation_key("a"));
    }

    #[test]
    fn sessions_separate() {
        let other = Tccr::new(&SessionId::from_bytes([5; 32]));
        assert_ne!(Tccr::new(&session()).hash(1, 2), other.hash(1, 2));
    }
}
