//! Errors and costs of the real functions, as the documentation's tables. `cargo run --release -p quorate-rss --example
//! accuracy [arguments]` measures errors on about so many arguments each, all of a bounded domain if that has no more;
//! `... accuracy costs` gives the costs, from dry runs.
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
