//! Correlations of one session in another one, as pools keep them.

use quorate_gadgets::testing::pools;
use quorate_pika::Pika;

const KINDS: &[&str] = &["Triple", "DotTriple", "MatrixTriple", "ConvTriple", "BitTriple", "Selection", "Lookup", "Permutation", "EdaBit", "TruncMask", "WideEdaBit"];

#[test]
fn another_session_gives_the_same_results() {
    pools::another_session_gives_the_same_results::<Pika>(3, KINDS);
}

#[test]
fn keys_need_the_hash_of_their_session() {
    pools::keys_need_the_hash_of_their_session::<Pika>(3);
}
