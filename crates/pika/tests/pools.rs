//! Correlations of one session in another one, as pools keep them.

use quorate_gadgets::Pools;
use quorate_gadgets::testing::pools;
use quorate_pika::{Kind, Pika, PikaMalicious};

const KINDS: &[&str] = &[
    "Triple",
    "DotTriple",
    "MatrixTriple",
    "ConvTriple",
    "BitTriple",
    "Selection",
    "Lookup",
    "Permutation",
    "EdaBit",
    "TruncMask",
    "WideEdaBit",
];

#[test]
fn another_session_gives_the_same_results() {
    pools::another_session_gives_the_same_results::<Pika>(3, KINDS);
}

#[test]
fn keys_need_the_hash_of_their_session() {
    pools::keys_need_the_hash_of_their_session::<Pika>(3);
}

/// Kinds of the malicious form.
const DEALT: &[&str] = &[
    "Triple",
    "DotTriple",
    "MatrixTriple",
    "ConvTriple",
    "BitTriple",
    "Mask",
    "Random",
    "BitMask",
    "Place",
    "DaBit",
    "EdaBit",
    "TruncMask",
];

#[test]
fn another_session_gives_the_same_results_where_one_party_may_cheat() {
    pools::another_session_gives_the_same_results::<PikaMalicious>(3, DEALT);
}

#[test]
fn keys_of_another_session_are_caught_where_one_party_may_cheat() {
    pools::keys_need_the_hash_of_their_session::<PikaMalicious>(3);
}

/// Kinds that messages call alike have contents of their own.
#[test]
fn names_of_kinds_have_all_their_fields() {
    let [one, other] = [3, 4].map(|pairs| Kind::ComparisonMask { bits: 20, pairs });
    assert_eq!(one.to_string(), other.to_string());
    assert_ne!(Pika::name_of(&one), Pika::name_of(&other));
    assert!(!Pika::fits_pools(&Kind::FactorMask { bits: 8, len: 1, factor: 3 }));
}
