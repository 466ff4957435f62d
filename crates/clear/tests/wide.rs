//! Tests of the general gadgets over rings of 65 to 126 bits, against integers.

use quorate_clear::Clear;
use quorate_gadgets::testing::convolutions::convolutions;
use quorate_gadgets::testing::wide;

const RINGS: [u32; 5] = [65, 96, 104, 120, 126];

#[test]
fn elements() {
    RINGS.iter().for_each(|&k| wide::elements::<Clear>(1, k));
    RINGS.iter().for_each(|&k| wide::narrow_differences::<Clear>(1, k));
}

#[test]
fn truncations_and_conversions() {
    RINGS.iter().for_each(|&k| wide::truncations::<Clear>(1, k));
    wide::conversions::<Clear>(1);
}

#[test]
fn products() {
    RINGS.iter().for_each(|&k| wide::matrices_and_shuffles::<Clear>(1, k));
    [1, 8, 33, 64, 96].iter().for_each(|&k| convolutions::<Clear>(1, k));
}

#[test]
fn scales() {
    wide::scales::<Clear>(1);
    wide::scales_in_parts::<Clear>(1);
}

#[test]
fn divisions() {
    for k in [65, 96, 126] {
        wide::integer_division::<Clear>(1, k, true);
        wide::integer_division::<Clear>(1, k - 1, false);
    }
    [65, 96, 104, 120, 125, 126].iter().for_each(|&k| wide::public_division::<Clear>(1, k));
    [(120, 60), (96, 32), (64, 17), (40, 20), (126, 48)]
        .iter()
        .for_each(|&(k, up)| wide::fine_quotients::<Clear>(1, k, up));
}

#[test]
fn real_functions() {
    for (k, frac) in [(65, 16), (96, 16), (104, 0), (120, 16), (126, 7), (64, 40), (96, 40), (120, 60), (48, 24)] {
        wide::real_functions::<Clear>(1, k, frac);
    }
}
