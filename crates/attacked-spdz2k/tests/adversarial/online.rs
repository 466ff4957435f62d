//! Tests that one party changes, exchanges, holds back or cuts off a message of a program: the others abort, or have
//! the right results. `offline` covers cheating in the offline phase. So correlations come from a dealer here, except
//! in programs which show that keys end.

use quorate_authenticated::Kind;
use quorate_engine::testing::Liar;
use quorate_engine::{Axis, Checked, Ctx, Demand, Error, Form, Opened, Phase, Result, Sharing, Stocks, dry};
use quorate_gadgets::{Gadgets, MakesAhead, Width};
use quorate_ring::{Bits, Ring, Vector};
use quorate_spdz2k::{Params, Spdz2k};

use super::outcomes::{Cheat, Outcome, Table, a_change, changes, is_an_end, with_cheat};

const K: u32 = 16;
const X: [i64; 3] = [5, -7000, 100];
const Y: [i64; 3] = [5, 900, -100];
const BITS: [bool; 3] = [true, true, false];
const CHOICE: [i64; 3] = [0, 1, 0];

/// A party's results: values with their names.
pub type Results = Vec<(&'static str, Vec<i64>)>;

/// The programs that are run.
#[derive(Clone, Copy, PartialEq)]
pub enum Program {
    /// Gadgets and a shuffle.
    Gadgets,
    /// Products of all forms, by knowledge of the factors; choices.
    Products,
}

impl Program {
    pub async fn run(self, s: &Spdz2k, ctx: &Ctx) -> Result<Results> {
        match self {
            Program::Gadgets => gadgets(s, ctx).await,
            Program::Products => products(s, ctx).await,
        }
    }

    pub fn wanted(self, me: usize, n: usize) -> Results {
        match self {
            Program::Gadgets => wanted_of_gadgets(me, n),
            Program::Products => wanted_of_products(me, n),
        }
    }
}

/// Runs every gadget that has openings of its own, on inputs of the first and the last party.
async fn gadgets(s: &Spdz2k, ctx: &Ctx) -> Result<Results> {
    let (ring, last) = (Ring::of(K), ctx.parties() - 1);
    let own = |owner: usize, values: &[i64]| (ctx.me() == owner).then(|| Vector::from_i64s(ring, values));
    let x = s.input(ctx, 0, (ring, 3), own(0, &X).as_ref()).await?;
    let y = s.input(ctx, last, (ring, 3), own(last, &Y).as_ref()).await?;
    let bits = (ctx.me() == last).then(|| Bits::from_bools(1, 3, &BITS));
    let bits = s.input_bits(ctx, last, (1, 3), bits.as_ref()).await?;
    let product = s.mul(ctx, &x, &y).await?;
    let less = s.lt(ctx, &x, &y, Width::Full).await?;
    let same = s.eqz(ctx, &s.sub(&x, &y)).await?;
    let both = s.and(ctx, &less, &bits).await?;
    let low = s.lsb(ctx, &y).await?;
    let top = s.bit_to_msb(ctx, &low, ring).await?;
    let half = s.trunc_exact(ctx, &x, 1).await?;
    let shuffled = s.shuffle(ctx, &[&x], 3).await?;
    let checked = s.check(ctx).await?;
    let mut elements = Vec::new();
    for (name, value, to) in [
        ("product", &product, None),
        ("top", &top, None),
        ("half", &half, None),
        ("shuffled", &shuffled[0], None),
        ("product for the first", &product, Some(0)),
        ("half for the last", &half, Some(last)),
    ] {
        elements.push((name, s.reveal(ctx, &checked, value, to).await?));
    }
    let mut of_bits = Vec::new();
    for (name, value, to) in [("same", &same, None), ("both", &both, None), ("less for the last", &less, Some(last))] {
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

/// Runs products of values of one party, of two parties, of one party and all, and of all; of matrices and sums;
/// selections by bits; and a proven choice.
async fn products(s: &Spdz2k, ctx: &Ctx) -> Result<Results> {
    let (ring, last) = (Ring::of(K), ctx.parties() - 1);
    let own = |owner: usize, values: &[i64]| (ctx.me() == owner).then(|| Vector::from_i64s(ring, values));
    let x = s.input(ctx, 0, (ring, 3), own(0, &X).as_ref()).await?;
    let y = s.input(ctx, last, (ring, 3), own(last, &Y).as_ref()).await?;
    let choice = s.input(ctx, last, (ring, 3), own(last, &CHOICE).as_ref()).await?;
    let bits = (ctx.me() == 0).then(|| Bits::from_bools(1, 3, &BITS));
    let bits = s.input_bits(ctx, 0, (1, 3), bits.as_ref()).await?;
    s.assert_one_hot(ctx, &choice, Axis { outer: 1, len: 3, inner: 1 }).await?;
    let (both, sum) = (s.add(&x, &y), Form::Dot { outer: 1, axis: 3, inner: 1 });
    let square = s.mul(ctx, &x, &x).await?;
    let matrix = s.bilinear(ctx, Form::MatMul { m: 3, k: 1, n: 3 }, &x, &y).await?;
    let mixed = s.mul(ctx, &x, &both).await?;
    let length = s.bilinear(ctx, sum, &both, &both).await?;
    let chosen = s.bilinear(ctx, sum, &choice, &x).await?;
    let either = s.mux(ctx, &bits, &x, &y).await?;
    let ring_of_bits = s.bit_to_ring(ctx, &bits, ring).await?;
    let checked = s.check(ctx).await?;
    let mut shown = Vec::new();
    for (name, value, to) in [
        ("square", &square, None),
        ("matrix", &matrix, None),
        ("mixed for the last", &mixed, Some(last)),
        ("length", &length, None),
        ("chosen", &chosen, None),
        ("either for the first", &either, Some(0)),
        ("bits", &ring_of_bits, None),
    ] {
        shown.push((name, s.reveal(ctx, &checked, value, to).await?));
    }
    let checked = s.check(ctx).await?;
    let shown = shown.into_iter().filter_map(|(name, value)| Some((name, value?)));
    shown.map(|(name, value)| Ok((name, believed(value, |value| value.to_i64s(), &checked)?))).collect()
}

fn believed<T>(value: Opened<T>, read: impl Fn(T) -> Vec<i64>, checked: &Checked) -> Result<Vec<i64>> {
    Ok(read(value.believe(checked)?.into_inner()))
}

fn wrapped(x: i64) -> i64 {
    i64::from(x as i16)
}

/// Returns the right results of a party for `products`, computed in the clear.
fn wanted_of_products(me: usize, n: usize) -> Results {
    let each = |of: &dyn Fn(i64, i64) -> i64| X.iter().zip(Y).map(|(x, y)| wrapped(of(*x, y))).collect::<Vec<_>>();
    let matrix = X.iter().flat_map(|x| Y.map(|y| wrapped(x * y))).collect();
    let length = X.iter().zip(Y).map(|(x, y)| (x + y) * (x + y)).sum();
    let either = BITS.iter().zip(X.iter().zip(Y)).map(|(bit, (x, y))| if *bit { *x } else { y }).collect();
    let mut results = vec![("square", each(&|x, _| x * x)), ("matrix", matrix)];
    results.extend((me == n - 1).then(|| ("mixed for the last", each(&|x, y| x * (x + y)))));
    results.extend([("length", vec![wrapped(length)]), ("chosen", vec![X[1]])]);
    results.extend((me == 0).then_some(("either for the first", either)));
    results.push(("bits", BITS.map(i64::from).to_vec()));
    results
}

/// Returns the right results of a party for `gadgets`, computed in the clear.
fn wanted_of_gadgets(me: usize, n: usize) -> Results {
    let each = |of: &dyn Fn(i64, i64) -> i64| X.iter().zip(Y).map(|(x, y)| of(*x, y)).collect::<Vec<_>>();
    let (product, half) = (each(&|x, y| wrapped(x * y)), each(&|x, _| x >> 1));
    let less = each(&|x, y| i64::from(x < y));
    let both = less.iter().zip(BITS).map(|(less, bit)| less & i64::from(bit)).collect();
    let mut results = vec![
        ("product", product.clone()),
        ("top", each(&|_, y| wrapped((y & 1) << (K - 1)))),
        ("half", half.clone()),
        ("shuffled", vec![-7000, 5, 100]),
    ];
    results.extend((me == 0).then_some(("product for the first", product)));
    results.extend((me == n - 1).then_some(("half for the last", half)));
    results.extend([("same", each(&|x, y| i64::from(x == y))), ("both", both)]);
    results.extend((me == n - 1).then_some(("less for the last", less)));
    results
}

/// Returns the results with shuffled values sorted, and their order before that.
pub fn in_order(results: &Results) -> (Results, Vec<i64>) {
    let (mut sorted, mut order) = (results.clone(), vec![]);
    for (name, values) in &mut sorted {
        if *name == "shuffled" {
            order = values.clone();
            values.sort_unstable();
        }
    }
    (sorted, order)
}

/// Runs a program on correlations of a dealer.
fn dealt(place: &Place, cheat: Option<Cheat>) -> (Vec<Result<Results>>, Vec<Liar>) {
    let Place { program, n, params, .. } = *place;
    with_cheat(n, cheat, |mut party, liar| {
        let mut run = party.begin_alone()?;
        let set_up = run.phase(Phase::Offline, async |ctx| Spdz2k::insecure_set_up(ctx, params, None).await);
        liar.begin();
        let done = set_up.and_then(|s| run.phase(Phase::Online, async |ctx| program.run(&s, ctx).await));
        run.finish();
        done
    })
}

/// Returns the outcome of a run with a cheater; `None` if it told no lie.
fn outcome(place: &Place, cheat: Cheat) -> Option<Outcome> {
    let what = format!("{cheat:?} among {}, {}", place.n, place.name);
    let (ends, liars) = dealt(place, Some(cheat));
    judge(&what, place, cheat, ends).filter(|_| liars[cheat.party].has_lied())
}

fn judge(what: &str, place: &Place, cheat: Cheat, ends: Vec<Result<Results>>) -> Option<Outcome> {
    let alone = ends[cheat.party].is_err();
    let (mut noticed, mut orders) = (false, Vec::new());
    for (me, done) in ends.into_iter().enumerate().filter(|(me, _)| *me != cheat.party) {
        match done {
            Ok(results) => {
                let (results, order) = in_order(&results);
                assert_eq!(results, place.program.wanted(me, place.n), "{what}, party {me}");
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

/// A program, the number of parties, and the party that cheats.
struct Place {
    program: Program,
    n: usize,
    party: usize,
    params: Params,
    name: &'static str,
}

fn places() -> Vec<Place> {
    let usual = Params::default();
    let short = Params::new(48, false).unwrap();
    let matrices = |params: Params| params.with_matrix_triples().unwrap();
    let gadgets = [
        (2, 0, usual, "bits with MACs, s = 64"),
        (2, 1, short, "bits with MACs, s = 48"),
        (2, 0, usual.as_in_the_paper(), "as in the paper, s = 64"),
        (2, 1, short.as_in_the_paper(), "as in the paper, s = 48"),
        (3, 0, usual, "bits with MACs, s = 64"),
        (3, 1, short, "bits with MACs, s = 48"),
        (3, 2, usual, "bits with MACs, s = 64"),
        (3, 1, short.as_in_the_paper(), "as in the paper, s = 48"),
        (3, 2, usual.as_in_the_paper(), "as in the paper, s = 64"),
        (4, 1, short, "bits with MACs, s = 48"),
        (4, 3, usual.as_in_the_paper(), "as in the paper, s = 64"),
    ];
    let products = [
        (2, 0, usual, "products, s = 64"),
        (2, 1, short, "products, s = 48"),
        (2, 0, matrices(short), "products by matrices, s = 48"),
        (2, 1, usual.with_triples_under_two_keys(), "products of one kind, s = 64"),
        (3, 0, matrices(usual), "products by matrices, s = 64"),
        (3, 2, short, "products, s = 48"),
        (4, 1, usual, "products, s = 64"),
    ];
    let of = |program| move |(n, party, params, name)| Place { program, n, party, params, name };
    gadgets.into_iter().map(of(Program::Gadgets)).chain(products.into_iter().map(of(Program::Products))).collect()
}

/// Tries every n-th of all changes at all messages, in all places; `step` gives n by the number of parties. No step has
/// a factor in common with the number of changes.
fn sampled(step: impl Fn(usize) -> usize) -> Table {
    let mut table = Table::default();
    for place in places() {
        let Place { program, n, party, params, name } = place;
        let (ends, liars) = dealt(&place, None);
        ends.iter().enumerate().for_each(|(me, done)| {
            assert_eq!(in_order(done.as_ref().unwrap()).0, program.wanted(me, n), "{name}, without a cheater");
        });
        let (messages, widths) = (liars[party].sent().len(), (K as usize, params.key_bits() as usize));
        let cases = (0..messages).flat_map(|message| changes(message, widths).map(|change| (message, change)));
        for (message, (change, what)) in cases.skip(party).step_by(step(n)) {
            if let Some(outcome) = outcome(&place, Cheat { party, message, what }) {
                table.add(name, n, change, outcome);
            }
        }
    }
    table
}

#[test]
fn no_lie_of_a_link_leads_to_a_wrong_result() {
    let table = sampled(|n| [13, 29, 101][n - 2]);
    println!("{table}");
    let (all, noticed) = table.totals();
    assert!(all > 400 && 10 * noticed > 8 * all, "{noticed} of {all}");
    for change in ["a byte less", "a byte more", "one held back", "the link cut"] {
        let (all, noticed) = table.of_change(change);
        assert!(all > 20 && noticed == all, "{change}: {noticed} of {all}");
    }
}

#[test]
#[ignore = "takes minutes: make adversary"]
fn adversary_every_lie_of_a_link_at_every_message_of_a_program() {
    let table = sampled(|n| if n < 4 { 1 } else { 7 });
    println!("{table}");
    assert!(table.totals().0 > 5000);
}

/// A result, and whether the party's keys have ended.
type Tried = (Result<Vec<i64>>, bool);

/// Runs a program on correlations that the parties make, after which the honest party's keys are tried.
fn made(cheat: Option<Cheat>) -> (Vec<Tried>, Vec<Liar>) {
    let ring = Ring::of(8);
    with_cheat(2, cheat, |mut party, liar| {
        let me = party.me();
        let mut run = party.begin_alone().unwrap();
        let set_up = run.phase(Phase::Offline, async |ctx| Spdz2k::set_up(ctx, Params::new(48, false)?, None).await);
        let s = set_up.unwrap();
        liar.begin();
        let done = run.phase(Phase::Online, async |ctx| {
            let own = |owner: usize| (me == owner).then(|| Vector::from_i64s(ring, &[11]));
            let x = s.input(ctx, 0, (ring, 1), own(0).as_ref()).await?;
            let y = s.input(ctx, 1, (ring, 1), own(1).as_ref()).await?;
            let checked = s.check(ctx).await?;
            let shown = s.reveal(ctx, &checked, &s.add(&x, &y), None).await?;
            let checked = s.check(ctx).await?;
            shown.map_or(Ok(vec![]), |shown| believed(shown, |value| value.to_i64s(), &checked))
        });
        run.finish();
        let again = async |ctx: &Ctx| s.make(ctx, &Kind::Random { bits: 8 }, 1).await.map(drop);
        let over = done.is_err() && dry::run(me, 2, Phase::Offline, again).err() == Some(Error::Poisoned);
        (done, over)
    })
}

#[test]
fn keys_end_where_a_check_of_a_program_fails_or_is_cut_off() {
    let messages = made(None).1[1].sent().len();
    let (mut table, mut ended) = (Table::default(), 0);
    for message in 0..messages {
        let (name, what) = a_change(message, (8, 48));
        let cheat = Cheat { party: 1, message, what };
        let (ends, liars) = made(Some(cheat));
        match &ends[0].0 {
            Ok(values) => assert_eq!(*values, [22], "{cheat:?}"),
            Err(error) => assert!(is_an_end(error), "{cheat:?}: {error}"),
        }
        // If it ends in an error that does not come from a check, nothing that tosses was under way.
        let checks = matches!(ends[0].0, Err(Error::Cheating { .. }));
        assert!(ends[0].1 || !checks, "{cheat:?}: keys go on after {:?}", ends[0].0);
        ended += usize::from(ends[0].1);
        if liars[1].has_lied() {
            let outcome = if ends[0].0.is_err() { Outcome::Noticed } else { Outcome::Right };
            table.add("real correlations, s = 48", 2, name, outcome);
        }
    }
    println!("{table}");
    assert!(messages > 15 && ended > 5, "{ended} of {messages}");
}

/// Runs a program of three parties: a square of a sum of inputs, and an AND.
async fn squared(s: &Spdz2k, ctx: &Ctx, shown: &mut bool) -> Result<Vec<i64>> {
    let ring = Ring::of(8);
    let own = |owner: usize, value: i64| (ctx.me() == owner).then(|| Vector::from_i64s(ring, &[value]));
    let x = s.input(ctx, 0, (ring, 1), own(0, 5).as_ref()).await?;
    let y = s.input(ctx, 1, (ring, 1), own(1, -2).as_ref()).await?;
    let bit = async |owner: usize| {
        let own = (ctx.me() == owner).then(|| Bits::from_bools(1, 1, &[true]));
        s.input_bits(ctx, owner, (1, 1), own.as_ref()).await
    };
    let both = s.and(ctx, &bit(0).await?, &bit(2).await?).await?;
    let sum = s.add(&x, &y);
    let square = s.mul(ctx, &sum, &sum).await?;
    let checked = s.check(ctx).await?;
    *shown = true;
    let square = s.reveal(ctx, &checked, &square, None).await?;
    let both = s.reveal_bits(ctx, &checked, &both, None).await?;
    let checked = s.check(ctx).await?;
    let square = square.map_or(Ok(vec![]), |value| believed(value, |value| value.to_i64s(), &checked))?;
    let both = both.map_or(Ok(vec![]), |bits| {
        believed(bits, |bits| bits.to_bools().into_iter().map(i64::from).collect(), &checked)
    })?;
    Ok([square, both].concat())
}

/// The progress of one of three parties.
struct Reached {
    /// The number of messages until it had all correlations, if it had them.
    made: Option<usize>,
    /// Whether it sent parts of results.
    shown: bool,
    done: Result<Vec<i64>>,
}

fn ahead(cheat: Option<Cheat>) -> (Vec<Reached>, Vec<Liar>) {
    let params = Params::new(32, true).unwrap();
    let demand = async |ctx: &Ctx| -> Result<Demand<Kind>> {
        let s = Spdz2k::new_dry(3, ctx.me(), params)?;
        s.record_demand();
        squared(&s, ctx, &mut false).await?;
        Ok(s.take_demand())
    };
    let demand = dry::run(0, 3, Phase::Online, demand).unwrap().0;
    with_cheat(3, cheat, |mut party, liar| {
        let mut run = party.begin_alone().unwrap();
        let set_up = run.phase(Phase::Offline, async |ctx| Spdz2k::set_up(ctx, params, None).await);
        liar.begin();
        let (mut made, mut shown) = (None, false);
        // Another party may end before this one has all of the set-up.
        let done = set_up.and_then(|s| {
            run.phase(Phase::Offline, async |ctx| s.make_all(ctx, demand.clone()).await)?;
            made = Some(liar.sent().len());
            run.phase(Phase::Online, async |ctx| squared(&s, ctx, &mut shown).await)
        });
        run.finish();
        Reached { made, shown, done }
    })
}

/// A party may have all of its correlations when another one has found a lie about its own and stopped. It then sends
/// masked inputs, and no results. `messages` selects the messages of every party up to that point that are tried.
fn what_one_party_has_and_another_lacks(messages: impl Fn(usize) -> Vec<usize>) -> (Table, usize) {
    let honest: Vec<usize> = ahead(None).0.iter().map(|end| end.made.unwrap()).collect();
    let (mut table, mut apart) = (Table::default(), 0);
    let cases = (0..3).flat_map(|party| messages(honest[party]).into_iter().map(move |message| (party, message)));
    for (party, message) in cases {
        for (name, what) in changes(message, (8, 32)).into_iter().skip(message % 2).step_by(2) {
            let cheat = Cheat { party, message, what };
            let (ends, liars) = ahead(Some(cheat));
            let honest: Vec<&Reached> =
                ends.iter().enumerate().filter(|(me, _)| *me != party).map(|(_, end)| end).collect();
            for Reached { done, .. } in &honest {
                match done {
                    Ok(values) => assert_eq!(*values, [9, 1], "{cheat:?}"),
                    Err(error) => assert!(is_an_end(error), "{cheat:?}: {error}"),
                }
            }
            let made = honest.iter().filter(|end| end.made.is_some()).count();
            assert!(made == 2 || honest.iter().all(|end| !end.shown), "{cheat:?}: results are told");
            apart += usize::from(made == 1);
            if liars[party].has_lied() {
                let noticed = honest.iter().any(|end| end.done.is_err());
                table.add("ahead, s = 32", 3, name, if noticed { Outcome::Noticed } else { Outcome::Right });
            }
        }
    }
    println!("{table}\nin {apart} cases one party had its correlations and another one had stopped");
    (table, apart)
}

#[test]
fn no_results_are_sent_after_another_party_has_stopped() {
    // The last check is one between each pair of parties.
    let (table, apart) = what_one_party_has_and_another_lacks(|all| (all - 6..all).collect());
    assert!(apart > 5 && table.totals().0 > 50, "{apart}");
}

#[test]
#[ignore = "takes minutes: make adversary"]
fn adversary_what_one_party_has_and_another_lacks_at_every_message() {
    let (table, apart) = what_one_party_has_and_another_lacks(|all| (0..all).collect());
    assert!(apart > 5 && table.totals().0 > 1000, "{apart}");
}
