//! Nanoseconds per leaf on one thread: bits alone, sums with tables of 32 and 64 bits and in planes, verified leaves,
//! and the paper's own tree. `cargo run --release -p quorate-fss --example eval`. The name of a kernel after `--` runs
//! only that one; n runs only that row. The paper's tree has the hashes of `aes`, on its fastest instructions.

#[allow(dead_code)] // tests also look at the length of keys
#[path = "../tests/papers_tree.rs"]
mod papers_tree;

use std::time::Instant;

use quorate_crypto::{Seed, SessionId, Tccr};
use quorate_fss::{Hash, Kernel, Keys, Roots, Shape, Side, Table, deal, intervals, lookup, verified, visit};
use quorate_ring::Ring;

/// Returns processor seconds of this thread if the system reports them, else seconds.
fn seconds(start: Instant) -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = told.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.map_or_else(|| start.elapsed().as_secs_f64(), |ns| ns / 1e9)
}

/// Returns the nanoseconds of a run: the median of three measurements of a tenth of a second or more.
fn median(mut run: impl FnMut()) -> f64 {
    let started = Instant::now();
    let mut timed = |runs: u32| {
        let start = seconds(started);
        (0..runs).for_each(|_| run());
        (seconds(started) - start) * 1e9 / f64::from(runs)
    };
    // Reading the clock takes as long as some runs, and clocks of threads may advance in steps of milliseconds.
    let mut runs = 1;
    while timed(runs) * f64::from(runs) < 1e8 {
        runs *= 2;
    }
    let mut measured = [(); 3].map(|()| timed(runs));
    measured.sort_by(f64::total_cmp);
    measured[1]
}

fn roots(side: Side, count: usize) -> Roots {
    let seed = Seed::from_bytes([side as u8; 32]);
    Roots::draw(&mut seed.prg("quorate/fss/example", b""), side, count)
}

/// Returns the first side's keys of a batch, at points spread over the domain.
fn keys(hash: &Hash, shape: Shape, count: usize) -> Keys {
    let points: Vec<u64> = (1..=count as u64).map(|k| k.wrapping_mul(0x9e37_79b9_7f4a_7c15) & shape.mask()).collect();
    let [first, second] = [Side::First, Side::Second].map(|side| roots(side, count));
    let dealt = deal(hash, shape, &points, first, second);
    Keys::new(roots(Side::First, count), dealt.corrections).expect("as many roots as keys")
}

fn eval(hash: &Hash, only: Option<u32>) {
    println!(
        "| n | keys | paper's tree | bits | bits from any place | 32-bit table | 64-bit table | smooth table | planes |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for bits in (10..=24).step_by(2).filter(|bits| only.is_none_or(|only| only == *bits)) {
        let shape = Shape::wide(bits).expect("a domain");
        let size = 1usize << bits;
        let count = ((1 << 22) >> bits).clamp(4, 1024);
        let keys = keys(hash, shape, count);
        let starts: Vec<u64> = (0..count as u64).map(|k| k * 12_345).collect();
        let each = |ns: f64| ns / (count * size) as f64;
        let bits_from = |starts: &[u64]| {
            each(median(|| {
                visit(hash, &keys, starts, size as u64, |_, _, bits| {
                    std::hint::black_box(bits);
                });
            }))
        };
        let (bare, placed) = (bits_from(&vec![0; count]), bits_from(&starts));
        let papers = papers_tree::Hash::new();
        let [theirs, _] = papers_tree::keys(&papers, bits as usize, 3, [5, 7]);
        let paper = median(|| drop(std::hint::black_box(theirs.evaluate(&papers)))) / size as f64;
        let random: Vec<u64> =
            (0..size as u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17)).collect();
        let scale = f64::from(1 << (bits.min(20) - 4));
        let sigmoid = |i: usize| {
            let x = (i as f64 - size as f64 / 2.0) / size as f64 * 16.0;
            (scale / (1.0 + (-x).exp())).round() as u64
        };
        let smooth: Vec<u64> = (0..size).map(sigmoid).collect();
        let tables = [
            Table::in_words(Ring::of(32), &random),
            Table::in_words(Ring::of(64), &random),
            Table::new(Ring::of(64), &smooth),
        ];
        let [short, long, planes] = [0, 1, 2].map(|i| each(median(|| drop(lookup(hash, &keys, &starts, &tables[i])))));
        let count_of_planes = tables[2].planes().map_or("none".into(), |count| count.to_string());
        println!(
            "| {bits} | {count} | {paper:.4} | {bare:.4} | {placed:.4} | {short:.4} | {long:.4} | {planes:.4} | \
             {count_of_planes} |"
        );
    }
}

fn paths(hash: &Hash) {
    println!("\n| ring, blocks | ns a key dealt | ns an interval | ns a window of 2^12, 64-bit table |");
    println!("|---|---|---|---|");
    for (bits, blocks) in [(16, 4), (32, 4), (64, 4), (32, 1), (64, 1)] {
        let shape = Shape::new(bits, blocks).expect("a domain");
        let count = 256;
        let points = vec![3; count];
        let deal = || deal(hash, shape, &points, roots(Side::First, count), roots(Side::Second, count));
        let dealing = median(|| drop(deal())) / count as f64;
        let keys = keys(hash, shape, count);
        let parity = median(|| drop(intervals(hash, &keys, 1, |_, key| [key as u64, 60_000]))) / count as f64;
        let table = Table::in_words(Ring::of(64), &vec![7; 1 << 12]);
        let window = median(|| drop(lookup(hash, &keys, &points, &table))) / count as f64;
        println!("| 2^{bits}, {blocks} | {dealing:.0} | {parity:.0} | {window:.0} |");
    }
}

fn verified(hash: &Hash) {
    println!("\n| n | keys | ns a verified leaf | ns a leaf's values | ns a key dealt |");
    println!("|---|---|---|---|---|");
    for bits in [5, 8, 11, 16] {
        let shape = verified::Shape::new(bits, Ring::of(80)).expect("a domain");
        let count = ((1 << 16) >> bits).max(4);
        let points = vec![3; count];
        let both = || [Side::First, Side::Second].map(|side| roots(side, count));
        let deal = || {
            let [first, second] = both();
            verified::deal(hash, shape, &points, 12_345, first, second)
        };
        let dealing = median(|| drop(deal())) / count as f64;
        let keys = verified::Keys::new(roots(Side::First, count), deal()).expect("as many roots as keys");
        let coins = verified::coins(shape, &mut Seed::from_bytes([1; 32]).prg("quorate/fss/example", b""));
        let each = |ns: f64| ns / shape.leaves(count) as f64;
        let checking = each(median(|| drop(verified::check(hash, &keys, &coins))));
        let values = each(median(|| {
            verified::visit(hash, &keys, |_, _, values| {
                std::hint::black_box(values);
            })
        }));
        println!("| {bits} | {count} | {checking:.2} | {values:.2} | {dealing:.0} |");
    }
}

fn main() {
    quorate_ring::memory::keep_freed();
    let session = Tccr::new(&SessionId::from_bytes([1; 32]));
    let only: Option<String> = std::env::args().nth(1);
    let bits: Option<u32> = std::env::args().nth(2).and_then(|bits| bits.parse().ok());
    for kernel in Kernel::available().into_iter().rev() {
        if only.as_ref().is_some_and(|only| *only != format!("{kernel:?}")) {
            continue;
        }
        let hash = Hash::with_kernel(&session, kernel).expect("an available kernel");
        println!("\n## {kernel:?}: nanoseconds a leaf\n");
        eval(&hash, bits);
        if bits.is_none() {
            paths(&hash);
            verified(&hash);
        }
    }
}
