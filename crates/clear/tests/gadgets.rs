//! Tests that the general gadgets equal plain arithmetic: all inputs of tiny rings.

use quorate_clear::Clear;
use quorate_gadgets::testing::{all_pairs, everything_equals_integers, exhaustive, lookups, mask, noise, orders};

#[test]
fn bits_of_all_elements() {
    exhaustive::bits_of_all_elements::<Clear>(&[(1, 10)]);
}

#[test]
fn bits_become_elements_of_every_ring() {
    exhaustive::bits_become_elements_of_every_ring::<Clear>(&[1]);
}

#[test]
fn comparison_of_all_pairs() {
    exhaustive::comparison_of_all_pairs::<Clear>(&[(1, 7)]);
}

#[test]
fn bits_against_public_numbers() {
    exhaustive::bits_against_public_numbers::<Clear>(&[(1, 7)]);
}

#[test]
fn sums_of_bits_with_all_carries() {
    exhaustive::sums_of_bits_with_all_carries::<Clear>(&[(1, 7)]);
}

#[test]
fn truncation_of_all_elements_by_every_shift() {
    exhaustive::truncation_of_all_elements_by_every_shift::<Clear>(&[(1, 10)]);
    exhaustive::cheaper_truncation_of_all_values::<Clear>(&[(1, 6)]);
}

#[test]
fn rings_wider_than_a_word() {
    exhaustive::rings_wider_than_a_word::<Clear>(&[1]);
}

#[test]
fn selection_by_every_bit() {
    exhaustive::selection_by_every_bit::<Clear>(&[(1, 7)]);
}

#[test]
fn extrema_of_all_columns_with_ties() {
    exhaustive::extrema_of_all_columns_with_ties::<Clear>(&[(1, 3, 1), (1, 3, 2), (1, 3, 3), (1, 3, 4), (1, 2, 5)]);
}

#[test]
fn every_length() {
    exhaustive::every_length::<Clear>(&[(1, &[0, 1, 3, 7, 9, 63, 65, 511, 513, 70_000])]);
}

#[test]
fn lookups_of_every_number() {
    lookups::every_number_in_tables_of_every_size::<Clear>(1, 5, &[1, 2, 3, 5, 8, 17, 32]);
    lookups::every_number_in_tables_of_every_size::<Clear>(1, 9, &[300]);
}

#[test]
fn everything_in_rings_of_every_size() {
    for k in 1..=64 {
        let (x, y) = match k {
            1..=4 => all_pairs(k),
            _ => (noise(k.into(), 60), noise(u64::from(k) + 64, 60)),
        };
        // Every third pair is equal.
        let pairs: Vec<(u64, u64)> = x
            .iter()
            .zip(&y)
            .enumerate()
            .map(|(i, (x, y))| (x & mask(k), if i % 3 == 0 { x } else { y } & mask(k)))
            .collect();
        everything_equals_integers::<Clear>(1, k, (k * 5 / 8).max(k / 2), &pairs);
    }
}

#[test]
fn rows_in_the_order_of_their_keys() {
    orders::all::<Clear>(1);
}
