//! Measures gates a second on one thread: AES-128 in many instances, and one instance of a large circuit.
//! `cargo run --release -p quorate-garble --example garble_speed`

use std::time::Instant;

use quorate_circuits::{Circuit, Goal, Order, Program, Sign, catalog};
use quorate_crypto::{Seed, SessionId, Tccr};
use quorate_garble::{Delta, Evaluator, Garbler, Labels};

const CHUNK_BYTES: usize = 256 << 10;

/// Returns processor seconds of this thread if the system reports them, else seconds.
fn seconds(start: Instant) -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = told.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.map_or_else(|| start.elapsed().as_secs_f64(), |ns| ns / 1e9)
}

/// The inputs of both sides.
struct Start {
    hash: Tccr,
    delta: Delta,
    zero: Labels,
}

/// Garbles; each chunk overwrites the tables of the one before.
fn garble(program: &Program, start: &Start) {
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut garbler = Garbler::new(program, &start.hash, &start.delta, 0, &start.zero).expect("a garbler");
    while garbler.garble(&mut chunk) > 0 {}
    garbler.finish().expect("the end");
}

/// Evaluates with tables of zeros: their content makes no difference in time.
fn evaluate(program: &Program, start: &Start) {
    let chunk = vec![0; CHUNK_BYTES];
    let mut evaluator = Evaluator::new(program, &start.hash, 0, &start.zero).expect("an evaluator");
    while evaluator.bytes_left() > 0 {
        let bytes = evaluator.bytes_left().min(CHUNK_BYTES as u64);
        evaluator.evaluate(&chunk[..bytes as usize]).expect("tables");
    }
    evaluator.finish().expect("the end");
}

/// Returns the seconds of a run: the median of five measurements of a quarter of a second each.
fn median(run: impl Fn()) -> f64 {
    let started = Instant::now();
    let mut measured: Vec<f64> = (0..5)
        .map(|_| {
            let (start, mut runs) = (seconds(started), 0);
            while seconds(started) - start < 0.25 {
                run();
                runs += 1;
            }
            (seconds(started) - start) / f64::from(runs)
        })
        .collect();
    measured.sort_by(f64::total_cmp);
    measured[2]
}

fn report(name: &str, circuit: &Circuit, instances: usize) {
    let program = Program::new(circuit, Order::Runs(16));
    let mut prg = Seed::from_bytes([2; 32]).prg("quorate/garble/example", b"");
    let start = Start {
        hash: Tccr::new(&SessionId::from_bytes([1; 32])),
        delta: Delta::random().expect("randomness"),
        zero: Labels::random(&mut prg, program.input_wires(), instances),
    };
    let millions = circuit.counts().and as f64 * instances as f64 / 1e6;
    let (garbling, evaluating) = (median(|| garble(&program, &start)), median(|| evaluate(&program, &start)));
    println!(
        "{name:<22} {instances:>9} {millions:>10.3} {:>12.1} {:>14.1}",
        millions / garbling,
        millions / evaluating
    );
}

fn main() {
    println!("{:<22} {:>9} {:>10} {:>12} {:>14}", "circuit", "instances", "M ANDs", "garble, M/s", "evaluate, M/s");
    let aes = catalog::aes128();
    for instances in [1, 2, 4, 8, 13, 16, 100, 1000] {
        report("AES-128", &aes, instances);
    }
    report("64-bit products", &catalog::mul(64, Goal::Size), 1000);
    report("a 512-bit product", &catalog::mul(512, Goal::Size), 1);
    report("64-bit comparisons", &catalog::less_than(64, Sign::Signed, Goal::Size), 10_000);
}
