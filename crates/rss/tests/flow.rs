//! Tests of flow control: long results are sent in chunks that wait for the slowest party, for every product.

use std::time::Duration;

use crate::common::*;
use quorate_engine::testing::parties;
use quorate_engine::{Form, Linear, Phase, Sharing};
use quorate_ring::Ring;
use quorate_rss::Rss;

/// Less than the result, more than the distance that parties may be apart.
const LIMIT: usize = 16 << 20;

#[test]
fn a_matrix_product_waits_for_a_slow_party() {
    let (ring, side) = (Ring::of(64), 2000);
    let form = Form::MatMul { m: side, k: 1, n: side };
    let factor: Vec<u64> = (0..side as u64).collect();
    let opened = parties(3, |mut party| {
        party.insecure_limit(LIMIT);
        let mut run = party.begin_alone().unwrap();
        let rss = run.phase(Phase::Offline, async |ctx| Rss::setup(ctx).await).unwrap();
        let product = run.phase(Phase::Online, async |ctx| {
            let x = share(&rss, ctx, ring, &factor).await?;
            if ctx.me() == 1 {
                std::thread::sleep(Duration::from_millis(300));
            }
            let product = rss.bilinear(ctx, form, &x, &x).await?;
            let tail = rss.linear(&product, &Linear::Slice(side * (side - 1)..side * side));
            open(&rss, ctx, &tail).await
        });
        let rounds = run.finish().online.rounds;
        (product.unwrap(), rounds)
    });
    let last = side as u64 - 1;
    for (tail, rounds) in opened {
        assert!(tail.iter().enumerate().all(|(i, &x)| x == last * i as u64));
        assert_eq!(rounds, 5, "three inputs, product, opening");
    }
}
