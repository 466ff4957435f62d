//! Tiles with explicit vectorisation: 32- and 64-bit words on AVX2, 64-bit words on AVX-512.
//!
//! AVX2 has no 64-bit multiplication. With x = x1 2^32 + x0: x y mod 2^64 = x0 y0 + 2^32 (x0 y1 + x1 y0). The first
//! product is one `vpmuludq`; the two cross products, needed mod 2^32 only, are one `vpmulld` of x with y's halves
//! swapped, and are summed apart.

use super::MR;
use crate::{SimdPath, simd_path};
use std::arch::x86_64::*;

/// Computes a tile of 32-bit words on AVX2: four rows of two vectors.
pub(super) fn tile_u32(panel: &[u32], rows: [&[u32]; MR], sums: &mut [[u32; 16]; MR]) {
    assert!(simd_path() >= SimdPath::Avx2);
    let (lines, _) = panel.as_chunks();
    let rows = rows.map(|row| &row[..lines.len()]);
    // SAFETY: `simd_path` is at least Avx2 only where AVX2 was found.
    unsafe { tile_u32_avx2(lines, rows, sums) };
}

#[target_feature(enable = "avx2")]
fn tile_u32_avx2(lines: &[[u32; 16]], rows: [&[u32]; MR], sums: &mut [[u32; 16]; MR]) {
    let mut acc: [[__m256i; 2]; MR] = sums.map(bytemuck::cast);
    for (p, line) in lines.iter().enumerate() {
        let b: [__m256i; 2] = bytemuck::cast(*line);
        for (acc, row) in acc.iter_mut().zip(rows) {
            let a = _mm256_set1_epi32(row[p] as i32);
            acc[0] = _mm256_add_epi32(acc[0], _mm256_mullo_epi32(a, b[0]));
            acc[1] = _mm256_add_epi32(acc[1], _mm256_mullo_epi32(a, b[1]));
        }
    }
    *sums = acc.map(bytemuck::cast);
}

/// Computes a tile of 64-bit words on AVX-512: four rows of two vectors.
pub(super) fn tile_u64_avx512(panel: &[u64], rows: [&[u64]; MR], sums: &mut [[u64; 16]; MR]) {
    assert!(simd_path() == SimdPath::Avx512);
    let (lines, _) = panel.as_chunks();
    let rows = rows.map(|row| &row[..lines.len()]);
    // SAFETY: `simd_path` is Avx512 only where AVX-512 F and DQ were found.
    unsafe { tile_u64_avx512_inner(lines, rows, sums) };
}

#[target_feature(enable = "avx512f,avx512dq")]
fn tile_u64_avx512_inner(lines: &[[u64; 16]], rows: [&[u64]; MR], sums: &mut [[u64; 16]; MR]) {
    let mut acc: [[__m512i; 2]; MR] = sums.map(bytemuck::cast);
    for (p, line) in lines.iter().enumerate() {
        let b: [__m512i; 2] = bytemuck::cast(*line);
        for (acc, row) in acc.iter_mut().zip(rows) {
            let a = _mm512_set1_epi64(row[p] as i64);
            acc[0] = _mm512_add_epi64(acc[0], _mm512_mullo_epi64(a, b[0]));
            acc[1] = _mm512_add_epi64(acc[1], _mm512_mullo_epi64(a, b[1]));
        }
    }
    *sums = acc.map(bytemuck::cast);
}

/// Computes a tile of 64-bit words on AVX2: two times two rows of two vectors.
pub(super) fn tile_u64_avx2(panel: &[u64], rows: [&[u64]; MR], sums: &mut [[u64; 8]; MR]) {
    assert!(simd_path() >= SimdPath::Avx2);
    let (lines, _) = panel.as_chunks();
    let [a0, a1, a2, a3] = rows.map(|row| &row[..lines.len()]);
    let [s0, s1, s2, s3] = sums;
    // SAFETY: `simd_path` is at least Avx2 only where AVX2 was found.
    unsafe {
        half_tile_u64(lines, [a0, a1], [s0, s1]);
        half_tile_u64(lines, [a2, a3], [s2, s3]);
    }
}

/// Computes two rows of a tile: eight sums and four words of b fill most of the sixteen registers.
#[target_feature(enable = "avx2")]
fn half_tile_u64(lines: &[[u64; 8]], rows: [&[u64]; 2], sums: [&mut [u64; 8]; 2]) {
    let mut low = [[_mm256_setzero_si256(); 2]; 2];
    let mut cross = [[_mm256_setzero_si256(); 2]; 2];
    for ((line, x), y) in lines.iter().zip(rows[0]).zip(rows[1]) {
        let b: [__m256i; 2] = bytemuck::cast(*line);
        let swapped = b.map(|word| _mm256_shuffle_epi32::<0b10_11_00_01>(word));
        let a = [_mm256_set1_epi64x(*x as i64), _mm256_set1_epi64x(*y as i64)];
        for i in 0..2 {
            for j in 0..2 {
                low[i][j] = _mm256_add_epi64(low[i][j], _mm256_mul_epu32(a[i], b[j]));
                cross[i][j] = _mm256_add_epi32(cross[i][j], _mm256_mullo_epi32(a[i], swapped[j]));
            }
        }
    }
    for ((sum, low), cross) in sums.into_iter().zip(low).zip(cross) {
        let mut out: [__m256i; 2] = bytemuck::cast(*sum);
        for j in 0..2 {
            // Both halves of a cross sum belong 32 bits higher: add the lower to the upper, clear the lower.
            let high = _mm256_add_epi32(cross[j], _mm256_slli_epi64::<32>(cross[j]));
            let high = _mm256_blend_epi32::<0b1010_1010>(_mm256_setzero_si256(), high);
            out[j] = _mm256_add_epi64(out[j], _mm256_add_epi64(low[j], high));
        }
        *sum = bytemuck::cast(out);
    }
}
