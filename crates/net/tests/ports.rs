//! Sessions of several names at the ports of the same parties, in one process and in several.

use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use crate::common::child::{END, Process};
use crate::common::proxy::Proxy;
use crate::common::{Keys, SOON, config, failure, free_addresses, receive};
use quorate_net::tcp::{SessionName, TcpConfig, TcpNet};
use quorate_net::{Attempt, InUse, Net, NetError};

/// Keys and addresses of some parties. Nothing listens at the addresses.
struct Parties {
    keys: Keys,
    addresses: Vec<SocketAddr>,
}

impl Parties {
    fn new(parties: usize) -> Parties {
        Parties { keys: Keys::new(parties), addresses: free_addresses(parties) }
    }

    fn config(&self, me: usize, session: &str) -> TcpConfig {
        let session = SessionName::new(session).unwrap();
        TcpConfig { session, ..config(me, self.keys.path(), &self.addresses) }
    }

    /// Opens a session at all parties, in threads, party i after a pause.
    fn open(&self, session: &str, pause: impl Fn(usize) -> Duration + Sync) -> Vec<TcpNet> {
        thread::scope(|scope| {
            let open = |me| {
                let (config, pause) = (self.config(me, session), pause(me));
                scope.spawn(move || {
                    thread::sleep(pause);
                    TcpNet::connect(&config).unwrap()
                })
            };
            let joins: Vec<_> = (0..self.addresses.len()).map(open).collect();
            joins.into_iter().map(|join| join.join().unwrap()).collect()
        })
    }

    /// Starts a party in a process of its own. It echoes until it is told to end.
    fn child(&self, me: usize, session: &str) -> Process {
        Process::of_party(me, &self.keys, &self.addresses, Some(session))
    }
}

/// Sends a frame of its own from every party to every other one, and checks what arrives.
fn exchange(nets: &mut [TcpNet], mark: u8) {
    let parties = nets.len();
    for (me, net) in nets.iter_mut().enumerate() {
        (0..parties).filter(|peer| *peer != me).for_each(|peer| net.send(peer, vec![mark, me as u8]).unwrap());
    }
    for (me, net) in nets.iter_mut().enumerate() {
        for _ in 1..parties {
            let (from, frame) = receive(net);
            assert!(from != me && frame == [mark, from as u8], "party {me} got {frame:?} from party {from}");
        }
    }
}

/// Sends a frame to the other one of two parties, which sends it back.
fn echo(net: &mut TcpNet, mark: u8) {
    let other = 1 - net.me();
    net.send(other, vec![mark]).unwrap();
    assert_eq!(receive(net), (other, vec![mark]));
}

fn error<T>(result: Result<T, NetError>) -> NetError {
    result.err().expect("an error")
}

/// A pause of up to `most`, another one for each number.
fn some(number: usize, most: Duration) -> Duration {
    most * (blake3::hash(&number.to_le_bytes()).as_bytes()[0]).into() / 255
}

#[test]
fn sessions_of_other_names_meet_at_the_same_ports() {
    let parties = Parties::new(3);
    for round in 0..5 {
        thread::scope(|scope| {
            for (number, name) in ["one", "two", "three"].into_iter().enumerate() {
                let parties = &parties;
                scope.spawn(move || {
                    let pause = |me| some(round * 9 + number * 3 + me, Duration::from_millis(300));
                    let mut nets = parties.open(name, pause);
                    exchange(&mut nets, number as u8);
                    thread::sleep(pause(3)); // others open and close meanwhile
                    exchange(&mut nets, number as u8);
                });
            }
        });
    }
}

#[test]
fn a_session_that_only_some_have_opened_is_named() {
    let parties = Parties::new(3);
    let _others = parties.open("others", |_| Duration::ZERO);
    for (me, missing) in [(0, vec![1, 2]), (1, vec![0, 2]), (2, vec![0, 1])] {
        let config = TcpConfig { connect_timeout: Duration::from_secs(2), ..parties.config(me, "alone") };
        let told = error(TcpNet::connect(&config));
        let NetError::NotOpened { parties, session, other_options: false, .. } = &told else { panic!("{told}") };
        assert!(*parties == missing && session == "alone", "{told}");
        assert!(told.to_string().contains("run, but have not opened session \"alone\" within 2 s"), "{told}");
    }
}

/// Returns the errors of parties that open sessions of one name with these options, and wait for these seconds.
fn of_other_options(parties: &Parties, options: &[(&str, u64)]) -> Vec<NetError> {
    let start = |(me, (options, seconds)): (usize, &(&str, u64))| {
        let session = SessionName::new("a.py").unwrap().with_options(options.as_bytes());
        let config = TcpConfig { session, ..parties.config(me, "a.py") };
        let config = TcpConfig { connect_timeout: Duration::from_secs(*seconds), ..config };
        thread::spawn(move || error(TcpNet::connect(&config)))
    };
    let started: Vec<_> = options.iter().enumerate().map(start).collect();
    started.into_iter().map(|party| party.join().unwrap()).collect()
}

#[test]
fn another_choice_of_options_is_named_at_all_parties() {
    let told = of_other_options(&Parties::new(2), &[("exact", 3), ("probabilistic", 3)]);
    let named = |error: &NetError| matches!(error, NetError::NotOpened { other_options: true, .. });
    assert!(told.iter().all(named), "{told:?}");
    // Parties 0 and 2 meet, and the first that gives up does not hide the reason from the other one.
    let told = of_other_options(&Parties::new(3), &[("exact", 3), ("probabilistic", 5), ("exact", 5)]);
    assert!(told.iter().all(named), "{told:?}");
}

#[test]
fn a_party_that_gave_up_first_is_said_to_have_run() {
    let told = of_other_options(&Parties::new(2), &[("exact", 3), ("probabilistic", 6)]);
    let text =
        "party 0 ran, but had not opened session \"a.py\" within 6 s, but one of this name with another protocol";
    assert!(told[1].to_string().starts_with(text), "{}", told[1]);
    let text =
        "party 1 runs, but has not opened session \"a.py\" within 3 s, but one of this name with another protocol";
    assert!(told[0].to_string().starts_with(text), "{}", told[0]);
}

#[test]
fn a_party_that_is_not_there_is_not_said_to_run() {
    let parties = Parties::new(2);
    let config = TcpConfig { connect_timeout: Duration::from_secs(2), ..parties.config(1, "alone") };
    let told = error(TcpNet::connect(&config));
    assert!(matches!(told, NetError::ConnectTimeout { peer: 0, last: Attempt::Dial(_), .. }), "{told}");
}

#[test]
fn a_name_is_open_once_at_a_party() {
    let parties = Parties::new(2);
    let mut nets = parties.open("one", |_| Duration::ZERO);
    for me in [0, 1] {
        let told = error(TcpNet::connect(&parties.config(me, "one")));
        let this = std::process::id();
        assert!(matches!(&told, NetError::SessionOpen { process, .. } if *process == this), "{told}");
        assert!(told.to_string().contains("\"one\" is open at this party already, in this process"), "{told}");
    }
    exchange(&mut nets, 1);
    drop(nets);
    exchange(&mut parties.open("one", |_| Duration::ZERO), 2);
}

#[test]
fn a_port_of_another_deployment_is_not_shared() {
    let (ours, mut others) = (Parties::new(2), Parties::new(3));
    others.addresses[0] = ours.addresses[0];
    let _open = ours.open("one", |_| Duration::ZERO);
    let told = error(TcpNet::connect(&others.config(0, "two")));
    assert!(matches!(&told, NetError::PortInUse { why: InUse::OtherParties, .. }), "{told}");
}

/// A party has three sessions: one in a process of its own that has the port, the others in this one.
#[test]
#[cfg(target_os = "linux")]
fn links_and_the_port_outlive_the_process_that_has_it() {
    for (party, killed) in [(0, true), (0, false), (1, true)] {
        let parties = Parties::new(2);
        let mut child = parties.child(party, "one");
        let mut first = TcpNet::connect(&parties.config(1 - party, "one")).unwrap();
        echo(&mut first, 1);
        let told = error(TcpNet::connect(&parties.config(party, "one")));
        assert!(matches!(&told, NetError::SessionOpen { process, .. } if *process == child.id()), "{told}");

        let proxy = Proxy::to(parties.addresses[0]);
        let mut second: Vec<TcpNet> = thread::scope(|scope| {
            let mut configs = [0, 1].map(|me| parties.config(me, "two"));
            configs[1].parties[0].address = proxy.address.to_string();
            let joins = configs.map(|config| scope.spawn(move || TcpNet::connect(&config).unwrap()));
            joins.map(|join| join.join().unwrap()).into()
        });
        exchange(&mut second, 2);
        proxy.cut(); // with party 0 in another process, the new connection is made at that one's port
        exchange(&mut second, 3);

        let start = Instant::now();
        match killed {
            true => child.kill(),
            false => {
                first.send(party, vec![END]).unwrap();
                child.end();
            }
        }
        exchange(&mut second, 4);
        proxy.cut();
        exchange(&mut second, 5);
        assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
        let (told, took) = failure(&mut first);
        assert!(matches!(told, NetError::Lost { peer, .. } if peer == party), "{told}");
        assert!(took < SOON, "{took:?}");
        println!("party {party} was lost {:?} after its end", start.elapsed());
        drop(first);
        exchange(&mut parties.open("one", |_| Duration::ZERO), 6);
        exchange(&mut second, 7);
    }
}

/// Processes that have the port end one after the other, and others begin.
#[test]
#[cfg(target_os = "linux")]
fn the_port_moves_from_process_to_process() {
    let parties = Parties::new(2);
    let mut open: Vec<(Process, TcpNet)> = Vec::new();
    for number in 0..6 {
        let session = format!("session {number}");
        let child = parties.child(0, &session);
        open.push((child, TcpNet::connect(&parties.config(1, &session)).unwrap()));
        if number >= 2 {
            open.remove(0).0.kill(); // that of the process which has the port
        }
        open.iter_mut().for_each(|(_, net)| echo(net, number));
    }
}
