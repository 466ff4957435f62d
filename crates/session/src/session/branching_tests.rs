//! Tests of branches of deployments: each party has a thread of its own, and meets the others by the branch's name.

use std::collections::BTreeMap;
use std::sync::Barrier;
use std::sync::atomic::AtomicBool;

use quorate_engine::{BRANCH_RUNS, BRANCHES, Error, Mismatch};
use quorate_graph::{BinaryOp, Dtype, Operand};
use quorate_net::{Frame, Interrupt, Net, NetError, Wait};
use quorate_protocols::Protocol;

use super::branching::Connects;
use super::requests_tests::{binary, here, submit, values};
use super::start::{Held, Place};
use super::*;
use crate::connect::LocalLinks;
use crate::options::Options;
use crate::work::data::Rows;

/// The families whose sessions have branches, with a number of parties.
const FAMILIES: [(Protocol, usize); 3] = [(Protocol::Rss, 3), (Protocol::Aby, 2), (Protocol::Pika, 3)];

/// The ends of long frames that a party sent: masked values, without the numbers that say whose they are.
type Sent = Arc<Mutex<Vec<Vec<u8>>>>;

/// A link that records what is sent.
struct Recorded(Box<dyn Net>, Sent);

impl Net for Recorded {
    fn me(&self) -> usize {
        self.0.me()
    }

    fn parties(&self) -> usize {
        self.0.parties()
    }

    fn send(&mut self, to: usize, frame: Frame) -> Result<(), NetError> {
        if frame.len() > 200 {
            let way = [self.me() as u8, to as u8];
            self.1.lock().unwrap().push([&way, &frame[frame.len() - 64..]].concat());
        }
        self.0.send(to, frame)
    }

    fn recv(&mut self, wait: Wait) -> Result<Option<(usize, Frame)>, NetError> {
        self.0.recv(wait)
    }

    fn queued(&self, to: usize) -> usize {
        self.0.queued(to)
    }

    fn wire_bytes(&self) -> Vec<u64> {
        self.0.wire_bytes()
    }

    fn flush(&mut self, wait: Wait) -> Result<(), NetError> {
        self.0.flush(wait)
    }

    fn interrupt_handle(&self) -> Interrupt {
        self.0.interrupt_handle()
    }
}

/// The links of sessions that parties of one name and number share; each takes its end.
#[derive(Default)]
struct Exchange(Mutex<BTreeMap<(String, u32), Ends>>);

/// The ends of a mesh that nobody has taken.
type Ends = Vec<Option<Box<dyn Net>>>;

impl Exchange {
    fn link(&self, name: &str, number: u32, (me, parties): (usize, usize)) -> Box<dyn Net> {
        let mut all = self.0.lock().unwrap();
        let mesh = || LocalLinks::new(parties, None).mesh().into_iter().map(Some).collect();
        all.entry((name.to_owned(), number)).or_insert_with(mesh)[me].take().expect("a party connects once to a branch")
    }
}

/// Runs `program` as every party of a deployment. Returns its results, and what each party sent.
fn deployed<T: Send + 'static>(
    family: (Protocol, usize),
    program: impl Fn(&mut Session) -> T + Send + Sync + 'static,
) -> Vec<(T, Vec<Vec<u8>>)> {
    deployed_in(family, "A", program)
}

/// As [`deployed`], with these sharings.
fn deployed_in<T: Send + 'static>(
    (protocol, parties): (Protocol, usize),
    sharings: &str,
    program: impl Fn(&mut Session) -> T + Send + Sync + 'static,
) -> Vec<(T, Vec<Vec<u8>>)> {
    let (exchange, program) = (Arc::<Exchange>::default(), Arc::new(program));
    let options = Options { sharings: sharings.parse().unwrap(), ..Options::default() };
    let threads: Vec<_> = (0..parties)
        .map(|me| {
            let (exchange, program, options) = (exchange.clone(), program.clone(), options.clone());
            std::thread::spawn(move || {
                let sent = Sent::default();
                let net = Recorded(exchange.link("", 0, (me, parties)), sent.clone());
                let of_branches = sent.clone();
                let connects: Arc<Connects> = Arc::new(move |name, number, _| {
                    Ok(Box::new(Recorded(exchange.link(name, number + 1, (me, parties)), of_branches.clone())))
                });
                let place = Place {
                    parties,
                    network: None,
                    me: Some(me),
                    seed: None,
                    check: false,
                    patience: None,
                    connects: Some(connects),
                    pool: None,
                    held: Held::default(),
                };
                let options = options.read_for(protocol).unwrap();
                let mut session = Session::start(protocol, place, vec![Box::new(net)], options).unwrap();
                let result = program(&mut session);
                session.close(false);
                let sent = std::mem::take(&mut *sent.lock().unwrap());
                (result, sent)
            })
        })
        .collect();
    threads.into_iter().map(|thread| thread.join().unwrap()).collect()
}

fn branch(session: &mut Session, name: &str) -> Result<Session, SessionError> {
    let asked = session.branch(name)?;
    session.branched(asked)?.open(Arc::new(AtomicBool::new(false)))
}

/// Builds an input of party 0.
fn given(session: &mut Session, values: &[i64]) -> NodeId {
    let parties = session.parties();
    let x = session.build(here(), |mut b| b.input(0, parties, &[values.len()], Dtype::INT64, None)).unwrap();
    session.provide(x, 0, &Data::Ints(values.to_vec())).unwrap();
    x
}

fn product(session: &mut Session, x: NodeId, by: &[i64]) -> Request {
    let y = given(session, by);
    let z = binary(session, BinaryOp::Mul, x, y);
    submit(session, z)
}

#[test]
fn branches_go_on_from_the_values_of_their_session_in_any_order() {
    for family in FAMILIES {
        let parties = deployed(family, |session| {
            let x = given(session, &[3; 20]);
            let square = binary(session, BinaryOp::Mul, x, x);
            let request = submit(session, square);
            assert_eq!(values(session, request).unwrap(), [9; 20]);
            let mut branches = ["a", "b"].map(|name| branch(session, name).unwrap());
            let mut order = [0, 1, 2];
            order.rotate_left(session.me().unwrap());
            let mut requests = [None, None, None];
            for i in order {
                // Each has its own steps behind those that it shares with the others.
                let (one, by) = (branches.get_mut(i).unwrap_or(session), [i as i64 + 2; 20]);
                let mut taken = one.adopt(square, None).unwrap_or(square);
                for _ in 0..i {
                    taken = one.build(here(), |mut b| b.binary(BinaryOp::Add, taken, Operand::int(&1))).unwrap();
                }
                requests[i] = Some(product(one, taken, &by));
            }
            let mut results = vec![];
            for (i, request) in requests.into_iter().enumerate() {
                let one = branches.get_mut(i).unwrap_or(session);
                results.push(values(one, request.unwrap()).unwrap());
            }
            branches.iter_mut().for_each(|branch| branch.close(false));
            results
        });
        for (results, _) in parties {
            assert_eq!(results, [vec![18; 20], vec![30; 20], vec![44; 20]], "{family:?}");
        }
    }
}

/// What is kept for a step by its number, such as its circuit, is no other program's.
#[test]
fn steps_of_one_number_are_others_in_each_branch() {
    let ops = [(BinaryOp::Lt, [0, 1]), (BinaryOp::Eq, [0, 1]), (BinaryOp::Lt, [1, 0])];
    let in_circuits = (FAMILIES[1], "Y"); // of which a graph remembers those of its steps
    for (family, sharings) in FAMILIES.map(|family| (family, "A")).into_iter().chain([in_circuits]) {
        let parties = deployed_in(family, sharings, move |session| {
            let both = [[1, 2, 3], [2, 2, 2]].map(|values| given(session, &values));
            let request = submit(session, both[0]);
            values(session, request).unwrap();
            let mut branches = ["a", "b"].map(|name| branch(session, name).unwrap());
            let mut bits = vec![];
            let mut built = None;
            for (i, (op, order)) in ops.into_iter().enumerate() {
                let one = branches.get_mut(i).unwrap_or(session);
                let z = binary(one, op, both[order[0]], both[order[1]]);
                assert_eq!(*built.get_or_insert(z), z, "the test compares steps of one number");
                let request = submit(one, z);
                bits.push(match one.finish(request).unwrap().pop().unwrap().unwrap() {
                    Data::Bools(ref bits) => bits.clone(),
                    _ => panic!("comparisons give bits"),
                });
            }
            branches.iter_mut().for_each(|branch| branch.close(false));
            bits
        });
        for (bits, _) in parties {
            let wanted = [[true, false, false], [false, true, false], [false, false, true]];
            assert_eq!(bits, wanted, "{family:?}");
        }
    }
}

#[test]
fn an_interrupt_ends_a_branch_and_nothing_else() {
    let parties = deployed(FAMILIES[1], |session| {
        let x = given(session, &[1; 20_000]);
        let request = submit(session, x);
        values(session, request).unwrap();
        let mut one = branch(session, "a").unwrap();
        let z = (0..2000).fold(x, |z, _| binary(&mut one, BinaryOp::Mul, z, x));
        let mut request = submit(&mut one, z);
        if one.me() == Some(0) {
            request.interrupt();
        }
        assert!(values(&mut one, request).is_err_and(|error| error.ends_branch()));
        let over = one.submit(&[(x, None)], false).map(drop);
        one.close(false);
        let request = product(session, x, &[2; 20_000]);
        (matches!(over, Err(SessionError::BranchOver)), values(session, request).unwrap()[0])
    });
    assert!(parties.into_iter().all(|(found, _)| found == (true, 2)));
}

/// A place that cannot be read from.
struct Gone;

impl Rows for Gone {
    fn read(&self, _: Range<usize>) -> Result<Data, String> {
        Err("it is gone".into())
    }
}

#[test]
fn a_failure_at_one_party_leaves_a_branch_as_it_leaves_a_session() {
    let parties = deployed(FAMILIES[0], |session| {
        let (x, parties) = (given(session, &[4; 3]), session.parties());
        let mut one = branch(session, "a").unwrap();
        let read = one.build(here(), |b| b.streamed(true).input(0, parties, &[3], Dtype::INT64, None)).unwrap();
        one.provide_rows(read, 0, Arc::new(Gone), Interval::point(0));
        let request = submit(&mut one, read);
        assert!(values(&mut one, request).is_err());
        let request = product(&mut one, x, &[2; 3]);
        let found = values(&mut one, request).unwrap();
        one.close(false);
        found
    });
    assert!(parties.into_iter().all(|(found, _)| found == [8; 3]));
}

#[test]
fn what_a_branch_has_from_its_session_stays_in_it() {
    let parties = deployed(FAMILIES[0], |session| {
        let x = given(session, &[1, 2, 3, 4, 5, 6, 7, 8]);
        let shuffled = session.build(here(), |mut b| b.shuffle(&[x])).unwrap();
        let mixed = session.build(here(), |mut b| b.part(shuffled, 0)).unwrap();
        let request = submit(session, mixed);
        let drawn = values(session, request).unwrap();
        let mut one = branch(session, "a").unwrap();
        let mut found = vec![];
        for _ in 0..4 {
            let mixed = one.adopt(mixed, None).unwrap();
            let request = product(&mut one, mixed, &[1; 8]);
            found.push(values(&mut one, request).unwrap());
            [mixed, shuffled].into_iter().for_each(|id| one.release(id)); // their last arrays
        }
        session.release(mixed);
        one.close(false);
        found.iter().all(|found| *found == drawn)
    });
    assert!(parties.into_iter().all(|(same, _)| same), "what was drawn was drawn again");
}

/// A request that nobody waits for is interrupted.
#[test]
fn a_request_that_is_dropped_ends_its_branch() {
    let parties = deployed(FAMILIES[1], |session| {
        let x = given(session, &[1; 20_000]);
        let request = submit(session, x);
        values(session, request).unwrap();
        let mut one = branch(session, "a").unwrap();
        let z = (0..2000).fold(x, |z, _| binary(&mut one, BinaryOp::Mul, z, x));
        drop(submit(&mut one, z));
        while one.is_busy() {
            std::thread::yield_now();
        }
        let asked = one.submit(&[(x, None)], false);
        let next = asked.and_then(|request| one.finish(request)).map(drop);
        one.close(false);
        next
    });
    for (next, _) in parties {
        assert!(matches!(next, Err(SessionError::BranchOver)), "{next:?}");
    }
}

#[test]
fn nothing_is_masked_twice_alike() {
    for family in FAMILIES {
        let parties = deployed(family, |session| {
            let x = given(session, &[3; 100]);
            let request = product(session, x, &[1; 100]);
            values(session, request).unwrap();
            let mut all = ["a", "b", "a"].map(|name| branch(session, name).unwrap());
            for one in all.iter_mut().chain([session]) {
                let request = product(one, x, &[1; 100]);
                assert_eq!(values(one, request).unwrap(), [3; 100]);
            }
            all.iter_mut().for_each(|branch| branch.close(false));
        });
        let mut sent: Vec<Vec<u8>> = parties.into_iter().flat_map(|(_, sent)| sent).collect();
        assert!(sent.len() >= 5, "{family:?}: {}", sent.len());
        let all = sent.len();
        sent.sort_unstable();
        sent.dedup();
        assert_eq!(sent.len(), all, "{family:?}: two runs sent the same bytes");
    }
}

#[test]
fn parties_that_ask_for_other_branches_say_so_and_go_on() {
    let parties = deployed(FAMILIES[1], |session| {
        let me = session.me().unwrap();
        let error = branch(session, ["a", "b"][me]).err().unwrap();
        let x = given(session, &[5]);
        let mut one = branch(session, "c").unwrap();
        let request = product(&mut one, x, &[7]);
        let found = values(&mut one, request).unwrap();
        one.close(false);
        (error, found)
    });
    for (me, ((error, found), _)) in parties.into_iter().enumerate() {
        let here = format!("the branch {:?}", ["a", "b"][me]);
        let other = Error::Mismatch(Mismatch::Request { peer: 1 - me, here: here.into() });
        assert!(matches!(&error, SessionError::Engine(error) if *error == other), "{error}");
        assert_eq!(found, [35]);
    }
}

#[test]
fn a_branch_that_one_party_gave_up_leaves_the_next_one_right() {
    let both = Arc::new(Barrier::new(2));
    let parties = deployed(FAMILIES[1], move |session| {
        let x = given(session, &[5]);
        let request = submit(session, x);
        values(session, request).unwrap();
        for _ in 0..20 {
            both.wait();
            let mut asked = session.branch("a").unwrap();
            if session.me() == Some(0) {
                asked.interrupt();
            }
            // It may have been too late at either party, which then has a branch that the other does not have.
            let _ = session.branched(asked);
        }
        let mut one = branch(session, "b").unwrap();
        let request = product(&mut one, x, &[7]);
        let found = values(&mut one, request).unwrap();
        one.close(false);
        found
    });
    assert!(parties.into_iter().all(|(found, _)| found == [35]));
}

#[test]
fn a_branch_adopts_what_was_computed_when_it_was_made() {
    let parties = deployed(FAMILIES[0], |session| {
        let x = given(session, &[1, 2, 3]);
        let shuffled = session.build(here(), |mut b| b.shuffle(&[x])).unwrap();
        let mixed = session.build(here(), |mut b| b.part(shuffled, 0)).unwrap();
        let mut one = branch(session, "a").unwrap();
        let late = binary(session, BinaryOp::Add, x, x);
        let sum = one.adopt(x, None).unwrap();
        let request = product(&mut one, sum, &[2; 3]);
        assert_eq!(values(&mut one, request).unwrap(), [2, 4, 6], "an input that no run has used");
        let refused = [mixed, late].map(|id| matches!(one.adopt(id, None), Err(SessionError::NotAdopted)));
        let nested = one.branch("b").map(drop);
        assert!(matches!(nested, Err(SessionError::NoBranches)));
        let request = submit(session, mixed);
        let drawn = values(session, request).unwrap();
        let mut two = branch(session, "a").unwrap();
        let taken = two.adopt(mixed, None).unwrap();
        let request = product(&mut two, taken, &[1; 3]);
        assert_eq!(values(&mut two, request).unwrap(), drawn, "what was drawn stays");
        [one, two].iter_mut().for_each(|branch| branch.close(false));
        refused
    });
    assert!(parties.into_iter().all(|(refused, _)| refused == [true, true]));
}

/// Whatever is drawn under the keys of the session is named by numbers, of which there is a limited amount.
#[test]
fn branches_and_their_requests_end_with_their_numbers() {
    let parties = deployed(FAMILIES[1], |session| {
        let x = given(session, &[2]);
        let mut one = branch(session, "a").unwrap();
        one.jobs = u64::from(BRANCH_RUNS / 2) - 1;
        let request = product(&mut one, x, &[3]);
        assert_eq!(values(&mut one, request).unwrap(), [6]);
        let worn = one.submit(&[(x, None)], false).map(drop);
        one.close(false);
        session.branches.next = BRANCHES as u32 - 1;
        let mut last = branch(session, "b").unwrap();
        let request = product(&mut last, x, &[5]);
        assert_eq!(values(&mut last, request).unwrap(), [10]);
        last.close(false);
        let most = branch(session, "c").map(drop);
        let request = product(session, x, &[7]);
        assert_eq!(values(session, request).unwrap(), [14]);
        (worn, most)
    });
    for ((worn, most), _) in parties {
        assert!(
            matches!(worn, Err(SessionError::WornOut)) && matches!(most, Err(SessionError::MostBranches)),
            "{most:?}"
        );
    }
}

#[test]
fn parties_that_may_cheat_have_no_branches() {
    for family in [(Protocol::Spdz2k, 2), (Protocol::PikaMalicious, 3)] {
        assert!(!family.0.may_branch());
    }
    let mut local = Session::local(super::start::LocalOptions {
        protocol: Protocol::Rss,
        parties: 3,
        network: None,
        insecure_seed: None,
        check: false,
        options: Options::default(),
    })
    .unwrap();
    assert!(matches!(local.branch("a").map(drop), Err(SessionError::NoBranches)), "its requests overlap anyway");
}
