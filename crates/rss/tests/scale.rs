//! Tests that multiples by public numbers equal plain arithmetic, for all inputs of tiny rings and in the widest ones.

use crate::common::*;
use quorate_engine::Sharing;
use quorate_gadgets::scale::{Rounding, Scale, scale};
use quorate_ring::Ring;

fn by<'a>(whole: &'a [i128], factors: &'a [i128], shift: u32, ring: u32, bits: u32) -> Scale<'a> {
    Scale { whole, factors, shift, ring: Ring::of(ring), bits, rounding: Rounding::Nearest, limits: &[], upper: None }
}

/// Returns the multiple of x, rounded to the nearest and modulo 2^k.
fn clear(k: u32, x: i128, n: i128, m: i128, shift: u32) -> i128 {
    let half = if shift == 0 { 0 } else { 1 << (shift - 1) };
    let exact = n * x + ((m * x + half) >> shift);
    exact << (128 - k) >> (128 - k)
}

#[test]
fn all_elements_of_small_rings() {
    for (n, top) in [(3, 6), (5, 5), (7, 4)] {
        for k in 2..=top {
            let xs: Vec<u64> = all(k);
            for (whole, factor, shift) in [(0, 3, 3), (-2, 5, 4), (1, -7, 4), (3, 0, 0), (0, 13, 9)] {
                // Wide enough for every product and the half.
                let wide = k + 6;
                let got = agreed(n, async |rss, ctx| {
                    let x = share(rss, ctx, Ring::of(k), &xs).await?;
                    let y = scale(rss, ctx, &x, &by(&[whole], &[factor], shift, wide.max(shift + 2), k)).await?;
                    Ok(rss.open(ctx, &y).await?.to_i64s())
                });
                for (&x, &got) in xs.iter().zip(&got) {
                    let x = i128::from(signed(k, x));
                    assert_eq!(i128::from(got), clear(k, x, whole, factor, shift), "n {n} k {k}: {x} by {factor}");
                }
            }
        }
    }
}

#[test]
fn results_beyond_the_limit_are_the_largest_element() {
    for (n, k) in [(3, 6), (5, 4), (7, 3)] {
        let most = (1i128 << (k - 1)) - 1;
        let xs: Vec<u64> = all(k).into_iter().flat_map(|x| vec![x; 4]).collect();
        let (limits, whole) = ([0, 1, most - 1, most], [1, -3, 2, 1]);
        let [each_limit, each_whole] = [limits, whole].map(|four| four.repeat(1 << k));
        let got = agreed(n, async |rss, ctx| {
            let x = share(rss, ctx, Ring::of(k), &xs).await?;
            let scaling = Scale { limits: &each_limit, ..by(&each_whole, &[1], 2, k, k) };
            Ok(rss.open(ctx, &scale(rss, ctx, &x, &scaling).await?).await?.to_i64s())
        });
        for (i, (&x, &got)) in xs.iter().zip(&got).enumerate() {
            let (x, limit, whole) = (i128::from(signed(k, x)), limits[i % 4], whole[i % 4]);
            let wanted = match limit < most && x.abs() > limit {
                true => x.signum() * whole.signum() * most,
                // The product fits but is near the ring's end, where adding the half wraps.
                false if x + 2 > most => continue,
                false => clear(k, x, whole, 1, 2),
            };
            assert_eq!(i128::from(got), wanted, "n {n} k {k}: {x} by {whole}, limit {limit}");
        }
    }
}

#[test]
fn the_widest_products() {
    let xs: Vec<u64> = [0, 1, u64::MAX, 1 << 63, (1 << 63) - 1, 0x0123_4567_89ab_cdef].into();
    // 0.1 as a double is m / 2^55; the other factor takes all 126 bits.
    for (factor, shift, ring) in [(3_602_879_701_896_397, 55, 117), ((1 << 62) - 12_345, 63, 126)] {
        for n in [3, 5, 7] {
            let got = agreed(n, async |rss, ctx| {
                let x = share(rss, ctx, Ring::of(64), &xs).await?;
                let y = scale(rss, ctx, &x, &by(&[0], &[factor], shift, ring, 64)).await?;
                let half = [factor >> 1];
                let scaling = Scale { rounding: Rounding::EitherWay, ..by(&[0], &half, shift - 1, ring, 64) };
                let z = scale(rss, ctx, &x, &scaling).await?;
                Ok((rss.open(ctx, &y).await?.to_i128s(), rss.open(ctx, &z).await?.to_i128s()))
            });
            for (i, &x) in xs.iter().enumerate() {
                let x = i128::from(x as i64);
                assert_eq!(got.0[i], clear(64, x, 0, factor, shift), "n {n}: {x}");
                let down = (x * (factor >> 1)) >> (shift - 1);
                assert!((down..=down + 1).contains(&got.1[i]), "n {n}: {x}: {} {down}", got.1[i]);
            }
        }
    }
}
