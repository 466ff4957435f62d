//! Tests of planning and forgetting in sessions.

use quorate_engine::Error;
use quorate_engine::Mismatch;
use quorate_graph::{BinaryOp, Dtype, Operand};
use quorate_net::Net;
use quorate_protocols::Protocol;

use super::start::{Held, Place};
use super::*;
use crate::connect::LocalLinks;
use crate::options::Options;

/// Returns options under which a family has its correlations from the dealer that hides nothing, where it offers one.
pub(super) fn dealt(protocol: Protocol) -> Options {
    let offered = protocol.descriptor().option("offline").is_some();
    let family = offered.then(|| ("offline".to_owned(), "insecure_dealer".to_owned()));
    Options { family: family.into_iter().collect(), ..Options::default() }
}

/// Returns one party of a deployment, with a network of its own for predictions.
fn party(me: usize, net: Box<dyn Net>, network: Option<Network>) -> Session {
    let place = Place {
        parties: 2,
        network,
        me: Some(me),
        seed: None,
        check: false,
        patience: None,
        connects: None,
        pool: None,
        held: Held::default(),
    };
    Session::start(Protocol::Aby, place, vec![net], Options::default()).unwrap()
}

/// Builds and runs a request: the operation on 20,000 numbers of each party, element by element.
fn request(session: &mut Session, op: BinaryOp) -> Result<Vec<Revealed>, SessionError> {
    let here = || Source::new("test.py", 1);
    let [x, y] = [0, 1].map(|owner| {
        let x = session.build(here(), |mut b| b.input(owner, 2, &[20_000], Dtype::INT64, None)).unwrap();
        if session.me == Some(owner) {
            session.provide(x, owner, &Data::Ints((0..20_000).collect())).unwrap();
        }
        x
    });
    let result = session.build(here(), |mut b| b.binary(op, x, y)).unwrap();
    session.run(&[(result, None)])?.finish()
}

#[test]
fn parties_that_planned_otherwise_say_so_and_go_on() {
    // Bytes are expensive for one party, and rounds for the other, whatever computing costs.
    let networks = [(0.1, 10.0), (1000.0, 10_000.0)].map(|(rtt_ms, mbit)| Network::new(rtt_ms, mbit).ok());
    let nets = LocalLinks::new(2, None).mesh().into_iter().zip(networks).enumerate();
    let parties: Vec<_> = nets
        .map(|(me, (net, network))| {
            std::thread::spawn(move || {
                let mut session = party(me, net, network);
                let error = request(&mut session, BinaryOp::Lt).err().unwrap();
                request(&mut session, BinaryOp::Mul).unwrap();
                error
            })
        })
        .collect();
    for (me, party) in parties.into_iter().enumerate() {
        let error = party.join().unwrap();
        let other = Error::Mismatch(Mismatch::Plan { peer: 1 - me });
        assert!(matches!(&error, SessionError::Engine(error) if *error == other), "party {me}: {error}");
    }
}

/// Adds 1 to x many times. Each array is released as soon as the next exists; where `is_late`, only later, from `late`.
fn count(session: &mut Session, x: NodeId, late: &mut Vec<NodeId>, is_late: bool) -> NodeId {
    let here = || Source::new("test.py", 2);
    let one = [1i128];
    let mut sum = x;
    for _ in 0..2000 {
        let next = session.build(here(), |mut b| b.binary(BinaryOp::Add, sum, Operand::int(&one[0]))).unwrap();
        if sum != x {
            late.push(sum);
        }
        sum = next;
    }
    if !is_late {
        std::mem::take(late).into_iter().for_each(|id| session.release(id));
    }
    sum
}

#[test]
fn parties_forget_each_at_its_own_time_and_stay_alike() {
    let nets = LocalLinks::new(2, None).mesh().into_iter().enumerate();
    let parties: Vec<_> = nets
        .map(|(me, net)| {
            std::thread::spawn(move || {
                let mut session = party(me, net, None);
                let here = || Source::new("test.py", 1);
                let x = session.build(here(), |mut b| b.input(0, 2, &[2], Dtype::INT64, None)).unwrap();
                session.provide(x, 0, &Data::Ints(vec![5, -5])).unwrap();
                let (mut late, mut firsts, mut waits) = (Vec::new(), Vec::new(), None);
                for run in 0..40 {
                    // The garbage of party 1 is collected only now and then.
                    let sum = count(&mut session, x, &mut late, me == 1 && run % 7 != 6);
                    // A value that was not computed when the next one was built is computed from what is kept for it.
                    if run % 3 == 0 {
                        waits = Some(sum);
                        continue;
                    }
                    let wanted: Vec<_> = waits.take().into_iter().chain([sum]).map(|id| (id, None)).collect();
                    for values in session.run(&wanted).unwrap().finish().unwrap() {
                        assert!(matches!(values, Some(Data::Ints(ref v)) if *v == [2005, 1995]), "run {run}");
                    }
                    firsts.push(session.with_graph(|graph| (graph.first(), graph.nodes().len())).unwrap());
                }
                if me == 1 {
                    session.build(here(), |mut b| b.binary(BinaryOp::Add, x, x)).unwrap();
                }
                let last = count(&mut session, x, &mut late, true);
                let error = session.run(&[(last, None)]).unwrap().finish().err().unwrap();
                (firsts, error.to_string())
            })
        })
        .collect();
    let parties: Vec<_> = parties.into_iter().map(|party| party.join().unwrap()).collect();
    for (firsts, error) in &parties {
        let &(first, left) = firsts.last().unwrap();
        assert!(first > 30_000 && left < 50_000, "{first} forgotten, {left} left");
        assert!(error.contains("at test.py:"), "{error}");
    }
}

/// The difference of one request from the others.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Case {
    Plain,
    OtherOwners,
    OneOwner,
    Square,
    OtherLine,
    OtherPublicNumbers,
    OperandExists,
    ToOne,
    OtherOperands,
    ProductStays,
    MoreIsHeld,
    /// The product is added to another one, of itself.
    Chain,
    /// The product is added to another one, of its operands.
    SideBySide,
}

impl Case {
    const ALL: [Case; 13] = [
        Case::Plain,
        Case::OtherOwners,
        Case::OneOwner,
        Case::Square,
        Case::OtherLine,
        Case::OtherPublicNumbers,
        Case::OperandExists,
        Case::ToOne,
        Case::OtherOperands,
        Case::ProductStays,
        Case::MoreIsHeld,
        Case::Chain,
        Case::SideBySide,
    ];

    /// Builds p = x y, q = x y, and p q times public numbers, with one difference. Two cases add another product to
    /// p q, and differ in the operands of that one alone.
    fn ask(self, session: &mut Session) {
        let at = |line| Source::new("test.py", line);
        let (parties, len) = (session.parties(), 1000);
        let data: [Vec<i64>; 2] = [(0..len).map(|i| i % 7 - 3).collect(), (0..len).map(|i| i % 5 - 2).collect()];
        let owners = match self {
            Case::OtherOwners => [1, 0],
            Case::OneOwner => [0, 0],
            _ => [0, 1],
        };
        let shape = [len as usize];
        let [x, y] = [0, 1].map(|i| {
            let x = session.build(at(1), |mut b| b.input(owners[i], parties, &shape, Dtype::INT64, None)).unwrap();
            session.provide(x, owners[i], &Data::Ints(data[i].clone())).unwrap();
            x
        });
        let second = if self == Case::Square { x } else { y };
        let line = if self == Case::OtherLine { 3 } else { 2 };
        let mut times = |a, b| session.build(at(line), |mut program| program.binary(BinaryOp::Mul, a, b)).unwrap();
        let p = times(x, second);
        let q = times(if self == Case::OtherOperands { p } else { x }, second);
        let product = times(p, q);
        let other = match self {
            Case::Chain => Some(times(product, q)),
            Case::SideBySide => Some(times(p, q)),
            _ => None,
        };
        let added = other.map(|other| session.build(at(2), |mut b| b.binary(BinaryOp::Add, product, other)).unwrap());
        let by: Vec<i128> =
            (0..i128::from(len)).map(|i| 1 + i % (2 + i128::from(self == Case::OtherPublicNumbers))).collect();
        let public = Operand::Ints { shape: &shape, values: &by };
        let result = session.build(at(2), |mut b| b.binary(BinaryOp::Mul, added.unwrap_or(product), public)).unwrap();
        let held =
            (self == Case::MoreIsHeld).then(|| session.build(at(4), |mut b| b.binary(BinaryOp::Add, x, x)).unwrap());
        if let Some(first) = held.or((self == Case::OperandExists).then_some(p)) {
            session.run(&[(first, None)]).unwrap().finish().unwrap();
        }
        if self != Case::ProductStays {
            session.release(p);
        }
        [x, y, q, product].into_iter().chain(other).chain(added).for_each(|id| session.release(id));
        let to = (self == Case::ToOne).then_some(1);
        let revealed = session.run(&[(result, to)]).unwrap().finish().unwrap();
        let wanted = (0..len as usize).map(|i| {
            let (x, y) = (data[0][i], data[usize::from(self != Case::Square)][i]);
            let q = if self == Case::OtherOperands { x * y * y } else { x * y };
            let product = x * y * q;
            let other = match self {
                Case::Chain => product * q,
                Case::SideBySide => product,
                _ => 0,
            };
            (product + other) * by[i] as i64
        });
        let wanted: Vec<i64> = wanted.collect();
        assert!(matches!(&revealed[0], Some(Data::Ints(found)) if *found == wanted), "{self:?}");
        [Some(result), held, (self == Case::ProductStays).then_some(p)]
            .into_iter()
            .flatten()
            .for_each(|id| session.release(id));
    }
}

/// Runs requests that differ in one property each, one after another, in every order of two. If a party remembers a
/// request, it checks that a dry run finds the same now (see `plan/remembered_runs.rs`), and the results are those of
/// the request.
#[test]
fn remembered_requests_agree_with_dry_runs() {
    for &protocol in Protocol::ALL {
        let parties = protocol.descriptor().parties.usual[0];
        let options = dealt(protocol);
        let mut session = Session::local(LocalOptions {
            protocol,
            parties,
            network: None,
            insecure_seed: None,
            check: false,
            options,
        })
        .unwrap();
        for _ in 0..3 {
            Case::ALL.into_iter().for_each(|case| {
                case.ask(&mut session);
                Case::Plain.ask(&mut session); // releases what else is there
            });
        }
        session.close(false);
    }
}
