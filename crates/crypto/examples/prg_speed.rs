//! Measures the speed of the generator and the hash on one core.
//! `cargo run --release -p quorate-crypto --example prg_speed`

use quorate_crypto::{Seed, SessionId, Tccr};
use std::hint::black_box;
use std::time::Instant;

/// Returns the median of nine runs, in seconds.
fn median(mut run: impl FnMut()) -> f64 {
    let mut seconds: Vec<f64> = (0..9)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed().as_secs_f64()
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    seconds[4]
}

fn main() {
    let seed = Seed::from_bytes([1; 32]);
    println!("{:<34} {:>12}", "generator, bytes a draw", "GB/s");
    for draw_bytes in [16usize, 64, 256, 1 << 10, 1 << 14, 1 << 18, 1 << 22] {
        let mut prg = seed.prg("quorate/bench", b"");
        let mut out = vec![0u8; draw_bytes];
        let draws = (1 << 26) / draw_bytes;
        let seconds = median(|| (0..draws).for_each(|_| prg.fill(black_box(&mut out))));
        println!("{draw_bytes:<34} {:>12.2}", (draws * draw_bytes) as f64 / seconds / 1e9);
    }
    let count = 1 << 18;
    let seconds = median(|| {
        for i in 0..count as u64 {
            black_box(seed.prg("quorate/rss/zero", black_box(&i.to_le_bytes())));
        }
    });
    println!("{:<34} {:>9.0} ns", "making a generator", seconds / count as f64 * 1e9);
    let seconds = median(|| {
        for i in 0..count as u64 {
            black_box(seed.prg("quorate/rss/zero", black_box(&i.to_le_bytes())).next_u64());
        }
    });
    println!("{:<34} {:>9.0} ns", "and drawing 8 bytes", seconds / count as f64 * 1e9);
    let hash = Tccr::new(&SessionId::from_bytes([1; 32]));
    let mut blocks = vec![1u128; 1 << 16];
    let seconds = median(|| hash.hash_run(black_box(&mut blocks), 0));
    println!("{:<34} {:>9.0} M/s", "TCCR hashes", blocks.len() as f64 / seconds / 1e6);
}
