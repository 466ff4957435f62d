//! Tests that division by secret integers equals division in the clear: all pairs of tiny rings, random ones of large
//! rings.

use crate::common::*;
use quorate_gadgets::Gadgets;
use quorate_gadgets::floor_div::Range;
use quorate_gadgets::int_div::{Known, remainder};
use quorate_ring::Ring;

/// Returns floor(x / y) and the remainder; both are 0 for y = 0.
fn exact(x: i128, y: i128) -> (i128, i128) {
    if y == 0 {
        return (0, 0);
    }
    let quotient = x.div_euclid(y.abs()) * y.signum() - i128::from(y < 0 && x.rem_euclid(y.abs()) != 0);
    (quotient, x - quotient * y)
}

fn number(k: u32, signed_range: bool, x: u64) -> i128 {
    if signed_range { signed(k, x).into() } else { x.into() }
}

fn range(k: u32, signed_range: bool) -> Range {
    if signed_range {
        Range { lo: -(1i128 << (k - 1)), hi: (1i128 << (k - 1)) - 1 }
    } else {
        Range { lo: 0, hi: (1i128 << k) - 1 }
    }
}

/// Divides all `x` by all `y`, one by one, and compares.
fn check(n: usize, k: u32, has_sign: bool, x: &[u64], y: &[u64], known: Known) {
    let ring = Ring::of(k);
    let (quotients, rests) = agreed(n, async |rss, ctx| {
        let (x, y) = (share(rss, ctx, ring, x).await?, share(rss, ctx, ring, y).await?);
        let quotient = rss.int_quotient(ctx, &x, &y, known).await?;
        let rest = remainder(rss, ctx, &x, &y, &quotient, known).await?;
        Ok((open(rss, ctx, &quotient).await?, open(rss, ctx, &rest).await?))
    });
    for i in 0..x.len() {
        let (a, b) = (number(k, has_sign, x[i]), number(k, has_sign, y[i]));
        let (quotient, rest) = exact(a, b);
        let wanted = (quotient as u64 & mask(k), rest as u64 & mask(k));
        assert_eq!((quotients[i], rests[i]), wanted, "n {n} k {k} {known:?}: {a} by {b}");
    }
}

#[test]
fn all_pairs_of_small_rings() {
    for (n, top) in [(3, 6), (5, 5), (7, 3)] {
        for k in 1..=top {
            for has_sign in [false, true] {
                let (x, y) = all_pairs(k);
                let all = range(k, has_sign);
                check(n, k, has_sign, &x, &y, Known::of(all, all));
            }
        }
    }
}

/// Tests all forms of known ranges: without zero, without negative numbers on one side, of few digits, and with
/// arbitrary ends.
#[test]
fn all_pairs_of_all_ranges() {
    let k = 4;
    let numbers: Vec<i128> = (-8..8).collect();
    let ranges: Vec<Range> = [-8, -7, -3, -1, 0, 1, 2, 5]
        .into_iter()
        .flat_map(|lo| [-5, -1, 0, 1, 3, 7].map(|hi| Range { lo, hi }))
        .filter(|range| range.lo <= range.hi)
        .collect();
    assert!(ranges.len() > 25);
    let inside = |range: Range| numbers.iter().copied().filter(move |v| (range.lo..=range.hi).contains(v));
    for (i, &of_x) in ranges.iter().enumerate() {
        for &of_y in ranges.iter().skip(i % 3).step_by(3) {
            let pairs: Vec<(i128, i128)> = inside(of_x).flat_map(|a| inside(of_y).map(move |b| (a, b))).collect();
            let [x, y]: [Vec<u64>; 2] = [0, 1].map(|side| {
                pairs.iter().map(|pair| if side == 0 { pair.0 } else { pair.1 } as u64 & mask(k)).collect()
            });
            let mut known = Known::of(of_x, of_y);
            check(3, k, true, &x, &y, known);
            let magnitudes = pairs.iter().map(|&(a, b)| exact(a, b).0.unsigned_abs());
            known.quotient_bits = 128 - magnitudes.max().unwrap_or(0).leading_zeros();
            check(3, k, true, &x, &y, known);
        }
    }
}

#[test]
fn random_numbers_of_large_rings() {
    for (n, k, len) in [
        (3, 8, 300),
        (3, 16, 200),
        (3, 31, 100),
        (3, 32, 100),
        (3, 33, 100),
        (3, 63, 60),
        (3, 64, 60),
        (5, 64, 20),
        (7, 40, 10),
    ] {
        for has_sign in [false, true] {
            // Numbers of all lengths, and the ends and their neighbours.
            let mut x: Vec<u64> = noise(k.into(), len).iter().map(|v| v >> (v % 64) & mask(k)).collect();
            let mut y: Vec<u64> = noise(u64::from(k) + 99, len).iter().map(|v| v >> (v >> 6 & 63) & mask(k)).collect();
            if has_sign {
                x.iter_mut().step_by(2).for_each(|v| *v = v.wrapping_neg() & mask(k));
                y.iter_mut().step_by(3).for_each(|v| *v = v.wrapping_neg() & mask(k));
            }
            let low = 1u64 << (k - 1);
            let ends = [0, 1, 2, low - 1, low, low + 1, mask(k) - 1, mask(k)];
            x.extend(ends.iter().flat_map(|&a| [a; 8]));
            y.extend(ends.iter().flat_map(|_| ends));
            check(n, k, has_sign, &x, &y, Known::of(range(k, has_sign), range(k, has_sign)));
        }
    }
}

/// Tests the divisions of modular products, whose quotients have no more bits than the divisor.
#[test]
fn promised_quotients_of_long_dividends() {
    for bits in [3, 8, 16, 32] {
        let modulus: Vec<u64> = noise(bits.into(), 80).iter().map(|v| v >> 7 & mask(bits) >> (v & 3)).collect();
        let product: Vec<u64> = noise(77, 80)
            .iter()
            .zip(&modulus)
            .map(|(v, &m)| if m == 0 { 0 } else { (v & 0xffff_ffff) % m * ((v >> 32) % m) })
            .collect();
        let all = |bits: u32| Range { lo: 0, hi: (1i128 << bits) - 1 };
        let known = Known { x: all(2 * bits), y: all(bits), quotient_bits: bits };
        check(3, 2 * bits, false, &product, &modulus, known);
    }
}

#[test]
fn operands_that_do_not_match_are_refused() {
    let refused = agreed(3, async |rss, ctx| {
        let known = Known::of(range(8, true), range(8, true));
        let (x, short) = (share(rss, ctx, Ring::of(8), &[1, 2]).await?, share(rss, ctx, Ring::of(8), &[1]).await?);
        let wide = share(rss, ctx, Ring::of(9), &[1, 2]).await?;
        Ok([rss.int_quotient(ctx, &x, &short, known).await, rss.int_quotient(ctx, &x, &wide, known).await]
            .map(|result| result.is_err()))
    });
    assert_eq!(refused, [true, true]);
}
