//! Correlations of one session in another one, as pools keep them.

use quorate_aby::{Aby, Kind};
use quorate_gadgets::Pools;
use quorate_gadgets::testing::pools;
use quorate_ring::Conv;

const KINDS: &[&str] = &["Triple", "MatrixTriple", "ConvTriple", "BitTriple", "Selection", "Lookup", "Permutation"];

#[test]
fn another_session_gives_the_same_results() {
    pools::another_session_gives_the_same_results::<Aby>(2, KINDS);
}

#[test]
fn keys_need_the_hash_of_their_session() {
    pools::keys_need_the_hash_of_their_session::<Aby>(2);
}

/// Kinds that messages call alike have contents of their own.
#[test]
fn names_of_kinds_have_all_their_fields() {
    let conv = Conv { filters: 2, ..Conv::plain([3, 4], [2, 2]) };
    let kinds = [
        [Kind::ConvTriple { bits: 20, conv }, Kind::ConvTriple { bits: 20, conv: Conv { dilation: [2, 1], ..conv } }],
        [16, 32].map(|bits| Kind::Permutation { rows: 4, columns: vec![(bits, 1)], mover: 0 }),
    ];
    for [one, other] in kinds {
        assert_eq!(one.to_string(), other.to_string());
        assert_ne!(Aby::name_of(&one), Aby::name_of(&other));
    }
    assert!(![Kind::InputLabel, Kind::EntryLabel, Kind::GarbledAnd].iter().any(Aby::fits_pools));
}
