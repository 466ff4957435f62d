//! Every protocol once, for every number of parties, on a few values.

use crate::common::run;
use quorate_engine::Sharing;
use quorate_gadgets::extremum::{Best, arg_extremum, extremum};
use quorate_gadgets::{Gadgets, Width};
use quorate_ring::{Ring, Vector};

fn check(n: usize, k: u32, x: &[i64], y: &[i64]) {
    let ring = Ring::of(k);
    let results = run(n, async |rss, ctx| {
        let (a, b) = (Vector::from_i64s(ring, x), Vector::from_i64s(ring, y));
        let a = rss.input(ctx, 0, (ring, x.len()), (ctx.me() == 0).then_some(&a)).await?;
        let b = rss.input(ctx, n - 1, (ring, y.len()), (ctx.me() == n - 1).then_some(&b)).await?;
        let product = rss.open(ctx, &rss.mul(ctx, &a, &b).await?).await?.to_i64s();
        let less = rss.open_bits(ctx, &rss.lt(ctx, &a, &b, Width::Full).await?).await?.to_bools();
        let equal = rss.open_bits(ctx, &rss.eqz(ctx, &rss.sub(&a, &b)).await?).await?.to_bools();
        let bits = rss.bit_decompose(ctx, &a).await?;
        let back = rss.open_bits(ctx, &bits).await?.to_vector(ring).to_i64s();
        let lt = rss.lt(ctx, &a, &b, Width::Full).await?;
        let smaller = rss.open(ctx, &rss.mux(ctx, &lt, &a, &b).await?).await?.to_i64s();
        let shifted = rss.open(ctx, &rss.trunc_exact(ctx, &a, k / 2).await?).await?.to_i64s();
        let top = rss.open(ctx, &extremum(rss, ctx, &a, x.len(), Best::Largest, Width::Full).await?).await?.to_i64s();
        let place = arg_extremum(rss, ctx, &a, x.len(), Best::Largest, Width::Full, Ring::of(16)).await?;
        let place = rss.open(ctx, &place).await?.to_i64s();
        Ok((product, less, equal, back, smaller, shifted, (top, place)))
    });
    let wrap = |v: i64| v << (64 - k) >> (64 - k);
    for ((product, less, equal, back, smaller, shifted, (top, place)), _) in results {
        for i in 0..x.len() {
            assert_eq!(product[i], wrap(x[i].wrapping_mul(y[i])));
            assert_eq!(less[i], x[i] < y[i]);
            assert_eq!(equal[i], x[i] == y[i]);
            assert_eq!(back[i], x[i]);
            assert_eq!(smaller[i], x[i].min(y[i]));
            assert_eq!(shifted[i], x[i] >> (k / 2), "n {n} k {k}: {} >> {}", x[i], k / 2);
        }
        let best = *x.iter().max().unwrap();
        assert_eq!((top[0], place[0] as usize), (best, x.iter().position(|&v| v == best).unwrap()));
    }
}

#[test]
fn every_protocol_for_every_number_of_parties() {
    for n in [3, 5, 7] {
        for k in [2u32, 3, 7, 8, 20, 32, 33, 63, 64] {
            let (low, high) = (-1i64 << (k - 1), (1i64 << (k - 1)).wrapping_sub(1));
            let x = [low, high, 0, -1, 1, high, low / 2];
            let y = [high, low, 0, 1, -1, high, low / 2 + 1];
            check(n, k, &x, &y);
        }
    }
}
