//! Accepted and refused connections, and the errors on each side.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, SocketType};

use crate::common::far::far_away;
use crate::common::{Keys, addresses, config, connect, listeners, receive};
use quorate_net::tcp::{TcpConfig, TcpNet};
use quorate_net::{Attempt, ConfigProblem, KeyProblem, Net, NetError, Refusal};

/// Configurations and listeners for parties with these keys.
fn prepared(parties: usize, keys: &Keys) -> Vec<(TcpConfig, TcpListener)> {
    let listeners = listeners(parties);
    let addresses = addresses(&listeners);
    (0..parties).map(|me| config(me, keys.path(), &addresses)).zip(listeners).collect()
}

fn error(result: &Result<TcpNet, NetError>) -> &NetError {
    result.as_ref().err().expect("an error")
}

#[test]
fn parties_may_start_in_any_order() {
    let keys = Keys::new(3);
    let mut prepared = prepared(3, &keys);
    thread::scope(|scope| {
        // Party 0 starts last: nothing listens at its address before.
        let (first, listener) = prepared.remove(0);
        drop(listener);
        let early = |(config, listener): (TcpConfig, TcpListener)| {
            scope.spawn(move || {
                let mut net = TcpNet::connect_on(&config, listener).unwrap();
                net.send(0, vec![net.me() as u8]).unwrap();
                assert_eq!(receive(&mut net), (0, vec![0]));
                net // stays until all have finished
            })
        };
        let early: Vec<_> = prepared.into_iter().map(early).collect();
        thread::sleep(Duration::from_millis(400));
        let mut net = TcpNet::connect(&first).unwrap();
        (1..3).for_each(|peer| net.send(peer, vec![0]).unwrap());
        let mut heard = [receive(&mut net), receive(&mut net)];
        heard.sort();
        assert_eq!(heard, [(1, vec![1]), (2, vec![2])]);
        early.into_iter().for_each(|party| drop(party.join().unwrap()));
    });
}

#[test]
fn a_certificate_that_is_not_pinned_is_refused_on_both_sides() {
    let (keys, others) = (Keys::new(2), Keys::new(2));
    // Party 1 has a key of its own that party 0 does not know.
    let mut parties = prepared(2, &keys);
    parties[0].0.connect_timeout = Duration::from_secs(3);
    parties[1].0.key = others.path().join("party1.key");
    parties[1].0.parties[1].certificates = vec![others.path().join("party1.crt")];
    let results = connect(parties);
    let refused = |result, peer, why| {
        let told = error(result);
        matches!(told, NetError::Refused { peer: p, why: w, .. } if *p == peer && *w == why)
    };
    assert!(refused(&results[0], None, Refusal::ByUs), "{}", error(&results[0]));
    assert!(refused(&results[1], Some(0), Refusal::ByPeer), "{}", error(&results[1]));

    // Party 1 expects another party 0.
    let mut parties = prepared(2, &keys);
    parties[0].0.connect_timeout = Duration::from_secs(3);
    parties[1].0.parties[0].certificates = vec![others.path().join("party0.crt")];
    let results = connect(parties);
    assert!(refused(&results[0], None, Refusal::ByPeer), "{}", error(&results[0]));
    assert!(refused(&results[1], Some(0), Refusal::ByUs), "{}", error(&results[1]));
    assert!(error(&results[1]).to_string().contains("keygen"), "says what to do: {}", error(&results[1]));
}

#[test]
fn two_processes_with_one_number_are_told_so() {
    let keys = Keys::new(3);
    let mut parties = prepared(3, &keys);
    let second_copy = (parties[2].0.clone(), TcpListener::bind("127.0.0.1:0").unwrap());
    let missing = parties.remove(1); // so that connecting does not end before both copies have called
    parties.push(second_copy);
    let results = connect(parties);
    drop(missing);
    let lost = |result| matches!(error(result), NetError::LeftEarly { peer: 0, missing: 1, .. });
    let duplicate = |result| matches!(error(result), NetError::DuplicateParty { party: 2, .. });
    assert!(duplicate(&results[0]), "{}", error(&results[0]));
    let copies = [&results[1], &results[2]];
    assert!(copies.into_iter().any(duplicate) && copies.into_iter().all(|copy| duplicate(copy) || lost(copy)));
}

#[test]
fn a_party_that_is_started_again_is_no_duplicate() {
    let keys = Keys::new(3);
    let mut parties = prepared(3, &keys);
    let (mut first_try, late) = (parties[2].0.clone(), parties.remove(1));
    first_try.connect_timeout = Duration::from_secs(3);
    let results = thread::scope(|scope| {
        let waiting = parties.remove(0);
        let zero = scope.spawn(move || TcpNet::connect_on(&waiting.0, waiting.1));
        let gave_up = TcpNet::connect_on(&first_try, TcpListener::bind("127.0.0.1:0").unwrap());
        assert!(matches!(error(&gave_up), NetError::ConnectTimeout { peer: 1, .. }), "{}", error(&gave_up));
        let again = parties.remove(0);
        let two = scope.spawn(move || TcpNet::connect_on(&again.0, again.1));
        let one = TcpNet::connect_on(&late.0, late.1);
        [zero.join().unwrap(), one, two.join().unwrap()]
    });
    results.iter().for_each(|result| assert!(result.is_ok(), "{}", error(result)));
}

#[test]
fn strangers_and_garbage_do_not_keep_the_parties_apart() {
    let keys = Keys::new(2);
    let parties = prepared(2, &keys);
    let address = parties[0].1.local_addr().unwrap();
    let client_hello_begins = [22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3];
    let mut held: Vec<TcpStream> = Vec::new();
    for bytes in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0xff; 5000], &client_hello_begins, b"", b"QUORATE\n"] {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(bytes).unwrap();
        held.push(stream);
    }
    drop(held.remove(3));
    let mut ends: Vec<_> = connect(parties).into_iter().map(Result::unwrap).collect();
    ends[1].send(0, vec![1]).unwrap();
    assert_eq!(receive(&mut ends[0]), (1, vec![1]));
}

/// Strangers send nothing, or only the beginning of a message, and connect again as soon as they are dropped.
#[test]
fn however_many_strangers_hold_connections_the_parties_meet() {
    let keys = Keys::new(3);
    let parties = prepared(3, &keys);
    let address = parties[0].1.local_addr().unwrap();
    let over = Arc::new(AtomicBool::new(false));
    let hold = move |number: usize, over: &AtomicBool| {
        // A whole first record without a meaning, the beginning of one, or nothing.
        let words: &[u8] = match number % 10 {
            0 => &[22, 3, 1, 0, 2, 1, 0],
            1..5 => &[22, 3, 1, 2, 0, 1, 0],
            _ => b"",
        };
        while !over.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(5));
            let Ok(mut stream) = TcpStream::connect(address) else { continue };
            let _ = (stream.set_read_timeout(Some(Duration::from_secs(1))), stream.write_all(words));
            while !over.load(Ordering::Relaxed) && stream.read(&mut [0; 64]).map_or_else(is_patient, |bytes| bytes > 0)
            {
            }
        }
    };
    let strangers: Vec<_> = (0..400)
        .map(|number| {
            let over = Arc::clone(&over);
            thread::spawn(move || hold(number, &over))
        })
        .collect();
    thread::sleep(Duration::from_millis(500));
    let results = connect(parties);
    over.store(true, Ordering::Relaxed);
    results.iter().for_each(|result| assert!(result.is_ok(), "{}", error(result)));
    drop(results);
    strangers.into_iter().for_each(|stranger| stranger.join().unwrap());
}

/// Strangers call from an address of their own each, say what a TLS client says, and wait. The honest party is so far
/// away that strangers could take every place of handshakes in the meantime.
#[test]
fn strangers_from_many_addresses_do_not_keep_a_distant_party_out() {
    let keys = Keys::new(2);
    let mut parties = prepared(2, &keys);
    let address = parties[0].1.local_addr().unwrap();
    parties[1].0.parties[0].address =
        far_away(address, Duration::from_millis(300), |target| TcpStream::connect(target).ok()).to_string();
    let (over, called) = (AtomicBool::new(false), AtomicUsize::new(0));
    let hello = [&[22, 3, 1, 2, 0][..], &[1; 512]].concat();
    let start = Instant::now();
    let results = thread::scope(|scope| {
        scope.spawn(|| {
            let mut held = VecDeque::new();
            while !over.load(Ordering::Relaxed) && start.elapsed() < Duration::from_secs(20) {
                let number = called.fetch_add(1, Ordering::Relaxed) as u32;
                let [_, a, b, c] = number.to_be_bytes();
                let due = start + number * Duration::from_micros(1250); // 800 a second
                thread::sleep(due.saturating_duration_since(Instant::now()));
                let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
                rustix::net::bind(&socket, &SocketAddrV4::new(Ipv4Addr::new(127, 1 + a, b, c.max(1)), 0)).unwrap();
                let Ok(()) = rustix::net::connect(&socket, &address) else { continue };
                let mut stream = TcpStream::from(socket);
                let _ = stream.write_all(&hello);
                held.push_back(stream);
                held.drain(..held.len().saturating_sub(300));
            }
        });
        thread::sleep(Duration::from_millis(300));
        let results = connect(parties);
        over.store(true, Ordering::Relaxed);
        results
    });
    results.iter().for_each(|result| assert!(result.is_ok(), "{}", error(result)));
    let (took, called) = (start.elapsed(), called.into_inner());
    assert!(called > 100 && took < Duration::from_secs(15), "{called} strangers in {took:?}");
}

fn is_patient(error: std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut)
}

#[test]
fn a_port_in_use_is_named() {
    let keys = Keys::new(2);
    let parties = prepared(2, &keys);
    let address = parties[0].1.local_addr().unwrap().to_string();
    let result = TcpNet::connect(&parties[0].0);
    assert!(matches!(error(&result), NetError::PortInUse { address: a, .. } if *a == address), "{}", error(&result));
}

#[test]
fn a_missing_party_is_named_with_what_happened_last() {
    let keys = Keys::new(3);
    let mut parties = prepared(3, &keys);
    // Party 2 gives up before party 0, whose leaving would otherwise be the reported error.
    parties[0].0.connect_timeout = Duration::from_secs(5);
    parties[2].0.connect_timeout = Duration::from_secs(2);
    drop(parties.remove(1)); // nothing listens there any more
    let results = connect(parties);
    let called = |result| matches!(error(result), NetError::ConnectTimeout { peer: 1, last: Attempt::NeverCalled, .. });
    assert!(called(&results[0]), "{}", error(&results[0]));
    let dialled = |result| matches!(error(result), NetError::ConnectTimeout { peer: 1, last: Attempt::Dial(_), .. });
    assert!(dialled(&results[1]), "{}", error(&results[1]));
}

#[test]
fn a_name_that_does_not_resolve_is_named() {
    const NOWHERE: &str = "nowhere.invalid:9000"; // which no name service may resolve
    let keys = Keys::new(2);
    let mut parties = prepared(2, &keys);
    let (mut config, listener) = parties.remove(1);
    config.connect_timeout = Duration::from_secs(2);
    config.parties[0].address = NOWHERE.into();
    let result = TcpNet::connect_on(&config, listener);
    assert!(matches!(error(&result), NetError::Unresolved { party: 0, .. }), "{}", error(&result));
    assert!(error(&result).to_string().contains("\"nowhere.invalid:9000\", the address of party 0, does not resolve"));
    config.parties[1].address = NOWHERE.into();
    let own = TcpNet::connect(&config);
    assert!(matches!(error(&own), NetError::Unresolved { party: 1, .. }), "{}", error(&own));
}

#[test]
fn connecting_can_be_given_up() {
    let keys = Keys::new(2);
    let (mut config, listener) = prepared(2, &keys).remove(0);
    let stop = Arc::new(AtomicBool::new(false));
    config.stop = Some(Arc::clone(&stop));
    thread::spawn(move || {
        thread::sleep(Duration::from_millis(100));
        stop.store(true, Ordering::Relaxed);
    });
    let start = Instant::now();
    assert!(matches!(TcpNet::connect_on(&config, listener), Err(NetError::Interrupted)));
    assert!(start.elapsed() < Duration::from_secs(15));
}

#[test]
fn parties_that_count_differently_are_told_so() {
    let keys = Keys::new(3);
    let mut parties = prepared(3, &keys);
    parties.truncate(2);
    parties[0].0.parties.truncate(2); // party 0 has two parties in its list, party 1 three
    let results = connect(parties);
    let differs = |result| matches!(error(result), NetError::Misconfigured { .. });
    assert!(differs(&results[0]), "{}", error(&results[0]));
    assert!(differs(&results[1]), "{}", error(&results[1]));
}

#[test]
fn parties_that_number_differently_are_told_so() {
    let keys = Keys::new(3);
    let mut parties = prepared(3, &keys);
    parties.iter_mut().for_each(|party| party.0.connect_timeout = Duration::from_secs(3));
    parties[0].0.parties.swap(1, 2); // party 0 takes party 1 for party 2
    let results = connect(parties);
    assert!(matches!(error(&results[0]), NetError::Misconfigured { .. }), "{}", error(&results[0]));
}

#[test]
fn configurations_that_cannot_work_are_refused_before_anything_is_sent() {
    let keys = Keys::new(2);
    let fails = |change: &dyn Fn(&mut TcpConfig)| {
        let (mut config, listener) = prepared(2, &keys).remove(0);
        change(&mut config);
        TcpNet::connect_on(&config, listener).err().expect("an error")
    };
    let me = fails(&|config| config.me = 2);
    assert!(matches!(me, NetError::BadConfig(ConfigProblem::Me { me: 2, parties: 2 })), "{me}");
    let alone = fails(&|config| config.parties.truncate(1));
    assert!(matches!(alone, NetError::BadConfig(ConfigProblem::Parties(1))), "{alone}");
    let silence = fails(&|config| config.peer_timeout = config.heartbeat);
    assert!(matches!(silence, NetError::BadConfig(ConfigProblem::Heartbeat)), "{silence}");
    let same = fails(&|config| config.parties[1].certificates = config.parties[0].certificates.clone());
    assert!(matches!(same, NetError::BadConfig(ConfigProblem::SameCertificate(0, 1))), "{same}");
    let mismatch = fails(&|config| config.key = keys.path().join("party1.key"));
    assert!(matches!(mismatch, NetError::BadKey { what: KeyProblem::Mismatch, .. }), "{mismatch}");
    let missing = fails(&|config| config.parties[1].certificates = vec![keys.path().join("no.crt")]);
    assert!(matches!(missing, NetError::BadKey { what: KeyProblem::Unreadable(_), .. }), "{missing}");
    let (mut config, _) = prepared(2, &keys).remove(0);
    config.parties[0].address = "nonsense".into();
    let address = TcpNet::connect(&config).err().expect("an error");
    assert!(matches!(address, NetError::BadConfig(ConfigProblem::Address(_))), "{address}");
}
