//! One party changes, exchanges, holds back or cuts off a message of a program: the others abort, or have the right
//! results. What cheating offline does is looked at in `offline`, so correlations come from a dealer here, but for
//! programs that show that keys end.

use quorate_engine::testing::Liar;
use quorate_engine::{Checked, Ctx, Error, Opened, Phase, Result, Sharing, Stocks, dry};
use quorate_gadgets::{Gadgets, Width};
use quorate_ring::{Bits, Ring, Vector};
use quorate_spdz2k::{Kind, Params, Spdz2k};

use super::outcomes::{Cheat, Outcome, Table, a_change, changes, is_an_end, with_cheat};

const K: u32 = 16;
const X: [i64; 3] = [5, -7000, 100];
const Y: [i64; 3] = [5, 900, -100];
const BITS: [bool; 3] = [true, true, false];

/// What a party has in the end: values by what they are.
type Results = Vec<(&'static str, Vec<i64>)>;

/// Every operation that has openings of its own, on inputs of the first and the last party.
async fn program(s: &Spdz2k, ctx: &Ctx) -> Result<Results> {
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

fn believed<T>(value: Opened<T>, read: impl Fn(T) -> Vec<i64>, checked: &Checked) -> Result<Vec<i64>> {
    Ok(read(value.believe(checked)?.into_inner()))
}

/// What the party should have, in clear.
fn wanted(me: usize, n: usize) -> Results {
    let wrapped = |x: i64| i64::from(x as i16);
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

/// Results with what was shuffled in order, and what order it had.
fn in_order(results: &Results) -> (Results, Vec<i64>) {
    let (mut sorted, mut order) = (results.clone(), vec![]);
    for (name, values) in &mut sorted {
        if *name == "shuffled" {
            order = values.clone();
            values.sort_unstable();
        }
    }
    (sorted, order)
}

/// A program run by so many parties on correlations of a dealer.
fn dealt(n: usize, params: Params, cheat: Option<Cheat>) -> (Vec<Result<Results>>, Vec<Liar>) {
    with_cheat(n, cheat, |mut party, liar| {
        let mut run = party.begin_alone()?;
        let set_up = run.phase(Phase::Offline, async |ctx| Spdz2k::insecure_set_up(ctx, params, None).await);
        liar.begin();
        let done = set_up.and_then(|s| run.phase(Phase::Online, async |ctx| program(&s, ctx).await));
        run.finish();
        done
    })
}

/// How a run with a cheater ends; nothing where no lie was told.
fn outcome(n: usize, params: Params, cheat: Cheat) -> Option<Outcome> {
    let what = format!("{cheat:?} among {n}, {params:?}");
    let (ends, liars) = dealt(n, params, Some(cheat));
    judge(&what, n, cheat, ends).filter(|_| liars[cheat.party].has_lied())
}

fn judge(what: &str, n: usize, cheat: Cheat, ends: Vec<Result<Results>>) -> Option<Outcome> {
    let alone = ends[cheat.party].is_err();
    let (mut noticed, mut orders) = (false, Vec::new());
    for (me, done) in ends.into_iter().enumerate().filter(|(me, _)| *me != cheat.party) {
        match done {
            Ok(results) => {
                let (results, order) = in_order(&results);
                assert_eq!(results, wanted(me, n), "{what}, party {me}");
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

/// Parties, the cheater, and the form of bits.
fn places() -> Vec<(usize, usize, Params, &'static str)> {
    let usual = Params::default();
    let short = Params::new(48, false).unwrap();
    vec![
        (2, 0, usual, "bits with MACs, s = 64"),
        (2, 1, short, "bits with MACs, s = 48"),
        (2, 0, short.with_bits_as_elements(), "bits as elements, s = 48"),
        (2, 1, usual.with_bits_as_elements(), "bits as elements, s = 64"),
        (3, 0, usual, "bits with MACs, s = 64"),
        (3, 1, short, "bits with MACs, s = 48"),
        (3, 2, usual, "bits with MACs, s = 64"),
        (3, 1, short.with_bits_as_elements(), "bits as elements, s = 48"),
        (4, 1, short, "bits with MACs, s = 48"),
        (4, 3, usual.with_bits_as_elements(), "bits as elements, s = 64"),
    ]
}

/// Every so manieth of all changes at all messages, in all places, by the number of parties. No step has a factor in
/// common with the number of changes.
fn sampled(step: impl Fn(usize) -> usize) -> Table {
    let mut table = Table::default();
    for (n, party, params, name) in places() {
        let (ends, liars) = dealt(n, params, None);
        ends.iter().enumerate().for_each(|(me, done)| {
            assert_eq!(in_order(done.as_ref().unwrap()).0, wanted(me, n), "{name}, without a cheater");
        });
        let (messages, widths) = (liars[party].sent().len(), (K as usize, params.key_bits() as usize));
        let cases = (0..messages).flat_map(|message| changes(message, widths).map(|change| (message, change)));
        for (message, (change, what)) in cases.skip(party).step_by(step(n)) {
            if let Some(outcome) = outcome(n, params, Cheat { party, message, what }) {
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

/// A result, and whether the party's keys are over.
type Tried = (Result<Vec<i64>>, bool);

/// A program on correlations of its own, after which the honest party's keys are tried.
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
        // Where it ends in an error that is no check's, nothing was under way that tosses.
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
