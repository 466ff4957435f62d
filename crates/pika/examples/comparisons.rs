//! Measures comparisons and truncations, all phases, with three parties in threads of one process: by dealt edaBits and
//! by keys, and with any one party malicious by edaBits and by keys of digits. `cargo run --release -p quorate-pika
//! --features testing --example comparisons`.

use std::time::Instant;

use quorate_authenticated::Params;
use quorate_engine::testing::parties;
use quorate_engine::{Ctx, Demand, Phase, Result, Sharing, Stocks, dry};
use quorate_gadgets::{Gadgets, MakesAhead, Width};
use quorate_pika::{Comparisons, Kind, Pika, PikaMalicious};
use quorate_ring::{Ring, Vector};

const PARTIES: usize = 3;
const FORMS: [Comparisons; 2] = [Comparisons::EdaBits, Comparisons::Keys];

#[derive(Clone, Copy)]
enum Work {
    Sign,
    LessFull,
    Zero,
    Truncated(u32),
    Bounded(u32),
}

impl Work {
    async fn run<S: Gadgets>(self, s: &S, ctx: &Ctx, (bits, len): (u32, usize)) -> Result<()> {
        let ring = Ring::of(bits);
        let x = s.public(&if ctx.is_dry() { Vector::shape(ring, len) } else { Vector::constant(ring, 1234, len) });
        match self {
            Work::Sign => s.msb(ctx, &x).await.map(drop),
            Work::LessFull => s.lt(ctx, &x, &x, Width::Full).await.map(drop),
            Work::Zero => s.eqz(ctx, &x).await.map(drop),
            Work::Truncated(shift) => s.trunc_exact(ctx, &x, shift).await.map(drop),
            Work::Bounded(shift) => s.trunc_bounded(ctx, &x, shift).await.map(drop),
        }
    }

    fn demand(self, form: Comparisons, shape: (u32, usize)) -> Demand<Kind> {
        let s = Pika::dry(PARTIES, 0).expect("three parties");
        s.set_comparisons(form);
        s.record_demand();
        dry::run(0, PARTIES, Phase::Online, async |ctx| self.run(&s, ctx, shape).await).expect("shapes run");
        s.take_demand()
    }

    /// Returns milliseconds of a run: the least and the median of several.
    fn measure(self, form: Comparisons, shape: (u32, usize)) -> [f64; 2] {
        let (demand, times) = (self.demand(form, shape), if shape.1 > 10_000 { 7 } else { 31 });
        let all = parties(PARTIES, |mut party| {
            let mut run = party.begin_alone().expect("a run");
            let s = run.phase(Phase::Offline, Pika::setup).expect("a setup");
            run.finish();
            s.set_comparisons(form);
            let mut seconds: Vec<f64> = (0..times)
                .map(|_| {
                    let mut run = party.begin_alone().expect("a run");
                    let start = Instant::now();
                    run.phase(Phase::Offline, async |ctx| s.make_all(ctx, demand.clone()).await).expect("dealt");
                    run.phase(Phase::Online, async |ctx| self.run(&s, ctx, shape).await).expect("a result");
                    run.finish();
                    start.elapsed().as_secs_f64() * 1e3
                })
                .collect();
            party.leave(false);
            seconds.sort_by(f64::total_cmp);
            [seconds[0], seconds[times / 2]]
        });
        all[0]
    }
}

/// Measures numbers of `bits` bits with any one of three parties malicious, by keys of digits or by edaBits. Returns
/// milliseconds, the least of several, and the bytes that party 2 sends.
fn malicious(work: Work, by_keys: bool, (bits, key_bits, len): (u32, u32, usize)) -> (f64, u64) {
    let params = Params::new(key_bits, false).expect("bits of keys");
    let work = async |s: &PikaMalicious, ctx: &Ctx| {
        match by_keys {
            true => work.run(s, ctx, (bits, len)).await?,
            false => work.run(s.insecure_online(), ctx, (bits, len)).await?,
        };
        s.check(ctx).await.map(drop)
    };
    let recording = PikaMalicious::new_dry(PARTIES, 0, params).expect("three parties");
    recording.record_demand();
    dry::run(0, PARTIES, Phase::Online, async |ctx| work(&recording, ctx).await).expect("shapes run");
    let demand = recording.take_demand();
    let times = if len >= 10_000 { 3 } else { 15 };
    let all = parties(PARTIES, |mut party| {
        let mut run = party.begin_alone().expect("a run");
        let set_up = async |ctx: &Ctx| PikaMalicious::set_up(ctx, params, None).await;
        let s = run.phase(Phase::Offline, set_up).expect("a setup");
        run.finish();
        let mut best = (f64::INFINITY, 0);
        for _ in 0..times {
            let mut run = party.begin_alone().expect("a run");
            let start = Instant::now();
            run.phase(Phase::Offline, async |ctx| s.make_all(ctx, demand.clone()).await).expect("dealt");
            run.phase(Phase::Online, async |ctx| work(&s, ctx).await).expect("a result");
            let costs = run.finish();
            best = (best.0.min(start.elapsed().as_secs_f64() * 1e3), costs.offline.bytes());
        }
        party.leave(false);
        best
    });
    (all[0].0, all[2].1)
}

fn main() {
    if std::env::args().nth(1).as_deref() != Some("malicious") {
        semi_honest();
    }
    all_malicious();
}

fn semi_honest() {
    println!("| k = 64, milliseconds: least (median) | numbers | edaBits | keys |\n|---|---|---|---|");
    let works = [
        ("sign", Work::Sign),
        ("less-than, full range", Work::LessFull),
        ("equality", Work::Zero),
        ("truncation by 16", Work::Truncated(16)),
        ("bounded truncation by 8", Work::Bounded(8)),
        ("bounded truncation by 16", Work::Bounded(16)),
        ("bounded truncation by 32", Work::Bounded(32)),
    ];
    for (name, work) in works {
        for len in [1, 30, 100, 300, 1_000, 10_000, 100_000] {
            let [edabits, keys] = FORMS.map(|form| {
                let [least, median] = work.measure(form, (64, len));
                format!("{least:.3} ({median:.3})")
            });
            println!("| {name} | {len} | {edabits} | {keys} |");
        }
    }
}

fn all_malicious() {
    println!(
        "\n| malicious: milliseconds, bytes dealt a number | numbers | edaBits | keys of digits |\n|---|---|---|---|"
    );
    let works = [
        ("sign", Work::Sign, 32, 48),
        ("sign", Work::Sign, 64, 64),
        ("less-than, full range", Work::LessFull, 64, 64),
        ("equality", Work::Zero, 64, 64),
        ("truncation by 16", Work::Truncated(16), 64, 64),
        ("bounded truncation by 16", Work::Bounded(16), 64, 64),
    ];
    for (name, work, bits, key_bits) in works {
        for len in [1, 100, 1_000, 10_000] {
            let [edabits, keys] = [false, true].map(|by_keys| {
                let (ms, bytes) = malicious(work, by_keys, (bits, key_bits, len));
                format!("{ms:.2}, {}", bytes / len as u64)
            });
            println!("| {name}, k = {bits} | {len} | {edabits} | {keys} |");
        }
    }
}
