//! Tests of an owner that exceeds the bound of its input; the owner's check of its own values is left out.

use std::sync::Arc;

use quorate_engine::Error;
use quorate_graph::{BinaryOp, Bound, Builder, Division, Dtype, Give, Operand, Real};
use quorate_ring::{Ring, Vector};

use super::start::LocalOptions;
use super::*;
use crate::options::Options;
use crate::work::data::{OwnInput, Plain};

const FIXED: Dtype = Dtype::FIXED64;

/// Options of a family, by name.
type Chosen = &'static [(&'static str, &'static str)];

/// Returns the families in which parties may cheat.
fn families() -> [(Protocol, usize, Chosen); 3] {
    const DEALT: Chosen = &[("offline", "insecure_dealer")];
    [(Protocol::Spdz2k, 2, DEALT), (Protocol::Spdz2k, 3, DEALT), (Protocol::Pika, 3, &[("malicious", "yes")])]
}

fn session((protocol, parties, family): (Protocol, usize, &[(&str, &str)])) -> Session {
    let family = family.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    let options = Options { family, ..Options::default() };
    let options = LocalOptions { protocol, parties, network: None, insecure_seed: None, check: false, options };
    Session::local(options).unwrap()
}

/// The use that a program makes of an input of party 1, of numbers up to 49.
#[derive(Clone, Copy, Debug)]
enum Use {
    /// A place in a table.
    Table,
    /// A place in a table, moved by 100, so that both ends of the range are compared.
    Moved,
    /// The input as places, which are compared.
    Places,
    /// A place in a table, joined with an input of party 0.
    Joined,
    /// A place in a table, joined with an input of party 0, less 1.
    Before,
    /// A divisor: the sum with an input of party 0.
    Added,
    /// A divisor of integers.
    Whole,
    /// A divisor of reals.
    Reals,
    Reciprocal,
}

use Use::{Added, Before, Joined, Moved, Places, Reals, Reciprocal, Whole};
const USES: [Use; 9] = [Use::Table, Moved, Places, Joined, Before, Added, Whole, Reals, Reciprocal];

impl Use {
    fn dtype(self) -> Dtype {
        if matches!(self, Use::Reals | Use::Reciprocal) { FIXED } else { Dtype::INT64 }
    }

    fn build(self, b: &mut Builder<'_>, x: NodeId, other: NodeId) -> Result<NodeId, BuildError> {
        let table: Vec<i128> = (0..200).map(|i| 1000 + i).collect();
        match self {
            Use::Table => b.lookup(x, 0, &table[..50], Dtype::INT64),
            Use::Moved => {
                let moved = b.binary(BinaryOp::Add, x, Operand::int(&100))?;
                b.lookup(moved, 0, &table, Dtype::INT64)
            }
            Use::Places => {
                let x = b.places(x)?;
                b.binary(BinaryOp::Eq, x, Operand::int(&7))
            }
            Use::Joined => {
                let both = b.concat(&[other.into(), x.into()], 0)?;
                b.lookup(both, 0, &table[..50], Dtype::INT64)
            }
            Use::Before => {
                let both = b.concat(&[other.into(), x.into()], 0)?;
                let before = b.binary(BinaryOp::Sub, both, Operand::int(&1))?;
                b.lookup(before, 0, &table[..49], Dtype::INT64)
            }
            Use::Added => {
                let sum = b.binary(BinaryOp::Add, other, x)?;
                b.int_divide(Division { give: Give::Quotient, quotient_bits: None }, Operand::int(&1000), sum)
            }
            Use::Whole => b.int_divide(Division { give: Give::Quotient, quotient_bits: None }, Operand::int(&1000), x),
            Use::Reals => b.divide(Operand::real(&100.0), x),
            Use::Reciprocal => b.real(Real::Reciprocal, x),
        }
    }
}

/// Builds an input of party 0, and one of party 1, which provides `numbers` whatever their bound.
fn given(session: &mut Session, how: Use, numbers: &[i64], trusted: bool) -> [NodeId; 2] {
    let (parties, here) = (session.parties, || Source::new("bounds.rs", 1));
    let [other, x] = [0, 1].map(|owner| {
        let build = |mut b: Builder<'_>| b.input(owner, parties, &[numbers.len()], how.dtype(), Some(Bound::Int(49)));
        let id = session.build(here(), build).unwrap();
        session.provide(id, owner, &Data::Ints(vec![1; numbers.len()])).unwrap();
        id
    });
    if trusted {
        session.trust(x).unwrap();
    }
    let units: Vec<i64> = numbers.iter().map(|&number| number << how.dtype().frac()).collect();
    let seat = session.seats.iter_mut().find(|seat| seat.party == 1).unwrap();
    seat.inputs.insert(x, Arc::new(OwnInput::Held(Plain::Vector(Vector::from_i64s(Ring::of(64), &units)))));
    [other, x]
}

/// Runs a use of the input and returns its result.
fn outcome(session: &mut Session, how: Use, numbers: &[i64], trusted: bool) -> Result<Vec<Revealed>, SessionError> {
    let [other, x] = given(session, how, numbers, trusted);
    let asked = session.build(Source::new("bounds.rs", 2), |mut b| how.build(&mut b, x, other)).unwrap();
    session.run(&[(asked, None)])?.finish()
}

#[test]
fn values_out_of_bounds_end_the_run_before_any_reveal() {
    const OUTSIDE: [i64; 4] = [50, 5000, -50, -5000];
    for (i, family) in families().into_iter().enumerate() {
        for (j, how) in USES.into_iter().enumerate() {
            let (mut session, number) = (session(family), OUTSIDE[(i + j) % OUTSIDE.len()]);
            let error = outcome(&mut session, how, &[1, number, 2], false).err();
            let check = match &error {
                Some(SessionError::Engine(Error::Cheating { check })) => *check,
                _ => panic!("{family:?}, {how:?} of {number}: {error:?}"),
            };
            assert!(check.contains("within its stated bound"), "{family:?}, {how:?} of {number}: {check}");
        }
    }
}

#[test]
fn values_within_bounds_give_results_at_the_predicted_cost() {
    for family in families() {
        let mut session = session(family);
        for how in USES {
            let values = outcome(&mut session, how, &[49, -49, 7], false).unwrap();
            assert!(values[0].is_some(), "{family:?}, {how:?}");
            let trusted = session.stats().parties[&0].online.bytes_sent;
            outcome(&mut session, how, &[49, -49, 7], true).unwrap();
            let stats = &session.stats().parties[&0];
            assert_eq!(stats.predicted.online.traffic.bytes(), stats.online.bytes_sent, "{family:?}, {how:?}");
            assert_eq!(u64::from(stats.predicted.online.traffic.rounds), stats.online.rounds, "{family:?}, {how:?}");
            assert!(trusted > 0);
        }
    }
}

/// Inputs that are no longer held are proven where a value made of them still is.
#[test]
fn released_inputs_are_kept_for_a_proof() {
    for (family, number) in families().into_iter().flat_map(|family| [(family, 49), (family, 5000)]) {
        let (mut session, here) = (session(family), || Source::new("bounds.rs", 3));
        let [other, x] = given(&mut session, Use::Before, &[1, number], false);
        let both = session.build(here(), |mut b| b.concat(&[other.into(), x.into()], 0)).unwrap();
        let before = session.build(here(), |mut b| b.binary(BinaryOp::Sub, both, Operand::int(&1))).unwrap();
        for gone in [vec![other, x, both], vec![]] {
            session.run(&[(before, None)]).unwrap().finish().unwrap();
            gone.into_iter().for_each(|id| session.release(id));
        }
        let table: Vec<i128> = (0..49).collect();
        for _ in 0..2 {
            let asked = session.build(here(), |mut b| b.lookup(before, 0, &table, Dtype::INT64)).unwrap();
            let ended = session.run(&[(asked, None)]).and_then(|run| run.finish());
            assert_eq!(ended.is_ok(), number == 49, "{family:?}: {:?}", ended.err());
        }
    }
}

/// A trusted bound is not proven: the owner is believed.
#[test]
fn a_trusted_bound_is_taken_as_it_is() {
    let mut session = session(families()[0]);
    assert!(outcome(&mut session, Use::Table, &[1, 5000, 2], true).is_ok());
    let mut semi_honest = self::session((Protocol::Rss, 3, &[]));
    assert!(outcome(&mut semi_honest, Use::Table, &[1, 5000, 2], false).is_ok());
}
