//! Tests that one party changes, exchanges, holds back or cuts off a message, for every message: the others abort, or
//! have right correlations. If the message goes to one of two peers only, the other one receives the true message.
//!
//! The usual tests try a sample of this; `make adversary` tries all changes at every message.

use quorate_authenticated::Kind;
use quorate_engine::testing::Liar;
use quorate_engine::{Ctx, Error, Phase, Result, Stocks, dry};
use quorate_spdz2k::{Params, Spdz2k};

use super::outcomes::{Cheat, Outcome, Table, a_change, changes, is_an_end, with_cheat};
use crate::common::{Keyed, assert_kind, together};

/// Kinds that are made in different ways, the number of correlations, and which of their messages the usual tests
/// change.
const KINDS: [(Kind, usize, usize); 22] = [
    (Kind::Random { bits: 8 }, 5, 3),
    (Kind::Mask { owner: 1, bits: 8 }, 5, 3),
    (Kind::Triple { bits: 8 }, 2, 11),
    (Kind::Triple { bits: 1 }, 5, 17),
    (Kind::OneSided { left: 0, right: 1, bits: 4 }, 3, 13),
    (Kind::KnownMatrices { left: 0, right: 1, bits: 4, m: 2, k: 2, n: 1 }, 1, 11),
    (Kind::KnownMatrices { left: 0, right: 1, bits: 4, m: 1, k: 2, n: 2 }, 1, 17),
    (Kind::Owned { owner: 1, bits: 4 }, 3, 5),
    (Kind::OwnedMatrices { owner: 0, bits: 4, m: 2, k: 2, n: 2 }, 1, 3),
    (Kind::BitTriple, 5, 3),
    (Kind::BitMask { owner: 0 }, 5, 1),
    (Kind::Link, 5, 11),
    (Kind::DaBit { bits: 4 }, 3, 37),
    (Kind::RandomBit { bits: 6 }, 3, 31),
    (Kind::EdaBit { bits: 4, ring: 4, cut: 0 }, 3, 31),
    (Kind::EdaBit { bits: 2, ring: 5, cut: 1 }, 2, 59),
    (Kind::ComparisonMask { bits: 5, pairs: 2 }, 3, 41),
    (Kind::TruncMask { bits: 5, cut: 2 }, 2, 97),
    // By cut and choose; numbers of fewer bits, or fewer numbers, are proven.
    (Kind::EdaBit { bits: 32, ring: 32, cut: 0 }, 3, 53),
    (Kind::EdaBit { bits: 31, ring: 32, cut: 0 }, 6, 97),
    (Kind::EdaBit { bits: 31, ring: 32, cut: 8 }, 12, 101),
    (Kind::TruncMask { bits: 32, cut: 8 }, 12, 149),
];

/// Kinds of sessions with bits as elements, also among three parties.
const OF_ELEMENTS: [(Kind, usize, usize); 5] = [
    (Kind::Triple { bits: 4 }, 2, 11),
    (Kind::Triple { bits: 1 }, 2, 17),
    (Kind::RandomBit { bits: 3 }, 2, 23),
    (Kind::EdaBit { bits: 2, ring: 3, cut: 1 }, 1, 97),
    (Kind::ComparisonMask { bits: 3, pairs: 1 }, 1, 113),
];

/// Kinds among three parties with MACs on bits; a one-sided triple has a party without a part in it.
const AMONG_THREE: [(Kind, usize, usize); 13] = [
    (Kind::OneSided { left: 2, right: 0, bits: 4 }, 3, 53),
    (Kind::KnownMatrices { left: 2, right: 0, bits: 4, m: 2, k: 2, n: 1 }, 1, 41),
    (Kind::BitTriple, 5, 23),
    (Kind::BitMask { owner: 0 }, 5, 17),
    (Kind::BitZero, 5, 13),
    (Kind::Link, 5, 47),
    (Kind::DaBit { bits: 4 }, 3, 211),
    (Kind::EdaBit { bits: 2, ring: 5, cut: 1 }, 2, 307),
    (Kind::EdaBit { bits: 32, ring: 32, cut: 0 }, 3, 401),
    (Kind::EdaBit { bits: 31, ring: 32, cut: 8 }, 12, 601),
    (Kind::ComparisonMask { bits: 2, pairs: 1 }, 2, 311),
    (Kind::RandomBit { bits: 4 }, 2, 151),
    (Kind::TruncMask { bits: 5, cut: 2 }, 2, 607),
];

/// Kinds among four parties.
const AMONG_FOUR: [(Kind, usize, usize); 6] = [
    (Kind::Triple { bits: 4 }, 2, 61),
    (Kind::OneSided { left: 1, right: 3, bits: 4 }, 3, 83),
    (Kind::BitTriple, 5, 61),
    (Kind::BitZero, 5, 37),
    (Kind::DaBit { bits: 4 }, 2, 401),
    (Kind::EdaBit { bits: 2, ring: 5, cut: 1 }, 1, 607),
];

/// A setting in which parties make correlations.
#[derive(Clone, Copy)]
struct Made<'k> {
    params: Params,
    parties: usize,
    kind: &'k Kind,
    len: usize,
}

impl Made<'_> {
    /// Returns every party's result, and whether its keys are usable afterwards.
    fn run(&self, cheat: Option<Cheat>) -> (Vec<(Result<Keyed>, bool)>, Vec<Liar>) {
        with_cheat(self.parties, cheat, |mut party, liar| {
            let (me, mut session) = (party.me(), None);
            let mut run = party.begin_alone().unwrap();
            let set_up = run.phase(Phase::Offline, async |ctx| Spdz2k::set_up(ctx, self.params, None).await);
            let done = set_up.and_then(|s| {
                let s = session.insert(s);
                liar.begin();
                run.phase(Phase::Offline, async |ctx| {
                    let made = s.make(ctx, self.kind, self.len).await?;
                    let vectors = made.vectors.iter().map(Spdz2k::insecure_shared).collect();
                    let bits = made.bits.iter().map(Spdz2k::insecure_bits).collect();
                    Ok(((s.insecure_alpha(), s.insecure_delta()), (vectors, bits)))
                })
            });
            run.finish();
            // A making that would draw again.
            let again = |s: Spdz2k| {
                let again = async |ctx: &Ctx| s.make(ctx, self.kind, 1).await.map(drop);
                dry::run(me, self.parties, Phase::Offline, again).err() != Some(Error::Poisoned)
            };
            let of_use = done.is_err() && session.take().is_some_and(again);
            (done, of_use)
        })
    }

    /// Returns the outcome of a run with a cheater; `None` if it told no lie.
    fn outcome(&self, cheat: Cheat) -> Option<Outcome> {
        let what = format!("{} among {}, {cheat:?}", self.kind, self.parties);
        let (ends, liars) = self.run(Some(cheat));
        let (mut made, mut noticed) = (Vec::new(), false);
        for (me, (done, of_use)) in ends.into_iter().enumerate() {
            match done {
                Ok(done) => made.push(done),
                Err(_) if me == cheat.party => {}
                Err(error) => {
                    assert!(is_an_end(&error), "{what}, party {me}: {error}");
                    assert!(!of_use, "{what}, party {me}: keys go on after {error}");
                    noticed = true;
                }
            }
        }
        let outcome = match (made.len() == self.parties, noticed) {
            (_, true) => Outcome::Noticed,
            (false, false) => Outcome::Alone,
            (true, false) => {
                let together = together(&made, &what);
                assert_kind(self.kind, &(together.values, together.bits), &what);
                if together.is_loose { Outcome::Loose } else { Outcome::Right }
            }
        };
        liars[cheat.party].has_lied().then_some(outcome)
    }

    /// Returns the numbers of messages that each party sends after the set-up.
    fn messages(&self) -> Vec<usize> {
        let (ends, liars) = self.run(None);
        let made: Vec<Keyed> = ends.into_iter().map(|(done, _)| done.unwrap()).collect();
        let together = together(&made, "without a cheater");
        assert_kind(self.kind, &(together.values, together.bits), "without a cheater");
        assert!(!together.is_loose);
        liars.iter().map(|liar| liar.sent().len()).collect()
    }

    fn widths(&self) -> (usize, usize) {
        let k = match *self.kind {
            Kind::Triple { bits } | Kind::Random { bits } | Kind::Mask { bits, .. } => bits,
            Kind::OneSided { bits, .. } | Kind::Owned { bits, .. } => bits,
            Kind::KnownMatrices { bits, .. } | Kind::OwnedMatrices { bits, .. } => bits,
            Kind::DaBit { bits } | Kind::RandomBit { bits } | Kind::TruncMask { bits, .. } => bits,
            Kind::ComparisonMask { bits, .. } => bits,
            Kind::EdaBit { ring, .. } => ring,
            Kind::DotTriple { .. } | Kind::MatrixTriple { .. } | Kind::ConvTriple { .. } | Kind::Place { .. } => {
                panic!("dealt only")
            }
            Kind::BitTriple | Kind::BitMask { .. } | Kind::BitZero | Kind::Link => 1,
        };
        (k as usize, self.params.key_bits() as usize)
    }

    /// Tries one change at some messages of these parties.
    fn sample(&self, parties: &[usize], step: usize, table: &mut Table) {
        let messages = self.messages();
        for &party in parties {
            for message in (party..messages[party]).step_by(step) {
                let (name, what) = a_change(message, self.widths());
                if let Some(outcome) = self.outcome(Cheat { party, message, what }) {
                    table.add(&self.kind.to_string(), self.parties, name, outcome);
                }
            }
        }
    }

    /// Tries all changes at some messages of every party.
    fn all(&self, step: usize, table: &mut Table) {
        for (party, messages) in self.messages().into_iter().enumerate() {
            for message in (party % step..messages).step_by(step) {
                for (name, what) in changes(message, self.widths()) {
                    if let Some(outcome) = self.outcome(Cheat { party, message, what }) {
                        table.add(&self.kind.to_string(), self.parties, name, outcome);
                    }
                }
            }
        }
        println!("{} among {}: {} cases so far", self.kind, self.parties, table.totals().0);
    }
}

fn weak() -> Params {
    Params::new(32, true).unwrap()
}

/// Returns the other forms of multiplication triples.
fn other_triples() -> [Params; 2] {
    [weak().with_triples_in_buckets(), weak().with_triples_under_two_keys()]
}

fn usual() -> Params {
    Params::new(48, false).unwrap()
}

#[test]
fn no_lie_of_a_link_leads_to_a_wrong_correlation() {
    let mut table = Table::default();
    for (i, (kind, len, step)) in KINDS.iter().enumerate() {
        let params = if i % 2 == 0 { usual() } else { Params::default() };
        Made { params, parties: 2, kind, len: *len }.sample(&[0, 1], *step, &mut table);
    }
    for (i, (kind, len, step)) in OF_ELEMENTS.iter().enumerate() {
        let params = weak().as_in_the_paper();
        Made { params, parties: 2, kind, len: *len }.sample(&[i % 2], *step, &mut table);
        Made { params, parties: 3, kind, len: *len }.sample(&[i % 3], 5 * step, &mut table);
    }
    let kind = &Kind::Triple { bits: 8 };
    for (i, params) in other_triples().into_iter().enumerate() {
        Made { params, parties: 2, kind, len: 2 }.sample(&[i], 7, &mut table);
        Made { params, parties: 3, kind, len: 2 }.sample(&[2 - i], 41, &mut table);
    }
    for (i, (kind, len, step)) in AMONG_THREE.iter().enumerate() {
        Made { params: weak(), parties: 3, kind, len: *len }.sample(&[i % 3, (i + 1) % 3], *step, &mut table);
    }
    for (i, (kind, len, step)) in AMONG_FOUR.iter().enumerate() {
        Made { params: weak(), parties: 4, kind, len: *len }.sample(&[i % 4], *step, &mut table);
    }
    println!("{table}");
    let (all, noticed) = table.totals();
    assert!(all > 60 && 2 * noticed > all, "{noticed} of {all}");
}

#[test]
fn no_lie_of_a_link_leads_to_wrong_keys() {
    let kind = Kind::Random { bits: 8 };
    let mut table = Table::default();
    for (parties, step) in [(2, 2), (3, 7)] {
        let messages = set_up(parties, None).1[0].sent().len();
        assert!(messages > 5);
        for party in 0..parties {
            for message in (party..messages).step_by(step) {
                let (name, what) = a_change(message + party, (8, 48));
                let (ends, liars) = set_up(parties, Some(Cheat { party, message, what }));
                let what = format!("{name} at message {message} of party {party} of {parties}");
                let mut noticed = false;
                for (me, done) in ends.iter().enumerate().filter(|(me, _)| *me != party) {
                    if let Err(error) = done {
                        assert!(is_an_end(error), "{what}, party {me}: {error}");
                        noticed = true;
                    }
                }
                let made: Vec<Keyed> = ends.into_iter().filter_map(Result::ok).collect();
                if made.len() == parties {
                    let together = together(&made, &what);
                    assert_kind(&kind, &(together.values, together.bits), &what);
                }
                let outcome = match (noticed, made.len() == parties) {
                    (true, _) => Outcome::Noticed,
                    (_, true) => Outcome::Right,
                    _ => Outcome::Alone,
                };
                if liars[party].has_lied() {
                    table.add("set-up", parties, name, outcome);
                }
            }
        }
    }
    println!("{table}");
    assert!(table.totals().0 > 10);
}

/// Sets up keys, and makes a correlation that shows whether they are right.
fn set_up(parties: usize, cheat: Option<Cheat>) -> (Vec<Result<Keyed>>, Vec<Liar>) {
    with_cheat(parties, cheat, |mut party, liar| {
        liar.begin();
        let mut run = party.begin_alone()?;
        let done = run.phase(Phase::Offline, async |ctx| {
            let s = Spdz2k::set_up(ctx, usual(), None).await?;
            let made = s.make(ctx, &Kind::Random { bits: 8 }, 3).await?;
            let vectors = made.vectors.iter().map(Spdz2k::insecure_shared).collect();
            Ok(((s.insecure_alpha(), s.insecure_delta()), (vectors, vec![])))
        });
        run.finish();
        done
    })
}

/// Tries every change at every message of every kind; takes minutes.
#[test]
#[ignore = "takes minutes: make adversary"]
fn adversary_every_lie_of_a_link_at_every_message_of_every_kind() {
    let mut table = Table::default();
    for (kind, len, step) in &KINDS {
        Made { params: usual(), parties: 2, kind, len: *len }.all(1 + step / 8, &mut table);
        Made { params: Params::default(), parties: 2, kind, len: *len }.all(2 * step, &mut table);
    }
    for (kind, len, step) in &OF_ELEMENTS {
        let params = weak().as_in_the_paper();
        Made { params, parties: 2, kind, len: *len }.all(1 + step / 4, &mut table);
        Made { params: usual(), parties: 3, kind, len: *len }.all(2 * step, &mut table);
    }
    for params in other_triples() {
        Made { params, parties: 2, kind: &Kind::Triple { bits: 8 }, len: 2 }.all(1, &mut table);
    }
    for (kind, len, step) in &AMONG_THREE {
        Made { params: usual(), parties: 3, kind, len: *len }.all(1 + step / 6, &mut table);
    }
    for (kind, len, step) in &AMONG_FOUR {
        Made { params: weak(), parties: 4, kind, len: *len }.all(1 + step / 4, &mut table);
    }
    println!("{table}");
    let (all, noticed) = table.totals();
    assert!(all > 2000 && 2 * noticed > all, "{noticed} of {all}");
}
