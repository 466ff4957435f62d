//! The tile of 64-bit words for AVX2, which has no 64-bit multiplication.
//!
//! With x = x1 2^32 + x0: x y mod 2^64 = x0 y0 + 2^32 (x0 y1 + x1 y0). The first product is one `vpmuludq`; the two
//! cross products, needed mod 2^32 only, are one `vpmulld` of x with y's halves swapped, and are summed apart.

use super::MR;
use std::arch::x86_64::*;

const NR: usize = 8;

/// Adds to `sums` the product of `MR` rows with a packed panel. The caller has found AVX2.
pub(super) fn tile(panel: &[u64], rows: [&[u64]; MR], sums: &mut [[u64; NR]; MR]) {
    assert!(crate::simd_path() >= crate::SimdPath::Avx2);
    let (lines, _) = panel.as_chunks::<NR>();
    let [a0, a1, a2, a3] = rows.map(|row| &row[..lines.len()]);
    let [s0, s1, s2, s3] = sums;
    // SAFETY: `simd_path` is at least Avx2 only where AVX2 was found.
    unsafe {
        half_tile(lines, [a0, a1], [s0, s1]);
        half_tile(lines, [a2, a3], [s2, s3]);
    }
}

/// Two rows: eight sums and four words of b fill the sixteen registers.
#[target_feature(enable = "avx2")]
fn half_tile(lines: &[[u64; NR]], rows: [&[u64]; 2], sums: [&mut [u64; NR]; 2]) {
    let mut low = [[_mm256_setzero_si256(); 2]; 2];
    let mut cross = [[_mm256_setzero_si256(); 2]; 2];
    for ((line, x), y) in lines.iter().zip(rows[0]).zip(rows[1]) {
        let b = load(line);
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
        let mut out = load(sum);
        for j in 0..2 {
            // Both halves of a cross sum belong 32 bits up: add the lower to the upper, clear the lower.
            let high = _mm256_add_epi32(cross[j], _mm256_slli_epi64::<32>(cross[j]));
            let high = _mm256_blend_epi32::<0b1010_1010>(_mm256_setzero_si256(), high);
            out[j] = _mm256_add_epi64(out[j], _mm256_add_epi64(low[j], high));
        }
        *sum = bytemuck::cast(out);
    }
}

#[target_feature(enable = "avx2")]
#[inline]
fn load(words: &[u64; NR]) -> [__m256i; 2] {
    bytemuck::cast(*words)
}
