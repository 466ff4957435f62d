//! All gadgets, with every opening checked: all inputs of tiny rings, some of wide ones. Most tests run on a dealer's
//! correlations; those with a process of their own run on correlations that the parties make.

use quorate_engine::Sharing;
use quorate_gadgets::testing::{
    CHOICES, convolutions::convolutions, everything_equals_integers, exhaustive, lookups, mask, noise, run, share, wide,
};
use quorate_ring::Ring;
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
    for k in [65, 126] {
        wide::elements::<Spdz2k>(2, k);
        wide::narrow_differences::<Spdz2k>(3, k);
        wide::truncations::<Spdz2k>(2, k);
        wide::matrices_and_shuffles::<Spdz2k>(3, k);
    }
    wide::conversions::<Spdz2k>(2);
    wide::scales::<Spdz2k>(3);
    wide::scales_in_parts::<Spdz2k>(3);
    wide::integer_division::<Spdz2k>(2, 40, true);
    wide::public_division::<Spdz2k>(2, 40);
    wide::real_functions::<Spdz2k>(2, 64, 16);
    wide::fine_quotients::<Spdz2k>(2, 64, 24);
}

#[test]
fn convolved() {
    [(2, 64), (3, 32)].iter().for_each(|&(n, k)| convolutions::<Spdz2k>(n, k));
}

fn everything(n: usize, k: u32) {
    let values = |seed: u64| noise(seed, 20).into_iter().map(|x| x & mask(k));
    let pairs: Vec<(u64, u64)> = values(1).zip(values(2)).collect();
    everything_equals_integers::<Spdz2k>(n, k, k / 2, &pairs);
}

#[test]
fn everything_in_rings_of_all_carriers() {
    [8, 16, 33, 62, 64].into_iter().for_each(|k| everything(3, k));
}

/// Names a case to a process of this test.
const CASE: &str = "QUORATE_TEST_CASE";
/// The choices of sessions by form: how triples and bits are made, by the parties themselves.
const FORMS: [(&str, &str); 4] = [
    ("usual", "offline=protocol"),
    ("paper", "offline=protocol,mac=32,allow_weak=yes,bits=paper"),
    ("bucket", "offline=protocol,mac=32,allow_weak=yes,triples=bucket"),
    ("twokeys", "offline=protocol,mac=32,allow_weak=yes,triples=twokeys"),
];

/// A form, and the test that runs on it.
type Case = (&'static str, fn());

const CASES: [Case; 24] = [
    ("usual", || exhaustive::bits_of_all_elements::<Spdz2k>(&[(2, 4)])),
    ("usual", || exhaustive::bits_of_all_elements::<Spdz2k>(&[(3, 3)])),
    ("usual", || exhaustive::comparison_of_all_pairs::<Spdz2k>(&[(2, 3)])),
    ("usual", || exhaustive::comparison_of_all_pairs::<Spdz2k>(&[(3, 2)])),
    ("usual", || exhaustive::bits_become_elements_of_every_ring::<Spdz2k>(&[2])),
    ("usual", || exhaustive::bits_against_public_numbers::<Spdz2k>(&[(2, 3)])),
    ("usual", || exhaustive::sums_of_bits_with_all_carries::<Spdz2k>(&[(2, 3)])),
    ("usual", || exhaustive::truncation_of_all_elements_by_every_shift::<Spdz2k>(&[(2, 4), (3, 2)])),
    ("usual", || exhaustive::cheaper_truncation_of_all_values::<Spdz2k>(&[(2, 3)])),
    ("usual", || exhaustive::selection_by_every_bit::<Spdz2k>(&[(2, 3), (3, 2)])),
    ("usual", || exhaustive::extrema_of_all_columns_with_ties::<Spdz2k>(&[(2, 2, 3), (3, 2, 2)])),
    ("usual", || exhaustive::every_length::<Spdz2k>(&[(2, &[0, 1, 65])])),
    ("usual", || lookups::every_number_in_tables_of_every_size::<Spdz2k>(2, 3, &[5])),
    ("usual", || wide::matrices_and_shuffles::<Spdz2k>(2, 65)),
    ("usual", || everything(2, 33)),
    ("usual", || everything(3, 16)),
    ("usual", || everything(4, 8)),
    ("paper", || exhaustive::comparison_of_all_pairs::<Spdz2k>(&[(2, 3)])),
    ("paper", || exhaustive::bits_of_all_elements::<Spdz2k>(&[(2, 3), (3, 2)])),
    ("paper", || exhaustive::truncation_of_all_elements_by_every_shift::<Spdz2k>(&[(2, 3)])),
    ("paper", || exhaustive::cheaper_truncation_of_all_values::<Spdz2k>(&[(2, 3)])),
    ("paper", || exhaustive::extrema_of_all_columns_with_ties::<Spdz2k>(&[(2, 2, 2)])),
    ("bucket", || exhaustive::selection_by_every_bit::<Spdz2k>(&[(2, 3), (3, 2)])),
    ("twokeys", || exhaustive::selection_by_every_bit::<Spdz2k>(&[(2, 3), (3, 2)])),
];

/// All inputs of tiny rings again, in separate processes without a dealer.
#[test]
fn all_inputs_of_tiny_rings_on_correlations_that_parties_make() {
    if let Ok(case) = std::env::var(CASE) {
        assert_parties_make();
        return CASES[case.parse::<usize>().unwrap()].1();
    }
    for (case, (form, _)) in CASES.iter().enumerate() {
        let start = std::time::Instant::now();
        let test = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "gadgets::all_inputs_of_tiny_rings_on_correlations_that_parties_make", "--nocapture"])
            .env(CASE, case.to_string())
            .env(CHOICES, FORMS.iter().find(|(name, _)| name == form).unwrap().1)
            .output()
            .unwrap();
        // Printed on a separate, indented line, so that a count of tests does not count this one twice.
        let said = String::from_utf8_lossy(&[test.stdout, test.stderr].concat()).replace('\n', "\n    ");
        assert!(test.status.success() && said.contains("1 passed"), "{case}, {form}: {said}");
        println!("    case {case}, {form}: {:?}", start.elapsed());
    }
}

/// Asserts that a product sends transfers: with a dealer's correlations it would send none.
fn assert_parties_make() {
    let ends = run::<Spdz2k, _>(2, async |s, ctx| {
        let x = share(s, ctx, Ring::of(2), &[1, 2]).await?;
        s.mul(ctx, &x, &x).await.map(drop)
    });
    assert!(ends.iter().all(|(_, costs)| costs.offline.bytes() > 1000), "a dealer made these");
}
