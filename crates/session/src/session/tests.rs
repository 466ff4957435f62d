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

/// Which of many numbers are the less; or, where parties shall agree, only some of their products.
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

/// Requests that differ in one thing each, asked for again and again: where a party remembers one, it looks whether a
/// dry run finds the same now (see `plan/again.rs`), and the results are those of what was asked for.
fn ask_again(protocol: Protocol, parties: usize) {
    let options = LocalOptions {
        protocol,
        parties,
        network: None,
        insecure_seed: None,
        check: false,
        options: Options::default(),
    };
    let mut session = Session::local(options).unwrap();
    let at = |line| Source::new("test.py", line);
    let (values, mut kept) = ([vec![3, -4, 5], vec![-6, 7, 8]], Vec::new());
    for turn in 0..3 {
        for case in 0..9 {
            let owner = usize::from(case == 1);
            let [x, y] = [0, 1].map(|i| {
                let party = if case == 2 { 0 } else { (i + owner) % 2 };
                let x = session.build(at(1), |mut b| b.input(party, parties, &[3], Dtype::INT64, None)).unwrap();
                session.provide(x, party, &Data::Ints(values[i].clone())).unwrap();
                x
            });
            let second = if case == 3 { x } else { y };
            let line = if case == 4 { 3 } else { 2 };
            let product = session.build(at(line), |mut b| b.binary(BinaryOp::Mul, x, second)).unwrap();
            let by = [1 + i128::from(case == 5), 1];
            let by = [by[0], by[1], by[1]];
            let result = session
                .build(at(2), |mut b| b.binary(BinaryOp::Mul, product, Operand::Ints { shape: &[3], values: &by }))
                .unwrap();
            if case == 6 {
                session.run(&[(product, None)]).unwrap().finish().unwrap();
            }
            let to = (case == 7).then_some(1);
            let revealed = session.run(&[(result, to)]).unwrap().finish().unwrap();
            let wanted: Vec<i64> =
                (0..3).map(|i| values[0][i] * values[usize::from(case != 3)][i] * by[i] as i64).collect();
            let case = format!("{protocol:?}, turn {turn}, case {case}");
            assert!(matches!(&revealed[0], Some(Data::Ints(found)) if *found == wanted), "{case}");
            kept.push(product);
            [x, y, result].into_iter().for_each(|id| session.release(id));
            if case.ends_with('8') {
                kept.drain(..).for_each(|id| session.release(id));
            }
        }
    }
    session.close(false);
}

#[test]
fn what_is_remembered_of_requests_is_what_dry_runs_find() {
    for &protocol in Protocol::ALL {
        ask_again(protocol, protocol.descriptor().parties.usual[0]);
    }
}
