//! Tests that gadgets over `rss` equal plain arithmetic: all inputs of tiny rings, for 3 and 5 parties, some for 7.

use quorate_gadgets::testing::{exhaustive, lookups, orders};
use quorate_rss::Rss;

#[test]
fn bits_of_all_elements() {
    exhaustive::bits_of_all_elements::<Rss>(&[(3, 8), (5, 8), (7, 4)]);
}

#[test]
fn bits_become_elements_of_every_ring() {
    exhaustive::bits_become_elements_of_every_ring::<Rss>(&[3, 5, 7]);
}

#[test]
fn comparison_of_all_pairs() {
    exhaustive::comparison_of_all_pairs::<Rss>(&[(3, 7), (5, 6), (7, 3)]);
}

#[test]
fn bits_against_public_numbers() {
    exhaustive::bits_against_public_numbers::<Rss>(&[(3, 6), (5, 4), (7, 3)]);
}

#[test]
fn sums_of_bits_with_all_carries() {
    exhaustive::sums_of_bits_with_all_carries::<Rss>(&[(3, 6), (5, 5), (7, 3)]);
}

#[test]
fn truncation_of_all_elements_by_every_shift() {
    exhaustive::truncation_of_all_elements_by_every_shift::<Rss>(&[(3, 8), (5, 6), (7, 4)]);
    exhaustive::cheaper_truncation_of_all_values::<Rss>(&[(3, 5), (5, 4)]);
}

#[test]
fn rings_wider_than_a_word() {
    exhaustive::rings_wider_than_a_word::<Rss>(&[3, 5, 7]);
}

#[test]
fn selection_by_every_bit() {
    exhaustive::selection_by_every_bit::<Rss>(&[(3, 6), (5, 5), (7, 3)]);
}

#[test]
fn extrema_of_all_columns_with_ties() {
    exhaustive::extrema_of_all_columns_with_ties::<Rss>(&[
        (3, 3, 1),
        (3, 3, 2),
        (3, 3, 3),
        (3, 3, 4),
        (3, 2, 5),
        (5, 3, 3),
        (5, 2, 4),
        (7, 2, 3),
    ]);
}

#[test]
fn every_length() {
    exhaustive::every_length::<Rss>(&[
        (3, &[0, 1, 3, 7, 9, 63, 65, 511, 513, 70_000]),
        (5, &[0, 1, 5, 67, 5_000]),
        (7, &[0, 1, 129]),
    ]);
}

#[test]
fn lookups_of_every_number() {
    lookups::every_number_in_tables_of_every_size::<Rss>(3, 5, &[1, 2, 3, 5, 8, 17, 32]);
    lookups::every_number_in_tables_of_every_size::<Rss>(3, 9, &[300]);
}

#[test]
fn rows_in_the_order_of_their_keys() {
    [3, 5].into_iter().for_each(orders::all::<Rss>);
}

#[test]
fn what_orders_compare_has_one_law() {
    orders::compared_rows_have_one_law::<Rss>(3, 1000);
}
