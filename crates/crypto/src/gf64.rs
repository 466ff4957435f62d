//! The field of 2^64 elements, as polynomials over bits modulo x^64 + x^4 + x^3 + x + 1, for universal hashes.
//!
//! Bit i of a word is the coefficient of x^i. Products use the processor's carry-less multiplication if it has one,
//! otherwise a portable version. Neither branches on a value.

/// Returns a b.
pub fn mul(a: u64, b: u64) -> u64 {
    inner_product(&[a], &[b])
}

/// Returns the sum of all a_i b_i.
///
/// # Panics
/// If the lengths differ.
pub fn inner_product(a: &[u64], b: &[u64]) -> u64 {
    assert_eq!(a.len(), b.len(), "an inner product of different lengths");
    #[cfg(target_arch = "x86_64")]
    if has_carryless_products() {
        // SAFETY: the processor has the instruction.
        return reduce(unsafe { x86::inner_product(a, b) });
    }
    reduce(portable_inner_product(a, b))
}

/// Returns whether to use carry-less multiplication: the processor has it and the settings allow it.
#[cfg(target_arch = "x86_64")]
pub(crate) fn has_carryless_products() -> bool {
    is_x86_feature_detected!("pclmulqdq") && quorate_ring::simd_path() != quorate_ring::SimdPath::Portable
}

/// Writes the powers 1, x, x^2, ...
pub fn powers(x: u64, out: &mut [u64]) {
    let mut power = 1;
    for out in out {
        *out = power;
        power = mul(power, x);
    }
}

/// Reduces a product of degree up to 126 modulo the field's polynomial: x^64 = x^4 + x^3 + x + 1, twice.
fn reduce(wide: u128) -> u64 {
    let fold = |high: u128| high ^ (high << 1) ^ (high << 3) ^ (high << 4);
    let once = fold(wide >> 64) ^ (wide & u128::from(u64::MAX));
    (fold(once >> 64) ^ once) as u64
}

/// Every fifth bit of a word.
const FIFTH: u64 = 0x1084_2108_4210_8421;

/// Returns the unreduced sum of products by ordinary multiplication. Each factor has only every fifth bit, so at most
/// 13 ones add up at a place of the product. Carries do not reach the next place that counts.
pub(crate) fn portable_inner_product(a: &[u64], b: &[u64]) -> u128 {
    let mut sums = [0u128; 5];
    for (&a, &b) in a.iter().zip(b) {
        for i in 0..5 {
            for j in 0..5 {
                sums[(i + j) % 5] ^= u128::from(a & (FIFTH << i)) * u128::from(b & (FIFTH << j));
            }
        }
    }
    sums.iter().enumerate().fold(0, |all, (i, sum)| all ^ (sum & wide_mask(i)))
}

/// Returns the mask of the places of a product that are `i` modulo 5.
fn wide_mask(i: usize) -> u128 {
    (0..128).filter(|place| place % 5 == i).fold(0, |mask, place| mask | 1 << place)
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{__m128i, _mm_clmulepi64_si128, _mm_cvtsi64_si128, _mm_setzero_si128, _mm_xor_si128};

    /// Returns the unreduced sum of products, two words at a time.
    #[target_feature(enable = "pclmulqdq,sse2")]
    pub(super) fn inner_product(a: &[u64], b: &[u64]) -> u128 {
        let (mut even, mut odd) = (_mm_setzero_si128(), _mm_setzero_si128());
        let ((a_pairs, a_rest), (b_pairs, b_rest)) = (a.as_chunks::<2>(), b.as_chunks::<2>());
        for (a, b) in a_pairs.iter().zip(b_pairs) {
            let (a, b): (__m128i, __m128i) = (bytemuck::cast(*a), bytemuck::cast(*b));
            even = _mm_xor_si128(even, _mm_clmulepi64_si128(a, b, 0x00));
            odd = _mm_xor_si128(odd, _mm_clmulepi64_si128(a, b, 0x11));
        }
        for (&a, &b) in a_rest.iter().zip(b_rest) {
            let (a, b) = (_mm_cvtsi64_si128(a as i64), _mm_cvtsi64_si128(b as i64));
            even = _mm_xor_si128(even, _mm_clmulepi64_si128(a, b, 0x00));
        }
        bytemuck::cast(_mm_xor_si128(even, odd))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Multiplies by the definition: shift and reduce, a bit at a time.
    fn defined(a: u64, b: u64) -> u64 {
        let (mut sum, mut a) = (0, a);
        for i in 0..64 {
            if b >> i & 1 == 1 {
                sum ^= a;
            }
            a = (a << 1) ^ if a >> 63 == 1 { 0b1_1011 } else { 0 };
        }
        sum
    }

    fn samples() -> Vec<u64> {
        let random = (1..40u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17));
        [0, 1, 2, u64::MAX, 1 << 63, 0b1_1011].into_iter().chain(random).collect()
    }

    #[test]
    fn products_are_those_of_the_field() {
        for &a in &samples() {
            for &b in &samples() {
                assert_eq!(mul(a, b), defined(a, b));
                assert_eq!(reduce(portable_inner_product(&[a], &[b])), defined(a, b));
            }
        }
    }

    #[test]
    fn sums_of_products_agree_at_any_length() {
        let (a, b) = (samples(), samples().into_iter().rev().collect::<Vec<_>>());
        for len in 0..a.len() {
            let expected = (0..len).fold(0, |sum, i| sum ^ defined(a[i], b[i]));
            assert_eq!(inner_product(&a[..len], &b[..len]), expected);
            assert_eq!(reduce(portable_inner_product(&a[..len], &b[..len])), expected);
        }
    }

    /// Tests that x generates no small subgroup, and that every element but 0 has the inverse that Fermat's theorem
    /// gives.
    #[test]
    fn is_a_field() {
        for a in samples().into_iter().filter(|&a| a != 0) {
            let mut inverse = 1;
            for _ in 1..64 {
                inverse = mul(mul(inverse, inverse), a);
            }
            inverse = mul(inverse, inverse);
            assert_eq!(mul(a, inverse), 1, "{a:x}");
        }
    }

    #[test]
    fn powers_are_powers() {
        let mut out = [0; 5];
        powers(7, &mut out);
        assert_eq!(out, [1, 7, mul(7, 7), mul(7, mul(7, 7)), mul(mul(7, 7), mul(7, 7))]);
    }
}
