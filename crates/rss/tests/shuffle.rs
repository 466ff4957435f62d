//! Tests that shuffles keep rows together and lose none, and that every order is equally likely, also after one pass.

use std::collections::BTreeMap;

use crate::coalitions::coalitions;
use crate::common::*;
use quorate_crypto::Seed;
use quorate_engine::testing::parties;
use quorate_engine::{Ctx, Error, Phase, Sharing};
use quorate_ring::{Ring, Vector};
use quorate_rss::{Rss, cost};

#[test]
fn rows_of_all_columns_move_together_and_none_is_lost() {
    for n in [3, 5, 7] {
        for (rows, width) in [(0, 1), (1, 3), (2, 1), (7, 2), (100, 3), (if n == 3 { 30_000 } else { 600 }, 1)] {
            let keys: Vec<u64> = (0..rows as u64).collect();
            let values: Vec<u64> = (0..rows * width).map(|i| i as u64).collect();
            let (got_keys, got_values) = agreed(n, async |rss, ctx| {
                let a = share(rss, ctx, Ring::of(20), &keys).await?;
                let b = share(rss, ctx, Ring::of(33), &values).await?;
                let moved = rss.shuffle(ctx, &[&a, &b], rows).await?;
                Ok((open(rss, ctx, &moved[0]).await?, open(rss, ctx, &moved[1]).await?))
            });
            let mut sorted = got_keys.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, keys, "n {n} rows {rows}");
            for (row, &key) in got_keys.iter().enumerate() {
                for i in 0..width {
                    assert_eq!(got_values[row * width + i], key * width as u64 + i as u64, "n {n} rows {rows}");
                }
            }
            assert!(rows < 100 || got_keys != keys, "nothing moved");
        }
    }
}

#[test]
fn every_order_is_as_likely() {
    for (n, rows, repeats) in [(3, 3u64, 1500), (3, 4, 3000), (5, 3, 600), (7, 3, 300)] {
        let values: Vec<u64> = (0..rows).collect();
        let orders = agreed(n, async |rss, ctx| {
            let x = share(rss, ctx, Ring::of(8), &values).await?;
            let shuffle = async |ctx: Ctx, _| Ok(rss.shuffle(&ctx, &[&x], rows as usize).await?.remove(0));
            let moved = ctx.join_all(repeats, shuffle).await?;
            open(rss, ctx, &rss.concat(&moved.iter().collect::<Vec<_>>())).await
        });
        let mut counts: BTreeMap<&[u64], usize> = BTreeMap::new();
        orders.chunks_exact(rows as usize).for_each(|order| *counts.entry(order).or_default() += 1);
        let kinds = (1..=rows).product::<u64>() as usize;
        assert_eq!(counts.len(), kinds, "n {n} rows {rows}");
        let expected = repeats as f64 / kinds as f64;
        let chi: f64 = counts.values().map(|&c| (c as f64 - expected).powi(2) / expected).sum();
        let freedom = kinds as f64 - 1.0;
        // Exceeded by chance once in 10^10 times.
        assert!(chi < freedom + 10.0 * (2.0 * freedom).sqrt() + 20.0, "n {n} rows {rows}: chi-square {chi}");
    }
}

/// Every key but one is known to some coalition: the order must be unknown to a coalition that lacks only that one.
#[test]
fn the_order_depends_on_every_key() {
    for (n, rows) in [(3, 20), (5, 20), (7, 20)] {
        let values: Vec<u64> = (0..rows).collect();
        let order = |changed: Option<u8>| {
            let seed_of = |set: u8| Seed::from_bytes([set; 32]).derive("test", &[u8::from(changed == Some(set))]);
            let orders = parties(n, |mut party| {
                let private = Seed::from_bytes([0xee; 32]);
                let rss = Rss::with_seeds(session(), (n, party.me()), seed_of, private).unwrap();
                let mut run = party.begin_alone().unwrap();
                let work = async |ctx: &Ctx| {
                    let x = rss.public(&Vector::from_u64s(Ring::of(8), &values));
                    open(&rss, ctx, &rss.shuffle(ctx, &[&x], values.len()).await?.remove(0)).await
                };
                let order = run.phase(Phase::Online, work).unwrap();
                run.finish();
                party.leave(false);
                order
            });
            orders.into_iter().next().unwrap()
        };
        let unchanged = order(None);
        assert_eq!(order(None), unchanged, "nothing else is random");
        let changed: Vec<u8> = coalitions(n).filter(|&set| order(Some(set)) != unchanged).collect();
        assert_eq!(changed, coalitions(n).collect::<Vec<_>>(), "n {n}: keys that move rows");
    }
}

#[test]
fn a_shuffle_costs_its_passes() {
    for n in [3, 5, 7] {
        for len in [0, 1, 13, 4096, 200_000usize] {
            if n > 3 && (len > 5000 || len == 0) {
                continue;
            }
            let costs = run(n, async |rss, ctx| {
                let x = rss.public(&Vector::zeros(Ring::of(33), len));
                rss.shuffle(ctx, &[&x], len).await.map(drop)
            });
            let bytes: u64 = costs.iter().map(|(_, costs)| costs.online.bytes()).sum();
            assert_eq!(cost::Cost { rounds: costs[0].1.online.rounds, bytes }, cost::shuffle(n, 33, len));
            for (me, (_, live)) in costs.iter().enumerate() {
                let (_, dry) = dry_online(n, me, &async |rss, ctx| {
                    let x = rss.public(&Vector::shape(Ring::of(33), len));
                    rss.shuffle(ctx, &[&x], len).await.map(drop)
                });
                assert_eq!(live.online, dry.online);
            }
        }
    }
}

#[test]
fn columns_that_do_not_fit_the_rows_are_refused() {
    for (error, _) in run(3, async |rss, ctx| {
        let x = rss.public(&Vector::zeros(Ring::of(8), 7));
        Ok((rss.shuffle(ctx, &[&x], 2).await.err(), rss.shuffle(ctx, &[&x], 0).await.err()))
    }) {
        assert!(matches!(error, (Some(Error::Misuse { .. }), Some(Error::Misuse { .. }))));
    }
}
