//! Tests of small requests that are served beside other ones.

use std::time::Duration;

use quorate_crypto::Seed;
use quorate_engine::Error;
use quorate_graph::{BinaryOp, Division, Dtype, Give, Network};
use quorate_protocols::Protocol;

use super::requests_tests::{binary, here, input, long, submit, values};
use super::start::LocalOptions;
use super::*;
use crate::options::Options;

/// The families whose runs may overlap, with a number of parties.
const FAMILIES: [(Protocol, usize); 3] = [(Protocol::Rss, 3), (Protocol::Aby, 2), (Protocol::Pika, 3)];
/// More elements than a small request has.
const MANY: usize = 5_001;

fn local((protocol, parties): (Protocol, usize), rtt_ms: Option<f64>, options: Options) -> Session {
    let network = rtt_ms.map(|rtt| Network::new(rtt, 10_000.0).unwrap());
    Session::local(LocalOptions { protocol, parties, network, insecure_seed: None, check: false, options }).unwrap()
}

fn is_over(request: &mut Request) -> bool {
    request.wait(Duration::ZERO)
}

#[test]
fn a_small_request_ends_before_a_large_one_that_was_submitted_before() {
    for family in FAMILIES {
        let mut session = local(family, Some(40.0), Options::default());
        let x = input(&mut session, &vec![1; MANY]);
        let power = long(&mut session, x, 60); // at least 2.4 s
        let mut large = submit(&mut session, power);
        for i in 0..3 {
            let y = input(&mut session, &[i, -7]);
            let small = binary(&mut session, BinaryOp::Mul, y, y);
            let small = submit(&mut session, small);
            assert_eq!(values(&mut session, small).unwrap(), [i * i, 49], "{family:?}");
        }
        assert!(!is_over(&mut large), "{family:?}");
        assert_eq!(values(&mut session, large).unwrap(), vec![1; MANY], "{family:?}");
        let less = binary(&mut session, BinaryOp::Mul, power, power);
        let less = submit(&mut session, less);
        assert_eq!(values(&mut session, less).unwrap(), vec![1; MANY], "{family:?}");
    }
}

#[test]
fn requests_come_one_after_the_other_where_memory_is_limited_and_where_parties_may_cheat() {
    let limited = Options { max_memory: Some(1 << 30), ..Options::default() };
    for (family, options) in [(FAMILIES[0], limited), ((Protocol::PikaMalicious, 3), Options::default())] {
        let mut session = local(family, Some(20.0), options);
        let x = input(&mut session, &[1; 3]);
        let power = long(&mut session, x, 20);
        let mut first = submit(&mut session, power);
        let y = input(&mut session, &[5]);
        let second = submit(&mut session, y);
        assert_eq!(values(&mut session, second).unwrap(), [5]);
        assert!(is_over(&mut first), "{family:?}");
        assert_eq!(values(&mut session, first).unwrap(), [1; 3]);
    }
}

/// Few numbers may take much memory.
#[test]
fn a_request_that_takes_much_memory_waits_for_the_main_track() {
    let mut session = local(FAMILIES[1], Some(20.0), Options::default());
    let x = input(&mut session, &vec![1; MANY]);
    let power = long(&mut session, x, 60); // at least 1.2 s
    let mut large = submit(&mut session, power);
    let y = input(&mut session, &vec![-7; 1_000]);
    let division = Division { give: Give::Quotient, quotient_bits: None };
    let quotient = session.build(here(), |mut b| b.int_divide(division, y, y)).unwrap();
    let request = submit(&mut session, quotient);
    assert_eq!(values(&mut session, request).unwrap(), vec![1; 1_000]);
    assert!(is_over(&mut large));
    assert_eq!(values(&mut session, large).unwrap(), vec![1; MANY]);
}

/// An input goes to the parties with the first request after it, which may begin later than a request that needs it.
#[test]
fn inputs_are_there_for_a_request_that_overtakes_another_one() {
    let mut session = local(FAMILIES[0], Some(20.0), Options::default());
    let x = input(&mut session, &vec![1; MANY]);
    let (power, y) = (long(&mut session, x, 20), input(&mut session, &[3, 4]));
    let [first, second] = [0; 2].map(|_| submit(&mut session, power));
    let z = input(&mut session, &[5, 6]);
    let third = submit(&mut session, x);
    let sum = binary(&mut session, BinaryOp::Add, y, z);
    let mut small = submit(&mut session, sum);
    assert!(small.wait(Duration::from_millis(300)));
    assert_eq!(values(&mut session, small).unwrap(), [8, 10]);
    for request in [first, second, third] {
        assert_eq!(values(&mut session, request).unwrap(), vec![1; MANY]);
    }
}

/// What a request reveals stays until it has been served, even if the user releases it, and requests that were
/// submitted later have ended before.
#[test]
fn released_arrays_stay_for_requests_that_wait_for_them() {
    let mut session = local(FAMILIES[0], Some(20.0), Options::default());
    let x = input(&mut session, &vec![1; MANY]);
    let power = long(&mut session, x, 20);
    let first = submit(&mut session, power);
    let y = input(&mut session, &vec![2; MANY]);
    let square = binary(&mut session, BinaryOp::Mul, y, y);
    let second = submit(&mut session, square);
    [x, power, y, square].into_iter().for_each(|id| session.release(id));
    for i in 0..5 {
        let z = input(&mut session, &[i]);
        let small = submit(&mut session, z);
        assert_eq!(values(&mut session, small).unwrap(), [i]);
        session.release(z);
    }
    assert_eq!(values(&mut session, second).unwrap(), vec![4; MANY]);
    assert_eq!(values(&mut session, first).unwrap(), vec![1; MANY]);
}

/// An input whose values are refused leaves no trace; if another one was built since, it is released.
#[test]
fn inputs_whose_values_are_refused_do_not_stay() {
    let mut session = local(FAMILIES[0], None, Options::default());
    let parties = session.parties();
    let build =
        |session: &mut Session| session.build(here(), |mut b| b.input(0, parties, &[2], Dtype::INT64, None)).unwrap();
    let newest = build(&mut session);
    session.take_back(newest);
    assert_eq!(session.with_graph(|graph| graph.len()).unwrap(), newest.index());
    assert_eq!(session.dropped, []);
    let refused = build(&mut session);
    let x = input(&mut session, &[3, 4]);
    session.take_back(refused);
    assert_eq!(session.dropped, [refused]);
    let request = submit(&mut session, x);
    assert_eq!(values(&mut session, request).unwrap(), [3, 4]);
}

/// A long session forgets nodes, also while there is always a request under way.
#[test]
fn nodes_are_forgotten_while_requests_overlap() {
    let mut session = local(FAMILIES[0], None, Options::default());
    let x = input(&mut session, &[1, 1]);
    let model = long(&mut session, x, 3);
    let mut under_way = Vec::new();
    for round in 0..40 {
        let node = long(&mut session, x, 1_000);
        ((node.0 - 998)..node.0).for_each(|id| session.release(NodeId(id)));
        let sum = binary(&mut session, BinaryOp::Add, node, model);
        session.release(node);
        under_way.push((sum, submit(&mut session, sum)));
        if under_way.len() > 3 {
            let (node, request) = under_way.remove(0);
            assert_eq!(values(&mut session, request).unwrap(), [2, 2], "round {round}");
            session.release(node);
        }
    }
    for (_, request) in under_way {
        assert_eq!(values(&mut session, request).unwrap(), [2, 2]);
    }
    let (first, all) = session.with_graph(|graph| (graph.first(), graph.len())).unwrap();
    assert!(first > all - 26_000, "{first} of {all} forgotten");
}

/// A plan waits for the main track, and is made of the program for which it was asked.
#[test]
fn a_plan_leaves_out_what_came_after_it() {
    let mut session = local(FAMILIES[0], Some(20.0), Options::default());
    let x = input(&mut session, &vec![1; MANY]);
    let power = long(&mut session, x, 30);
    let large = submit(&mut session, power);
    let planning = session.ask_plan(&[(power, None)], &[], None).unwrap();
    let y = input(&mut session, &[3, 4]);
    let z = binary(&mut session, BinaryOp::Mul, y, y);
    binary(&mut session, BinaryOp::Mul, z, z);
    let small = submit(&mut session, z);
    assert_eq!(values(&mut session, small).unwrap(), [9, 16]);
    values(&mut session, large).unwrap();
    planning.wait(&mut &mut session).unwrap();
}

/// A session that waits the second time that it is used.
struct Slow<'s>(&'s mut Session, usize);

impl Access<Session> for Slow<'_> {
    fn with<T>(&mut self, with: impl FnOnce(&mut Session) -> T) -> Result<T, SessionError> {
        self.1 += 1;
        if self.1 == 2 {
            std::thread::sleep(Duration::from_millis(1500));
        }
        Ok(with(self.0))
    }

    fn goes_on(&mut self) -> bool {
        true
    }
}

/// While a check looks for values to see, another request ends, after which only the check needs y.
#[test]
fn a_check_sees_values_that_another_request_has_let_go() {
    let (protocol, parties) = FAMILIES[0];
    let (network, options) = (Network::new(40.0, 10_000.0).ok(), Options::default());
    let mut session =
        Session::local(LocalOptions { protocol, parties, network, insecure_seed: None, check: true, options }).unwrap();
    let x = session.build(here(), |mut b| b.input(0, parties, &[2], Dtype::INT64, None)).unwrap();
    session.provide(x, 0, &Data::Ints(vec![3, 4])).unwrap();
    let y = binary(&mut session, BinaryOp::Mul, x, x);
    let first = submit(&mut session, y);
    values(&mut session, first).unwrap();
    let z = binary(&mut session, BinaryOp::Mul, y, y);
    [x, y].into_iter().for_each(|id| session.release(id));
    let second = submit(&mut session, z);
    let runs = session.stats().runs;
    check(&mut Slow(&mut session, 0), &[(z, None)]).unwrap();
    assert_eq!(session.stats().runs, runs);
    assert_eq!(values(&mut session, second).unwrap(), [81, 256]);
}

/// A shuffle that was seen is not drawn again, whoever reveals it, and whatever was released meanwhile.
#[test]
fn a_shuffle_is_drawn_once_for_all_requests_that_see_it() {
    for family in FAMILIES {
        for round in 0..10 {
            let mut session = local(family, (round % 2 == 0).then_some(2.0), Options::default());
            let numbers: Vec<i64> = (0..40).collect();
            let x = input(&mut session, &numbers);
            let all = session.build(here(), |mut b| b.shuffle(&[x])).unwrap();
            let y = session.build(here(), |mut b| b.part(all, 0)).unwrap();
            let z = binary(&mut session, BinaryOp::Add, y, x);
            [x, all].into_iter().for_each(|id| session.release(id));
            let requests = [y, z, y, z].map(|node| submit(&mut session, node));
            session.release(y);
            let mut stopped = submit(&mut session, z);
            stopped.interrupt();
            drop(stopped);
            let last = submit(&mut session, z);
            let seen: Vec<Vec<i64>> =
                requests.into_iter().chain([last]).map(|request| values(&mut session, request).unwrap()).collect();
            let sums: Vec<i64> = seen[0].iter().zip(&numbers).map(|(y, x)| y + x).collect();
            assert_eq!(seen, [&seen[0], &sums, &seen[0], &sums, &sums].map(Clone::clone), "{family:?}");
        }
    }
}

/// Random programs whose requests overlap, depend on each other, are interrupted, and whose arrays are released.
#[test]
fn programs_of_overlapping_requests_give_right_values() {
    for family in FAMILIES {
        for seed in 0..12 {
            random_program(family, seed);
        }
    }
}

fn random_program(family: (Protocol, usize), seed: u8) {
    let mut coins = Seed::from_bytes([seed; 32]).prg("quorate/tests/beside", b"");
    let mut below = |most: usize| {
        let mut bytes = [0; 4];
        coins.fill(&mut bytes);
        u32::from_le_bytes(bytes) as usize % most
    };
    let mut session = local(family, (below(2) == 0).then_some(1.0), Options::default());
    // Arrays with their values, and requests with what they reveal and whether they were interrupted.
    let mut arrays: Vec<(NodeId, Vec<i64>)> = Vec::new();
    let mut requests: Vec<(Request, Vec<i64>, bool)> = Vec::new();
    for step in 0..60 {
        if arrays.len() < 2 || below(5) == 0 {
            let given: Vec<i64> = (0..2).map(|_| below(5) as i64 - 2).collect();
            arrays.push((input(&mut session, &given), given));
            continue;
        }
        let [(x, a), (y, b)] = [0; 2].map(|_| arrays[below(arrays.len())].clone());
        if a.iter().chain(&b).any(|value| value.abs() > 30) {
            arrays.retain(|(id, _)| *id != x); // products of large numbers overflow
            continue;
        }
        let (op, of): (BinaryOp, fn(i64, i64) -> i64) = match below(3) {
            0 => (BinaryOp::Mul, |a, b| a * b),
            1 => (BinaryOp::Add, |a, b| a + b),
            _ => (BinaryOp::Sub, |a, b| a - b),
        };
        let (z, c) = (binary(&mut session, op, x, y), a.iter().zip(&b).map(|(&a, &b)| of(a, b)).collect());
        arrays.push((z, c));
        if below(2) == 0 {
            let (node, expected) = arrays[below(arrays.len())].clone();
            let mut request = submit(&mut session, node);
            let interrupted = below(8) == 0;
            if interrupted {
                std::thread::sleep(Duration::from_micros(below(3000) as u64));
                request.interrupt();
            }
            requests.push((request, expected, interrupted));
        }
        if below(6) == 0 {
            let (released, _) = arrays.swap_remove(below(arrays.len()));
            session.release(released);
        }
        while requests.len() > 6 || !requests.is_empty() && below(4) == 0 {
            let (request, expected, interrupted) = requests.swap_remove(below(requests.len()));
            match values(&mut session, request) {
                Ok(values) => assert_eq!(values, expected, "{family:?}, program {seed}, step {step}"),
                Err(SessionError::Engine(Error::Interrupted)) if interrupted => {}
                Err(ref error) => panic!("{family:?}, program {seed}, step {step}: {error}"),
            }
        }
    }
    for (request, expected, interrupted) in requests {
        match values(&mut session, request) {
            Ok(values) => assert_eq!(values, expected, "{family:?}, program {seed}"),
            Err(SessionError::Engine(Error::Interrupted)) if interrupted => {}
            Err(ref error) => panic!("{family:?}, program {seed}: {error}"),
        }
    }
}
