//! Tests of sessions as their users see them, without Python: programs that run, runs that are stopped, inputs that are
//! refused.

use std::time::Duration;

use quorate_engine::Phase;
use quorate_graph::{BinaryOp, Bound, Dtype, Fault, Network, NodeId, Source};
use quorate_session::{Data, LocalOptions, Options, Protocol, Session, SessionError};

fn local(parties: usize, network: Option<Network>) -> Session {
    Session::local(LocalOptions {
        protocol: Protocol::Rss,
        parties,
        network,
        insecure_seed: None,
        check: false,
        options: Options::default(),
    })
    .unwrap()
}

fn here(line: u32) -> Source {
    Source::new("sessions.rs", line)
}

fn input(session: &mut Session, owner: usize, values: &[i64]) -> Result<NodeId, SessionError> {
    let parties = session.parties();
    let dtype = Dtype::int(16).unwrap();
    let id = session.build(here(1), |mut b| b.input(owner, parties, &[values.len()], dtype, Some(Bound::Int(100))))?;
    session.provide(id, owner, &Data::Ints(values.to_vec()))?;
    Ok(id)
}

fn product(session: &mut Session, x: NodeId, y: NodeId) -> NodeId {
    session.build(here(2), |mut b| b.binary(BinaryOp::Mul, x, y)).unwrap()
}

fn reveal(session: &mut Session, node: NodeId) -> Result<Vec<i64>, SessionError> {
    let values = session.run(&[(node, None)])?.finish()?;
    match values.into_iter().next().flatten() {
        Some(Data::Ints(ref v)) => Ok(v.clone()),
        _ => panic!("a reveal to all gives integers"),
    }
}

#[test]
fn programs_run_among_three_five_and_seven() {
    for parties in [3, 5, 7] {
        let mut session = local(parties, None);
        let x = input(&mut session, 0, &[3, -5, 7]).unwrap();
        let y = input(&mut session, parties - 1, &[2, 9, -7]).unwrap();
        let z = product(&mut session, x, y);
        assert_eq!(reveal(&mut session, z).unwrap(), [6, -45, -49]);
        assert_eq!(session.stats().parties.len(), parties);
    }
}

#[test]
fn programs_run_between_two() {
    let options = |parties| LocalOptions {
        protocol: Protocol::Aby,
        parties,
        network: None,
        insecure_seed: None,
        check: false,
        options: Options::default(),
    };
    let mut session = Session::local(options(2)).unwrap();
    let x = input(&mut session, 0, &[3, -5, 7]).unwrap();
    let y = input(&mut session, 1, &[2, 9, -7]).unwrap();
    let z = product(&mut session, x, y);
    assert_eq!(reveal(&mut session, z).unwrap(), [6, -45, -49]);
    assert_eq!(session.stats().parties.len(), 2);
    let refused = Session::local(options(3)).err().map(|error| error.to_string());
    assert_eq!(refused.as_deref(), Some("`aby` runs with 2 parties, not 3"));
}

#[test]
fn a_refused_input_leaves_the_program_as_it_was() {
    let mut session = local(3, None);
    let x = input(&mut session, 0, &[1, 2]).unwrap();
    let before = session.with_graph(|graph| graph.hashes().to_vec()).unwrap();
    let refused = input(&mut session, 0, &[1, 101]);
    assert!(matches!(refused, Err(SessionError::Build(e)) if matches!(*e.fault, Fault::OutOfBound { .. })));
    assert_eq!(session.with_graph(|graph| graph.hashes().to_vec()).unwrap(), before);
    assert_eq!(reveal(&mut session, x).unwrap(), [1, 2]);
}

#[test]
fn a_run_that_nobody_waits_for_is_stopped_and_its_replies_are_its_own() {
    let mut session = local(3, Some(Network::new(400.0, 1000.0).unwrap()));
    let x = input(&mut session, 0, &[1, 2, 3]).unwrap();
    let y = product(&mut session, x, x);
    {
        let mut running = session.run(&[(x, None), (y, None)]).unwrap();
        assert!(!running.wait(Duration::from_millis(50)));
    }
    let z = product(&mut session, y, x);
    assert_eq!(reveal(&mut session, z).unwrap(), [1, 8, 27]);
}

/// Returns options that select the real offline phase, whatever the environment asks for.
fn protocols_make_correlations() -> Options {
    let offline = cfg!(feature = "testing").then(|| ("offline".into(), "protocol".into()));
    Options { family: offline.into_iter().collect(), ..Options::default() }
}

/// Coins are tossed while correlations are made. A run that is stopped after a toss ends the keys, and a second request
/// fails with that error. Otherwise a cheater could stop runs until the coins, or the order of shuffled rows, are to
/// its advantage.
#[test]
fn a_session_of_cheaters_ends_with_a_run_that_is_stopped_once_coins_were_tossed() {
    for stopped_in in [Phase::Offline, Phase::Online] {
        let mut session = Session::local(LocalOptions {
            protocol: Protocol::Spdz2k,
            parties: 2,
            network: Some(Network::new(40.0, 1000.0).unwrap()),
            insecure_seed: None,
            check: false,
            options: protocols_make_correlations(),
        })
        .unwrap();
        assert!(session.security().contains("malicious"), "{}", session.security());
        let x = input(&mut session, 0, &[1, 2, 3]).unwrap();
        let z = input(&mut session, 1, &[1, 1, 2]).unwrap();
        // Secret values with enough rounds that the run is not over before it is stopped.
        let first = product(&mut session, x, z);
        let y = (0..40).fold(first, |y, _| product(&mut session, y, x));
        {
            let mut running = session.run(&[(y, None)]).unwrap();
            // Enough rounds for a toss.
            let tossed = Duration::from_millis(if stopped_in == Phase::Offline { 600 } else { 5 });
            while !running.wait(tossed) && running.progress().is_none_or(|(phase, _)| phase != stopped_in) {}
            // The phase is that of the first party: after some rounds, the others are in it, too.
            let some_rounds = if stopped_in == Phase::Offline { Duration::ZERO } else { Duration::from_millis(200) };
            assert!(!running.wait(some_rounds), "it was stopped in the {stopped_in} phase");
        }
        for _ in 0..2 {
            let refused = reveal(&mut session, y).unwrap_err().to_string();
            let says = |what: &str| refused.contains(what);
            assert!(says("this session can no longer be used") && says("Open a new one"), "{stopped_in}: {refused}");
        }
    }
}

/// Returns a session of three parties, any one of which may cheat, the dealer included.
fn malicious(network: Option<Network>) -> Session {
    let family = [("malicious".into(), "yes".into())];
    let options = Options { family: family.into(), ..Options::default() };
    let options =
        LocalOptions { protocol: Protocol::Pika, parties: 3, network, insecure_seed: None, check: false, options };
    Session::local(options).unwrap()
}

#[test]
fn a_family_runs_in_the_form_that_is_chosen() {
    let mut session = malicious(None);
    assert!(session.security().starts_with("malicious"), "{}", session.security());
    assert_eq!(session.protocol().name(), Protocol::Pika.name());
    let inputs = [[3, -5, 7], [2, 9, -7], [1, -1, 4]];
    let [x, y, z] = [0, 1, 2].map(|owner| input(&mut session, owner, &inputs[owner]).unwrap());
    let product = product(&mut session, x, y);
    let less = session.build(here(3), |mut b| b.binary(BinaryOp::Lt, product, z)).unwrap();
    let chosen = session.build(here(4), |mut b| b.select(less, product, z)).unwrap();
    for to in [None, Some(0), Some(1), Some(2)] {
        let values = session.run(&[(chosen, to)]).unwrap().finish().unwrap();
        assert!(matches!(&values[..], [Some(Data::Ints(v))] if v[..] == [1, -45, -49]), "{to:?}");
    }
    // The results of a request exist for the next one.
    assert_eq!(reveal(&mut session, product).unwrap(), [6, -45, -49]);
}

#[test]
fn a_session_of_a_dealer_that_may_cheat_ends_with_a_run_that_is_stopped() {
    let mut session = malicious(Some(Network::new(40.0, 1000.0).unwrap()));
    let [x, z] = [0, 2].map(|owner| input(&mut session, owner, &[1, 2, 3]).unwrap());
    let first = product(&mut session, x, z);
    let y = (0..12).fold(first, |y, _| product(&mut session, y, x));
    {
        let mut running = session.run(&[(y, None)]).unwrap();
        while !running.wait(Duration::from_millis(5))
            && running.progress().is_none_or(|(phase, _)| phase != Phase::Online)
        {}
        assert!(!running.wait(Duration::ZERO), "it was stopped online");
    }
    let refused = reveal(&mut session, y).unwrap_err().to_string();
    assert!(refused.contains("this session can no longer be used"), "{refused}");
}

#[test]
fn every_party_can_be_the_receiver() {
    let mut session = local(3, None);
    let x = input(&mut session, 1, &[4]).unwrap();
    for to in 0..3 {
        let values = session.run(&[(x, Some(to))]).unwrap().finish().unwrap();
        assert!(matches!(&values[..], [Some(Data::Ints(v))] if v[..] == [4]));
    }
    let nobody = session.run(&[(x, Some(3))]).err().map(|e| e.to_string());
    assert_eq!(nobody.as_deref(), Some("party 3 does not exist: this session has 3"));
}

#[test]
fn a_closed_session_says_so() {
    let mut session = local(3, None);
    let x = input(&mut session, 0, &[1]).unwrap();
    session.close(false);
    assert!(matches!(reveal(&mut session, x), Err(SessionError::Closed)));
    assert!(matches!(input(&mut session, 0, &[1]), Err(SessionError::Closed)));
    assert!(matches!(session.plan(&[(x, None)], &[], None), Err(SessionError::Closed)));
    session.close(true);
}
