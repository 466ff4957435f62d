//! Tests that a shown value stays the same: after an interrupt at any message, no two results of the same random step
//! are shown.

use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::time::Duration;

use quorate_graph::{BinaryOp, Dtype, NodeId, Source, Truncation};
use quorate_net::Net;
use quorate_protocols::Protocol;

use crate::error::SessionError;
use crate::options::Options;
use crate::session::Session;
use crate::session::held_links_tests::{Came, Delay, Office, mesh};
use crate::session::start::{Held, Place};
use crate::session::tests::dealt;
use crate::work::data::Data;

/// A test that takes longer counts as hung.
const LIMIT: Duration = Duration::from_secs(300);
const ROWS: i64 = 8;
/// The last two rounds and the confirmation; in each of them a peer sends at most one message.
const LAST_ROUNDS: usize = 3;

/// One party of a program whose steps begin and end at the same time at all parties.
struct Seat {
    session: Session,
    me: usize,
    office: Arc<Office>,
    all: Arc<Barrier>,
}

/// The value that a party was shown in a step, or the reason why it was shown none.
type Shown = Result<Option<Vec<i64>>, SessionError>;

/// The result of a program at one party.
#[derive(Default)]
struct Log {
    /// All values of one random step that it was shown, for every round of the program.
    shown: Vec<Vec<Vec<i64>>>,
    interrupts: usize,
    /// Errors that no interrupt explains.
    faults: Vec<String>,
}

impl Seat {
    /// Runs one step of all parties; returns its value and its events.
    fn step(&mut self, delay: Option<Delay>, node: NodeId, to: Option<usize>) -> (Shown, Came) {
        self.all.wait();
        if self.me == 0 {
            self.office.delay(delay);
        }
        self.office.rest(self.me, false);
        self.all.wait();
        let shown = self.session.run_in_units(&[(node, to)]).and_then(|running| running.finish());
        self.office.rest(self.me, true);
        self.all.wait();
        let one = |values: Vec<Option<Data>>| values.into_iter().next().flatten().map(numbers);
        (shown.map(one), self.office.came())
    }

    /// Runs a step and logs it; returns the number of messages that came through, where none was held back.
    fn see(&mut self, log: &mut Log, delay: Option<Delay>, node: NodeId, to: Option<usize>) -> Option<usize> {
        let (shown, Came { passed, stopped }) = self.step(delay, node, to);
        match shown {
            Ok(values) => log.shown.last_mut().unwrap().extend(values),
            Err(SessionError::Engine(error)) if stopped && !error.is_final() => log.interrupts += 1,
            Err(error) => log.faults.push(format!("party {}, {delay:?}: {error}", self.me)),
        }
        passed
    }

    fn input(&mut self, data: &Data, dtype: Dtype) -> NodeId {
        let parties = self.session.parties();
        let x = self.session.build(here(), |mut b| b.input(0, parties, &[data.len()], dtype, None)).unwrap();
        self.session.provide(x, 0, data).unwrap();
        x
    }

    /// Builds rows in one random order, twice.
    fn shuffled(&mut self, x: NodeId) -> [NodeId; 2] {
        let mut whole = None;
        let mut part = |b: &mut quorate_graph::Builder<'_>, index| {
            let shuffle = whole.map_or_else(|| b.shuffle(&[x, x]), Ok)?;
            whole = Some(shuffle);
            b.part(shuffle, index)
        };
        [0, 1].map(|index| self.session.build(here(), |mut b| part(&mut b, index)).unwrap())
    }
}

fn here() -> Source {
    Source::new("shown_values_tests.rs", 1)
}

fn numbers(data: Data) -> Vec<i64> {
    match data {
        Data::Ints(ref v) => v.clone(),
        ref other => panic!("{} numbers that are not integers", other.len()),
    }
}

/// Returns every protocol with the smallest `numbers` of the numbers of parties that it is tested with.
fn places(numbers: usize) -> impl Iterator<Item = (Protocol, usize)> {
    let of = move |protocol: Protocol| protocol.descriptor().parties.usual.iter().take(numbers);
    Protocol::ALL.iter().flat_map(move |&protocol| of(protocol).map(move |&parties| (protocol, parties)))
}

/// Runs `program` as every party, over links that hold messages back as each step's [`Delay`] says.
fn among((protocol, parties): (Protocol, usize), program: fn(&mut Seat, &mut Log)) -> Vec<Log> {
    let options = dealt(protocol).read_for(protocol).unwrap();
    let options = Options { truncation: Truncation::Probabilistic, sharings: "A".parse().unwrap(), ..options };
    let (office, nets) = mesh(parties);
    let all = Arc::new(Barrier::new(parties));
    let (done, logs) = channel();
    for (me, net) in nets.into_iter().enumerate() {
        let (office, all, options, done) = (office.clone(), all.clone(), options.clone(), done.clone());
        std::thread::spawn(move || {
            let place = Place {
                parties,
                network: None,
                me: Some(me),
                seed: None,
                check: false,
                patience: None,
                connects: None,
                pool: None,
                held: Held::default(),
            };
            let net: Box<dyn Net> = Box::new(net);
            let session = Session::start(protocol, place, vec![net], options).unwrap();
            let (mut seat, mut log) = (Seat { session, me, office, all }, Log::default());
            program(&mut seat, &mut log);
            seat.session.close(false);
            done.send(log).unwrap();
        });
    }
    drop(done);
    (0..parties).map(|_| logs.recv_timeout(LIMIT).expect("a party hangs, or its thread panicked")).collect()
}

/// Checks that every party was shown the same value of each random step, each time, and that many runs were
/// interrupted.
fn check((protocol, parties): (Protocol, usize), program: fn(&mut Seat, &mut Log)) {
    let logs = among((protocol, parties), program);
    let faults: Vec<&String> = logs.iter().flat_map(|log| &log.faults).collect();
    assert!(faults.is_empty(), "{faults:#?}");
    let rounds = logs[0].shown.len();
    let interrupts: usize = logs.iter().map(|log| log.interrupts).sum();
    assert!(rounds >= 10 && 2 * interrupts >= rounds, "{interrupts} interrupts in {rounds} rounds");
    for round in 0..rounds {
        let mut shown: Vec<&Vec<i64>> = logs.iter().flat_map(|log| &log.shown[round]).collect();
        assert!(shown.len() >= parties, "round {round}: nobody was shown anything");
        shown.dedup();
        assert_eq!(
            shown.len(),
            1,
            "round {round} of {rounds}, {protocol:?}, {parties} parties: more than one draw was seen"
        );
    }
}

/// Runs `step` once for each delay and interrupt. It holds back the messages to each party in turn, of one peer or of
/// all, and interrupts that party or another one. It does so at every message of the last two rounds and of the
/// confirmation after them. `step` runs the program and then asks for its values; it returns the number of messages
/// that came through in the run, where none was held back.
fn everywhere(seat: &mut Seat, mut step: impl FnMut(&mut Seat, Delay) -> Option<usize>) {
    let parties = seat.session.parties();
    for to in 0..parties {
        let next = (to + 1) % parties;
        for (from, stop) in [(None, to), (None, next), (Some(next), to), (Some(next), next)] {
            let mut at = |after| step(seat, Delay { to, from, after, stop });
            let all = at(usize::MAX).expect("nothing is held back");
            let last = if from.is_some() { LAST_ROUNDS } else { LAST_ROUNDS * (parties - 1) };
            (all.saturating_sub(last)..).find(|&after| at(after).is_some());
        }
    }
}

/// Runs `y, late = shuffle(x, x)`: rows of both belong together.
fn rows(seat: &mut Seat, log: &mut Log) {
    let x = seat.input(&Data::Ints((0..ROWS).collect()), Dtype::INT64);
    everywhere(seat, |seat, delay| {
        let [y, late] = seat.shuffled(x);
        log.shown.push(Vec::new());
        let held = seat.see(log, Some(delay), y, None);
        seat.see(log, None, late, None);
        seat.see(log, None, y, None);
        held
    });
}

/// A party that was shown `y` releases it; the others still hold it.
fn dropped(seat: &mut Seat, log: &mut Log) {
    let x = seat.input(&Data::Ints((0..ROWS).collect()), Dtype::INT64);
    everywhere(seat, |seat, delay| {
        let [y, late] = seat.shuffled(x);
        log.shown.push(Vec::new());
        let (to, before) = (Some(delay.stop).filter(|_| delay.after % 2 == 0), log.interrupts);
        let held = seat.see(log, Some(delay), y, to);
        if log.interrupts == before {
            seat.session.release(y);
        }
        seat.see(log, Some(Delay { from: None, ..delay }), late, None);
        seat.see(log, None, late, None);
        seat.session.release(late);
        held
    });
}

/// Reveals `shuffle(x)[:1]` several times: it is the same record each time.
fn one_record(seat: &mut Seat, log: &mut Log) {
    let x = seat.input(&Data::Ints((0..ROWS).collect()), Dtype::INT64);
    everywhere(seat, |seat, delay| {
        let [y, _] = seat.shuffled(x);
        let first = seat.session.build(here(), |mut b| b.gather(y, vec![0], &[1])).unwrap();
        log.shown.push(Vec::new());
        let held = seat.see(log, Some(delay), first, None);
        seat.see(log, Some(Delay { after: delay.after.saturating_add(1), ..delay }), first, None);
        seat.see(log, Some(delay), first, None);
        seat.see(log, None, first, None);
        held
    });
}

/// A product that is truncated probabilistically is rounded once.
fn roundings(seat: &mut Seat, log: &mut Log) {
    let x = seat.input(&Data::Reals((0..24).map(|i| f64::from(i) / 3.0).collect()), Dtype::FIXED64);
    everywhere(seat, |seat, delay| {
        let product = seat.session.build(here(), |mut b| b.binary(BinaryOp::Mul, x, x)).unwrap();
        log.shown.push(Vec::new());
        let held = seat.see(log, Some(delay), product, None);
        seat.see(log, None, product, None);
        held
    });
}

#[test]
fn rows_that_were_shuffled_together_stay_together() {
    places(2).for_each(|place| check(place, rows));
}

#[test]
fn whoever_lets_go_of_what_it_saw_sees_rows_that_belong_to_it() {
    places(1).for_each(|place| check(place, dropped));
}

#[test]
fn one_random_record_is_one_record_however_often_it_is_asked_for() {
    places(1).for_each(|place| check(place, one_record));
}

#[test]
fn a_product_is_rounded_once() {
    places(1).for_each(|place| check(place, roundings));
}
