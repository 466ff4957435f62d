//! Tests of one party's numbers with their bits, by cut and choose: any deviation of that party is found.

use quorate_adversary::{By, Twist};
use quorate_authenticated::Kind;
use quorate_engine::testing::parties;
use quorate_engine::{Error, Phase, Result, Stocks};
use quorate_spdz2k::{Params, Spdz2k};

use super::outcomes::is_found;
use crate::common::{Keyed, assert_kind, total};

const WIDTH: u32 = 5;
const KIND: Kind = Kind::EdaBit { bits: WIDTH, ring: WIDTH, cut: 0 };

/// Kinds that take parts of numbers, or numbers of fewer bits.
const PARTS: [Kind; 3] = [
    Kind::EdaBit { bits: 3, ring: WIDTH, cut: 0 },
    Kind::EdaBit { bits: 4, ring: WIDTH, cut: 2 },
    Kind::TruncMask { bits: WIDTH, cut: 2 },
];

/// Returns every party's correlations of a kind if one party deviates in the making.
fn made(n: usize, kind: &Kind, cheat: usize, twists: &[(Twist, By)]) -> Vec<Result<Keyed>> {
    parties(n, |mut party| {
        let mut run = party.begin_alone().unwrap();
        let done = run.phase(Phase::Offline, async |ctx| {
            let s = Spdz2k::set_up(ctx, Params::new(32, true).unwrap().with_cut_and_choose(), None).await?;
            for &(twist, by) in twists.iter().filter(|_| ctx.me() == cheat) {
                s.adversary().twist(twist, by);
            }
            let made = s.make(ctx, kind, 6).await?;
            let vectors = made.vectors.iter().map(Spdz2k::insecure_shared).collect();
            let bits = made.bits.iter().map(Spdz2k::insecure_bits).collect();
            Ok(((s.insecure_alpha(), s.insecure_delta()), (vectors, bits)))
        });
        run.finish();
        done
    })
}

/// Returns the checks that ended a run, at the parties that reached them first; empty if all continued with right
/// material.
fn found_by(n: usize, kind: &Kind, cheat: usize, twists: &[(Twist, By)]) -> Vec<&'static str> {
    let what = format!("{kind}: {twists:?} of party {cheat} of {n}");
    let ends = made(n, kind, cheat, twists);
    if ends.iter().all(Result::is_ok) {
        let ends: Vec<Keyed> = ends.into_iter().map(Result::unwrap).collect();
        assert_kind(kind, &total(&ends, &what), &what);
        return vec![];
    }
    assert!(ends.iter().enumerate().all(|(me, end)| me == cheat || is_found(end)), "{what}");
    let failed = ends.iter().filter_map(|end| match end {
        Err(Error::Cheating { check }) => Some(*check),
        _ => None,
    });
    failed.collect()
}

const CASES: [(usize, usize); 4] = [(2, 0), (2, 1), (3, 0), (3, 2)];

#[test]
fn numbers_are_right_where_nobody_lies() {
    for (n, cheat) in CASES {
        assert_eq!(found_by(n, &KIND, cheat, &[]), [""; 0]);
    }
}

/// One number differs from its bits: it is opened, or it is in a bucket with right ones.
#[test]
fn a_number_that_is_not_its_bits_is_found() {
    let mut by_sums = 0;
    for (n, cheat) in CASES {
        for bit in 0..WIDTH {
            let found = found_by(n, &KIND, cheat, &[(Twist::Number, By::Plus(bit))]);
            let is_known = |name: &&str| name.contains("add up") || name.contains("and their bits");
            assert!(!found.is_empty() && found.iter().all(is_known), "{found:?}");
            by_sums += usize::from(found.iter().all(|name| name.contains("add up")));
        }
    }
    assert!(by_sums > 5, "{by_sums}");
}

/// All numbers are wrong by half the modulus, so all sums are right: only the opened numbers reveal it.
#[test]
fn numbers_that_are_all_off_alike_are_found_by_those_that_are_opened() {
    for (n, cheat) in CASES {
        let found = found_by(n, &KIND, cheat, &[(Twist::Number, By::All(1 << (WIDTH - 1)))]);
        assert!(!found.is_empty() && found.iter().all(|name| name.contains("and their bits")), "{found:?}");
    }
}

/// In the order of making, all numbers of the first bucket are wrong by half the modulus, so all of its sums are right.
/// The toss that assigns numbers to buckets comes after they are fixed.
#[test]
fn a_bucket_that_is_filled_before_the_toss_is_found() {
    let count = 6;
    let bucket = Params::new(32, true).unwrap().insecure_bucket(count);
    let by = By::Steps { apart: count, count: bucket, by: 1 << (WIDTH - 1) };
    for (n, cheat) in CASES {
        assert!(!found_by(n, &KIND, cheat, &[(Twist::Number, by)]).is_empty(), "party {cheat} of {n}");
    }
}

/// Returns the deviations for a number that is authenticated as another one, and then sent with the value of its bits.
fn unlike(bit: u32) -> [(Twist, By); 2] {
    [(Twist::Number, By::Plus(bit)), (Twist::ToldNumber, By::Minus(bit))]
}

#[test]
fn a_number_that_is_told_as_another_than_was_authenticated_is_found() {
    for (n, cheat) in CASES {
        for bit in [0, WIDTH - 1] {
            let found = found_by(n, &KIND, cheat, &unlike(bit));
            assert!(!found.is_empty() && found.iter().all(|name| name.contains("tags")), "{found:?}");
        }
    }
}

#[test]
fn a_sum_that_is_told_as_another_is_found() {
    // Also the top bits of two sums: each has a coin of its own.
    let two = By::Steps { apart: 1, count: 2, by: 1 << (WIDTH - 1) };
    for (n, cheat) in CASES {
        for by in (0..WIDTH).map(By::Plus).chain([two]) {
            let found = found_by(n, &KIND, cheat, &[(Twist::Sum, by)]);
            assert!(!found.is_empty() && found.iter().all(|name| name.contains("add up")), "{found:?}");
        }
    }
}

#[test]
fn a_proof_that_is_off_is_found() {
    for (n, cheat) in CASES {
        for bit in [0, 1, 64, 127] {
            let found = found_by(n, &KIND, cheat, &[(Twist::Proof, By::Plus(bit))]);
            assert!(!found.is_empty() && found.iter().all(|name| name.contains("add up")), "{found:?}");
        }
    }
}

/// Bits above the numbers' width are not part of the number: carries of sent sums do not count.
#[test]
fn bits_above_the_width_change_nothing() {
    for (n, cheat) in CASES {
        assert_eq!(found_by(n, &KIND, cheat, &[(Twist::Number, By::All(1 << WIDTH))]), [""; 0]);
    }
}

/// Lies are found as for whole numbers if only some bits of a number are sent, or if two numbers make one.
#[test]
fn lies_about_parts_of_numbers_are_found() {
    for (kind, (n, cheat)) in PARTS.iter().flat_map(|kind| CASES.map(|case| (kind, case))) {
        assert_eq!(found_by(n, kind, cheat, &[]), [""; 0]);
        let top = WIDTH - 1;
        for (twists, by) in [
            (&[(Twist::Number, By::Plus(top))][..], "a"),
            (&[(Twist::Number, By::All(1 << top))], "and their bits"),
            (&unlike(top), "tags"),
            (&[(Twist::Sum, By::Plus(top))], "add up"),
            (&[(Twist::Proof, By::Plus(top))], "add up"),
        ] {
            let found = found_by(n, kind, cheat, twists);
            assert!(!found.is_empty() && found.iter().all(|name| name.contains(by)), "{kind}, {twists:?}: {found:?}");
        }
    }
}

/// A wrong bit is sent for subtraction: its MAC does not match.
#[test]
fn bits_that_are_told_as_others_are_found() {
    for (kind, (n, cheat)) in PARTS.iter().flat_map(|kind| CASES.map(|case| (kind, case))) {
        let found = found_by(n, kind, cheat, &[(Twist::ToldBit, By::Plus(0))]);
        assert!(!found.is_empty() && found.iter().all(|name| name.contains("MACs")), "{kind}: {found:?}");
    }
}
