//! Sums of values of leaves with windows of a public table: in digits of a byte if the processor multiplies those
//! (AVX-512 VNNI), word by word otherwise.
//!
//! A value has T bytes v_t, an entry U digits e_u from -128 to 127. A sum of products of bytes t and digits u has 32
//! bits, for 2^16 leaves at most, and weighs 2^(8 (t + u)).

#[cfg(target_arch = "x86_64")]
use crate::hash::Kernel;

/// Planes of bytes multiplied at a time: two bytes of both of a leaf's values.
pub(crate) const TILE: usize = 4;
/// Bytes of a register; planes are a multiple of it.
pub(crate) const REGISTER: usize = 64;

/// Returns whether this processor multiplies digits.
#[cfg(target_arch = "x86_64")]
pub(crate) fn has_digits(kernel: Kernel) -> bool {
    kernel == Kernel::Vaes512 && is_x86_feature_detected!("avx512vnni") && is_x86_feature_detected!("avx512vbmi")
}

/// A table's digits: planes of bytes, the lowest digits first. Made only where [`has_digits`] holds.
#[cfg(target_arch = "x86_64")]
pub(crate) struct Digits {
    planes: Vec<i8>,
    stride: usize,
}

#[cfg(target_arch = "x86_64")]
impl Digits {
    /// Returns the digits of entries, in as many planes as the entries need, or as `bits` bits fill: digits above do
    /// not count.
    pub fn new(kernel: Kernel, bits: u32, entries: &[i64]) -> Option<Digits> {
        if !has_digits(kernel) {
            return None;
        }
        let stride = entries.len();
        let mut rest: Vec<i128> = entries.iter().map(|&entry| entry.into()).collect();
        let mut planes = Vec::new();
        while planes.is_empty() || planes.len() < bits.div_ceil(8) as usize * stride && rest.iter().any(|&x| x != 0) {
            planes.extend(rest.iter().map(|&x| x as i8));
            rest.iter_mut().for_each(|x| *x = (*x - i128::from(*x as i8)) >> 8);
        }
        Some(Digits { planes, stride })
    }

    fn count(&self) -> usize {
        self.planes.len() / self.stride
    }
}

/// Values of one key's leaves as planes of bytes: byte t of the first values, then of the second ones, then byte t + 1.
#[cfg(target_arch = "x86_64")]
pub(crate) struct Bytes {
    planes: Vec<u8>,
    width: usize,
}

#[cfg(target_arch = "x86_64")]
impl Bytes {
    /// Returns zeros, for `leaves` values of `bits` bits.
    pub fn new(bits: u32, leaves: usize) -> Bytes {
        let width = leaves.next_multiple_of(REGISTER);
        let tiles = bits.div_ceil(8).div_ceil(2) as usize;
        Bytes { planes: quorate_ring::memory::zeros(tiles * TILE * width), width }
    }

    fn tile(&self, tile: usize) -> [&[[u8; REGISTER]]; TILE] {
        std::array::from_fn(|i| self.planes[(TILE * tile + i) * self.width..][..self.width].as_chunks().0)
    }

    /// Writes the first (0) or second (1) values of leaves from `first` on, a multiple of 64. The digits prove that the
    /// processor has the instructions.
    pub fn write(&mut self, _: &Digits, which: usize, first: usize, values: &[u128]) {
        for (at, part) in values.chunks(REGISTER).enumerate() {
            let mut whole = [0; REGISTER];
            whole[..part.len()].copy_from_slice(part);
            // SAFETY: there are `Digits` only where `has_digits` found these features.
            let mut planes = unsafe { x86::turned(&whole) };
            for (t, plane) in planes.iter().enumerate().take(self.planes.len() / self.width / 2) {
                let start = (2 * t + which) * self.width + first + at * REGISTER;
                self.planes[start..start + REGISTER].copy_from_slice(plane);
            }
            quorate_ring::wipe_words(planes.as_flattened_mut());
            quorate_ring::wipe_words(&mut whole);
        }
    }
}

#[cfg(target_arch = "x86_64")]
impl Drop for Bytes {
    fn drop(&mut self) {
        quorate_ring::wipe_words(&mut self.planes);
    }
}

/// Computes for each start the sums of first and of second values with the entries from there on, modulo 2^L for values
/// of L bits.
#[cfg(target_arch = "x86_64")]
pub(crate) fn sums_of_digits(values: &Bytes, table: &Digits, starts: &[usize], sums: &mut [[u128; 2]]) {
    assert_eq!(starts.len(), sums.len(), "a sum for each window");
    let tiles = values.planes.len() / values.width / TILE;
    for (starts, sums) in starts.chunks(TILE).zip(sums.chunks_mut(TILE)) {
        sums.fill([0; 2]);
        for u in 0..table.count() {
            // An incomplete group of windows is filled up by its last one.
            let windows: [&[[i8; REGISTER]]; TILE] = std::array::from_fn(|i| {
                let start = u * table.stride + starts[i.min(starts.len() - 1)];
                table.planes[start..start + values.width].as_chunks().0
            });
            for tile in (0..tiles).take_while(|tile| tile + u / 2 < tiles) {
                // SAFETY: there are `Digits` only where `has_digits` found these features.
                let mut products = unsafe { x86::products(values.tile(tile), windows) };
                for (sum, products) in sums.iter_mut().zip(&products) {
                    for (i, &product) in products.iter().enumerate() {
                        let weight = 8 * (2 * tile + i / 2 + u) as u32;
                        let weighed = (i128::from(product) as u128).checked_shl(weight).unwrap_or(0);
                        sum[i % 2] = sum[i % 2].wrapping_add(weighed);
                    }
                }
                quorate_ring::wipe_words(products.as_flattened_mut());
            }
        }
    }
}

/// Adds the products of values of leaves with the entries that begin at each start, word by word.
pub(crate) fn add_words(values: [&[u128]; 2], entries: &[i64], starts: &[usize], sums: &mut [[u128; 2]]) {
    for (&start, sum) in starts.iter().zip(sums) {
        let window = &entries[start..start + values[0].len()];
        for ((&first, &second), &entry) in values[0].iter().zip(values[1]).zip(window) {
            let entry = entry as u128;
            *sum = [sum[0].wrapping_add(first.wrapping_mul(entry)), sum[1].wrapping_add(second.wrapping_mul(entry))];
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{REGISTER, TILE};

    /// Returns the sums of products of bytes with digits, for each window all of them.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
    pub(super) fn products(
        values: [&[[u8; REGISTER]]; TILE],
        windows: [&[[i8; REGISTER]]; TILE],
    ) -> [[i32; TILE]; TILE] {
        let len = values[0].len();
        let (values, windows) = (values.map(|plane| &plane[..len]), windows.map(|window| &window[..len]));
        let mut sums = [[_mm512_setzero_si512(); TILE]; TILE];
        for at in 0..len {
            let values = values.map(|plane| bytemuck::cast::<[u8; REGISTER], __m512i>(plane[at]));
            for (sums, window) in sums.iter_mut().zip(windows) {
                let window: __m512i = bytemuck::cast(window[at]);
                for (sum, value) in sums.iter_mut().zip(values) {
                    *sum = _mm512_dpbusd_epi32(*sum, value, window);
                }
            }
        }
        let mut totals = [[0; TILE]; TILE];
        for (totals, sums) in totals.iter_mut().zip(sums) {
            for (total, sum) in totals.iter_mut().zip(sums) {
                *total = _mm512_reduce_add_epi32(sum);
            }
        }
        totals
    }

    /// Returns byte t of each of 64 words, for each t.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
    pub(super) fn turned(words: &[u128; REGISTER]) -> [[u8; REGISTER]; 16] {
        /// Byte t of four words, then byte t + 1.
        const BYTES: [u8; 64] = {
            let mut bytes = [0; 64];
            let mut i = 0;
            while i < 64 {
                bytes[i] = (16 * (i % 4) + i / 4) as u8;
                i += 1;
            }
            bytes
        };
        let (rows, _) = words.as_chunks::<4>();
        let bytes = bytemuck::cast(BYTES);
        let mut rows: [__m512i; 16] =
            std::array::from_fn(|i| _mm512_permutexvar_epi8(bytes, bytemuck::cast::<[u128; 4], __m512i>(rows[i])));
        // Transposes a square of 16 x 16 words of 32 bits: halves, quarters, ... change places.
        for distance in [1, 2, 4, 8usize] {
            let pick = |upper: bool| -> __m512i {
                bytemuck::cast::<[i32; 16], __m512i>(std::array::from_fn(|j| match (upper, j & distance == 0) {
                    (false, true) => j as i32,
                    (false, false) => (16 + j - distance) as i32,
                    (true, true) => (j + distance) as i32,
                    (true, false) => (16 + j) as i32,
                }))
            };
            let picks = [pick(false), pick(true)];
            for i in (0..16).filter(|i| i & distance == 0) {
                let (low, high) = (rows[i], rows[i + distance]);
                rows[i] = _mm512_permutex2var_epi32(low, picks[0], high);
                rows[i + distance] = _mm512_permutex2var_epi32(low, picks[1], high);
            }
        }
        rows.map(bytemuck::cast)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::tests::{hashes, nodes};

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn digits_and_words_give_the_same_sums() {
        let noise: Vec<u128> = nodes(2000).iter().flat_map(|four| four.0).collect();
        let mut tried = 0;
        for kernel in hashes().iter().map(|hash| hash.kernel) {
            for (bits, leaves) in [(128, 256), (80, 256), (49, 2), (65, 32), (112, 128), (1, 64)] {
                for (entry_bits, extreme) in [(1, false), (8, true), (13, false), (32, true), (64, false), (64, true)] {
                    let mask = u128::MAX >> (128 - bits);
                    let values: [Vec<u128>; 2] =
                        [0, 1].map(|which| noise[which * 300..][..leaves].iter().map(|x| x & mask).collect());
                    let entry = |x: &u128| {
                        let above = 64 - entry_bits;
                        let entry = (*x as i64) << above >> above;
                        if extreme { if entry < 0 { i64::MIN >> above } else { i64::MAX >> above } } else { entry }
                    };
                    let table: Vec<i64> = noise[1000..2000].iter().map(entry).collect();
                    let starts = [0, 1, 77, 500, 13, 600];
                    let Some(digits) = Digits::new(kernel, entry_bits, &table) else { continue };
                    let mut bytes = Bytes::new(bits, leaves);
                    for (which, values) in values.iter().enumerate() {
                        bytes.write(&digits, which, 0, values);
                    }
                    let (mut by_digits, mut by_words) = ([[9; 2]; 6], [[0; 2]; 6]);
                    sums_of_digits(&bytes, &digits, &starts, &mut by_digits);
                    add_words([&values[0], &values[1]], &table, &starts, &mut by_words);
                    // The digits of an entry's top carry do not count.
                    let whole = mask & u128::MAX >> (128 - 8 * entry_bits.div_ceil(8));
                    let seen = |sums: [[u128; 2]; 6]| sums.map(|both| both.map(|sum| sum & whole));
                    assert_eq!(seen(by_digits), seen(by_words), "{bits} {entry_bits} {extreme}");
                    tried += 1;
                }
            }
        }
        assert!(tried == 0 || tried >= 36);
    }
}
