//! Tests that one party changes, exchanges, holds back or cuts off a message of a program, dealing included, or lies in
//! an opening or in a check. The others abort, or have the right results.

use std::sync::{Arc, OnceLock};

use quorate_adversary::Lie;
use quorate_adversary::{By, Twist};
use quorate_authenticated::{Kind, Params};
use quorate_engine::testing::{Change, Liar, What, parties};
use quorate_engine::{Checked, Ctx, Demand, Error, Form, Opened, Phase, Result, Sharing, Stocks, dry};
use quorate_gadgets::lookup::{Entries, Lookup, Operand};
use quorate_gadgets::{Functions, Gadgets, MakesAhead, Width};
use quorate_pika::PikaMalicious;
use quorate_ring::{Bits, Ring, Vector};

use super::outcomes::{Cheat, Outcome, Table, changes, is_an_end, is_found, with_cheat};
use crate::common::N;

const K: u32 = 8;
const KEY_BITS: u32 = 48;
const X: [i64; 3] = [5, -70, 100];
const Y: [i64; 3] = [5, 90, -100];
const Z: [i64; 3] = [1, -2, 3];
/// Numbers that are looked up in a table for the 2000 numbers from -1000 on.
const W: [i64; 2] = [-1000, 613];
const W_BITS: u32 = 12;
const BITS: [bool; 3] = [true, true, false];

/// A party's results: values with their names.
pub type Results = Vec<(&'static str, Vec<i64>)>;

/// Returns an entry of a table.
fn entry(i: usize) -> i64 {
    i64::from((i * i / 7 + 3 * i) as i8)
}

fn entries(len: usize) -> Arc<Entries> {
    Arc::new(Entries::new(Vector::from_i64s(Ring::of(K), &(0..len).map(entry).collect::<Vec<_>>())))
}

/// Returns tables of 256 and of 2000 entries: with keys of one digit, and of two.
fn tables() -> &'static [Arc<Entries>; 2] {
    static TABLES: OnceLock<[Arc<Entries>; 2]> = OnceLock::new();
    TABLES.get_or_init(|| [256, 2000].map(entries))
}

/// Runs every operation that has openings of its own, on inputs of all parties, with results for all and for each.
pub async fn program(s: &PikaMalicious, ctx: &Ctx) -> Result<Results> {
    let ring = Ring::of(K);
    let own = |owner: usize, values: &[i64]| (ctx.me() == owner).then(|| Vector::from_i64s(ring, values));
    let x = s.input(ctx, 0, (ring, 3), own(0, &X).as_ref()).await?;
    let y = s.input(ctx, 1, (ring, 3), own(1, &Y).as_ref()).await?;
    let z = s.input(ctx, 2, (ring, 3), own(2, &Z).as_ref()).await?;
    let bits = (ctx.me() == 2).then(|| Bits::from_bools(1, 3, &BITS));
    let bits = s.input_bits(ctx, 2, (1, 3), bits.as_ref()).await?;
    let product = s.mul(ctx, &x, &s.add(&y, &z)).await?;
    let matrix = s.bilinear(ctx, Form::MatMul { m: 1, k: 3, n: 1 }, &x, &z).await?;
    let less = s.lt(ctx, &x, &y, Width::Full).await?;
    let both = s.and(ctx, &less, &bits).await?;
    let half = s.trunc_exact(ctx, &x, 1).await?;
    let shuffled = s.shuffle(ctx, &[&x], 3).await?;
    let own = (ctx.me() == 0).then(|| Vector::from_i64s(Ring::of(W_BITS), &W));
    let w = s.input(ctx, 0, (Ring::of(W_BITS), 2), own.as_ref()).await?;
    let [short, long] = tables();
    let table = |entries: &Arc<Entries>, first| Lookup { entries: entries.clone(), first, operand: Operand::Within };
    let found = s.lookup(ctx, &x, &table(short, -128)).await?;
    let found_far = s.lookup(ctx, &w, &table(long, -1000)).await?;
    let found_bits = s.lookup_bit(ctx, &w, &table(long, -1000)).await?;
    let checked = s.check(ctx).await?;
    let mut elements = Vec::new();
    for (name, value, to) in [
        ("found", &found, None),
        ("found far", &found_far, None),
        ("product", &product, None),
        ("matrix", &matrix, None),
        ("shuffled", &shuffled[0], None),
        ("product for 0", &product, Some(0)),
        ("half for 1", &half, Some(1)),
        ("half for 2", &half, Some(2)),
    ] {
        elements.push((name, s.reveal(ctx, &checked, value, to).await?));
    }
    let mut of_bits = Vec::new();
    for (name, value, to) in [
        ("found bits", &found_bits, None),
        ("both", &both, None),
        ("less for 1", &less, Some(1)),
        ("less for 2", &less, Some(2)),
    ] {
        of_bits.push((name, s.reveal_bits(ctx, &checked, value, to).await?));
    }
    let checked = s.check(ctx).await?;
    let mut results = Results::new();
    for (name, value) in elements {
        let Some(value) = value else { continue };
        results.push((name, believed(value, |value| value.to_i64s(), &checked)?));
    }
    for (name, value) in of_bits {
        let Some(value) = value else { continue };
        results.push((name, believed(value, |bits| bits.to_bools().into_iter().map(i64::from).collect(), &checked)?));
    }
    Ok(results)
}

fn believed<T>(value: Opened<T>, read: impl Fn(T) -> Vec<i64>, checked: &Checked) -> Result<Vec<i64>> {
    Ok(read(value.believe(checked)?.into_inner()))
}

/// Returns the right results of a party, computed in the clear, with shuffled rows sorted.
pub fn wanted(me: usize) -> Results {
    let wrapped = |x: i64| i64::from(x as i8);
    let each = |of: &dyn Fn(usize) -> i64| (0..3).map(of).collect::<Vec<_>>();
    let (product, half) = (each(&|i| wrapped(X[i] * wrapped(Y[i] + Z[i]))), each(&|i| X[i] >> 1));
    let less = each(&|i| i64::from(X[i] < Y[i]));
    let both = less.iter().zip(BITS).map(|(less, bit)| less & i64::from(bit)).collect();
    let mut sorted = X.to_vec();
    sorted.sort_unstable();
    let far = |i: usize| entry((W[i] + 1000) as usize);
    let mut results = vec![
        ("found", each(&|i| entry((X[i] + 128) as usize))),
        ("found far", vec![far(0), far(1)]),
        ("product", product.clone()),
        ("matrix", vec![wrapped((0..3).map(|i| X[i] * Z[i]).sum())]),
        ("shuffled", sorted),
    ];
    results.push(match me {
        0 => ("product for 0", product),
        1 => ("half for 1", half),
        _ => ("half for 2", half),
    });
    results.push(("found bits", vec![far(0) & 1, far(1) & 1]));
    results.push(("both", both));
    results.extend((me > 0).then_some((["", "less for 1", "less for 2"][me], less)));
    results
}

/// Returns the results with shuffled values sorted, and their order before that.
pub fn in_order(mut results: Results) -> (Results, Vec<i64>) {
    let mut order = vec![];
    for (name, values) in &mut results {
        if *name == "shuffled" {
            order = values.clone();
            values.sort_unstable();
        }
    }
    (results, order)
}

pub fn params() -> Params {
    Params::new(KEY_BITS, false).unwrap()
}

pub fn demand(me: usize) -> Demand<Kind> {
    let s = PikaMalicious::new_dry(N, me, params()).unwrap();
    s.record_demand();
    dry::run(me, N, Phase::Online, async |ctx| program(&s, ctx).await.map(drop)).unwrap();
    s.take_demand()
}

/// A party's end: whether it went online, and its result.
pub struct End {
    pub done: Result<Results>,
    online: bool,
}

pub fn run_party(party: &mut quorate_engine::Party, liar: &Liar, twist: Option<(usize, Twist, By)>) -> End {
    let (me, mut online) = (party.me(), false);
    let mut run = party.begin_alone().unwrap();
    let set_up = run.phase(Phase::Offline, async |ctx| PikaMalicious::set_up(ctx, params(), None).await);
    liar.begin();
    let done = set_up.and_then(|s| {
        if let Some((_, at, by)) = twist.filter(|(party, ..)| *party == me) {
            s.insecure_online().adversary().twist(at, by);
        }
        run.phase(Phase::Offline, async |ctx| s.make_all(ctx, demand(me)).await)?;
        online = true;
        run.phase(Phase::Online, async |ctx| program(&s, ctx).await)
    });
    run.finish();
    End { done, online }
}

/// Returns the outcome of a run with a cheater; `None` if it told no lie.
fn outcome(cheat: Cheat) -> Option<Outcome> {
    let (ends, liars) = with_cheat(N, Some(cheat), |mut party, liar| run_party(&mut party, liar, None));
    judge(&format!("{cheat:?}"), cheat.party, ends).filter(|_| liars[cheat.party].has_lied())
}

fn judge(what: &str, cheater: usize, ends: Vec<End>) -> Option<Outcome> {
    let alone = ends[cheater].done.is_err();
    let (mut noticed, mut orders) = (false, Vec::new());
    for (me, end) in ends.into_iter().enumerate().filter(|(me, _)| *me != cheater) {
        match end.done {
            Ok(results) => {
                let (results, order) = in_order(results);
                assert_eq!(results, wanted(me), "{what}, party {me}");
                orders.push(order);
            }
            Err(error) => {
                assert!(is_an_end(&error), "{what}, party {me}: {error}");
                noticed = true;
            }
        }
    }
    orders.dedup();
    assert!(orders.len() < 2, "{what}: rows in different orders");
    Some(if noticed {
        Outcome::Noticed
    } else if alone {
        Outcome::Alone
    } else {
        Outcome::Right
    })
}

/// Tries every `step`-th of all changes at all messages of each party.
fn sampled(step: usize) -> Table {
    let mut table = Table::default();
    let (ends, liars) = with_cheat(N, None, |mut party, liar| run_party(&mut party, liar, None));
    for (me, end) in ends.into_iter().enumerate() {
        assert_eq!(in_order(end.done.unwrap()).0, wanted(me), "without a cheater");
    }
    for (party, liar) in liars.iter().enumerate() {
        let (messages, widths) = (liar.sent().len(), (K as usize, KEY_BITS as usize));
        assert!(messages > 50, "{messages} messages of party {party}");
        let cases = (0..messages).flat_map(|message| changes(message, widths).map(|change| (message, change)));
        for (message, (change, what)) in cases.skip(party).step_by(step) {
            if let Some(outcome) = outcome(Cheat { party, message, what }) {
                table.add(["party 0", "party 1", "the dealer"][party], N, change, outcome);
            }
        }
    }
    table
}

#[test]
fn no_lie_of_a_link_leads_to_a_wrong_result() {
    let table = sampled(11);
    println!("{table}");
    let (all, noticed) = table.totals();
    assert!(all > 200 && 10 * noticed > 8 * all, "{noticed} of {all}");
    for change in ["a byte less", "a byte more", "one held back", "the link cut"] {
        let (all, noticed) = table.of_change(change);
        assert!(all > 5 && noticed == all, "{change}: {noticed} of {all}");
    }
}

#[test]
#[ignore = "takes minutes: make adversary"]
fn adversary_every_lie_of_a_link_at_every_message_of_a_malicious_run() {
    let table = sampled(1);
    println!("{table}");
    assert!(table.totals().0 > 2500);
}

/// P0 or P1 sends another share of an opened value, or lies in the rows, in the tags of rows or in its switches.
#[test]
fn parties_that_lie_in_openings_are_found() {
    for party in 0..2 {
        for (at, bits) in [
            (Twist::Low, vec![0, K - 1]),
            // An error in an upper bit, times the key, may be 0 modulo the modulus, and then changes no value.
            (Twist::Row, vec![0, KEY_BITS / 4]),
            (Twist::RowTag, vec![0, K + KEY_BITS - 1]),
            (Twist::Switch, vec![1, K - 1]),
        ] {
            for bit in bits {
                let twist = Some((party, at, By::Plus(bit)));
                let ends: Vec<End> = parties(N, |mut each| run_party(&mut each, &Liar::default(), twist));
                for (me, end) in ends.iter().enumerate().filter(|(me, _)| *me != party) {
                    assert!(end.online, "what is dealt is right");
                    assert!(is_found(&end.done), "{at:?} by 2^{bit}, party {me}: {:?}", end.done.as_ref().err());
                }
            }
        }
    }
}

/// A dealer that sends the parties different inputs is found by both before they compute with them.
#[test]
fn a_dealer_tells_both_parties_one_input() {
    let ring = Ring::of(K);
    let (mut tried, mut found) = (0, 0);
    for message in 0..400 {
        let cheat = Cheat { party: 2, message, what: What::Changed(Change::Bit(0)) };
        let work = |mut party: quorate_engine::Party, liar: &Liar| {
            let me = party.me();
            let mut run = party.begin_alone().unwrap();
            let s = run.phase(Phase::Offline, async |ctx| PikaMalicious::set_up(ctx, params(), None).await).unwrap();
            let demand = {
                let dry = PikaMalicious::new_dry(N, me, params()).unwrap();
                dry.record_demand();
                let input = async |ctx: &Ctx| dry.input(ctx, 2, (ring, 1), None).await.map(drop);
                dry::run(me, N, Phase::Online, input).unwrap();
                dry.take_demand()
            };
            run.phase(Phase::Offline, async |ctx| s.make_all(ctx, demand).await).unwrap();
            liar.begin();
            let value = (me == 2).then(|| Vector::from_i64s(ring, &[7]));
            let done = run.phase(Phase::Online, async |ctx| s.input(ctx, 2, (ring, 1), value.as_ref()).await.map(drop));
            run.finish();
            done
        };
        let (ends, liars) = with_cheat(N, Some(cheat), work);
        if !liars[2].has_lied() {
            break;
        }
        tried += 1;
        found += ends[..2]
            .iter()
            .filter(|end| matches!(end, Err(Error::Cheating { .. }) | Err(Error::Aborted { .. })))
            .count();
    }
    assert_eq!((tried, found), (2, 4), "a message to each of them");
}

/// P0 or P1 may send the dealer other coins than the parties tossed. The dealer must then open nothing. Otherwise it
/// would open sums with different masks, and the cheater could read dealt bits from the other party's hash and answer
/// with that hash.
#[test]
fn a_dealer_opens_nothing_for_coins_that_differ() {
    let run = |cheat: Option<Cheat>, kind: &Kind| {
        with_cheat(N, cheat, |mut party, liar| {
            let mut run = party.begin_alone().unwrap();
            let set_up = async |ctx: &Ctx| PikaMalicious::set_up(ctx, params(), None).await;
            let s = run.phase(Phase::Offline, set_up).unwrap();
            liar.begin();
            let dealt = run.phase(Phase::Offline, async |ctx| s.make(ctx, kind, 3).await.map(drop));
            run.finish();
            dealt
        })
    };
    // The dealer's openings: of products, of rows and of the bits of each party, to both.
    for (kind, opened) in [(Kind::BitTriple, 6), (Kind::Triple { bits: K }, 4)] {
        let (ends, liars) = run(None, &kind);
        assert!(ends.iter().all(Result::is_ok));
        let dealt = liars[2].sent().len() - opened;
        for party in 0..2 {
            // After its commitment and the opening of that.
            let cheat = Cheat { party, message: 2, what: What::Changed(Change::Bit(200)) };
            let (ends, liars) = run(Some(cheat), &kind);
            assert!(liars[party].has_lied());
            let found = matches!(&ends[2], Err(Error::Cheating { check }) if check.contains("coins"));
            assert!(found, "{kind}, party {party}: {:?}", ends[2]);
            assert_eq!(liars[2].sent().len(), dealt, "{kind}, party {party}");
            assert!(is_found(&ends[1 - party]));
        }
    }
}

/// Reveals a result to the dealer, or to all, with every change of every message of P0 and of P1.
#[test]
fn results_of_the_dealer_are_right() {
    let ring = Ring::of(K);
    let reveal = async |s: &PikaMalicious, ctx: &Ctx, to: Option<usize>| {
        let value = (ctx.me() == 0).then(|| Vector::from_i64s(ring, &[-7]));
        let x = s.input(ctx, 0, (ring, 1), value.as_ref()).await?;
        let y = s.add(&x, &x);
        let checked = s.check(ctx).await?;
        let shown = s.reveal(ctx, &checked, &y, to).await?;
        let checked = s.check(ctx).await?;
        shown.map(|shown| believed(shown, |value| value.to_i64s(), &checked)).transpose()
    };
    let (mut tried, mut found) = (0, 0);
    for (cheater, to, number) in [0, 1]
        .into_iter()
        .flat_map(|c| [None, Some(2)].map(|to| (c, to)))
        .flat_map(|(c, to)| (0..40).map(move |number| (c, to, number)))
    {
        // The first message of P0 is its input.
        let message = number + usize::from(cheater == 0);
        let cheat = Cheat { party: cheater, message, what: What::Changed(Change::Bit(0)) };
        let (ends, liars) = with_cheat(N, Some(cheat), |mut party, liar| {
            let me = party.me();
            let mut run = party.begin_alone().unwrap();
            let s = run.phase(Phase::Offline, async |ctx| PikaMalicious::set_up(ctx, params(), None).await).unwrap();
            let demand = {
                let dry = PikaMalicious::new_dry(N, me, params()).unwrap();
                dry.record_demand();
                dry::run(me, N, Phase::Online, async |ctx| reveal(&dry, ctx, to).await.map(drop)).unwrap();
                dry.take_demand()
            };
            run.phase(Phase::Offline, async |ctx| s.make_all(ctx, demand).await).unwrap();
            liar.begin();
            let done = run.phase(Phase::Online, async |ctx| reveal(&s, ctx, to).await);
            run.finish();
            done
        });
        if !liars[cheater].has_lied() {
            continue;
        }
        tried += 1;
        match &ends[2] {
            Ok(value) => assert_eq!(*value, Some(vec![-14]), "{cheat:?}"),
            Err(error) => {
                assert!(is_an_end(error), "{cheat:?}: {error}");
                found += 1;
            }
        }
    }
    println!("{tried} lies, {found} noticed by the dealer");
    assert!(tried > 25 && found > 20, "{found} of {tried}");
}

/// Any wrong correlation of a program ends the run before any party goes online.
#[test]
fn nothing_of_an_input_is_sent_before_all_that_is_dealt_was_checked() {
    let mut tried = 0;
    for sent in (0..).step_by(3) {
        let ends: Vec<(End, bool)> = parties(N, |mut party| {
            let (me, mut online) = (party.me(), false);
            let mut run = party.begin_alone().unwrap();
            let s = run.phase(Phase::Offline, async |ctx| PikaMalicious::set_up(ctx, params(), None).await).unwrap();
            if me == 2 {
                s.adversary().lie(Lie { sent, element: 0, bit: 1, only: None });
                s.adversary().lie(Lie { sent, element: 0, bit: 0, only: None });
            }
            let made = run.phase(Phase::Offline, async |ctx| s.make_all(ctx, demand(me)).await);
            let done = made.and_then(|()| {
                online = true;
                run.phase(Phase::Online, async |ctx| program(&s, ctx).await)
            });
            run.finish();
            (End { done, online }, s.adversary().lied() > 0)
        });
        if !ends[2].1 {
            break;
        }
        tried += 1;
        for (me, (end, _)) in ends.iter().enumerate().take(2) {
            assert!(!end.online && is_found(&end.done), "number {sent}, party {me}");
        }
    }
    assert!(tried > 10, "{tried} of what is sent");
}
