//! Shuffles keep rows together and lose none; all orders have the same probability.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::*;
use quorate_crypto::Seed;
use quorate_engine::testing::parties;
use quorate_engine::{Ctx, Error, Phase, Sharing};
use quorate_pika::Pika;
use quorate_ring::{Ring, Vector};

#[test]
fn rows_of_all_columns_move_together_and_none_is_lost() {
    for (rows, width) in [(0, 1), (1, 3), (2, 1), (7, 2), (100, 3), (100, 0), (300_000, 1)] {
        let keys: Vec<u64> = (0..rows as u64).collect();
        let values: Vec<u64> = (0..(rows * width) as u64).collect();
        let (moved_keys, moved_values) = agreed(async |s, ctx| {
            let (a, b) = (share(s, ctx, Ring::of(20), &keys).await?, share(s, ctx, Ring::of(33), &values).await?);
            let moved = s.shuffle(ctx, &[&a, &b], rows).await?;
            Ok((open(s, ctx, &moved[0]).await?, open(s, ctx, &moved[1]).await?))
        });
        let mut sorted = moved_keys.clone();
        sorted.sort_unstable();
        assert!(sorted == keys, "rows {rows}");
        let of_key = |&key: &u64| (0..width as u64).map(move |i| key * width as u64 + i);
        assert!(moved_values == moved_keys.iter().flat_map(of_key).collect::<Vec<_>>(), "rows {rows}");
        assert!(rows < 100 || moved_keys != keys, "nothing moved");
    }
}

#[test]
fn every_order_is_as_likely() {
    for (rows, repeats) in [(3u64, 3000), (4, 6000)] {
        let values: Vec<u64> = (0..rows).collect();
        let orders = agreed(async |s, ctx| {
            let x = share(s, ctx, Ring::of(8), &values).await?;
            let shuffle = async |ctx: Ctx, _| Ok(s.shuffle(&ctx, &[&x], rows as usize).await?.remove(0));
            let moved = ctx.join_all(repeats, shuffle).await?;
            open(s, ctx, &s.concat(&moved.iter().collect::<Vec<_>>())).await
        });
        let mut counts: BTreeMap<&[u64], usize> = BTreeMap::new();
        orders.chunks_exact(rows as usize).for_each(|order| *counts.entry(order).or_default() += 1);
        let kinds = (1..=rows).product::<u64>() as usize;
        assert_eq!(counts.len(), kinds, "rows {rows}");
        let (expected, freedom) = (repeats as f64 / kinds as f64, kinds as f64 - 1.0);
        let chi: f64 = counts.values().map(|&c| (c as f64 - expected).powi(2) / expected).sum();
        // Exceeded by chance once in 10^10 times.
        assert!(chi < freedom + 10.0 * (2.0 * freedom).sqrt() + 20.0, "rows {rows}: chi-square {chi}");
    }
}

/// Each party knows two of the three pairs' seeds. Whatever these are, every order can come from the third one. So none
/// of the three orders is left out.
#[test]
fn every_order_is_possible_for_each_party() {
    const TRIALS: u8 = 150;
    for viewer in 0..N {
        let lacks = |a: usize, b: usize| a != viewer && b != viewer;
        let mut seen = BTreeSet::new();
        for trial in 0..TRIALS {
            let orders = parties(N, |mut party| {
                let me = party.me();
                let seed = |peer: usize| {
                    let (low, high) = (me.min(peer) as u8, me.max(peer) as u8);
                    let changes = me != peer && lacks(me, peer);
                    Seed::from_bytes([1 + 16 * low + high; 32]).derive("test", &[if changes { trial } else { 0 }])
                };
                let s = Pika::insecure_with_seeds(me, seed).unwrap();
                let mut run = party.begin_alone().unwrap();
                let work = async |ctx: &Ctx| {
                    let x = s.public(&Vector::from_u64s(Ring::of(8), &[0, 1, 2]));
                    open(&s, ctx, &s.shuffle(ctx, &[&x], 3).await?.remove(0)).await
                };
                let order = run.phase(Phase::Online, work).unwrap();
                run.finish();
                party.leave(false);
                order
            });
            seen.insert(orders[0].clone());
        }
        assert_eq!(seen.len(), 6, "for party {viewer}");
    }
}

#[test]
fn columns_that_do_not_fit_the_rows_are_refused() {
    for (errors, _) in run(async |s, ctx| {
        let x = s.public(&Vector::zeros(Ring::of(8), 7));
        Ok((s.shuffle(ctx, &[&x], 2).await.err(), s.shuffle(ctx, &[&x], 0).await.err()))
    }) {
        assert!(matches!(errors, (Some(Error::Misuse { .. }), Some(Error::Misuse { .. }))));
    }
}
