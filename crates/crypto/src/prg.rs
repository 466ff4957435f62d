//! The generator: AES-128 in counter mode.

use crate::cipher::Aes;
use crate::tape::Reader;
use quorate_ring::threads::{side_by_side, threads};
use zeroize::Zeroize;

/// Blocks generated together: enough to fill the widest AES unit, within the first-level cache.
const CHUNK: usize = 512;
/// The number of blocks from which a draw uses several threads: half a megabyte, 50 us.
const THREADED: usize = 1 << 15;

/// A stream of pseudo-random bytes, made by [`Seed::prg`](crate::Seed::prg). Its output depends only on the number of
/// bytes drawn before: drawing 5 and then 11 bytes gives the same as drawing 16. Wiped on drop, never printed.
///
/// Key and first counter block are both derived from the seed, so attacks on many streams at once gain nothing from a
/// shared start. A stream repeats after 2^128 blocks; drawing 2^44 bytes is distinguishable from random bits with
/// advantage below 2^-49 (PRP/PRF switching).
pub struct Prg {
    pub(crate) source: Source,
}

#[allow(clippy::large_enum_variant, dead_code, reason = "tapes exist only in tests")]
pub(crate) enum Source {
    Aes(Ctr),
    Tape(Reader),
}

/// Counter mode with a 128-bit big-endian counter, as in NIST SP 800-38A.
pub(crate) struct Ctr {
    cipher: Aes,
    /// The next block to encrypt.
    counter: u128,
    /// The last block of keystream, and how many of its bytes were drawn.
    block: [u8; 16],
    used: usize,
}

impl Prg {
    /// Returns a generator with the AES key `material[..16]` and the first counter block `material[16..]`.
    pub(crate) fn from_material(material: &[u8; 32]) -> Prg {
        let (key, counter) = material.split_at(16);
        let cipher = Aes::new(key.try_into().expect("16 bytes"));
        let counter = u128::from_be_bytes(counter.try_into().expect("16 bytes"));
        Prg { source: Source::Aes(Ctr { cipher, counter, block: [0; 16], used: 16 }) }
    }

    /// Overwrites `out` with the next bytes of the stream.
    pub fn fill(&mut self, out: &mut [u8]) {
        match &mut self.source {
            Source::Aes(ctr) => ctr.fill(out),
            Source::Tape(tape) => tape.read(out),
        }
    }

    /// Overwrites `out` with the bytes that lie `offset` bytes ahead, without moving the stream.
    pub fn fill_at(&self, offset: u64, out: &mut [u8]) {
        match &self.source {
            Source::Aes(ctr) => ctr.fill_at(offset, out),
            // A tape returns bytes in the order of the draws.
            Source::Tape(tape) => tape.read(out),
        }
    }

    /// Returns the next eight bytes as a number.
    pub fn next_u64(&mut self) -> u64 {
        let mut bytes = [0; 8];
        self.fill(&mut bytes);
        u64::from_le_bytes(bytes)
    }
}

impl Ctr {
    fn fill(&mut self, out: &mut [u8]) {
        let held = out.len().min(16 - self.used);
        let (head, out) = out.split_at_mut(held);
        head.copy_from_slice(&self.block[self.used..self.used + held]);
        self.used += held;
        let (blocks, tail) = out.as_chunks_mut::<16>();
        self.long_keystream(blocks);
        if !tail.is_empty() {
            let mut block = [[0; 16]];
            self.keystream(&mut block);
            [self.block] = block;
            self.used = tail.len();
            tail.copy_from_slice(&self.block[..tail.len()]);
        }
    }

    /// Generates whole blocks, on several threads if there are many.
    fn long_keystream(&mut self, blocks: &mut [[u8; 16]]) {
        let (count, first, cipher) = (blocks.len() as u128, self.counter, &self.cipher);
        let part = match blocks.len() < THREADED {
            true => THREADED,
            false => blocks.len().div_ceil(threads()),
        };
        let parts = blocks.chunks_mut(part).enumerate().collect();
        side_by_side(parts, |(i, blocks)| keystream(cipher, first.wrapping_add((i * part) as u128), blocks));
        self.counter = self.counter.wrapping_add(count);
    }

    /// Generates whole blocks.
    fn keystream(&mut self, blocks: &mut [[u8; 16]]) {
        keystream(&self.cipher, self.counter, blocks);
        self.counter = self.counter.wrapping_add(blocks.len() as u128);
    }

    /// Overwrites `out` with the bytes from `offset` on, counted from the stream's position.
    fn fill_at(&self, offset: u64, out: &mut [u8]) {
        let held = (16 - self.used) as u64;
        let mut out = out;
        if offset < held {
            let start = self.used + offset as usize;
            let taken = out.len().min(16 - start);
            out[..taken].copy_from_slice(&self.block[start..start + taken]);
            out = &mut out[taken..];
        }
        let skipped = offset.saturating_sub(held);
        let mut rest = Ctr {
            cipher: self.cipher.clone(),
            counter: self.counter.wrapping_add(u128::from(skipped / 16)),
            block: [0; 16],
            used: 16,
        };
        let within = (skipped % 16) as usize;
        if within > 0 && !out.is_empty() {
            let mut block = [[0; 16]];
            rest.keystream(&mut block);
            [rest.block] = block;
            rest.used = within;
        }
        rest.fill(out);
    }
}

/// Writes the blocks of the counters from `first` on.
fn keystream(cipher: &Aes, mut first: u128, blocks: &mut [[u8; 16]]) {
    for chunk in blocks.chunks_mut(CHUNK) {
        write_counters(chunk, first);
        cipher.encrypt(chunk);
        first = first.wrapping_add(chunk.len() as u128);
    }
}

/// Writes `first`, `first + 1`, ... as big-endian numbers. Counters are secret: no branch depends on a carry.
#[inline]
fn write_counters(blocks: &mut [[u8; 16]], first: u128) {
    let (high, low) = ((first >> 64) as u64, first as u64);
    for (i, block) in blocks.iter_mut().enumerate() {
        let (low, carries) = low.overflowing_add(i as u64);
        *block = (u128::from(high.wrapping_add(carries.into())) << 64 | u128::from(low)).to_be_bytes();
    }
}

impl Drop for Ctr {
    fn drop(&mut self) {
        self.block.zeroize();
        self.counter.zeroize();
    }
}

impl std::fmt::Debug for Prg {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Prg(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;

    fn hex(text: &str) -> Vec<u8> {
        (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap()).collect()
    }

    /// Tests NIST SP 800-38A, F.5.1 CTR-AES128.Encrypt: keystream = output block.
    #[test]
    fn nist_sp_800_38a() {
        let key = hex("2b7e151628aed2a6abf7158809cf4f3c");
        let counter = hex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff");
        let expected = hex(concat!(
            "ec8cdf7398607cb0f2d21675ea9ea1e4",
            "362b7c3c6773516318a077d7fc5073ae",
            "6a2cc3787889374fbeb4c81b17ba6c44",
            "e89c399ff0f198c6d40a31db156cabfe"
        ));
        let material: Vec<u8> = key.into_iter().chain(counter).collect();
        let mut out = vec![0; 64];
        Prg::from_material(material.as_slice().try_into().unwrap()).fill(&mut out);
        assert_eq!(out, expected);
    }

    /// Tests FIPS 197, appendix C.1, as the first block of a stream.
    #[test]
    fn fips_197() {
        let material: Vec<u8> = (0..16).chain((0..16).map(|i| i * 0x11)).collect();
        let mut out = [0; 16];
        Prg::from_material(material.as_slice().try_into().unwrap()).fill(&mut out);
        assert_eq!(out.to_vec(), hex("69c4e0d86a7b0430d8cdb78070b4c55a"));
    }

    fn block_by_block(key: &[u8; 16], counter: u128, blocks: usize) -> Vec<u8> {
        let cipher = Aes::new(key);
        let block = |i: usize| {
            let mut block = [counter.wrapping_add(i as u128).to_be_bytes()];
            cipher.encrypt(&mut block);
            block[0]
        };
        (0..blocks).flat_map(block).collect()
    }

    #[test]
    fn counter_carries_into_every_byte() {
        for counter in [u128::MAX, u128::MAX - 700, u64::MAX as u128 - 700, u64::MAX as u128, 0xff, 0, 0xffff_ff80] {
            let mut material = [9u8; 32];
            material[16..].copy_from_slice(&counter.to_be_bytes());
            let mut out = vec![0; 16 * 1300];
            Prg::from_material(&material).fill(&mut out);
            assert_eq!(out, block_by_block(&[9; 16], counter, 1300));
        }
    }

    #[test]
    fn split_draws_equal_one_draw() {
        let seed = Seed::from_bytes([1; 32]);
        let mut whole = vec![0; 40_000];
        seed.prg("quorate/crypto/test", b"").fill(&mut whole);
        for step in [1usize, 3, 5, 8, 11, 16, 17, 31, 64, 2048, 8191, 8192, 8193, 20_000] {
            let mut prg = seed.prg("quorate/crypto/test", b"");
            let mut parts = vec![0; whole.len()];
            parts.chunks_mut(step).for_each(|part| prg.fill(part));
            assert_eq!(parts, whole, "in steps of {step}");
        }
        let mut prg = seed.prg("quorate/crypto/test", b"");
        let (mut five, mut eleven) = ([0; 5], [0; 11]);
        prg.fill(&mut five);
        prg.fill(&mut []);
        prg.fill(&mut eleven);
        assert_eq!([&five[..], &eleven[..]].concat(), whole[..16]);
        assert_eq!(prg.next_u64().to_le_bytes(), whole[16..24]);
    }

    #[test]
    fn any_place_of_a_stream_can_be_read() {
        let mut prg = Seed::from_bytes([1; 32]).prg("quorate/crypto/test", b"");
        let mut whole = vec![0; 40_000];
        prg.fill_at(0, &mut whole);
        for drawn in [0usize, 5, 16, 100] {
            for (offset, len) in [(0, 0), (0, 3), (0, 40), (10, 1), (11, 8000), (16, 16), (12_345, 20_001)] {
                let mut part = vec![0; len];
                prg.fill_at(offset as u64, &mut part);
                assert_eq!(part, whole[drawn + offset..drawn + offset + len], "{len} bytes at {drawn} + {offset}");
            }
            let next = [5, 11, 84, 0][[0, 5, 16, 100].iter().position(|&at| at == drawn).unwrap()];
            prg.fill(&mut vec![0; next]);
        }
    }

    #[test]
    fn long_draws_are_the_same_on_any_number_of_threads() {
        let draw = |count| {
            quorate_ring::threads::set_threads(count).unwrap();
            let mut prg = Seed::from_bytes([1; 32]).prg("quorate/crypto/test", b"");
            let mut out = vec![0; 16 * THREADED + 1_000_003];
            prg.fill(&mut out[..7]);
            prg.fill(&mut out[7..]);
            out
        };
        let one = draw(1);
        assert!([2, 3, 5].into_iter().all(|count| draw(count) == one));
        quorate_ring::threads::set_threads(1).unwrap();
    }

    #[test]
    fn a_stream_goes_on_after_a_long_draw() {
        let stream = || Seed::from_bytes([1; 32]).prg("quorate/crypto/test", b"");
        for long in [16 * (THREADED - 1), 16 * THREADED, 16 * THREADED + 5] {
            let (mut whole, mut parts) = (vec![0; 2 * long + 100], vec![0; 2 * long + 100]);
            let mut prg = stream();
            whole.chunks_mut(16 * CHUNK).for_each(|part| prg.fill(part));
            let mut prg = stream();
            parts.chunks_mut(long).for_each(|part| prg.fill(part));
            assert!(parts == whole, "after a draw of {long} bytes");
        }
    }

    #[test]
    fn streams_separate() {
        let seed = Seed::from_bytes([1; 32]);
        let first = |mut prg: Prg| prg.next_u64();
        assert_ne!(first(seed.prg("quorate/a", b"x")), first(seed.prg("quorate/a", b"y")));
        assert_ne!(first(seed.prg("quorate/a", b"x")), first(seed.prg("quorate/b", b"x")));
        let derived = seed.derive("quorate/a", b"x");
        assert_ne!(first(seed.prg("quorate/a", b"x")).to_le_bytes(), derived.expose()[..8]);
    }
}
