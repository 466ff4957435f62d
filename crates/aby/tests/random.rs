//! Random vectors over every Z_2^k against plain integers.

use proptest::prelude::*;
use quorate_aby::Aby;
use quorate_gadgets::testing::{self, mask};

/// Generates elements, with those near the edges of the ring more often.
fn element(k: u32) -> impl Strategy<Value = u64> {
    let top = 1u64 << (k - 1);
    prop_oneof![
        4 => any::<u64>(),
        1 => prop::sample::select(vec![0, 1, u64::MAX, top, top.wrapping_sub(1), top.wrapping_add(1)]),
    ]
    .prop_map(move |x| x & mask(k))
}

fn case() -> impl Strategy<Value = (u32, u32, Vec<(u64, u64)>)> {
    (1..=64u32).prop_flat_map(|k| (Just(k), 0..=k, prop::collection::vec((element(k), element(k)), 1..40)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn everything_equals_integers((k, shift, pairs) in case()) {
        testing::everything_equals_integers::<Aby>(2, k, shift, &pairs);
    }
}
