//! Measures the primitives and less-than over memory links, with all parties in this process: median of several runs.
//!
//! `cargo run --release -p quorate-rss --example speed [parties] [filter]`

use std::time::Instant;

use quorate_engine::testing::parties;
use quorate_engine::{Ctx, Form, Phase, Result, Sharing};
use quorate_gadgets::floor_div::{Range, floor_div};
use quorate_gadgets::{Gadgets, Sign, Width, real};
use quorate_ring::{Bits, Ring, Vector};
use quorate_rss::{Rss, Shared};

const RUNS: usize = 5;
const SHORT: usize = 100_000;
const LONG: usize = 1_000_000;

/// Prints the time of the work of this name, unless the filter excludes it.
type Report<'a> = &'a dyn Fn(&str, &dyn Fn() -> f64);

/// Returns the median time of `work` at party 0, in milliseconds, after one run that is not counted.
///
/// Operands are vectors over Z_2^k, shared before the time is taken; results are freed after it.
fn time<T>(
    n: usize,
    (k, len, count): (u32, usize, usize),
    work: impl AsyncFn(&Rss, &Ctx, &[Shared<Vector>]) -> Result<T> + Sync,
) -> f64 {
    let mut times = parties(n, |mut party| {
        let mut run = party.begin_alone().expect("links in memory");
        let rss = run.phase(Phase::Offline, async |ctx| Rss::setup(ctx).await).expect("a setup");
        run.finish();
        let mut times = Vec::new();
        let operands: Vec<_> = (0..count).map(|_| operand(&rss, k, len)).collect();
        for _ in 0..=RUNS {
            let mut run = party.begin_alone().expect("links in memory");
            let start = Instant::now();
            let result = run.phase(Phase::Online, async |ctx| work(&rss, ctx, &operands).await).expect("a run");
            times.push(start.elapsed().as_secs_f64() * 1e3);
            drop(result);
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
    primitives(n, &report);
    correlations(n, &report);
    comparisons(n, &report);
    reals(n, &report);
    report("shuffle 10^5, k = 64", &|| {
        time(n, (64, SHORT, 1), async |rss, ctx, x| rss.shuffle(ctx, &[&x[0]], SHORT).await)
    });
}

fn primitives(n: usize, report: Report<'_>) {
    for k in [32, 64] {
        report(&format!("mul 10^6, k = {k}"), &|| {
            time(n, (k, LONG, 2), async |rss, ctx, x| rss.mul(ctx, &x[0], &x[1]).await)
        });
    }
    report("mul 10^5, k = 64", &|| time(n, (64, SHORT, 2), async |rss, ctx, x| rss.mul(ctx, &x[0], &x[1]).await));
    report("matrix product 512, k = 64", &|| {
        let form = Form::MatMul { m: 512, k: 512, n: 512 };
        time(n, (64, 512 * 512, 2), async |rss, ctx, x| rss.bilinear(ctx, form, &x[0], &x[1]).await)
    });
    report("open 10^6, k = 64", &|| time(n, (64, LONG, 1), async |rss, ctx, x| rss.open(ctx, &x[0]).await));
    report("and 64 x 10^6", &|| {
        time(n, (1, 0, 0), async |rss, ctx, _| {
            let bits = rss.public_bits(&Bits::constant(true, 64, LONG));
            rss.and(ctx, &bits, &bits).await
        })
    });
}

fn correlations(n: usize, report: Report<'_>) {
    for k in [30, 60, 64] {
        let ring = Ring::of(k);
        report(&format!("random bit 10^5, k = {k}"), &|| {
            time(n, (k, 0, 0), async |rss, ctx, _| rss.random_bits(ctx, ring, SHORT).await)
        });
        report(&format!("edaBit 10^5, k = {k}"), &|| {
            time(n, (k, 0, 0), async |rss, ctx, _| rss.edabits(ctx, ring, None, SHORT).await)
        });
    }
}

fn comparisons(n: usize, report: Report<'_>) {
    for k in [32, 64] {
        for (name, width) in [("full", Width::Full), ("narrow", Width::Difference(k))] {
            report(&format!("less-than 10^5, k = {k}, {name}"), &|| {
                time(n, (k, SHORT, 2), async |rss, ctx, x| rss.lt(ctx, &x[0], &x[1], width).await)
            });
        }
        report(&format!("exact truncation 10^5, k = {k}"), &|| {
            time(n, (k, SHORT, 1), async |rss, ctx, x| rss.trunc_exact(ctx, &x[0], 16).await)
        });
        report(&format!("probabilistic truncation 10^5, k = {k}"), &|| {
            time(n, (k, SHORT, 1), async |rss, ctx, x| rss.trunc_prob(ctx, &x[0], 16).await)
        });
    }
    for (from, to) in [(44, 64), (44, 96), (64, 96), (96, 126)] {
        report(&format!("convert 10^5, k = {from} to {to}"), &|| {
            time(n, (from, SHORT, 1), async |rss, ctx, x| rss.convert(ctx, &x[0], Ring::of(to), Sign::Signed).await)
        });
    }
}

fn reals(n: usize, report: Report<'_>) {
    for k in [64, 96, 126] {
        report(&format!("product, truncated 10^5, k = {k}"), &|| {
            time(n, (k, SHORT, 2), async |rss, ctx, x| {
                let product = rss.mul(ctx, &x[0], &x[1]).await?;
                rss.trunc_exact(ctx, &product, 16).await
            })
        });
        report(&format!("product, rounded 10^5, k = {k}"), &|| {
            time(n, (k, SHORT, 2), async |rss, ctx, x| {
                let product = rss.mul(ctx, &x[0], &x[1]).await?;
                rss.trunc_prob(ctx, &product, 16).await
            })
        });
        report(&format!("by a public 10 10^5, k = {k}"), &|| {
            let range = Range { lo: -(1 << (k - 1)), hi: (1 << (k - 1)) - 1 };
            time(n, (k, SHORT, 1), async |rss, ctx, x| floor_div(rss, ctx, &x[0], &[10], range).await)
        });
        report(&format!("division 10^5, k = {k}"), &|| {
            time(n, (k, SHORT, 2), async |rss, ctx, x| real::divide(rss, ctx, &x[0], &x[1], 16, k - 1).await)
        });
        report(&format!("root 10^5, k = {k}"), &|| {
            time(n, (k, SHORT, 1), async |rss, ctx, x| real::sqrt(rss, ctx, &x[0], (16, 16), k - 1).await)
        });
    }
}
