//! Prints the rates of this machine's kernels, as predictions use them: `cargo run --release --example rates
//! [PARTIES]`.

use quorate_engine::Rates;
use quorate_ring::memory;

/// The allocator of the native module.
#[global_allocator]
static ALLOCATOR: memory::Careful = memory::Careful;

fn main() {
    memory::keep_freed();
    let parties = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(3);
    let started = std::time::Instant::now();
    let rates = Rates::of_this_machine(parties);
    println!("{parties} parties, measured in {:.0} ms\n{rates}", started.elapsed().as_secs_f64() * 1e3);
}
