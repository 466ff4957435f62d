//! Tests of the mark that results of what clients gave are looked at.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use quorate_graph::{BinaryOp, Column, Dtype, Given, Meaning, Submission};

use super::start::LocalOptions;
use super::*;
use crate::options::Options;

/// Records the marks, and refuses them at one party.
#[derive(Default)]
struct Marks {
    made: Mutex<BTreeSet<(usize, bool)>>,
    refuses: Option<usize>,
}

impl Seen for Marks {
    fn mark(&self, party: usize, again: bool) -> Result<(), String> {
        self.made.lock().unwrap().insert((party, again));
        if self.refuses == Some(party) {
            return Err("the disk is full".into());
        }
        Ok(())
    }
}

fn session(protocol: Protocol, parties: usize) -> Session {
    let options = Options::default();
    let options = LocalOptions { protocol, parties, network: None, insecure_seed: None, check: false, options };
    Session::local(options).unwrap()
}

fn at(line: u32) -> Source {
    Source::new("seen.py", line)
}

/// Adds what a client gave, 2 elements with the value 40, and an input of party 1; returns both and their sum.
fn program(session: &mut Session) -> [NodeId; 3] {
    let parties = session.parties();
    let part = |session: &mut Session, owner, value| {
        let part = session.build(at(1), |mut b| b.input(owner, parties, &[2], Dtype::Uint { bits: 64 }, None)).unwrap();
        session.provide(part, owner, &Data::Uints(vec![value; 2])).unwrap();
        part
    };
    let parts = [part(session, 0, u64::MAX - 1), part(session, 1, 42)];
    let column = Column { name: "salary".into(), meaning: Meaning::Numbers };
    let given = Given::ByClients { campaign: "wages".into(), hash: [1; 32] };
    let from = Submission { given, column };
    let given = session.build(at(2), |mut b| b.submitted(&parts, Dtype::INT64, from)).unwrap();
    let own = session.build(at(3), |mut b| b.input(1, parties, &[2], Dtype::INT64, None)).unwrap();
    session.provide(own, 1, &Data::Ints(vec![1, 2])).unwrap();
    let sum = session.build(at(4), |mut b| b.binary(BinaryOp::Add, given, own)).unwrap();
    [given, own, sum]
}

const FAMILIES: [(Protocol, usize); 6] = [
    (Protocol::Rss, 3),
    (Protocol::Aby, 2),
    (Protocol::Pika, 3),
    (Protocol::PikaMalicious, 3),
    (Protocol::Spdz2k, 2),
    (Protocol::Spdz2k, 3),
];

/// A result that goes to one party, too, is marked at all of them. Results of which clients have no part are not.
#[test]
fn each_party_marks_results_of_what_clients_gave() {
    for (protocol, parties) in FAMILIES {
        let mut session = session(protocol, parties);
        let [given, own, sum] = program(&mut session);
        let [marks, others] = [0, 1].map(|_| Arc::new(Marks::default()));
        session.read_campaign(marks.clone(), BTreeSet::new());
        session.read_campaign(others.clone(), BTreeSet::new());
        let shown = session.run(&[(own, None)]).unwrap().finish().unwrap();
        assert!(shown[0] == Some(Data::Ints(vec![1, 2])) && marks.made.lock().unwrap().is_empty(), "{protocol:?}");
        session.exempt(given);
        session.run(&[(given, None)]).unwrap().finish().unwrap();
        assert!(marks.made.lock().unwrap().is_empty(), "{protocol:?}: bits about bounds are no look");
        let shown = session.run(&[(sum, Some(1))]).unwrap().finish().unwrap();
        assert!(shown[0] == Some(Data::Ints(vec![41, 42])), "{protocol:?}");
        for marks in [marks, others] {
            assert_eq!(*marks.made.lock().unwrap(), (0..parties).map(|party| (party, false)).collect(), "{protocol:?}");
        }
    }
}

/// A party that cannot keep the mark sends nothing of the result, and says why.
#[test]
fn nothing_is_shown_where_a_mark_fails() {
    for (protocol, parties) in FAMILIES {
        let mut session = session(protocol, parties);
        let [given, ..] = program(&mut session);
        session.read_campaign(Arc::new(Marks { refuses: Some(1), ..Marks::default() }), BTreeSet::new());
        let error = session.run(&[(given, None)]).unwrap().finish().err().unwrap().to_string();
        assert!(error.contains("the disk is full"), "{protocol:?}: {error}");
    }
}

/// A campaign that names its program lets no other run reveal what clients gave, before anything is sent.
#[test]
fn results_are_those_of_the_program_that_the_campaign_names() {
    let (mut session, marks) = (session(Protocol::Rss, 3), Arc::new(Marks::default()));
    let [given, own, sum] = program(&mut session);
    let named = session.plan(&[(sum, None)], &[], None).unwrap().hash.unwrap();
    session.read_campaign(marks.clone(), BTreeSet::from([named]));
    for reveals in [vec![(given, None)], vec![(sum, Some(0))], vec![(sum, None), (own, None)]] {
        let error = session.run(&reveals).err().unwrap();
        assert!(matches!(error, SessionError::OtherProgram { .. }), "{error}");
    }
    assert!(marks.made.lock().unwrap().is_empty());
    let shown = session.run(&[(sum, None)]).unwrap().finish().unwrap();
    assert!(shown[0] == Some(Data::Ints(vec![41, 42])));
}

/// A run that draws at random and fails after the first mark would show another result when it is repeated: that is
/// another look. A run that draws nothing shows the same one, and a run that has ended well draws no more.
#[test]
fn a_failed_run_that_draws_is_a_look_of_its_own() {
    let mut session = session(Protocol::Rss, 3);
    let [given, ..] = program(&mut session);
    let marks = Arc::new(Marks { refuses: Some(1), ..Marks::default() });
    session.read_campaign(marks.clone(), BTreeSet::new());
    let again = |marks: &Marks| marks.made.lock().unwrap().iter().any(|&(_, again)| again);
    let fails = |session: &mut Session, node| session.run(&[(node, None)]).unwrap().finish().is_err();
    assert!(fails(&mut session, given) && fails(&mut session, given) && !again(&marks), "a sum is the same sum");
    let mixed = session.build(at(5), |mut b| b.shuffle(&[given])).unwrap();
    let mixed = session.build(at(5), |mut b| b.part(mixed, 0)).unwrap();
    assert!(fails(&mut session, mixed) && !again(&marks));
    assert!(fails(&mut session, mixed) && again(&marks), "another order would be shown");
    let other = Arc::new(Marks::default());
    let mut session = self::session(Protocol::Rss, 3);
    let [given, ..] = program(&mut session);
    session.read_campaign(other.clone(), BTreeSet::new());
    for _ in 0..2 {
        let mixed = session.build(at(5), |mut b| b.shuffle(&[given])).unwrap();
        let mixed = session.build(at(5), |mut b| b.part(mixed, 0)).unwrap();
        session.run(&[(mixed, None)]).unwrap().finish().unwrap();
    }
    assert!(!again(&other), "runs that end well are one look");
}

/// An empty array shows nothing.
#[test]
fn nothing_of_an_array_is_no_look() {
    let mut session = session(Protocol::Aby, 2);
    let [given, ..] = program(&mut session);
    let marks = Arc::new(Marks::default());
    session.read_campaign(marks.clone(), BTreeSet::new());
    let none = session.build(at(6), |mut b| b.gather(given, vec![], &[0])).unwrap();
    session.run(&[(none, None)]).unwrap().finish().unwrap();
    assert!(marks.made.lock().unwrap().is_empty());
}
