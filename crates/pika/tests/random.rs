//! Random vectors over every Z_2^k against plain integers.

use proptest::prelude::*;
use quorate_crypto::Seed;
use quorate_engine::testing::parties;
use quorate_engine::{Ctx, Phase, Sharing};
use quorate_gadgets::testing::{self, mask};
use quorate_pika::Pika;
use quorate_ring::Ring;

use crate::common::{N, open};

/// Elements that are often near the edges of the ring.
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
        testing::everything_equals_integers::<Pika>(3, k, shift, &pairs);
    }
}

/// Each party knows two of the three pairs' seeds, and its own. Whatever these are, the others can make a random bit 0
/// or 1. The dealer does not know a program's random bits either.
#[test]
fn both_random_bits_are_possible_for_each_party() {
    const BITS: usize = 40;
    for (viewer, k) in (0..N).flat_map(|viewer| [(viewer, 1), (viewer, 8)]) {
        let drawn = |trial: u8| {
            let all = parties(N, |mut party| {
                let me = party.me();
                let seed = |peer: usize| {
                    let (low, high) = (me.min(peer) as u8, me.max(peer) as u8);
                    let changes = me != viewer && peer != viewer;
                    Seed::from_bytes([1 + 16 * low + high; 32]).derive("test", &[if changes { trial } else { 0 }])
                };
                let s = Pika::insecure_with_seeds(me, seed).unwrap();
                let mut run = party.begin_alone().unwrap();
                let work = async |ctx: &Ctx| open(&s, ctx, &s.random_bits(ctx, Ring::of(k), BITS).await?).await;
                let bits = run.phase(Phase::Online, work).unwrap();
                run.finish();
                party.leave(false);
                bits
            });
            all[0].clone()
        };
        let (first, second) = (drawn(0), drawn(1));
        assert!(first.iter().chain(&second).all(|bit| *bit < 2));
        let differ = first.iter().zip(&second).filter(|(x, y)| x != y).count();
        assert!((1..BITS).contains(&differ), "for party {viewer}, k {k}: {differ} of {BITS} differ");
    }
}
