//! Peers that die, freeze or lie, and networks that swallow or change bytes: each is a typed error that names the peer.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;
use std::time::Duration;

use crate::common::child::Process;
use crate::common::{Keys, SOON, addresses, config, connect, failure, free_addresses, impatient, listeners, receive};
use quorate_net::tcp::{TcpConfig, TcpNet};
use quorate_net::{Net, NetError, Wait};

/// Runs this process as party 0, and a child as party 1.
fn with_child() -> (Keys, TcpNet, Process) {
    with_child_as(1, impatient)
}

/// Runs a child as party `child`, and this process as the other one of two.
fn with_child_as(child: usize, change: impl Fn(TcpConfig) -> TcpConfig) -> (Keys, TcpNet, Process) {
    let (me, party) = (1 - child, child);
    let keys = Keys::new(2);
    let addresses = free_addresses(2);
    let child = Process::of_party(party, &keys, &addresses, None);
    let mut net = TcpNet::connect(&change(config(me, keys.path(), &addresses))).unwrap();
    net.send(party, vec![1, 2, 3]).unwrap();
    assert_eq!(receive(&mut net), (party, vec![1, 2, 3]));
    (keys, net, child)
}

/// Its port refuses connections, on either side of the first one.
#[test]
fn a_killed_process_is_lost_at_once() {
    for child in [0, 1] {
        let (_keys, mut net, mut process) = with_child_as(child, |config| config);
        thread::sleep(Duration::from_millis(300)); // the party that is called has tried its peer's address
        process.kill();
        let (error, took) = failure(&mut net);
        assert!(matches!(error, NetError::Lost { peer, .. } if peer == child), "{error}");
        assert!(took < SOON, "{took:?}");
        println!("party {child} was lost after {took:?}");
    }
}

#[test]
#[cfg(unix)]
fn a_frozen_process_times_out() {
    let (_keys, mut net, child) = with_child();
    child.freeze();
    // Unread output must not hide the silence.
    (0..20).for_each(|_| net.send(1, vec![0; 1 << 20]).unwrap());
    let (error, took) = failure(&mut net);
    assert!(matches!(error, NetError::Timeout { peer: 1, .. }), "{error}");
    assert!(took < Duration::from_secs(15), "{took:?}");
    assert_eq!(net.queued(1), 0);
}

#[test]
#[cfg(unix)]
fn a_frozen_process_times_out_while_this_one_computes() {
    let (_keys, mut net, child) = with_child();
    child.freeze();
    thread::sleep(Duration::from_secs(3));
    let (error, took) = failure(&mut net);
    assert!(matches!(error, NetError::Timeout { peer: 1, .. }), "{error}");
    assert!(took < Duration::from_secs(2), "{took:?}");
}

/// The behaviour of a network between two parties.
const HONEST: u8 = 0;
const BLACK_HOLE: u8 = 1;
const FLIP: u8 = 2;
const CUT: u8 = 3;

/// A network in front of `target`, whose behaviour can be changed while it runs.
fn network(target: SocketAddr) -> (SocketAddr, Arc<AtomicU8>) {
    let behaviour = Arc::new(AtomicU8::new(HONEST));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn({
        let behaviour = Arc::clone(&behaviour);
        move || {
            let near = listener.accept().unwrap().0;
            let far = TcpStream::connect(target).unwrap();
            let (near2, far2) = (near.try_clone().unwrap(), far.try_clone().unwrap());
            let back = Arc::clone(&behaviour);
            thread::spawn(move || forward(far2, near2, &back));
            forward(near, far, &behaviour);
        }
    });
    (address, behaviour)
}

fn forward(mut from: TcpStream, mut to: TcpStream, behaviour: &AtomicU8) {
    let mut piece = [0; 4096];
    while let Ok(bytes @ 1..) = from.read(&mut piece) {
        match behaviour.load(Ordering::Relaxed) {
            BLACK_HOLE => continue,
            FLIP => piece[bytes / 2] ^= 1,
            CUT => break,
            _ => {}
        }
        if to.write_all(&piece[..bytes]).is_err() {
            break;
        }
    }
    if behaviour.load(Ordering::Relaxed) == BLACK_HOLE {
        thread::sleep(Duration::from_secs(20)); // a hang-up does not get through either
    }
    let _ = (from.shutdown(std::net::Shutdown::Both), to.shutdown(std::net::Shutdown::Both));
}

/// Returns two parties with a network between them.
fn with_network() -> (Keys, TcpNet, TcpNet, Arc<AtomicU8>) {
    let keys = Keys::new(2);
    let listeners = listeners(2);
    let addresses = addresses(&listeners);
    let (through, behaviour) = network(addresses[0]);
    let seen_by_second = [through, addresses[1]];
    let configs =
        [(0, &addresses[..]), (1, &seen_by_second)].map(|(me, seen)| impatient(config(me, keys.path(), seen)));
    let mut ends = connect(configs.into_iter().zip(listeners).collect()).into_iter().map(Result::unwrap);
    let (first, second) = (ends.next().unwrap(), ends.next().unwrap());
    (keys, first, second, behaviour)
}

#[test]
fn a_black_hole_times_out_on_both_sides() {
    let (_keys, mut first, mut second, behaviour) = with_network();
    first.send(1, vec![1]).unwrap();
    assert_eq!(receive(&mut second), (0, vec![1]));
    behaviour.store(BLACK_HOLE, Ordering::Relaxed);
    let error = failure(&mut first).0;
    assert!(matches!(error, NetError::Timeout { peer: 1, .. }), "{error}");
    let error = failure(&mut second).0;
    assert!(matches!(error, NetError::Timeout { peer: 0, .. }), "{error}");
}

#[test]
fn a_changed_byte_is_noticed() {
    let (_keys, first, mut second, behaviour) = with_network();
    behaviour.store(FLIP, Ordering::Relaxed);
    let error = failure(&mut second).0; // at the next heartbeat
    assert!(matches!(error, NetError::Malformed { peer: 0, .. } | NetError::Lost { peer: 0, .. }), "{error}");
    drop(first);
}

#[test]
fn a_cut_connection_is_a_lost_peer() {
    let (_keys, mut first, mut second, behaviour) = with_network();
    behaviour.store(CUT, Ordering::Relaxed);
    assert!(matches!(failure(&mut first).0, NetError::Lost { peer: 1, .. }));
    assert!(matches!(failure(&mut second).0, NetError::Lost { peer: 0, .. }));
    assert!(matches!(first.recv(Wait::Forever), Err(NetError::NoPeersLeft)));
}
