//! All operations over rings of 65 to 126 bits equal those of integers.

use crate::common::*;
use quorate_gadgets::testing::convolutions::convolutions;
use quorate_gadgets::testing::wide;
use quorate_pika::Pika;

const RINGS: [u32; 3] = [65, 96, 126];

#[test]
fn elements() {
    RINGS.iter().for_each(|&k| wide::elements::<Pika>(N, k));
}

#[test]
fn narrow_differences() {
    wide::narrow_differences::<Pika>(N, 96);
}

#[test]
fn truncations() {
    RINGS.iter().for_each(|&k| wide::truncations::<Pika>(N, k));
}

#[test]
fn conversions() {
    wide::conversions::<Pika>(N);
}

#[test]
fn matrices_and_shuffles() {
    RINGS.iter().for_each(|&k| wide::matrices_and_shuffles::<Pika>(N, k));
}

#[test]
fn convolved() {
    [8, 64, 96].iter().for_each(|&k| convolutions::<Pika>(N, k));
}

#[test]
fn scales() {
    wide::scales::<Pika>(N);
    wide::scales_in_parts::<Pika>(N);
}

#[test]
fn integer_division() {
    wide::integer_division::<Pika>(N, 96, true);
}

#[test]
fn public_division() {
    [96, 126].iter().for_each(|&k| wide::public_division::<Pika>(N, k));
}

#[test]
fn real_functions() {
    wide::real_functions::<Pika>(N, 120, 16);
    wide::fine_quotients::<Pika>(N, 96, 40);
}
