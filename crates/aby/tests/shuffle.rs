//! Shuffles keep rows together and lose none; all orders have the same probability, for either party's permutation.

use std::collections::BTreeMap;

use crate::common::*;
use quorate_engine::{Error, Sharing};
use quorate_ring::{Ring, Vector};

#[test]
fn rows_of_all_columns_move_together_and_none_is_lost() {
    for (rows, width) in [(0, 1), (1, 3), (2, 1), (7, 2), (100, 3), (100, 0), (12_000, 1)] {
        let keys: Vec<u64> = (0..rows as u64).collect();
        let values: Vec<u64> = (0..rows * width).map(|i| i as u64).collect();
        let (got_keys, got_values) = agreed(async |aby, ctx| {
            let a = share(aby, ctx, Ring::of(20), &keys).await?;
            let b = share(aby, ctx, Ring::of(33), &values).await?;
            let moved = aby.shuffle(ctx, &[&a, &b], rows).await?;
            Ok((open(aby, ctx, &moved[0]).await?, open(aby, ctx, &moved[1]).await?))
        });
        let mut sorted = got_keys.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, keys, "rows {rows}");
        for (row, &key) in got_keys.iter().enumerate() {
            for i in 0..width {
                assert_eq!(got_values[row * width + i], key * width as u64 + i as u64, "rows {rows}");
            }
        }
        assert!(rows < 100 || got_keys != keys, "nothing moved");
    }
}

#[test]
fn every_order_is_as_likely() {
    for (rows, repeats) in [(3u64, 3000), (4, 6000)] {
        let values: Vec<u64> = (0..rows).collect();
        let orders = agreed(async |aby, ctx| {
            let x = share(aby, ctx, Ring::of(8), &values).await?;
            let shuffle =
                async |ctx: quorate_engine::Ctx, _| Ok(aby.shuffle(&ctx, &[&x], rows as usize).await?.remove(0));
            let moved = ctx.join_all(repeats, shuffle).await?;
            open(aby, ctx, &aby.concat(&moved.iter().collect::<Vec<_>>())).await
        });
        let mut counts: BTreeMap<&[u64], usize> = BTreeMap::new();
        orders.chunks_exact(rows as usize).for_each(|order| *counts.entry(order).or_default() += 1);
        let kinds = (1..=rows).product::<u64>() as usize;
        assert_eq!(counts.len(), kinds, "rows {rows}");
        let expected = repeats as f64 / kinds as f64;
        let chi: f64 = counts.values().map(|&c| (c as f64 - expected).powi(2) / expected).sum();
        let freedom = kinds as f64 - 1.0;
        // Exceeded by chance once in 10^10 times.
        assert!(chi < freedom + 10.0 * (2.0 * freedom).sqrt() + 20.0, "rows {rows}: chi-square {chi}");
    }
}

#[test]
fn columns_that_do_not_fit_the_rows_are_refused() {
    for (error, _) in run(async |aby, ctx| {
        let x = aby.public(&Vector::zeros(Ring::of(8), 7));
        Ok((aby.shuffle(ctx, &[&x], 2).await.err(), aby.shuffle(ctx, &[&x], 0).await.err()))
    }) {
        assert!(matches!(error, (Some(Error::Misuse { .. }), Some(Error::Misuse { .. }))));
    }
}
