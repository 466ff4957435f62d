//! Tests that aborts are independent of inputs: each fault ends a run at the same place, or does not end it, for all
//! inputs. For all compared inputs, the same seeds give dealt values and tosses, so outcomes are equal and not only
//! equally frequent.

use std::collections::BTreeMap;
use std::sync::Arc;

use quorate_adversary::{By, Twist};
use quorate_adversary::{Forgery, Lie, Spoil};
use quorate_authenticated::{Kind, Params};
use quorate_crypto::Seed;
use quorate_engine::testing::{Change, Liar, What};
use quorate_engine::{Ctx, Demand, Opened, Party, Phase, Result, Sharing, Stocks, dry};
use quorate_gadgets::lookup::{Entries, Lookup, Operand};
use quorate_gadgets::{Functions, Gadgets, MakesAhead};
use quorate_pika::PikaMalicious;
use quorate_ring::{Bits, Ring, Vector};

use super::outcomes::{Cheat, with_cheat};
use crate::common::N;

const K: u32 = 8;
const KEY_BITS: u32 = 48;
const LEN: usize = 2;
/// The size of a table whose places have keys of two digits.
const FAR: usize = 2048;
const CUT: u32 = 3;

/// The secrets: numbers of P0, P1 and P2, places of P0 among FAR, bits of P1.
#[derive(Debug)]
struct Inputs {
    numbers: [[i64; LEN]; N],
    places: [i64; LEN],
    bits: [bool; LEN],
}

/// Every bit of every number differs between the two, and so does every sign and carry.
const INPUTS: [Inputs; 2] = [
    Inputs { numbers: [[0; LEN]; N], places: [0; LEN], bits: [false; LEN] },
    Inputs { numbers: [[-1; LEN]; N], places: [FAR as i64 - 1; LEN], bits: [true; LEN] },
];

/// Runs openings of all forms: differences of products of elements and of bits, masked numbers of signs and truncation,
/// masked places, chosen elements, switches of a shuffle. It also has inputs of all parties, and results for all and
/// for the dealer.
async fn program(s: &PikaMalicious, ctx: &Ctx, inputs: &Inputs, [near, far]: &[Arc<Entries>; 2]) -> Result<()> {
    let own = |owner: usize, ring: Ring, values: &[i64]| (ctx.me() == owner).then(|| Vector::from_i64s(ring, values));
    let (ring, places) = (Ring::of(K), Ring::of(FAR.ilog2() + 1));
    let mut numbers = Vec::new();
    for (owner, values) in inputs.numbers.iter().enumerate() {
        numbers.push(s.input(ctx, owner, (ring, LEN), own(owner, ring, values).as_ref()).await?);
    }
    let bits = (ctx.me() == 1).then(|| Bits::from_bools(1, LEN, &inputs.bits));
    let bits = s.input_bits(ctx, 1, (1, LEN), bits.as_ref()).await?;
    let place = s.input(ctx, 0, (places, LEN), own(0, places, &inputs.places).as_ref()).await?;

    let product = s.mul(ctx, &numbers[0], &s.add(&numbers[1], &numbers[2])).await?;
    let sign = s.and(ctx, &s.msb(ctx, &numbers[0]).await?, &bits).await?;
    let near =
        s.lookup(ctx, &numbers[2], &Lookup { entries: near.clone(), first: -128, operand: Operand::Within }).await?;
    let half = s.trunc_exact(ctx, &numbers[1], CUT).await?;
    let far = s.lookup(ctx, &place, &Lookup { entries: far.clone(), first: 0, operand: Operand::Within }).await?;
    let moved = s.shuffle(ctx, &[&half], LEN).await?;

    let checked = s.check(ctx).await?;
    let mut shown = Vec::new();
    for (value, to) in [(&product, None), (&moved[0], Some(2)), (&near, None), (&far, None)] {
        shown.extend(s.reveal(ctx, &checked, value, to).await?);
    }
    let shown_bits = s.reveal_bits(ctx, &checked, &sign, None).await?;
    let checked = s.check(ctx).await?;
    shown.into_iter().map(|shown: Opened<Vector>| shown.believe(&checked).map(drop)).collect::<Result<Vec<()>>>()?;
    shown_bits.map(|shown| shown.believe(&checked).map(drop)).transpose().map(drop)
}

/// Returns tables with keys of one digit and of two. The first entry is even, the last one is odd.
fn tables() -> [Arc<Entries>; 2] {
    let of_len = |len| Entries::new(Vector::from_i64s(Ring::of(K), &(0..len).collect::<Vec<_>>()));
    [256, FAR as i64].map(|len| Arc::new(of_len(len)))
}

/// A deviation of a party.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// A message is changed on its way.
    Told(usize, Change),
    /// The dealer deals a wrong value, and continues with it.
    Dealt(Lie),
    /// The dealer sends other keys in the message with this number.
    Keys(Spoil, usize),
    /// A wrong product, with an opening that makes it pass at P1 alone if P1's summand is odd.
    Forged,
    /// P0 or P1 has a wrong value in an opening, or in the row check.
    Twisted(Twist, By),
}

fn params() -> Params {
    Params::new(KEY_BITS, false).unwrap()
}

/// Makes a party deviate.
fn deviates(s: &PikaMalicious, fault: Fault) {
    match fault {
        Fault::Told(..) => (),
        Fault::Dealt(lie) => s.adversary().lie(lie),
        Fault::Keys(spoil, sent) => s.adversary().spoil(spoil, Some(sent)),
        Fault::Forged => {
            s.adversary().lie(Lie { sent: 0, element: 0, bit: 0, only: None });
            s.adversary().forge(Forgery::ToSecond);
        }
        Fault::Twisted(at, by) => s.insecure_online().adversary().twist(at, by),
    }
}

/// The end of an honest party: whether it went online, and whether it got results. The dealer goes online by itself.
type End = (bool, bool);

/// A run: the end of each honest party, and whether the cheater deviated.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    ends: Vec<End>,
    lied: bool,
    /// The lengths of the cheater's messages up to the one that is changed.
    messages: Vec<usize>,
}

struct Runs {
    tables: [Arc<Entries>; 2],
    demand: Demand<Kind>,
}

impl Runs {
    fn new() -> Runs {
        let tables = tables();
        let demand = {
            let s = PikaMalicious::new_dry(N, 0, params()).unwrap();
            s.record_demand();
            dry::run(0, N, Phase::Online, async |ctx| program(&s, ctx, &INPUTS[0], &tables).await).unwrap();
            s.take_demand()
        };
        Runs { tables, demand }
    }

    fn party(
        &self,
        mut party: Party,
        liar: &Liar,
        (inputs, round): (&Inputs, u8),
        fault: Option<Fault>,
    ) -> (End, bool) {
        let (me, mut online) = (party.me(), false);
        party.set_coins(Seed::from_bytes([round; 32]));
        let mut run = party.begin_alone().unwrap();
        let coins = Seed::from_bytes([3 * round + me as u8; 32]);
        let set_up = async |ctx: &Ctx| PikaMalicious::set_up(ctx, params(), Some(&coins)).await;
        let s = run.phase(Phase::Offline, set_up).unwrap();
        liar.begin();
        fault.into_iter().for_each(|fault| deviates(&s, fault));
        let dealt = run.phase(Phase::Offline, async |ctx| s.make_all(ctx, self.demand.clone()).await);
        let done = dealt.and_then(|()| {
            online = true;
            run.phase(Phase::Online, async |ctx| program(&s, ctx, inputs, &self.tables).await)
        });
        // A session ends in the same way: no party has results before all can have them.
        let done = done.and_then(|()| run.confirm());
        run.finish();
        ((online || me == 2, done.is_ok()), s.adversary().lied() > 0)
    }

    /// Returns the outcome of a run, in which a party may cheat.
    fn outcome(&self, cheater: usize, fault: Option<Fault>, which: (&Inputs, u8)) -> Outcome {
        let cheat = match fault {
            Some(Fault::Told(message, change)) => Some(Cheat { party: cheater, message, what: What::Changed(change) }),
            _ => None,
        };
        let (ends, liars) = with_cheat(N, cheat, |party, liar| {
            let own = fault.filter(|_| party.me() == cheater);
            self.party(party, liar, which, own)
        });
        let (lied, until) = match fault {
            Some(Fault::Told(message, _)) => (liars[cheater].has_lied(), message + 1),
            Some(Fault::Dealt(_) | Fault::Keys(..) | Fault::Forged) => (ends[cheater].1, 0),
            _ => (true, 0),
        };
        let mut messages = liars[cheater].sent();
        messages.truncate(until);
        let honest = ends.iter().enumerate().filter(|(me, _)| fault.is_none() || *me != cheater);
        Outcome { ends: honest.map(|(_, (end, _))| *end).collect(), lied, messages }
    }
}

/// By fault, the number of runs with each of the inputs, and the numbers of runs that ended.
#[derive(Default)]
struct Counts(BTreeMap<&'static str, (usize, [usize; INPUTS.len()])>);

impl Counts {
    /// Runs the same fault with all inputs; returns whether it was one.
    fn add(&mut self, runs: &Runs, name: &'static str, (cheater, fault): (usize, Fault), round: usize) -> bool {
        let which = (round % 80) as u8;
        let outcomes = INPUTS.each_ref().map(|inputs| runs.outcome(cheater, Some(fault), (inputs, which)));
        if outcomes.iter().any(|outcome| outcome.lied) {
            let (all, ended) = self.0.entry(name).or_default();
            *all += 1;
            for (ended, outcome) in ended.iter_mut().zip(&outcomes) {
                *ended += usize::from(outcome.ends.iter().any(|(_, done)| !done));
            }
        }
        let first = &outcomes[0];
        if let Fault::Dealt(_) | Fault::Keys(..) | Fault::Forged = fault {
            let is_early = first.ends.iter().all(|(online, done)| online == done);
            assert!(is_early, "{fault:?} is found after inputs were used");
        }
        assert!(outcomes.iter().all(|outcome| outcome == first), "party {cheater}, {fault:?}: {outcomes:?}");
        first.lied
    }
}

/// Returns keys with other payloads (0 and 2 in place of 1, 1 + 2^k, other tags), and keys of no point, of many points,
/// of other keys.
fn spoils() -> Vec<Spoil> {
    let tags = [1, 1 << (KEY_BITS - 1), 1 << (K + KEY_BITS - 1), 1 << (FAR.ilog2() + KEY_BITS - 1)];
    let ones = [u128::MAX, 1, 1 << K].map(|by| Spoil::Payload(0, by));
    let others = [Spoil::Apart, Spoil::Exchanged, Spoil::NoProof, Spoil::Level(0), Spoil::Level(1)];
    ones.into_iter().chain(tags.map(|by| Spoil::Payload(1, by))).chain(others).collect()
}

/// Returns lies of P0 and P1 in all of their openings, masked places included, in rows of the check and in switches.
fn faults_of_a_party() -> Vec<Fault> {
    let twists = [(Twist::Low, K), (Twist::Row, KEY_BITS), (Twist::RowTag, K + KEY_BITS), (Twist::Switch, K)];
    let each = |(at, bits): (Twist, u32)| [0, 1, bits - 1].map(|bit| Fault::Twisted(at, By::Plus(bit)));
    twists.into_iter().flat_map(each).collect()
}

#[test]
fn whether_a_run_ends_says_nothing_of_its_inputs() {
    let (runs, mut counts) = (Runs::new(), Counts::default());
    for inputs in &INPUTS {
        assert_eq!(runs.outcome(0, None, (inputs, 0)).ends, [(true, true); N], "{inputs:?}");
    }
    // All dealt elements and bits.
    let lie = |sent: usize, bit: u32| (2, Fault::Dealt(Lie { sent, element: 0, bit, only: None }));
    let dealt = (0..).take_while(|&sent| counts.add(&runs, "values and tags, by 1", lie(sent, 0), sent)).count();
    let half = "values and tags, by half of their modulus";
    let is_element = |sent: &usize| counts.add(&runs, half, lie(*sent, Lie::TOP), *sent);
    let (_, others): (Vec<usize>, Vec<usize>) = (0..dealt).partition(is_element);
    for (round, spoil) in spoils().into_iter().enumerate() {
        for sent in &others {
            counts.add(&runs, "keys", (2, Fault::Keys(spoil, *sent)), round);
        }
    }
    for round in 0..4 {
        counts.add(&runs, "products that pass at one party", (2, Fault::Forged), round);
    }
    for (round, fault) in faults_of_a_party().into_iter().enumerate() {
        for party in 0..2 {
            counts.add(&runs, "openings and rows", (party, fault), round);
        }
    }
    let mut messages = [0; N];
    for (party, name) in ["messages of P0", "messages of P1", "messages of the dealer"].into_iter().enumerate() {
        let told = |message: usize, change| (party, Fault::Told(message, change));
        let count =
            (0..).take_while(|&message| counts.add(&runs, name, told(message, Change::Bit(0)), message)).count();
        for message in 0..count {
            counts.add(&runs, name, told(message, Change::LastBit), message);
        }
        messages[party] = count;
    }
    println!(
        "{dealt} things are dealt, {messages:?} messages; runs with each of the inputs, and how many of them ended"
    );
    for (name, (all, ended)) in &counts.0 {
        println!("{name:45} {all:>4} {ended:?}");
    }
    assert!(dealt > 40 && messages.iter().all(|count| *count > 40));
    assert!(counts.0.values().map(|(all, _)| all).sum::<usize>() > 450);
}
