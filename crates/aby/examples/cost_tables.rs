//! Prints the cost tables of `docs/protocols/aby.md` as Markdown, from the formulas that the tests check.
//!
//! `cargo run -p quorate-aby --example cost_tables`, between the marks `costs:begin` and `costs:end`.

use std::fmt::Write;

use quorate_aby::cost::{self, Bill, Cost, paper};
use quorate_aby::{Garbling, Kind};
use quorate_ring::Ring;

/// The number of elements, large enough that blocks of transfers and the rounding to whole bytes do not show.
const LEN: usize = 1 << 20;

/// Returns the number with at most two digits after the point.
fn digits(number: f64) -> String {
    let text = format!("{number:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Returns the bytes for one element.
fn each(cost: Cost) -> String {
    digits(cost.bytes as f64 / LEN as f64)
}

fn table(out: &mut String, k: u32) {
    let rows: [(&str, Bill); 18] = [
        ("input by a party", cost::input()),
        ("open to both", cost::open(k, LEN)),
        ("multiply, or a pair of a sum of products", cost::mul(k, LEN)),
        ("AND", cost::and(1, LEN)),
        ("random bit", cost::random_bits(k, LEN)),
        ("top bit, or `<` where an interval proves the difference", cost::msb(k, LEN)),
        ("`<` over the full signed range", cost::lt_full(k, LEN)),
        ("`== 0`", cost::eqz(k, LEN)),
        ("bit decomposition (A2B)", cost::bit_decompose(k, LEN)),
        ("number of its bits (B2A)", cost::compose(k, LEN)),
        ("bit to element", cost::bit_to_ring(k, LEN)),
        ("bit times element, `where`", cost::mask(k, LEN)),
        ("exact truncation by k/2", cost::trunc_exact(k, k / 2, LEN)),
        ("probabilistic truncation by k/4", cost::trunc_prob(k / 4, LEN)),
        ("conversion from k/2 bits", cost::convert(k / 2, k, LEN)),
        ("look-up in 2^8 entries", cost::lookup(8, k, LEN)),
        ("look-up in 2^16 entries", cost::lookup(16, k, LEN)),
        ("look-up of a bit in 2^16", cost::lookup_bit(16, LEN)),
    ];
    writeln!(out, "### k = {k}\n").expect("a string takes text");
    out.push_str("| operation | rounds offline | online | bytes offline | online |\n|---|---|---|---|---|\n");
    for (name, plan) in rows {
        let (offline, online) = (plan.offline(), plan.online);
        let (first, second) = (each(offline), each(online));
        writeln!(out, "| {name} | {} | {} | {first} | {second} |", offline.rounds, online.rounds)
            .expect("a string takes text");
    }
}

/// A conversion's bytes for one number, ahead and online, and the rounds of the party that is done last.
type Conversion = (f64, f64, u32);

fn of_plan(plan: &Bill) -> Conversion {
    let each = |cost: Cost| cost.bytes as f64 / LEN as f64;
    (each(plan.offline()), each(plan.online), plan.online.rounds)
}

fn of_labels(cost: cost::yao::Cost) -> Conversion {
    let each = |bytes: u64| bytes as f64 / LEN as f64;
    let made = [(Kind::InputLabel, cost.input_labels), (Kind::GarbledAnd, cost.tables)];
    let made = made.iter().map(|(kind, count)| cost::correlation(kind, *count).bytes).sum();
    (each(made), each(cost.sent.iter().sum()), cost.rounds[0].max(cost.rounds[1]))
}

/// The name, the paper's bits and messages, and our costs.
type Compared = (&'static str, fn(u64) -> u64, u32, fn(u32) -> Conversion);

fn conversions(out: &mut String) {
    use cost::yao::{bits_to_labels, ring_to_labels};
    let rows: [Compared; 9] = [
        ("Y2B", |_| 0, 0, |_| (0.0, 0.0, 0)),
        ("B2A", paper::b2a, 2, |k| of_plan(&cost::compose(k, LEN))),
        ("Y2A", paper::b2a, 2, |k| of_plan(&cost::compose(k, LEN))),
        ("B2Y, input by the evaluator", paper::b2y, 2, |k| {
            of_labels(bits_to_labels(k as usize, LEN, Garbling::Streamed))
        }),
        ("the same, garbled ahead", paper::b2y, 2, |k| of_labels(bits_to_labels(k as usize, LEN, Garbling::Ahead))),
        ("A2Y", paper::a2b, 2, |k| of_labels(ring_to_labels(Ring::of(k), LEN, Garbling::Streamed))),
        ("A2Y, garbled ahead", paper::a2b, 2, |k| of_labels(ring_to_labels(Ring::of(k), LEN, Garbling::Ahead))),
        ("A2B, by way of Y", paper::a2b, 2, |k| of_labels(ring_to_labels(Ring::of(k), LEN, Garbling::Streamed))),
        ("A2B, by look-ups", paper::a2b, 2, |k| of_plan(&cost::bit_decompose(k, LEN))),
    ];
    out.push_str("### Conversions, beside Table I of the paper\n\n");
    out.push_str(
        "| conversion | the paper, k = 32, 64 | messages online | ours, k = 32: offline, online | k = 64 | rounds |\n",
    );
    out.push_str("|---|---|---|---|---|---|\n");
    for (name, theirs, messages, ours) in rows {
        let [[first, second], [third, fourth]] = [32, 64].map(|k| [ours(k).0, ours(k).1].map(digits));
        let [few, many] = [32, 64].map(|k| digits(theirs(k) as f64 / 8.0));
        let rounds = [32, 64].map(|k| ours(k).2);
        let rounds =
            if rounds[0] == rounds[1] { rounds[0].to_string() } else { format!("{}, {}", rounds[0], rounds[1]) };
        let line = format!("| {few}, {many} | {messages} | {first}, {second} | {third}, {fourth} | {rounds} |");
        writeln!(out, "| {name} {line}").expect("a string takes text");
    }
}

/// Returns all tables, as in the documentation.
pub fn tables() -> String {
    let mut out = String::from("Bytes that both parties send together, for one element of many.\n\n");
    table(&mut out, 32);
    out.push('\n');
    table(&mut out, 64);
    out.push('\n');
    conversions(&mut out);
    out
}

#[allow(dead_code)] // a test of the documentation uses the rest
fn main() {
    print!("{}", tables());
}
