//! Sessions of parties that plan, forget and go on.

use quorate_engine::Error;
use quorate_engine::Mismatch;
use quorate_graph::{BinaryOp, Dtype, Operand};
use quorate_net::Net;
use quorate_protocols::Protocol;

use super::start::Place;
use super::*;
use crate::connect;
use crate::options::Options;

/// One party of a deployment, which goes by a network of its own.
fn party(me: usize, net: Box<dyn Net>, network: Option<Network>) -> Session {
    let place = Place { parties: 2, network, me: Some(me), seed: None, check: false };
    Session::start(Protocol::Aby, place, vec![net], Options::default()).unwrap()
}

/// Which of 1000 numbers are the less; or, where parties shall agree, only some of their products.
fn request(session: &mut Session, op: BinaryOp) -> Result<Vec<Revealed>, SessionError> {
    let here = || Source::new("test.py", 1);
    let [x, y] = [0, 1].map(|owner| {
        let x = session.build(here(), |mut b| b.input(owner, 2, &[1000], Dtype::INT64, None)).unwrap();
        if session.me == Some(owner) {
            session.provide(x, owner, &Data::Ints((0..1000).collect())).unwrap();
        }
        x
    });
    let result = session.build(here(), |mut b| b.binary(op, x, y)).unwrap();
    session.run(&[(result, None)])?.finish()
}

#[test]
fn parties_that_planned_otherwise_say_so_and_go_on() {
    let networks = [None, Some(Network::WAN)];
    let nets = connect::local(2, None).into_iter().zip(networks).enumerate();
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

/// x + 1, many times over; each array is let go of as soon as the next is there, or as late as `late` says.
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
    let nets = connect::local(2, None).into_iter().enumerate();
    let parties: Vec<_> = nets
        .map(|(me, net)| {
            std::thread::spawn(move || {
                let mut session = party(me, net, None);
                let here = || Source::new("test.py", 1);
                let x = session.build(here(), |mut b| b.input(0, 2, &[2], Dtype::INT64, None)).unwrap();
                session.provide(x, 0, &Data::Ints(vec![5, -5])).unwrap();
                let (mut late, mut firsts, mut waits) = (Vec::new(), Vec::new(), None);
                for run in 0..40 {
                    // The garbage of party 1 is collected now and then.
                    let sum = count(&mut session, x, &mut late, me == 1 && run % 7 != 6);
                    // What was not computed when the next was built is computed of what is kept for it.
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
