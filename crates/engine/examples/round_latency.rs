//! Microseconds per round of a chain of one-element exchanges: `cargo run --release --example round_latency [ROUNDS]`.

use std::time::Instant;

use quorate_engine::{Phase, testing};
use quorate_ring::{Ring, Vector};

fn main() {
    let rounds: u32 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(50_000);
    let ring = Ring::new(64).expect("64 bits are a ring");
    let mut measured: Vec<f64> = (0..5).map(|_| per_round(rounds, ring)).collect();
    measured.sort_by(f64::total_cmp);
    println!("3 parties, memory links, {rounds} rounds: {:.2} us per round (median of 5)", measured[2]);
}

fn per_round(rounds: u32, ring: Ring) -> f64 {
    let seconds = testing::parties(3, |mut party| {
        let mut run = party.begin_alone().expect("three parties agree");
        let begun = Instant::now();
        run.phase(Phase::Online, async |ctx| {
            let mut x = Vector::zeros(ring, 1);
            for _ in 0..rounds {
                let (to, from) = (ctx.next(1), ctx.previous(1));
                x = ctx.exchange(&[(to, &x)], &[(from, (ring, 1))]).await?.remove(0);
            }
            Ok(())
        })
        .expect("the chain runs");
        let seconds = begun.elapsed().as_secs_f64();
        assert_eq!(run.finish().online.rounds, rounds);
        seconds
    });
    seconds.into_iter().fold(0.0, f64::max) * 1e6 / f64::from(rounds)
}
