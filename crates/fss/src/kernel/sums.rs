//! Sums of words selected by bits, for four keys at once, and shifts of bits.

use std::hint::black_box;

use crate::hash::Hash;
#[cfg(target_arch = "x86_64")]
use crate::hash::Kernel;

/// The number of keys at once.
const KEYS: usize = 4;

/// Compiles a body for the portable path, AVX2 and AVX-512, as in `quorate-ring`.
macro_rules! versions {
    ($(#[$meta:meta])* fn $name:ident($hash:ident, $($arg:ident : $ty:ty),*) $(-> $ret:ty)? $body:block) => {
        $(#[$meta])*
        pub(crate) fn $name($hash: &Hash, $($arg: $ty),*) $(-> $ret)? {
            #[inline(always)]
            fn body($($arg: $ty),*) $(-> $ret)? $body
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
                fn avx2($($arg: $ty),*) $(-> $ret)? {
                    body($($arg),*)
                }
                #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq")]
                fn avx512($($arg: $ty),*) $(-> $ret)? {
                    body($($arg),*)
                }
                match $hash.kernel {
                    $crate::Kernel::Portable => {}
                    // SAFETY: a `Hash` has this kernel only where the processor has these features.
                    $crate::Kernel::AesNi | $crate::Kernel::Vaes256 => return unsafe { avx2($($arg),*) },
                    // SAFETY: as above.
                    $crate::Kernel::Vaes512 => return unsafe { avx512($($arg),*) },
                }
            }
            let _ = $hash;
            body($($arg),*)
        }
    };
}

pub(super) use versions;

versions! {
    /// Computes to_i = the 64 bits of `from` that begin `by` bits after the start of word i; `from` has a word more
    /// than `to`.
    fn shift(hash, from: &[u64], by: u32, to: &mut [u64]) {
        let high = &from[1..=to.len()];
        for ((low, high), to) in from.iter().zip(high).zip(to) {
            *to = low >> by | high << 1 << (63 - by);
        }
    }
}

versions! {
    /// Returns the number of set bits.
    fn count_ones(hash, words: &[u64]) -> u64 {
        words.iter().fold(0, |sum: u64, word| sum.wrapping_add(word.count_ones().into()))
    }
}

/// The body of a masked sum, for one width of words: entry 64 i + j of the table counts if bit j of word i is set.
macro_rules! masked_body {
    ($word:ty, $bits:ident, $table:ident, $sums:ident) => {
        // 1, which the compiler must not know: it would branch on a bit that selects an entry or zero.
        let one = black_box(1 as $word);
        for (bits, sum) in $bits.iter().zip($sums.iter_mut()) {
            // Eight sums side by side, that the compiler may keep in a register.
            let mut parts = [0 as $word; 8];
            for (word, entries) in bits.iter().zip($table.as_chunks::<64>().0) {
                for (byte, entries) in entries.as_chunks::<8>().0.iter().enumerate() {
                    let byte = (word >> (8 * byte)) as $word;
                    for (j, (part, entry)) in parts.iter_mut().zip(entries).enumerate() {
                        *part = part.wrapping_add(entry & (0 as $word).wrapping_sub(byte >> j & one));
                    }
                }
            }
            *sum = parts.into_iter().fold(*sum, <$word>::wrapping_add);
        }
    };
}

/// Adds to sum_q the entries of `table` where the bits of key q are set; 64 entries to a word of bits.
pub(crate) fn add_words_32(hash: &Hash, bits: [&[u64]; KEYS], table: &[u32], sums: &mut [u32; KEYS]) {
    check(&bits, table.len());
    #[cfg(target_arch = "x86_64")]
    if hash.kernel == Kernel::Vaes512 {
        // SAFETY: a `Hash` has this kernel only where the processor has AVX-512.
        return unsafe { x86::masked_32(bits, table, sums) };
    }
    #[cfg(target_arch = "x86_64")]
    if hash.kernel >= Kernel::AesNi {
        // SAFETY: the same with AVX2.
        return unsafe { x86::selected_32(bits, table, sums) };
    }
    let _ = hash;
    masked_body!(u32, bits, table, sums);
}

/// Adds to sum_q the entries of `table`, words of 64 bits, where the bits of key q are set.
pub(crate) fn add_words_64(hash: &Hash, bits: [&[u64]; KEYS], table: &[u64], sums: &mut [u64; KEYS]) {
    check(&bits, table.len());
    #[cfg(target_arch = "x86_64")]
    if hash.kernel == Kernel::Vaes512 {
        // SAFETY: as above.
        return unsafe { x86::masked_64(bits, table, sums) };
    }
    #[cfg(target_arch = "x86_64")]
    if hash.kernel >= Kernel::AesNi {
        // SAFETY: the same with AVX2.
        return unsafe { x86::selected_64(bits, table, sums) };
    }
    let _ = hash;
    masked_body!(u64, bits, table, sums);
}

fn check(bits: &[&[u64]; KEYS], entries: usize) {
    assert!(bits.iter().all(|bits| 64 * bits.len() == entries), "a table of {entries} entries under other bits");
}

/// A part of a table whose neighbours differ little: entry 64 i + j is base_i + sum_p 2^p (bit j of plane p's word i).
/// The planes of eight words i lie side by side: word i of plane p is at (i / 8 * planes + p) * 8 + i % 8.
#[derive(Clone, Copy)]
pub(crate) struct Planes<'a> {
    pub base: &'a [u64],
    pub planes: &'a [u64],
    pub count: usize,
}

versions! {
    fn planes_of(hash, bits: [&[u64]; KEYS], table: Planes, sums: &mut [u64; KEYS]) {
        for (bits, sum) in bits.iter().zip(sums) {
            for (i, (base, bits)) in table.base.as_chunks::<8>().0.iter().zip(bits.as_chunks::<8>().0).enumerate() {
                let planes = &table.planes[8 * i * table.count..8 * (i + 1) * table.count];
                for (base, bits) in base.iter().zip(bits) {
                    *sum = sum.wrapping_add(base.wrapping_mul(bits.count_ones().into()));
                }
                for (p, plane) in planes.as_chunks::<8>().0.iter().enumerate() {
                    let hits = plane.iter().zip(bits).map(|(plane, bits)| (plane & bits).count_ones());
                    *sum = sum.wrapping_add(u64::from(hits.fold(0, u32::wrapping_add)) << p);
                }
            }
        }
    }
}

/// Adds to sum_q the entries of a table in planes where the bits of key q are set; whole groups of eight words.
pub(crate) fn add_planes(hash: &Hash, bits: [&[u64]; KEYS], table: Planes, sums: &mut [u64; KEYS]) {
    check(&bits, 64 * table.base.len());
    assert!(table.base.len().is_multiple_of(8) && table.planes.len() == table.base.len() * table.count);
    #[cfg(target_arch = "x86_64")]
    if hash.kernel == Kernel::Vaes512 {
        // SAFETY: as above, with the counts of ones that `Kernel::available` asks for.
        return unsafe { x86::planes(bits, table, sums) };
    }
    planes_of(hash, bits, table, sums);
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{KEYS, Planes};

    /// A masked sum for one width: `$lanes` entries a register, whose mask is the lowest of the remaining bits.
    macro_rules! masked {
        ($name:ident, $word:ty, $mask:ty, $lanes:literal, $add:ident, $mask_add:ident, $reduce:ident) => {
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
            pub(super) fn $name(bits: [&[u64]; KEYS], table: &[$word], sums: &mut [$word; KEYS]) {
                let mut parts = [[_mm512_setzero_si512(); 2]; KEYS];
                let [a, b, c, d] = bits;
                let each = a.iter().zip(b).zip(c).zip(d).zip(table.as_chunks::<64>().0);
                for ((((a, b), c), d), entries) in each {
                    let registers: &[[$word; $lanes]] = entries.as_chunks().0;
                    let bits = [*a, *b, *c, *d];
                    for pair in 0..registers.len() / 2 {
                        let entries: [__m512i; 2] =
                            [bytemuck::cast(registers[2 * pair]), bytemuck::cast(registers[2 * pair + 1])];
                        for q in 0..KEYS {
                            for h in 0..2 {
                                let mask = (bits[q] >> ((2 * pair + h) * $lanes)) as $mask;
                                parts[q][h] = $mask_add(parts[q][h], mask, parts[q][h], entries[h]);
                            }
                        }
                    }
                }
                for q in 0..KEYS {
                    sums[q] = sums[q].wrapping_add($reduce($add(parts[q][0], parts[q][1])) as $word);
                }
            }
        };
    }

    masked!(masked_32, u32, __mmask16, 16, _mm512_add_epi32, _mm512_mask_add_epi32, _mm512_reduce_add_epi32);
    masked!(masked_64, u64, __mmask8, 8, _mm512_add_epi64, _mm512_mask_add_epi64, _mm512_reduce_add_epi64);

    /// A sum for one width without masks: an entry counts if its bit of a word is set, found by a comparison with that
    /// bit.
    macro_rules! selected {
        ($name:ident, $word:ty, $lanes:literal, $splat:ident, $equal:ident, $add:ident) => {
            #[target_feature(enable = "avx2")]
            pub(super) fn $name(bits: [&[u64]; KEYS], table: &[$word], sums: &mut [$word; KEYS]) {
                const BITS: usize = <$word>::BITS as usize;
                const SELECT: [[$word; $lanes]; BITS / $lanes] = {
                    let mut select = [[0; $lanes]; BITS / $lanes];
                    let mut i = 0;
                    while i < BITS {
                        select[i / $lanes][i % $lanes] = 1 << i;
                        i += 1;
                    }
                    select
                };
                let mut parts = [_mm256_setzero_si256(); KEYS];
                for (w, entries) in table.as_chunks::<BITS>().0.iter().enumerate() {
                    let mut words = [_mm256_setzero_si256(); KEYS];
                    for (word, bits) in words.iter_mut().zip(bits) {
                        *word = $splat((bits[w * BITS / 64] >> (w * BITS % 64)) as _);
                    }
                    for (entries, select) in entries.as_chunks::<$lanes>().0.iter().zip(SELECT) {
                        let (entries, select): (__m256i, __m256i) = (bytemuck::cast(*entries), bytemuck::cast(select));
                        for (part, word) in parts.iter_mut().zip(words) {
                            let mask = $equal(_mm256_and_si256(word, select), select);
                            *part = $add(*part, _mm256_and_si256(mask, entries));
                        }
                    }
                }
                for (sum, part) in sums.iter_mut().zip(parts) {
                    let lanes: [$word; $lanes] = bytemuck::cast(part);
                    *sum = lanes.into_iter().fold(*sum, <$word>::wrapping_add);
                }
            }
        };
    }

    selected!(selected_32, u32, 8, _mm256_set1_epi32, _mm256_cmpeq_epi32, _mm256_add_epi32);
    selected!(selected_64, u64, 4, _mm256_set1_epi64x, _mm256_cmpeq_epi64, _mm256_add_epi64);

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq")]
    pub(super) fn planes(bits: [&[u64]; KEYS], table: Planes, sums: &mut [u64; KEYS]) {
        /// The largest number of planes whose counts stay in registers for all keys.
        const MOST: usize = 4;
        let mut parts = [_mm512_setzero_si512(); KEYS];
        let [a, b, c, d] = bits.map(|bits| bits.as_chunks::<8>().0);
        for (((a, b), c), (d, base)) in a.iter().zip(b).zip(c).zip(d.iter().zip(table.base.as_chunks::<8>().0)) {
            let base: __m512i = bytemuck::cast(*base);
            for (part, bits) in parts.iter_mut().zip([a, b, c, d]) {
                let ones = _mm512_popcnt_epi64(bytemuck::cast(*bits));
                *part = _mm512_add_epi64(*part, _mm512_mullo_epi64(base, ones));
            }
        }
        for first in (0..table.count).step_by(MOST) {
            let wanted = (table.count - first).min(MOST);
            match wanted {
                1 => counts::<1>([a, b, c, d], table, first, &mut parts),
                2 => counts::<2>([a, b, c, d], table, first, &mut parts),
                3 => counts::<3>([a, b, c, d], table, first, &mut parts),
                _ => counts::<MOST>([a, b, c, d], table, first, &mut parts),
            }
        }
        for (sum, part) in sums.iter_mut().zip(parts) {
            *sum = sum.wrapping_add(_mm512_reduce_add_epi64(part) as u64);
        }
    }

    /// Adds 2^p for each set bit under plane p, for the planes from `first` on.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq")]
    #[inline]
    fn counts<const P: usize>(
        [a, b, c, d]: [&[[u64; 8]]; KEYS],
        table: Planes,
        first: usize,
        parts: &mut [__m512i; KEYS],
    ) {
        let mut ones = [[_mm512_setzero_si512(); P]; KEYS];
        let groups = table.planes.chunks_exact(8 * table.count);
        for (((a, b), c), (d, group)) in a.iter().zip(b).zip(c).zip(d.iter().zip(groups)) {
            let planes: &[[u64; 8]; P] = group[8 * first..].as_chunks().0.first_chunk().unwrap_or(&[[0; 8]; P]);
            for (ones, bits) in ones.iter_mut().zip([a, b, c, d]) {
                let bits: __m512i = bytemuck::cast(*bits);
                for (ones, plane) in ones.iter_mut().zip(planes) {
                    let hits = _mm512_popcnt_epi64(_mm512_and_si512(bits, bytemuck::cast(*plane)));
                    *ones = _mm512_add_epi64(*ones, hits);
                }
            }
        }
        for (part, ones) in parts.iter_mut().zip(ones) {
            for (p, ones) in ones.into_iter().enumerate() {
                *part = _mm512_add_epi64(*part, _mm512_sll_epi64(ones, _mm_cvtsi64_si128((first + p) as i64)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::tests::hashes;

    fn words(count: usize, seed: u64) -> Vec<u64> {
        (1..=count as u64).map(|i| (i + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)).collect()
    }

    #[test]
    fn sums_are_those_of_the_definition_on_every_path() {
        for len in [8usize, 16, 64, 136] {
            let bits: Vec<Vec<u64>> = (0..4).map(|q| words(len, 1000 * q)).collect();
            let bits: [&[u64]; 4] = [0, 1, 2, 3].map(|q| bits[q].as_slice());
            let table = words(64 * len, 77);
            let short: Vec<u32> = table.iter().map(|&entry| entry as u32).collect();
            let set = |q: usize, i: usize| bits[q][i / 64] >> (i % 64) & 1;
            let sum = |table: &[u64], q| {
                (0..64 * len).fold(5u64, |sum, i| sum.wrapping_add(table[i].wrapping_mul(set(q, i))))
            };
            for hash in &hashes() {
                let kernel = hash.kernel;
                let (mut long, mut half) = ([5; 4], [5; 4]);
                add_words_64(hash, bits, &table, &mut long);
                add_words_32(hash, bits, &short, &mut half);
                assert_eq!(long, [0, 1, 2, 3].map(|q| sum(&table, q)), "{kernel:?}");
                assert_eq!(half, [0, 1, 2, 3].map(|q| sum(&table, q) as u32), "{kernel:?}");
                for count in [0usize, 1, 3, 4, 5, 9, 64] {
                    let (base, planes) = (words(len, 3), words(len * count, 4));
                    let entry = |i: usize| {
                        let (word, bit) = (i / 64, i % 64);
                        let plane = |p: usize| planes[(word / 8 * count + p) * 8 + word % 8] >> bit & 1;
                        (0..count).fold(base[word], |sum, p| sum.wrapping_add(plane(p) << p))
                    };
                    let whole: Vec<u64> = (0..64 * len).map(entry).collect();
                    let mut sums = [5; 4];
                    add_planes(hash, bits, Planes { base: &base, planes: &planes, count }, &mut sums);
                    assert_eq!(sums, [0, 1, 2, 3].map(|q| sum(&whole, q)), "{count} planes, {kernel:?}");
                }
                assert_eq!(count_ones(hash, bits[0]), (0..64 * len).map(|i| set(0, i)).sum());
                for by in [0u32, 1, 31, 63] {
                    let mut shifted = vec![0; len - 1];
                    shift(hash, bits[1], by, &mut shifted);
                    let bit = |i: usize| shifted[i / 64] >> (i % 64) & 1;
                    assert!((0..64 * (len - 1)).all(|i| bit(i) == set(1, i + by as usize)));
                }
            }
        }
    }
}
