//! Measures two parties over memory links in this process, offline and online apart. Prints the median of several runs,
//! with the processor time of party 0 and the bytes of both parties.
//!
//! `cargo run --release -p quorate-aby --example speed [filter]`

use std::sync::Arc;
use std::time::Instant;

use quorate_aby::{Aby, Share};
use quorate_additive::local;
use quorate_engine::Stocks;
use quorate_engine::testing::parties;
use quorate_engine::{Ctx, Form, Phase, Result, Sharing, dry};
use quorate_gadgets::MakesAhead;
use quorate_gadgets::lookup::{self, Entries, Lookup, Operand};
use quorate_gadgets::{Functions, Gadgets, Width};
use quorate_ring::{Bits, Ring, Vector};

const RUNS: usize = 3;

/// Returns the seconds for which this thread had a core, if the system reports them.
fn own_seconds() -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    told.split_whitespace().next().and_then(|text| text.parse::<f64>().ok()).map_or(0.0, |n| n * 1e-9)
}

/// Seconds offline and online by the clock and of the processor, and bytes of one party.
type Sample = ([f64; 2], [f64; 2], u64);

fn measure<T>(
    (k, len): (u32, usize),
    work: &(impl AsyncFn(&Aby, &Ctx, [&Share<Vector>; 2]) -> Result<T> + Sync),
) -> Vec<Vec<Sample>> {
    parties(2, |mut party| {
        let mut run = party.begin_alone().expect("links in memory");
        let aby = run.phase(Phase::Offline, async |ctx| Aby::setup(ctx).await).expect("a setup");
        run.finish();
        let operand = |value: Vector| aby.public(&value);
        let twin = Aby::dry(2, party.me()).expect("a twin");
        twin.record_demand();
        let shape = twin.public(&Vector::shape(Ring::of(k), len));
        let dry_run = async |ctx: &Ctx| work(&twin, ctx, [&shape, &shape]).await.map(drop);
        dry::run(party.me(), 2, Phase::Online, dry_run).expect("a dry run");
        let demand = twin.take_demand();
        let [x, y] = [12345, 54321].map(|value| operand(Vector::constant(Ring::of(k), value, len)));
        let mut samples = Vec::new();
        for _ in 0..=RUNS {
            let mut run = party.begin_alone().expect("links in memory");
            let mut sample: Sample = ([0.0; 2], [0.0; 2], 0);
            let (clock, own) = (Instant::now(), own_seconds());
            run.phase(Phase::Offline, async |ctx| aby.make_all(ctx, demand.clone()).await).expect("correlations");
            (sample.0[0], sample.1[0]) = (clock.elapsed().as_secs_f64(), own_seconds() - own);
            let (clock, own) = (Instant::now(), own_seconds());
            let result = run.phase(Phase::Online, async |ctx| work(&aby, ctx, [&x, &y]).await).expect("a run");
            (sample.0[1], sample.1[1]) = (clock.elapsed().as_secs_f64(), own_seconds() - own);
            drop(result);
            let costs = run.finish();
            sample.2 = costs.offline.bytes() + costs.online.bytes();
            samples.push(sample);
        }
        party.leave(false);
        samples.split_off(1)
    })
}

fn report<T>(name: &str, shape: (u32, usize), work: impl AsyncFn(&Aby, &Ctx, [&Share<Vector>; 2]) -> Result<T> + Sync) {
    if std::env::args().nth(1).is_some_and(|filter| !name.contains(&filter)) {
        return;
    }
    let samples = measure(shape, &work);
    let bytes: u64 = samples.iter().map(|party| party[0].2).sum();
    let median = |of: &dyn Fn(&Sample) -> f64| {
        let mut all: Vec<f64> = samples[0].iter().map(of).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2] * 1e3
    };
    println!(
        "{name:<30} offline {:>8.1} ms (own {:>8.1})  online {:>8.1} ms (own {:>8.1})  {:>8.2} MB",
        median(&|s| s.0[0]),
        median(&|s| s.1[0]),
        median(&|s| s.0[1]),
        median(&|s| s.1[1]),
        bytes as f64 / 1e6
    );
}

fn main() {
    let len = 100_000;
    for k in [32, 64] {
        report(&format!("mul 10^5, k = {k}"), (k, len), async |aby, ctx, [x, y]| aby.mul(ctx, x, y).await);
    }
    report("and 64 x 10^5", (64, 1), async |aby, ctx, _| {
        let bits = if ctx.is_dry() { Bits::shape(64, len) } else { Bits::constant(true, 64, len) };
        let bits = aby.public_bits(&bits);
        aby.and(ctx, &bits, &bits).await
    });
    for k in [32, 64] {
        let width = Width::Difference(k);
        report(&format!("less-than 10^5, k = {k}"), (k, len), async |aby, ctx, [x, y]| aby.lt(ctx, x, y, width).await);
    }
    report("less-than full 10^5, k = 64", (64, len), async |aby, ctx, [x, y]| aby.lt(ctx, x, y, Width::Full).await);
    report("equal 10^5, k = 64", (64, len), async |aby, ctx, [x, _]| aby.eqz(ctx, x).await);
    report("bits 10^5, k = 64", (64, len), async |aby, ctx, [x, _]| aby.bit_decompose(ctx, x).await);
    report("trunc exact 10^5, k = 64", (64, len), async |aby, ctx, [x, _]| aby.trunc_exact(ctx, x, 16).await);
    report("trunc prob 10^5, k = 64", (64, len), async |aby, ctx, [x, _]| aby.trunc_prob(ctx, x, 16).await);
    report("select 10^5, k = 64", (64, len), async |aby, ctx, [x, y]| aby.mask(ctx, &local::low_bit(y), x).await);
    report("shuffle 10^4, k = 64", (64, 10_000), async |aby, ctx, [x, _]| aby.shuffle(ctx, &[x], 10_000).await);
    for (entries, len) in [(1 << 8, 10_000), (1 << 16, 1), (1 << 16, 1_000), (1 << 16, 10_000)] {
        let sigmoid = |i: i64| 4096.0 / (1.0 + (-(i as f64) * 16.0 / entries as f64).exp());
        let values: Vec<i64> = (-entries / 2..entries / 2).map(|i| sigmoid(i).round() as i64).collect();
        let values = Vector::from_i64s(Ring::of(32), &values);
        let table = Lookup {
            entries: Arc::new(Entries::new(values.clone())),
            first: -i128::from(entries) / 2,
            operand: Operand::Within,
        };
        report(&format!("look-up {len}, n = {}", table.place_bits()), (32, len), async |aby, ctx, [x, _]| {
            aby.lookup(ctx, x, &table).await
        });
        if len == 10_000 {
            report(
                &format!("by products: {len} look-ups, n = {}", table.place_bits()),
                (32, len),
                async |aby, ctx, [x, _]| lookup::lookup(aby, ctx, x, &table).await,
            );
        }
    }
    report("matrix product 128, k = 64", (64, 128 * 128), async |aby, ctx, [x, y]| {
        aby.bilinear(ctx, Form::MatMul { m: 128, k: 128, n: 128 }, x, y).await
    });
}
