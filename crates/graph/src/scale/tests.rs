//! Tests of public factors.

use super::*;

const MOST_BITS: u32 = 126;

const REALS: [f64; 24] = [
    0.1,
    -0.1,
    0.7,
    1.1,
    -1.0 / 3.0,
    2.0 / 3.0,
    0.9999,
    1.0001,
    3.7,
    -1000.1,
    1e-5,
    -3e-9,
    1e-30,
    1e-300,
    5e-324,
    0.5,
    2.5,
    -8.0,
    12345.678,
    0.499_999_999_999_999_94,
    1.5000000000000002,
    -0.000_976,
    4_503_599_627_370_495.5,
    9e15,
];

/// Returns a number as an exact fraction, where |c| >= 2^-73.
fn fraction(c: f64) -> (i128, i128) {
    let (m, e) = significand(c);
    let m = if c < 0.0 { -m } else { m };
    if e >= 0 { (m, 1 << e) } else { (m << -e, 1) }
}

#[test]
fn products_of_more_than_128_bits_are_shifted() {
    for (x, m, e) in [(7, 3, 1), (1 << 100, 5, 3), ((1 << 60) - 1, 1, 60), (12345, (1 << 53) - 1, 60)] {
        assert_eq!(product_shr(x, m, e), (x * m) >> e, "{x} {m} {e}");
    }
    let (x, m) = ((1i128 << 119) - 1, (1i128 << 53) - 1);
    assert_eq!(product_shr(x, m, 54), (1 << 118) - (1 << 65) - 1);
    assert_eq!(product_shr(x, m, 120), (m >> 1) - i128::from(m & 1 == 0));
}

#[test]
fn ratios_are_the_reals_themselves() {
    let mut inverted = 0;
    for c in REALS {
        let ratio = Ratio::of(c);
        assert!(2 * ratio.rest.abs() <= ratio.parts);
        if c.abs() < 1e-22 {
            let near = (ratio.rest as f64 / ratio.parts as f64 - c).abs() <= f64::from(-125).exp2();
            assert!(near && ratio.whole == 0 && Ratio::inverse(c).is_none(), "{c}: {ratio:?}");
            continue;
        }
        let (top, bottom) = fraction(c);
        assert_eq!((top, bottom), (ratio.whole * ratio.parts + ratio.rest, ratio.parts), "{c}");
        let inverse = Ratio::inverse(c).unwrap();
        assert!(2 * inverse.rest.abs() <= inverse.parts);
        for (ratio, bits) in [ratio, inverse].into_iter().flat_map(|ratio| [0, 1, 7, 40, 60].map(|bits| (ratio, bits)))
        {
            let shifted = ratio.shifted(bits).unwrap();
            assert!(2 * shifted.rest.abs() <= shifted.parts && shifted.parts == ratio.parts);
            // Modulo 2^128, which the products may leave.
            let number = |ratio: Ratio| ratio.whole.wrapping_mul(ratio.parts).wrapping_add(ratio.rest);
            assert_eq!(number(shifted), number(ratio).wrapping_mul(1 << bits), "{c} 2^{bits}");
            assert_eq!(shifted.real, ratio.real * f64::from(bits).exp2());
        }
        let back = (inverse.whole * inverse.parts + inverse.rest).checked_mul(top);
        assert_eq!(back, bottom.checked_mul(inverse.parts), "1 / {c}");
        inverted += 1;
    }
    assert_eq!(inverted, 21);
}

/// Checks the multiples of `xs` against the exact products with top / bottom, in quarters of units; returns how
/// many products have fewer than 128 bits.
fn check(scale: &Scale, xs: &[i128], (top, bottom): (i128, i128), dtype: Dtype, quarters: i128) -> usize {
    let most = dtype.range().hi();
    let mut checked = 0;
    for (&x, got) in xs.iter().zip(scale.apply(xs, most)) {
        let limit = scale.limits.as_ref().map_or(i128::MAX, |limits| limits.to_vec()[0]);
        if limit < most && x.abs() > limit {
            let large = x.checked_mul(top).is_none_or(|product| product.abs() > most * bottom.abs());
            assert!(large, "{x} * {top} / {bottom} was saturated");
            assert_eq!(got, if x.signum() * top.signum() * bottom.signum() > 0 { most } else { -most });
            continue;
        }
        let (Some(exact), Some(got_times)) = (x.checked_mul(top), got.checked_mul(bottom)) else { continue };
        let Some(off) = got_times.checked_sub(exact).and_then(|off| off.checked_mul(4)) else { continue };
        let off = off.abs();
        checked += 1;
        assert!(off / quarters <= bottom.abs(), "{x} * {top} / {bottom} = {got}: {scale:?}");
        assert!(off == 0 || exact % bottom != 0, "{x} * {top} / {bottom} is whole, not {got}");
        let half = if scale.shift == 0 { 0 } else { 1 << (scale.shift - 1) };
        let product = scale.factors.to_vec()[0] * x + half;
        assert!(Interval::point(product).signed_bits() <= scale.product_bits, "{product} of {x}: {scale:?}");
    }
    checked
}

/// A ratio, the same number as a fraction, and the divisor that it comes from if its quotients are to be saturated.
type Way = (Ratio, (i128, i128), Option<[f64; 1]>);

fn both_ways(c: f64) -> Vec<Way> {
    let exact = if c.abs() < 1e-22 { (0, 1) } else { fraction(c) };
    let product = (Ratio::of(c), exact, None);
    let inverse = |divisor| Ratio::inverse(c).map(|ratio| (ratio, (exact.1, exact.0), divisor));
    [Some(product), inverse(None), inverse(Some([c]))].into_iter().flatten().collect()
}

#[test]
fn every_number_of_small_ranges() {
    let dtype = Dtype::Fixed { bits: 10, frac: 4 };
    for (c, bound) in REALS.into_iter().flat_map(|c| [0, 1, 2, 5, 31, 100, 511].map(|bound| (c, bound))) {
        for (ratio, exact, divisors) in both_ways(c) {
            for lo in [-bound, 0, bound / 2] {
                let x = Interval::new(lo, bound);
                let divisors = divisors.as_ref().map(|one| one.as_slice());
                let multiples = Multiples { ratios: &[ratio], divisors, most_bits: MOST_BITS };
                let scale = Scale::new(&multiples, x, dtype, Truncation::Exact);
                let xs: Vec<i128> = (lo..=bound).collect();
                check(&scale, &xs, exact, dtype, 3);
                let reach = scale.reach(x, dtype, Truncation::Exact);
                assert!(scale.apply(&xs, dtype.range().hi()).iter().all(|&v| reach.contains(v)));
            }
        }
    }
}

#[test]
fn the_full_range_of_64_bits_stays_within_126() {
    let dtype = Dtype::FIXED64;
    let mut seed = 7u64;
    let mut xs: Vec<i128> = vec![i64::MIN.into(), i128::from(i64::MIN) + 1, -1, 0, 1, i64::MAX.into()];
    xs.extend((0..400).map(|i| {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        i128::from(seed as i64) >> (i % 60)
    }));
    let mut checked = 0;
    for c in REALS {
        for (ratio, exact, divisors) in both_ways(c) {
            if divisors.is_some() && c.abs() >= 1.0 {
                continue;
            }
            let divisors = divisors.as_ref().map(|one| one.as_slice());
            let scale = Scale::new(
                &Multiples { ratios: &[ratio], divisors, most_bits: MOST_BITS },
                dtype.range(),
                dtype,
                Truncation::Exact,
            );
            checked += check(&scale, &xs, exact, dtype, 4);
            assert!(scale.ring_bits <= MOST_BITS);
            let multiples = Multiples { ratios: &[ratio], divisors, most_bits: MOST_BITS };
            let either = Scale::new(&multiples, dtype.range(), dtype, Truncation::Probabilistic);
            assert!(either.ring_bits <= MOST_BITS && either.shift < either.ring_bits - 1);
            assert!(either.shift == 0 || either.product_bits < either.ring_bits);
        }
    }
    assert!(checked > 10_000, "{checked}");
}

#[test]
fn no_more_bits_than_exact_results_need() {
    let dtype = Dtype::FIXED64;
    let scale = |c: f64, bound: i128| {
        let ratios = [Ratio::of(c)];
        let x = Interval::new(-bound, bound);
        Scale::new(&Multiples { ratios: &ratios, divisors: None, most_bits: MOST_BITS }, x, dtype, Truncation::Exact)
    };
    assert_eq!(scale(2.5, 1 << 40).shift, 1);
    assert_eq!(scale(3.0, 1 << 40).shift, 0);
    assert_eq!((scale(0.1, 1 << 20).shift, scale(0.1, 1 << 20).ring_bits), (21, 64));
    assert_eq!(scale(0.1, 1 << 62).shift, 55, "all bits of the double");
    assert_eq!(scale(1e-9, 1 << 20).shift, 0, "nothing is left of so small a number");
}
