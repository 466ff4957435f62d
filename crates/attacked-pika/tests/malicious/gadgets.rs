//! All gadgets, with every correlation dealt and checked, and every opening checked: all inputs of tiny rings, some of
//! wide ones.

use quorate_gadgets::testing::{
    convolutions::convolutions, everything_equals_integers, exhaustive, lookups, mask, noise, wide,
};
use quorate_pika::PikaMalicious;

use crate::common::N;

#[test]
fn bits_and_comparisons_of_tiny_rings() {
    exhaustive::bits_of_all_elements::<PikaMalicious>(&[(N, 5)]);
    exhaustive::bits_become_elements_of_every_ring::<PikaMalicious>(&[N]);
    exhaustive::comparison_of_all_pairs::<PikaMalicious>(&[(N, 4)]);
    exhaustive::bits_against_public_numbers::<PikaMalicious>(&[(N, 4)]);
    exhaustive::sums_of_bits_with_all_carries::<PikaMalicious>(&[(N, 4)]);
}

#[test]
fn truncations_and_choices_of_tiny_rings() {
    exhaustive::truncation_of_all_elements_by_every_shift::<PikaMalicious>(&[(N, 5)]);
    exhaustive::cheaper_truncation_of_all_values::<PikaMalicious>(&[(N, 4)]);
    exhaustive::selection_by_every_bit::<PikaMalicious>(&[(N, 4)]);
    exhaustive::extrema_of_all_columns_with_ties::<PikaMalicious>(&[(N, 3, 3)]);
    exhaustive::every_length::<PikaMalicious>(&[(N, &[0, 1, 7, 64, 65])]);
}

#[test]
fn lookups_of_every_number() {
    lookups::every_number_in_tables_of_every_size::<PikaMalicious>(N, 4, &[1, 2, 5, 16]);
}

/// Places of two digits: all of them, and those of a table that is smaller than their number.
#[test]
fn lookups_of_every_number_of_two_digits() {
    lookups::every_number_in_tables_of_every_size::<PikaMalicious>(N, 11, &[1030]);
}

#[test]
fn wide_rings() {
    exhaustive::rings_wider_than_a_word::<PikaMalicious>(&[N]);
    wide::elements::<PikaMalicious>(N, 126);
    wide::narrow_differences::<PikaMalicious>(N, 65);
    wide::truncations::<PikaMalicious>(N, 126);
    wide::matrices_and_shuffles::<PikaMalicious>(N, 65);
    wide::conversions::<PikaMalicious>(N);
    wide::scales::<PikaMalicious>(N);
    wide::scales_in_parts::<PikaMalicious>(N);
    wide::integer_division::<PikaMalicious>(N, 40, true);
    wide::public_division::<PikaMalicious>(N, 40);
    wide::real_functions::<PikaMalicious>(N, 64, 16);
}

#[test]
fn convolved() {
    [8, 64].iter().for_each(|&k| convolutions::<PikaMalicious>(N, k));
}

#[test]
fn everything_in_rings_of_all_carriers() {
    for k in [8, 16, 33, 62, 64] {
        let values = |seed: u64| noise(seed, 20).into_iter().map(|x| x & mask(k));
        let pairs: Vec<(u64, u64)> = values(1).zip(values(2)).collect();
        everything_equals_integers::<PikaMalicious>(N, k, k / 2, &pairs);
    }
}
