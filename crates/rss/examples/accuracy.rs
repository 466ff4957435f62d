//! Prints errors and costs of the real functions, as the documentation's tables. `cargo run --release -p quorate-rss
//! --example accuracy [arguments]` measures errors on about `arguments` arguments each, or on a whole bounded domain if
//! it has no more. `... accuracy costs` prints the costs, from dry runs.
#![allow(dead_code)] // tests use the rest

#[path = "../tests/accuracy.rs"]
mod accuracy;
#[path = "../tests/common/mod.rs"]
mod common;

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("costs") => println!("{}", accuracy::cost_table()),
        most => println!("{}", accuracy::error_table(most.and_then(|most| most.parse().ok()).unwrap_or(1 << 22))),
    }
}
