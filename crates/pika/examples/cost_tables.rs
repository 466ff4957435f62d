//! Prints the cost tables of `docs/protocols/pika.md` as Markdown, from the formulas that the tests hold.
//!
//! `cargo run -p quorate-pika --example cost_tables`, between the marks `costs:begin` and `costs:end`.

use std::fmt::Write;

use quorate_engine::Form;
use quorate_pika::cost::{self, Bill};

/// The number of elements, large enough that the rounding to whole bytes does not show.
const LEN: usize = 1 << 20;

/// Returns the number with at most two digits after the point.
fn digits(number: f64) -> String {
    let text = format!("{number:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Returns the bytes for one element.
fn each(bytes: u64) -> String {
    digits(bytes as f64 / LEN as f64)
}

fn rows(k: u32) -> Vec<(&'static str, Bill)> {
    vec![
        ("input by party 0 or 1", cost::input(0, k, LEN)),
        ("input by party 2", cost::input(2, k, LEN)),
        ("open, to compute on", cost::open(k, LEN)),
        ("reveal to all", cost::reveal(None, k, LEN)),
        ("reveal to party 2", cost::reveal(Some(2), k, LEN)),
        ("multiply", cost::mul(k, LEN)),
        ("a pair of a sum of 1024 products", cost::dot(k, (LEN / 1024, 1024, 1))),
        ("multiply by a factor that stays, after the first time", by_factor(k)),
        ("AND", cost::and(1, LEN)),
        ("random bit", cost::random_bits(k, LEN)),
        ("top bit, or `<` where an interval proves the difference", cost::msb(k, LEN)),
        ("`<` over the full signed range", cost::lt_full(k, LEN)),
        ("`== 0`", cost::eqz(k, LEN)),
        ("top bit by a key", cost::msb_by_key(k, LEN)),
        ("`== 0` by a key", cost::eqz_by_key(k, LEN)),
        ("bit decomposition", cost::bit_decompose(k, LEN)),
        ("bit to element", cost::bit_to_ring(k, LEN)),
        ("bit times element, `where`", cost::mask(k, LEN)),
        ("exact truncation by k/2", cost::trunc_exact(k, k / 2, LEN)),
        ("exact truncation by k/4, of values of k - 1 bits", cost::trunc_bounded(k, k / 4, LEN)),
        ("exact truncation by k/2, by keys", cost::trunc_exact_by_keys(k, k / 2, LEN)),
        ("the same by k/4, of values of k - 1 bits", cost::trunc_bounded_by_key(k, k / 4, LEN)),
        ("probabilistic truncation by k/4", cost::trunc_prob(k, k / 4, LEN)),
        ("conversion from k/2 bits", cost::convert(k / 2, k, LEN)),
        ("look-up of 8 bits", cost::lookup(8, k, LEN)),
        ("look-up of 16 bits, a real function", cost::lookup(16, k, LEN)),
        ("shuffle, per element", cost::shuffle(LEN, &[(k, 1)])),
    ]
}

/// Returns the bill of products by a factor, element by element.
fn by_factor(k: u32) -> Bill {
    cost::by_factor(k, Form::Dot { outer: LEN, axis: 1, inner: 1 }, true, 0)
}

/// Returns all tables.
pub fn tables() -> String {
    let mut out = String::from("Bytes that a party sends for one element of many.\n");
    for k in [32, 64] {
        writeln!(out, "\n### k = {k}\n").expect("a string takes text");
        out.push_str("| operation | rounds online | offline: party 2 | online: party 0 | party 1 | party 2 |\n");
        out.push_str("|---|---|---|---|---|---|\n");
        for (name, bill) in rows(k) {
            let (dealt, online) = (each(bill.offline().bytes[2]), bill.online);
            let [zero, one, two] = online.bytes.map(each);
            let rounds = online.rounds.into_iter().max().unwrap_or(0);
            writeln!(out, "| {name} | {rounds} | {dealt} | {zero} | {one} | {two} |").expect("a string takes text");
        }
    }
    out
}

#[allow(dead_code)] // the test of the documentation has its own
fn main() {
    print!("{}", tables());
}
