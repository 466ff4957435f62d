//! Tests of requests that queue, while the session builds on.

use std::time::{Duration, Instant};

use quorate_engine::Error;
use quorate_graph::{BinaryOp, Bound, Dtype, Operand};
use quorate_protocols::Protocol;

use super::start::{Held, Place};
use super::*;
use crate::connect::LocalLinks;
use crate::options::Options;

fn local(rtt_ms: Option<f64>, check: bool) -> Session {
    local_with(Options::default(), rtt_ms, check)
}

fn local_with(options: Options, rtt_ms: Option<f64>, check: bool) -> Session {
    let network = rtt_ms.map(|rtt| Network::new(rtt, 1000.0).unwrap());
    let (protocol, insecure_seed) = (Protocol::Rss, None);
    Session::local(LocalOptions { protocol, parties: 3, network, insecure_seed, check, options }).unwrap()
}

pub(super) fn here() -> Source {
    Source::new("requests_tests.rs", 1)
}

pub(super) fn input(session: &mut Session, values: &[i64]) -> NodeId {
    let (parties, bound) = (session.parties(), Some(Bound::Int(1 << 20)));
    let x = session.build(here(), |mut b| b.input(0, parties, &[values.len()], Dtype::INT64, bound)).unwrap();
    session.provide(x, 0, &Data::Ints(values.to_vec())).unwrap();
    x
}

pub(super) fn binary(session: &mut Session, op: BinaryOp, x: NodeId, y: NodeId) -> NodeId {
    session.build(here(), |mut b| b.binary(op, x, y)).unwrap()
}

/// Builds x to the power of `rounds` + 1, one product after another. Ones stay ones.
pub(super) fn long(session: &mut Session, x: NodeId, rounds: usize) -> NodeId {
    (0..rounds).fold(x, |y, _| binary(session, BinaryOp::Mul, y, x))
}

pub(super) fn submit(session: &mut Session, node: NodeId) -> Request {
    session.submit(&[(node, None)], false).unwrap()
}

pub(super) fn values(session: &mut Session, request: Request) -> Result<Vec<i64>, SessionError> {
    match session.finish(request)?.into_iter().next().flatten() {
        Some(Data::Ints(ref values)) => Ok(values.clone()),
        _ => panic!("a reveal to all gives integers"),
    }
}

fn is_interrupted(error: &SessionError) -> bool {
    matches!(error, SessionError::Engine(Error::Interrupted))
}

#[test]
fn a_program_grows_while_it_runs() {
    let mut session = local(Some(400.0), false);
    let x = input(&mut session, &[3, -5]);
    let product = binary(&mut session, BinaryOp::Mul, x, x);
    let mut request = submit(&mut session, product);
    let late = input(&mut session, &[1, 2]);
    let sum = (0..1000).fold(product, |sum, _| binary(&mut session, BinaryOp::Add, sum, late));
    assert!(!request.wait(Duration::ZERO), "the run is under way");
    assert_eq!(values(&mut session, request).unwrap(), [9, 25]);
    assert_eq!(Arc::strong_count(&session.program.graph), 1, "no party keeps the program of a request that has ended");
    let request = submit(&mut session, sum);
    assert_eq!(values(&mut session, request).unwrap(), [1009, 2025]);
}

#[test]
fn requests_end_in_order_each_with_its_own_values() {
    let mut session = local_with(Options { max_memory: Some(1 << 30), ..Options::default() }, None, false);
    let mut requests = Vec::new();
    for i in 0..20 {
        let x = input(&mut session, &[i, -i]);
        let y = binary(&mut session, BinaryOp::Mul, x, x);
        requests.push((i, submit(&mut session, y)));
    }
    let mut last = true;
    while let Some((i, mut request)) = requests.pop() {
        assert!(last || request.wait(Duration::ZERO), "those before the last have ended before it");
        assert_eq!(values(&mut session, request).unwrap(), [i * i, i * i]);
        last = false;
    }
    assert_eq!(session.stats().runs, 20);
}

#[test]
fn an_interrupt_ends_its_own_request() {
    let mut session = local(Some(20.0), false);
    let x = input(&mut session, &[1, 1]);
    let nodes: Vec<NodeId> = (0..3).map(|_| long(&mut session, x, 20)).collect();
    // Before it begins, it is over at once; once it is under way, soon; after its end, nothing happens.
    let [first, mut second, third] = [0, 1, 2].map(|i| submit(&mut session, nodes[i]));
    second.interrupt();
    assert!(second.wait(Duration::ZERO) && second.progress().is_none());
    assert!(is_interrupted(&values(&mut session, second).unwrap_err()));
    assert_eq!([first, third].map(|request| values(&mut session, request).unwrap()), [[1, 1], [1, 1]]);
    let [mut first, second] = [1, 2].map(|i| {
        let more = binary(&mut session, BinaryOp::Mul, nodes[i], nodes[i]);
        submit(&mut session, more)
    });
    while first.progress().is_none() && !first.wait(Duration::from_millis(1)) {}
    first.interrupt();
    assert!(is_interrupted(&values(&mut session, first).unwrap_err()));
    assert_eq!(values(&mut session, second).unwrap(), [1, 1]);
    let [mut first, second] = [nodes[0], x].map(|node| submit(&mut session, node));
    first.wait_for_all();
    first.interrupt();
    assert_eq!([first, second].map(|request| values(&mut session, request).unwrap()), [[1, 1], [1, 1]]);
}

#[test]
fn an_interrupt_at_any_moment_ends_no_other_request() {
    let mut session = local(None, false);
    let x = input(&mut session, &[1, 1]);
    let mut interrupted = 0;
    for round in 0..300u32 {
        let node = binary(&mut session, BinaryOp::Mul, x, x);
        let [first, mut second, third] = [node, x, node].map(|node| submit(&mut session, node));
        // Moments spread over the three requests, whose time depends on the machine.
        let moment = Instant::now() + Duration::from_micros(u64::from(round * 7919 % 6000));
        while Instant::now() < moment {
            std::hint::spin_loop();
        }
        second.interrupt();
        assert_eq!(values(&mut session, first).unwrap(), [1, 1], "round {round}");
        match values(&mut session, second) {
            Ok(values) => assert_eq!(values, [1, 1]),
            Err(ref error) => {
                assert!(is_interrupted(error), "round {round}: {error}");
                interrupted += 1;
            }
        }
        assert_eq!(values(&mut session, third).unwrap(), [1, 1], "round {round}");
        session.release(node);
    }
    assert!(interrupted > 10, "{interrupted}");
}

#[test]
fn inputs_of_a_request_that_was_interrupted_before_it_began_are_not_lost() {
    let mut session = local(Some(20.0), false);
    let x = input(&mut session, &[1, 1]);
    let node = long(&mut session, x, 5);
    let first = submit(&mut session, node);
    let y = input(&mut session, &[7, 8]);
    session.release(x);
    let mut second = submit(&mut session, y);
    second.interrupt();
    drop(second);
    let third = submit(&mut session, y);
    assert_eq!(values(&mut session, first).unwrap(), [1, 1]);
    assert_eq!(values(&mut session, third).unwrap(), [7, 8]);
}

#[test]
fn a_request_that_nobody_waits_for_is_stopped() {
    let mut session = local(Some(40.0), false);
    let x = input(&mut session, &[1, 1]);
    let node = long(&mut session, x, 150); // at least 3 s
    let request = submit(&mut session, node);
    let waiting = submit(&mut session, node);
    drop((waiting, request));
    let began = Instant::now();
    let request = submit(&mut session, x);
    assert_eq!(values(&mut session, request).unwrap(), [1, 1]);
    assert!(began.elapsed() < Duration::from_millis(1500), "{:?}", began.elapsed());
}

#[test]
fn what_was_built_meanwhile_is_not_forgotten() {
    let mut session = local(None, false);
    let x = input(&mut session, &[1, 2]);
    let one = [1i128];
    let count = |session: &mut Session, from: NodeId, times| {
        let mut add = |sum| session.build(here(), |mut b| b.binary(BinaryOp::Add, sum, Operand::int(&one[0]))).unwrap();
        (0..times).fold(from, |sum, _| add(sum))
    };
    let far = count(&mut session, x, 30_000);
    for id in (x.0 + 1)..far.0 {
        session.release(NodeId(id));
    }
    let first = submit(&mut session, far);
    let late = count(&mut session, far, 10);
    let y = input(&mut session, &[4, 4]);
    let second = submit(&mut session, late);
    assert_eq!(values(&mut session, second).unwrap(), [30_011, 30_012]);
    assert_eq!(values(&mut session, first).unwrap(), [30_001, 30_002]);
    assert!(session.graph().first() > 0, "something was forgotten");
    let sum = binary(&mut session, BinaryOp::Add, late, y);
    let third = submit(&mut session, sum);
    assert_eq!(values(&mut session, third).unwrap(), [30_015, 30_016]);
}

#[test]
fn peeks_are_not_counted_beside_other_requests() {
    let mut session = local(None, true);
    let x = input(&mut session, &[1000, -1000]);
    let square = binary(&mut session, BinaryOp::Mul, x, x);
    let first = submit(&mut session, square);
    assert_eq!(values(&mut session, first).unwrap(), [1_000_000, 1_000_000]);
    let before = session.stats().clone();
    let power = (0..3).fold(square, |power, _| binary(&mut session, BinaryOp::Mul, power, square)); // may overflow
    let other = binary(&mut session, BinaryOp::Add, x, x);
    let second = submit(&mut session, other);
    let error = check(&mut &mut session, &[(power, None)]).err().expect("10^24 is not within 64 bits").to_string();
    assert!(error.contains("int(64)"), "{error}");
    assert_eq!(session.stats(), &before, "the values that the check opened are not counted");
    assert_eq!(session.jobs, 3, "and it opened some");
    assert_eq!(values(&mut session, second).unwrap(), [2000, -2000]);
    assert_eq!(session.stats().runs, before.runs + 1);
}

#[test]
fn leaving_waits_for_requests() {
    let mut session = local(Some(20.0), false);
    let x = input(&mut session, &[1, 1]);
    let node = long(&mut session, x, 5);
    let requests = [0; 3].map(|_| submit(&mut session, node));
    session.close(false);
    assert!(matches!(session.submit(&[(x, None)], false), Err(SessionError::Closed)));
    for request in requests {
        assert_eq!(values(&mut session, request).unwrap(), [1, 1]);
    }
}

#[test]
fn giving_up_and_an_impatient_leave_stop_requests() {
    for gives_up in [true, false] {
        let mut session = local(Some(40.0), false);
        let x = input(&mut session, &[1, 1]);
        let node = long(&mut session, x, 150); // at least 3 s
        let mut requests = [0; 3].map(|_| submit(&mut session, node));
        while requests[0].progress().is_none() {
            requests[0].wait(Duration::from_millis(1));
        }
        let began = Instant::now();
        let mut leaving = session.leave(gives_up);
        if !gives_up {
            assert!(!leaving.wait(Duration::from_millis(50)));
            leaving.interrupt();
        }
        while !leaving.wait(Duration::from_secs(10)) {}
        for request in requests {
            assert!(matches!(values(&mut session, request), Err(SessionError::Closed)));
        }
        assert!(began.elapsed() < Duration::from_millis(1500), "{:?}", began.elapsed());
    }
}

#[test]
fn the_program_of_a_deployment_stays_while_a_request_is_under_way() {
    let options = Options::default().read_for(Protocol::Aby).unwrap();
    let parties: Vec<_> = LocalLinks::new(2, None)
        .mesh()
        .into_iter()
        .enumerate()
        .map(|(me, net)| {
            let options = options.clone();
            std::thread::spawn(move || {
                let (me, held) = (Some(me), Held::default());
                let place = Place {
                    parties: 2,
                    network: None,
                    me,
                    seed: None,
                    check: false,
                    patience: None,
                    connects: None,
                    pool: None,
                    held,
                };
                let mut session = Session::start(Protocol::Aby, place, vec![net], options).unwrap();
                let x = session.build(here(), |mut b| b.input(0, 2, &[2], Dtype::INT64, None)).unwrap();
                session.provide(x, 0, &Data::Ints(vec![3, 4])).unwrap();
                let mut request = submit(&mut session, x);
                request.wait_for_all(); // it is under way until it is finished
                let built = session.build(here(), |mut b| b.binary(BinaryOp::Add, x, x));
                let submitted = session.submit(&[(x, None)], false).map(drop);
                let busy = [built.map(drop), submitted].into_iter().all(|r| matches!(r, Err(SessionError::Busy)));
                let (runs, first) = (session.stats().runs, values(&mut session, request).unwrap());
                let y = binary(&mut session, BinaryOp::Add, x, x);
                let request = submit(&mut session, y);
                let second = values(&mut session, request).unwrap();
                session.close(false);
                (busy, runs, first, second)
            })
        })
        .collect();
    for party in parties {
        assert_eq!(party.join().unwrap(), (true, 0, vec![3, 4], vec![6, 8]));
    }
}

#[test]
fn errors_are_stated_by_a_thread_for_itself() {
    let mut session = local(None, false);
    let x = input(&mut session, &[3, -5]);
    let mut are_stated = |change: Option<bool>| {
        change.into_iter().for_each(|are_stated| session.set_errors_are_stated(are_stated));
        let sum = binary(&mut session, BinaryOp::Add, x, x);
        session.with_graph(|graph| graph.node(sum).error_is_stated).unwrap()
    };
    let changes = [None, Some(true), Some(true), Some(false), Some(false), Some(false), Some(true)];
    assert_eq!(changes.map(&mut are_stated), [false, true, true, true, false, false, true]);
    let elsewhere = std::thread::scope(|scope| scope.spawn(|| are_stated(None)).join().unwrap());
    assert_eq!((elsewhere, are_stated(None)), (false, true));
}

#[test]
fn a_session_that_gives_up_while_it_waits_to_close_ends_requests() {
    let mut session = local(Some(400.0), false);
    let x = input(&mut session, &[1, 1]);
    let power = long(&mut session, x, 40);
    let request = submit(&mut session, power);
    let (first, start) = (session.leave(false), Instant::now());
    let mut leaving = session.leave(true);
    while !leaving.wait(Duration::from_secs(1)) {}
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
    assert!(matches!(values(&mut session, request), Err(SessionError::Closed)));
    drop(first);
}
