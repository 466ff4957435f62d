//! The gadgets over `pika` equal plain arithmetic: all inputs of tiny rings.

use crate::common::*;
use quorate_gadgets::testing::{exhaustive, lookups, orders};
use quorate_gadgets::{Gadgets, Sign};
use quorate_pika::Pika;
use quorate_ring::{Ring, Vector};

#[test]
fn bits_of_all_elements() {
    exhaustive::bits_of_all_elements::<Pika>(&[(N, 8)]);
}

#[test]
fn bits_become_elements_of_every_ring() {
    exhaustive::bits_become_elements_of_every_ring::<Pika>(&[N]);
}

#[test]
fn comparison_of_all_pairs() {
    exhaustive::comparison_of_all_pairs::<Pika>(&[(N, 7)]);
}

#[test]
fn bits_against_public_numbers() {
    exhaustive::bits_against_public_numbers::<Pika>(&[(N, 6)]);
}

#[test]
fn sums_of_bits_with_all_carries() {
    exhaustive::sums_of_bits_with_all_carries::<Pika>(&[(N, 6)]);
}

#[test]
fn truncation_of_all_elements_by_every_shift() {
    exhaustive::truncation_of_all_elements_by_every_shift::<Pika>(&[(N, 8)]);
    exhaustive::cheaper_truncation_of_all_values::<Pika>(&[(N, 5)]);
}

#[test]
fn rings_wider_than_a_word() {
    exhaustive::rings_wider_than_a_word::<Pika>(&[N]);
}

#[test]
fn selection_by_every_bit() {
    exhaustive::selection_by_every_bit::<Pika>(&[(N, 6)]);
}

#[test]
fn extrema_of_all_columns_with_ties() {
    exhaustive::extrema_of_all_columns_with_ties::<Pika>(&[(N, 3, 1), (N, 3, 2), (N, 3, 3), (N, 3, 4), (N, 2, 5)]);
}

#[test]
fn every_length() {
    exhaustive::every_length::<Pika>(&[(N, &[0, 1, 3, 7, 9, 63, 65, 128, 511, 513, 70_000])]);
}

/// Bits become a number, for every number of tiny rings and some of large ones.
#[test]
fn numbers_of_their_bits() {
    for k in [1, 2, 3, 8, 20, 33, 64] {
        let ring = Ring::of(k);
        let values = if k <= 8 { all(k) } else { noise(9, 50).into_iter().map(|x| x & mask(k)).collect() };
        let bits = Vector::from_u64s(ring, &values).to_bits(0..k).to_bools();
        let got = agreed(async |s, ctx| {
            let x = share_bits(s, ctx, k as usize, values.len(), &bits).await?;
            open(s, ctx, &s.compose(ctx, &x, ring).await?).await
        });
        assert_eq!(got, values, "k {k}");
    }
}

/// Probabilistic truncation gives the floor or one more, and the floor where nothing is cut off. It rounds up about as
/// often as the remainder requires.
#[test]
fn probabilistic_truncation_of_all_elements() {
    const TIMES: usize = 200;
    for k in 3..=8u32 {
        let values: Vec<u64> =
            all(k).into_iter().filter(|&x| (-(1 << (k - 2))..1 << (k - 2)).contains(&signed(k, x))).collect();
        let shifted = agreed(async |s, ctx| {
            let x = share(s, ctx, Ring::of(k), &values.repeat(TIMES)).await?;
            let mut shifted = Vec::new();
            for shift in 0..=k - 2 {
                shifted.push(shown(s, ctx, &s.trunc_prob(ctx, &x, shift).await?).await?.to_i64s());
            }
            Ok(shifted)
        });
        for (shift, got) in shifted.iter().enumerate() {
            for (i, &x) in values.iter().enumerate() {
                let (x, floor) = (signed(k, x), signed(k, x) >> shift);
                let above: Vec<i64> = got.iter().skip(i).step_by(values.len()).map(|y| y - floor).collect();
                assert!(above.iter().all(|above| [0, 1].contains(above)), "k {k}: {x} by {shift}");
                let rest = (x - (floor << shift)) as f64 / f64::from(1 << shift);
                let share = above.iter().sum::<i64>() as f64 / TIMES as f64;
                assert!((share - rest).abs() < 0.25, "k {k}: {x} by {shift} up in {share} of {rest}");
                assert!(rest > 0.0 || share == 0.0, "k {k}: {x} by {shift}");
            }
        }
    }
}

/// Conversion up, of signed and unsigned numbers, and down.
#[test]
fn conversion_of_all_elements() {
    for k in 1..=6u32 {
        let values = all(k);
        for wide in [1, k, k + 1, k + 2, 13, 33, 64] {
            let of_sign = |sign| {
                agreed(async |s, ctx| {
                    let x = share(s, ctx, Ring::of(k), &values).await?;
                    open(s, ctx, &s.convert(ctx, &x, Ring::of(wide), sign).await?).await
                })
            };
            let (with, without) = (of_sign(Sign::Signed), of_sign(Sign::Unsigned));
            for (i, &x) in values.iter().enumerate() {
                assert_eq!(with[i], signed(k, x) as u64 & mask(wide), "k {k} to {wide}: {x}");
                assert_eq!(without[i], x & mask(wide), "k {k} to {wide}: {x}");
            }
        }
    }
}

#[test]
fn lookups_of_every_number() {
    lookups::every_number_in_tables_of_every_size::<Pika>(N, 5, &[1, 2, 3, 5, 8, 17, 32]);
    lookups::every_number_in_tables_of_every_size::<Pika>(N, 9, &[300]);
}

#[test]
fn rows_in_the_order_of_their_keys() {
    orders::all::<Pika>(3);
}

#[test]
fn what_orders_compare_has_one_law() {
    orders::compared_rows_have_one_law::<Pika>(3, 1000);
}
