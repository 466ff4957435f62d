//! The field of 2^128 elements, as polynomials over bits modulo x^128 + x^7 + x^2 + x + 1. MAC keys are multiplied in
//! it.
//!
//! Bit i of a word is the coefficient of x^i. Products use the processor's carry-less multiplication if it has one,
//! otherwise the portable version of [`crate::gf64`]. Neither branches on a value.

use crate::gf64;

/// Returns a b.
pub fn mul(a: u128, b: u128) -> u128 {
    inner_product(&[a], &[b])
}

/// Returns the sum of all a_i b_i.
///
/// # Panics
/// If the lengths differ.
pub fn inner_product(a: &[u128], b: &[u128]) -> u128 {
    assert_eq!(a.len(), b.len(), "an inner product of different lengths");
    #[cfg(target_arch = "x86_64")]
    if gf64::has_carryless_products() {
        // SAFETY: the processor has the instruction.
        return reduce(unsafe { x86::inner_product(a, b) });
    }
    reduce(portable_inner_product(a, b))
}

/// Multiplies each element of `a` by that of `b`.
///
/// # Panics
/// If the lengths differ.
pub fn mul_assign(a: &mut [u128], b: &[u128]) {
    assert_eq!(a.len(), b.len(), "products of different lengths");
    #[cfg(target_arch = "x86_64")]
    if gf64::has_carryless_products() {
        // SAFETY: the processor has the instruction.
        return unsafe { x86::mul_assign(a, b) };
    }
    a.iter_mut().zip(b).for_each(|(a, b)| *a = reduce(portable_inner_product(&[*a], &[*b])));
}

/// The lower, the middle and the upper part of a product of degree up to 254, or of a sum of such products. The middle
/// one has the weight x^64.
pub type Wide = [u128; 3];

/// Reduces a product modulo the field's polynomial: x^128 = x^7 + x^2 + x + 1, twice.
pub fn reduce([low, middle, high]: Wide) -> u128 {
    let (low, high) = (low ^ middle << 64, high ^ middle >> 64);
    let fold = |high: u128| high ^ high << 1 ^ high << 2 ^ high << 7;
    // The bits that the shifts of the first fold lose.
    let beyond = high >> 127 ^ high >> 126 ^ high >> 121;
    low ^ fold(high) ^ fold(beyond)
}

fn halves(x: u128) -> [u64; 2] {
    [x as u64, (x >> 64) as u64]
}

fn portable_inner_product(a: &[u128], b: &[u128]) -> Wide {
    let product = |a: u64, b: u64| gf64::portable_inner_product(&[a], &[b]);
    a.iter().zip(b).fold([0; 3], |[low, middle, high], (&a, &b)| {
        let ([a_low, a_high], [b_low, b_high]) = (halves(a), halves(b));
        let across = product(a_low, b_high) ^ product(a_high, b_low);
        [low ^ product(a_low, b_low), middle ^ across, high ^ product(a_high, b_high)]
    })
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{_mm_clmulepi64_si128, _mm_setzero_si128, _mm_xor_si128};

    use super::{Wide, reduce};

    /// Returns the unreduced sum of products.
    #[target_feature(enable = "pclmulqdq,sse2")]
    pub(super) fn inner_product(a: &[u128], b: &[u128]) -> Wide {
        let [mut low, mut middle, mut high] = [_mm_setzero_si128(); 3];
        for (&a, &b) in a.iter().zip(b) {
            let (a, b) = (bytemuck::cast(a), bytemuck::cast(b));
            let across = _mm_xor_si128(_mm_clmulepi64_si128(a, b, 0x10), _mm_clmulepi64_si128(a, b, 0x01));
            low = _mm_xor_si128(low, _mm_clmulepi64_si128(a, b, 0x00));
            middle = _mm_xor_si128(middle, across);
            high = _mm_xor_si128(high, _mm_clmulepi64_si128(a, b, 0x11));
        }
        [low, middle, high].map(bytemuck::cast)
    }

    #[target_feature(enable = "pclmulqdq,sse2")]
    pub(super) fn mul_assign(a: &mut [u128], b: &[u128]) {
        for (a, b) in a.iter_mut().zip(b) {
            *a = reduce(inner_product(&[*a], &[*b]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Multiplies by the definition: shift and reduce, a bit at a time.
    fn defined(a: u128, b: u128) -> u128 {
        let (mut sum, mut a) = (0, a);
        for i in 0..128 {
            if b >> i & 1 == 1 {
                sum ^= a;
            }
            a = (a << 1) ^ if a >> 127 == 1 { 0b1000_0111 } else { 0 };
        }
        sum
    }

    fn samples() -> Vec<u128> {
        let word = |i: u128| i.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835).rotate_left(45);
        [0, 1, 2, u128::MAX, 1 << 127, 1 << 64, 0b1000_0111].into_iter().chain((1..30).map(word)).collect()
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
        let mut products = a.clone();
        mul_assign(&mut products, &b);
        assert!(products.iter().zip(a.iter().zip(&b)).all(|(product, (&a, &b))| *product == defined(a, b)));
    }

    /// Tests that every element but 0 has the inverse that Fermat's theorem gives.
    #[test]
    fn is_a_field() {
        for a in samples().into_iter().filter(|&a| a != 0) {
            let mut inverse = 1;
            for _ in 1..128 {
                inverse = mul(mul(inverse, inverse), a);
            }
            inverse = mul(inverse, inverse);
            assert_eq!(mul(a, inverse), 1, "{a:x}");
        }
    }
}
