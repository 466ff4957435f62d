//! All gadgets, with every opening checked: all inputs of tiny rings, some of wide ones.

use quorate_gadgets::testing::{everything_equals_integers, exhaustive, lookups, mask, noise, wide};
use quorate_spdz2k::Spdz2k;

#[test]
fn all_inputs_of_tiny_rings() {
    exhaustive::bits_of_all_elements::<Spdz2k>(&[(2, 6), (3, 4), (4, 2)]);
    exhaustive::bits_become_elements_of_every_ring::<Spdz2k>(&[2, 3]);
    exhaustive::comparison_of_all_pairs::<Spdz2k>(&[(2, 5), (3, 3), (4, 2)]);
    exhaustive::bits_against_public_numbers::<Spdz2k>(&[(2, 5), (3, 3)]);
    exhaustive::sums_of_bits_with_all_carries::<Spdz2k>(&[(2, 5), (3, 3)]);
    exhaustive::truncation_of_all_elements_by_every_shift::<Spdz2k>(&[(2, 6), (3, 4)]);
    exhaustive::cheaper_truncation_of_all_values::<Spdz2k>(&[(2, 4), (2, 5), (3, 4)]);
    exhaustive::selection_by_every_bit::<Spdz2k>(&[(2, 5), (3, 3)]);
    exhaustive::extrema_of_all_columns_with_ties::<Spdz2k>(&[(2, 3, 3), (3, 2, 4)]);
    exhaustive::every_length::<Spdz2k>(&[(2, &[0, 1, 7, 64, 65]), (3, &[0, 63])]);
}

#[test]
fn lookups_of_every_number() {
    lookups::every_number_in_tables_of_every_size::<Spdz2k>(2, 4, &[1, 2, 5, 16]);
    lookups::every_number_in_tables_of_every_size::<Spdz2k>(3, 3, &[8]);
}

#[test]
fn wide_rings() {
    exhaustive::rings_wider_than_a_word::<Spdz2k>(&[2, 3]);
    for k in [65, 100, 126] {
        wide::elements::<Spdz2k>(2, k);
        wide::narrow_differences::<Spdz2k>(3, k);
        wide::truncations::<Spdz2k>(2, k);
        wide::matrices_and_shuffles::<Spdz2k>(3, k);
    }
    wide::conversions::<Spdz2k>(2);
    wide::scales::<Spdz2k>(3);
    wide::integer_division::<Spdz2k>(2, 40, true);
    wide::public_division::<Spdz2k>(2, 40);
    wide::real_functions::<Spdz2k>(2, 64, 16);
}

#[test]
fn everything_in_rings_of_all_carriers() {
    for k in [8, 16, 33, 62, 64] {
        let values = |seed: u64| noise(seed, 20).into_iter().map(|x| x & mask(k));
        let pairs: Vec<(u64, u64)> = values(1).zip(values(2)).collect();
        everything_equals_integers::<Spdz2k>(3, k, k / 2, &pairs);
    }
}
