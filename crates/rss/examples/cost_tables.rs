//! Prints the cost tables of `docs/protocols/rss.md` as Markdown, from the formulas that the tests check.
//!
//! `cargo run -p quorate-rss --example cost_tables`, between the marks `costs:begin` and `costs:end`.

use std::fmt::Write;

use quorate_gadgets::cost::{self as uses, Uses};
use quorate_rss::Made;
use quorate_rss::cost::{self, Cost, gadget};

/// A number of elements for which rounding a message to whole bytes does not show.
const LEN: usize = 1 << 16;
const PARTIES: [usize; 3] = [3, 5, 7];

/// Offline and online cost.
type Both = (Cost, Cost);
type Row<'a> = (&'a str, &'a dyn Fn(usize) -> Both);

/// Returns the default form of correlations.
fn default(n: usize) -> Made {
    Made::by(n)[0]
}

/// Formats the bytes per party for one element, with at most two digits after the point.
fn per_party(n: usize, cost: Cost) -> String {
    let bytes = cost.bytes as f64 / (n * LEN) as f64;
    let text = format!("{bytes:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn row(out: &mut String, (name, cost): Row) {
    write!(out, "| {name} |").expect("a string takes text");
    let rounds: Vec<[u32; 2]> = PARTIES.iter().map(|&n| [cost(n).0.rounds, cost(n).1.rounds]).collect();
    for phase in 0..2 {
        let same = rounds.iter().all(|r| r[phase] == rounds[0][phase]);
        let all: Vec<String> = rounds.iter().map(|r| r[phase].to_string()).collect();
        let text = if same { all[0].clone() } else { all.join(" / ") };
        write!(out, " {text} |").expect("a string takes text");
    }
    for n in PARTIES {
        let (offline, online) = cost(n);
        write!(out, " {} | {} |", per_party(n, offline), per_party(n, online)).expect("a string takes text");
    }
    out.push('\n');
}

fn table(out: &mut String, k: u32) {
    let gadget = |uses: &'static dyn Fn(usize, u32) -> Uses| {
        move |n: usize| (cost::offline(n, &uses(n, k), LEN), cost::online(n, &uses(n, k), LEN))
    };
    let online = |cost: fn(usize, u32, usize) -> Cost| move |n: usize| (Cost::default(), cost(n, k, LEN));
    let offline = |cost: fn(usize, u32, usize) -> Cost| move |n: usize| (cost(n, k, LEN), Cost::default());
    writeln!(out, "### k = {k}\n").expect("a string takes text");
    out.push_str("| operation | rounds offline | online | n = 3: bytes offline | online ");
    out.push_str("| n = 5: offline | online | n = 7: offline | online |\n|---|---|---|---|---|---|---|---|---|\n");
    let rows: [Row; 18] = [
        ("input by a party (average over all parties)", &online(cost::input)),
        ("open to all", &online(cost::open)),
        ("multiply, or any sum of products, per result", &online(cost::mul)),
        ("multiply and open", &online(cost::mulpub)),
        ("random bit", &offline(|n, k, len| cost::random_bit(n, default(n), k, len))),
        ("edaBit", &offline(|n, k, len| cost::edabit(n, default(n), k, None, len))),
        ("top bit, or `<` where an interval proves the difference", &gadget(&gadget::msb)),
        ("`<` over the full signed range", &gadget(&gadget::lt_full)),
        ("`== 0`", &gadget(&gadget::eqz)),
        ("bit decomposition", &gadget(&gadget::bit_decompose)),
        ("bit to element", &gadget(&|_, k| uses::bit_to_ring(k))),
        ("bit times element, `where`", &gadget(&|_, k| uses::mask(k))),
        ("exact truncation by k/2", &gadget(&|n, k| gadget::trunc_exact(n, k, k / 2))),
        ("probabilistic truncation by k/4", &gadget(&|n, k| gadget::trunc_prob(n, k, k / 4))),
        ("conversion from k/2 bits", &gadget(&|n, k| gadget::convert(n, k / 2, k))),
        ("shuffle, per element", &online(cost::shuffle)),
        ("`max` of two, full range", &gadget(&|n, k| uses::tournament(k, 2, &gadget::lt_full(n, k), None).remove(0).1)),
        (
            "`argmax` of two, full range, 16-bit place",
            &gadget(&|n, k| uses::tournament(k, 2, &gadget::lt_full(n, k), Some(16)).remove(0).1),
        ),
    ];
    rows.into_iter().for_each(|r| row(out, r));
}

/// Returns both tables, as they stand in the documentation.
pub fn tables() -> String {
    let mut out = String::from("Bytes that a party sends, on average over the parties, for one element.\n\n");
    table(&mut out, 32);
    out.push('\n');
    table(&mut out, 64);
    out
}

#[allow(dead_code, reason = "a test includes this file for its tables")]
fn main() {
    print!("{}", tables());
}
