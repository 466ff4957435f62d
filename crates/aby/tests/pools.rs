//! Correlations of one session in another one, as pools keep them.

use quorate_aby::Aby;
use quorate_gadgets::testing::pools;

const KINDS: &[&str] = &["Triple", "MatrixTriple", "ConvTriple", "BitTriple", "Selection", "Lookup", "Permutation"];

#[test]
fn another_session_gives_the_same_results() {
    pools::another_session_gives_the_same_results::<Aby>(2, KINDS);
}

#[test]
fn keys_need_the_hash_of_their_session() {
    pools::keys_need_the_hash_of_their_session::<Aby>(2);
}
