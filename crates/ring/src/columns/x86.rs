//! 128 columns as rows on processors that transpose squares of bits and bytes in registers (GFNI, AVX-512 VBMI).
//!
//! Eight columns of 64 rows are eight words. One permutation orders their bytes by row; then one affine map of the
//! identity transposes each square of 8 x 8 bits. For 16 groups of columns, this gives one byte for each of 64 rows.
//! Interleaving bytes four times transposes these 16 x 64 bytes.

use std::arch::x86_64::*;
use std::sync::OnceLock;

use crate::simd::{SimdPath, simd_path};

/// Words of a column that are loaded at a time.
const WORDS: usize = 8;
/// Groups of eight columns.
const GROUPS: usize = 16;

/// Computes the rows of 128 columns, if the processor and `QUORATE_SIMD` allow it and columns fill whole registers. The
/// lengths have to fit.
pub(super) fn rows_of_128(columns: &[u64], rows: &mut [u128]) -> bool {
    static ABLE: OnceLock<bool> = OnceLock::new();
    let able = *ABLE.get_or_init(|| is_x86_feature_detected!("gfni") && is_x86_feature_detected!("avx512vbmi"));
    let width = columns.len() / 128;
    if !able || simd_path() != SimdPath::Avx512 || !width.is_multiple_of(WORDS) {
        return false;
    }
    for (i, rows) in rows.as_chunks_mut::<{ 64 * WORDS }>().0.iter_mut().enumerate() {
        // SAFETY: the path and `able` show that the processor has all features.
        unsafe { turn(columns, width, i * WORDS, rows) };
    }
    true
}

/// Computes rows 64 `first` to 64 `first` + 511.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn turn(columns: &[u64], width: usize, first: usize, rows: &mut [u128; 64 * WORDS]) {
    // turned[word][group]: byte i is the group's byte of row 64 word + i.
    let mut turned = [[_mm512_setzero_si512(); GROUPS]; WORDS];
    let order: [u8; 64] = std::array::from_fn(|i| (8 * (7 - i % 8) + i / 8) as u8);
    let order: __m512i = bytemuck::cast(order);
    let identity = _mm512_set1_epi64(i64::from_le_bytes([1, 2, 4, 8, 16, 32, 64, 128]));
    for group in 0..GROUPS {
        let mut words = [_mm512_setzero_si512(); WORDS];
        for (k, word) in words.iter_mut().enumerate() {
            let start = (8 * group + k) * width + first;
            let column: [u64; WORDS] = columns[start..].first_chunk().copied().unwrap_or_default();
            *word = bytemuck::cast(column);
        }
        for (turned, word) in turned.iter_mut().zip(turn_words(words)) {
            turned[group] = _mm512_gf2p8affine_epi64_epi8::<0>(identity, _mm512_permutexvar_epi8(order, word));
        }
    }
    for (groups, rows) in turned.iter().zip(rows.as_chunks_mut::<64>().0) {
        let bytes = interleave(interleave(interleave(interleave(*groups))));
        for (p, register) in bytes.into_iter().enumerate() {
            let lanes: [u128; 4] = bytemuck::cast(register);
            lanes.into_iter().enumerate().for_each(|(lane, row)| rows[16 * lane + p] = row);
        }
    }
}

/// Transposes words: word k of register q becomes word q of register k.
#[target_feature(enable = "avx512f")]
#[inline]
fn turn_words(rows: [__m512i; 8]) -> [__m512i; 8] {
    let pair = |i: usize| (_mm512_unpacklo_epi64(rows[i], rows[i + 1]), _mm512_unpackhi_epi64(rows[i], rows[i + 1]));
    let [(a0, a1), (b0, b1), (c0, c1), (d0, d1)] = [pair(0), pair(2), pair(4), pair(6)];
    let four = |a, b, c, d| {
        let (low, high) = (_mm512_shuffle_i64x2::<0x88>(a, b), _mm512_shuffle_i64x2::<0xdd>(a, b));
        let (low2, high2) = (_mm512_shuffle_i64x2::<0x88>(c, d), _mm512_shuffle_i64x2::<0xdd>(c, d));
        [
            _mm512_shuffle_i64x2::<0x88>(low, low2),
            _mm512_shuffle_i64x2::<0x88>(high, high2),
            _mm512_shuffle_i64x2::<0xdd>(low, low2),
            _mm512_shuffle_i64x2::<0xdd>(high, high2),
        ]
    };
    let ([q0, q2, q4, q6], [q1, q3, q5, q7]) = (four(a0, b0, c0, d0), four(a1, b1, c1, d1));
    [q0, q1, q2, q3, q4, q5, q6, q7]
}

/// Rotates positions within 16 bytes: (register, byte), as a number of eight bits, is rotated to the left by one bit.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn interleave(old: [__m512i; GROUPS]) -> [__m512i; GROUPS] {
    let mut new = old;
    for i in 0..GROUPS / 2 {
        new[2 * i] = _mm512_unpacklo_epi8(old[i], old[i + GROUPS / 2]);
        new[2 * i + 1] = _mm512_unpackhi_epi8(old[i], old[i + GROUPS / 2]);
    }
    new
}
