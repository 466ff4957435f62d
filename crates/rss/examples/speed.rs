//! Times of the primitives and of less-than over memory links, all parties in this process: median of several runs.
//!
//! `cargo run --release -p quorate-rss --example speed [parties] [filter]`

use std::time::Instant;

use quorate_engine::testing::parties;
use quorate_engine::{Ctx, Phase, Result, Sharing};
use quorate_gadgets::{Gadgets, Width};
use quorate_ring::{Bits, Ring, Vector};
use quorate_rss::{Rss, Shared};

const RUNS: usize = 5;

/// The median time of `work` at party 0, in milliseconds, after one run that is not counted.
fn time<T>(n: usize, work: impl AsyncFn(&Rss, &Ctx) -> Result<T> + Sync) -> f64 {
    let mut times = parties(n, |mut party| {
        let mut run = party.begin_alone().expect("links in memory");
        let rss = run.phase(Phase::Offline, async |ctx| Rss::setup(ctx).await).expect("a setup");
        run.finish();
        let mut times = Vec::new();
        for _ in 0..=RUNS {
            let mut run = party.begin_alone().expect("links in memory");
            let start = Instant::now();
            run.phase(Phase::Online, async |ctx| work(&rss, ctx).await.map(drop)).expect("a run");
            times.push(start.elapsed().as_secs_f64() * 1e3);
            run.finish();
        }
        party.leave(false);
        times.split_off(1)
    })
    .swap_remove(0);
    times.sort_by(f64::total_cmp);
    times[RUNS / 2]
}

fn operand(rss: &Rss, k: u32, len: usize) -> Shared<Vector> {
    rss.public(&Vector::constant(Ring::of(k), 12345, len))
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let n: usize = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(3);
    let filter = arguments.next().unwrap_or_default();
    let report = |name: &str, time: &dyn Fn() -> f64| {
        if name.contains(&filter) {
            println!("{name:<34} n = {n}  {:>9.2} ms", time());
        }
    };
    for k in [32, 64] {
        report(&format!("mul 10^6, k = {k}"), &|| {
            time(n, async |rss, ctx| rss.mul(ctx, &operand(rss, k, 1_000_000), &operand(rss, k, 1_000_000)).await)
        });
    }
    report("open 10^6, k = 64", &|| time(n, async |rss, ctx| rss.open(ctx, &operand(rss, 64, 1_000_000)).await));
    report("and 64 x 10^6", &|| {
        let bits = |rss: &Rss| rss.public_bits(&Bits::constant(true, 64, 1_000_000));
        time(n, async |rss, ctx| rss.and(ctx, &bits(rss), &bits(rss)).await)
    });
    for k in [30, 60, 64] {
        let ring = Ring::of(k);
        report(&format!("random bit 10^5, k = {k}"), &|| {
            time(n, async |rss, ctx| rss.random_bits(ctx, ring, 100_000).await)
        });
    }
    for k in [30, 60, 64] {
        let ring = Ring::of(k);
        report(&format!("edaBit 10^5, k = {k}"), &|| {
            time(n, async |rss, ctx| rss.edabits(ctx, ring, None, 100_000).await)
        });
    }
    for k in [32, 64] {
        for (name, width) in [("full", Width::Full), ("narrow", Width::Difference(k))] {
            report(&format!("less-than 10^5, k = {k}, {name}"), &|| {
                let work = async |rss: &Rss, ctx: &Ctx| {
                    rss.lt(ctx, &operand(rss, k, 100_000), &operand(rss, k, 100_000), width).await
                };
                time(n, work)
            });
        }
    }
}
