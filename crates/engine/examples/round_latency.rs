//! Microseconds per round of a chain of one-element exchanges: `cargo run --release --example round_latency [ROUNDS]`.
//!
//! Two patterns: around the circle, where a party waits only for its predecessor, and from all to all, where it waits
//! for all others.

use std::time::Instant;

use quorate_engine::{Ctx, Phase, Result, testing};
use quorate_ring::{Ring, Vector};

const RING: Ring = Ring::of(64);

fn main() {
    let rounds: u32 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(50_000);
    println!("3 parties, memory links, 1 element of 64 bits, {rounds} rounds, median of 5");
    for (name, peers) in [("circle", 1), ("all to all", 2)] {
        let mut measured: Vec<f64> = (0..5).map(|_| per_round(rounds, peers)).collect();
        measured.sort_by(f64::total_cmp);
        println!("{name:<12} {:.2} us per round", measured[2]);
    }
}

async fn round(ctx: &Ctx, x: &Vector, peers: usize) -> Result<Vector> {
    let (to, from) = ([ctx.next(1), ctx.next(2)], [ctx.previous(1), ctx.previous(2)]);
    let outgoing = to.map(|peer| (peer, x));
    let incoming = from.map(|peer| (peer, (RING, 1)));
    Ok(ctx.exchange(&outgoing[..peers], &incoming[..peers]).await?.remove(0))
}

fn per_round(rounds: u32, peers: usize) -> f64 {
    let seconds = testing::parties(3, |mut party| {
        let mut run = party.begin_alone().expect("three parties agree");
        let begun = Instant::now();
        run.phase(Phase::Online, async |ctx| {
            let mut x = Vector::zeros(RING, 1);
            for _ in 0..rounds {
                x = round(ctx, &x, peers).await?;
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
