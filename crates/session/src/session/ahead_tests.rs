//! Tests of requests for which nobody waits: in a deployment, those behind one that failed are not begun.

use std::time::Duration;

use quorate_engine::Error;
use quorate_graph::{BinaryOp, Dtype, Operand};
use quorate_protocols::Protocol;

use super::start::{Held, Place};
use super::*;
use crate::connect::LocalLinks;
use crate::options::Options;

const PARTIES: usize = 3;

fn here() -> Source {
    Source::new("ahead_tests.rs", 1)
}

/// Runs each party's program in a thread of its own, on a link with this round-trip time; returns their results.
fn deployed<T: Send + 'static>(rtt_ms: Option<f64>, program: fn(usize, &mut Session, Random) -> T) -> Vec<T> {
    let options = Options::default().read_for(Protocol::Rss).unwrap();
    let network = rtt_ms.map(|rtt| Network::new(rtt, 1000.0).unwrap());
    let start = |(me, net)| {
        let options = options.clone();
        std::thread::spawn(move || {
            let place = Place {
                parties: PARTIES,
                network: None,
                me: Some(me),
                seed: None,
                check: false,
                patience: Some(Duration::from_secs(20)),
                held: Held::default(),
            };
            let mut session = Session::start(Protocol::Rss, place, vec![net], options).unwrap();
            let result = program(me, &mut session, Random(me as u64 + 1));
            session.close(false);
            result
        })
    };
    let links = LocalLinks::new(PARTIES, network).mesh();
    let threads: Vec<_> = links.into_iter().enumerate().map(start).collect();
    threads.into_iter().map(|thread| thread.join().unwrap()).collect()
}

/// Pauses of random lengths, others at each party.
struct Random(u64);

impl Random {
    fn rest(&mut self) {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(Duration::from_micros(self.0 >> 52));
    }
}

fn input(session: &mut Session, values: &[i64]) -> NodeId {
    let x = session.build(here(), |mut b| b.input(0, PARTIES, &[values.len()], Dtype::INT64, None)).unwrap();
    session.provide(x, 0, &Data::Ints(values.to_vec())).unwrap();
    x
}

fn times(session: &mut Session, x: NodeId, factor: i128) -> NodeId {
    session.build(here(), |mut b| b.binary(BinaryOp::Mul, x, Operand::int(&factor))).unwrap()
}

fn square(session: &mut Session, x: NodeId) -> NodeId {
    session.build(here(), |mut b| b.binary(BinaryOp::Mul, x, x)).unwrap()
}

fn ahead(session: &mut Session, node: NodeId) -> Request {
    session.submit_ahead(&[(node, None)], false).unwrap()
}

fn values(session: &mut Session, request: Request) -> Result<Vec<i64>, SessionError> {
    match session.finish(request)?.into_iter().next().flatten() {
        Some(Data::Ints(ref values)) => Ok(values.clone()),
        _ => panic!("a reveal to all gives integers"),
    }
}

#[test]
fn parties_make_requests_at_their_own_pace() {
    let all = deployed(None, |_, session, mut random| {
        let (mut requests, mut found) = (Vec::new(), Vec::new());
        for i in 0..20 {
            let x = input(session, &[i, -i]);
            let y = square(session, x);
            requests.push(ahead(session, y));
            if i % 3 == 0 {
                session.release(x);
            }
            random.rest();
        }
        for request in requests {
            found.extend(values(session, request).unwrap());
            random.rest();
        }
        let last = input(session, &[7]);
        let last = ahead(session, last);
        (found, values(session, last).unwrap(), session.stats().runs)
    });
    let squares: Vec<i64> = (0..20).flat_map(|i| [i * i, i * i]).collect();
    for found in all {
        assert_eq!(found, (squares.clone(), vec![7], 21));
    }
}

#[test]
fn only_the_thread_that_asks_builds_on() {
    let all = deployed(Some(50.0), |_, session, _| {
        let x = input(session, &[3, 4]);
        let y = square(session, x);
        let first = ahead(session, y);
        let z = times(session, y, 2);
        let second = ahead(session, z);
        let is_busy = std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                let built = session.build(here(), |mut b| b.binary(BinaryOp::Add, x, x)).map(drop);
                let asked = session.submit_ahead(&[(x, None)], false).map(drop);
                [built, asked].iter().all(|result| matches!(result, Err(SessionError::Busy)))
            });
            other.join().unwrap()
        });
        (is_busy, values(session, second).unwrap(), values(session, first).unwrap())
    });
    for party in all {
        assert_eq!(party, (true, vec![18, 32], vec![9, 16]));
    }
}

#[test]
fn what_is_behind_a_failure_is_not_begun_at_any_party() {
    let all = deployed(Some(30.0), |me, session, mut random| {
        let mut ends = Vec::new();
        for round in 1..=6 {
            let x = input(session, &[round]);
            let y = square(session, x);
            let first = ahead(session, y); // takes at least 15 ms
            let y = (0..3).fold(x, |y, _| square(session, y)); // so that no party can end this without party 1
            let mut failing = ahead(session, y);
            if me == 1 {
                failing.interrupt(); // before it begins
            }
            let mut behind = Vec::new();
            let late = input(session, &[-round]);
            for _ in 0..4 {
                (0..20).for_each(|_| random.rest()); // so that some are made when the failure is known
                behind.push(ahead(session, late));
            }
            assert_eq!(values(session, first).unwrap(), [round * round]);
            ends.push(match values(session, failing).unwrap_err() {
                SessionError::Engine(Error::Interrupted) => me == 1,
                SessionError::Engine(Error::Aborted { .. }) => me != 1,
                _ => false,
            });
            let behind = behind.into_iter().map(|request| values(session, request));
            ends.extend(behind.map(|end| matches!(end, Err(SessionError::Behind))));
            let late = times(session, late, 10); // an input of a request that was not begun
            let next = ahead(session, late);
            assert_eq!(values(session, next).unwrap(), [-10 * round]);
        }
        ends
    });
    for party in all {
        assert_eq!(party, [true; 30]);
    }
}

#[test]
fn a_request_is_not_begun_until_the_program_has_heard_of_a_failure() {
    let all = deployed(Some(30.0), |me, session, _| {
        let x = input(session, &[5]);
        let y = square(session, x);
        let z = (0..3).fold(y, |z, _| square(session, z));
        let [first, mut failing] = [y, z].map(|node| ahead(session, node));
        if me == 0 {
            failing.interrupt(); // before it begins
        }
        let first = values(session, first).is_ok();
        let receipt = failing.receipt();
        let is_failed = values(session, failing).is_err() && first;
        let unheard = ahead(session, x);
        let unheard = matches!(values(session, unheard), Err(SessionError::Behind));
        drop(receipt);
        let heard = ahead(session, x);
        (is_failed, unheard, values(session, heard).ok())
    });
    for party in all {
        assert_eq!(party, (true, true, Some(vec![5])));
    }
}
