//! The contract of `Net`, on memory links.

use std::thread;
use std::time::{Duration, Instant};

use quorate_net::{MAX_FRAME, Net, NetError, Wait, memory};

fn soon() -> Wait {
    Wait::Until(Instant::now() + Duration::from_secs(10))
}

#[test]
fn frames_arrive_in_order_from_each_peer() {
    let ends = memory::mesh(3);
    thread::scope(|scope| {
        let exchange = |mut net: memory::MemoryNet| {
            scope.spawn(move || {
                let (me, parties) = (net.me(), net.parties());
                let peers: Vec<usize> = (0..parties).filter(|p| *p != me).collect();
                let mut next = vec![0u32; parties];
                for i in 0..1000u32 {
                    for &peer in &peers {
                        net.send(peer, i.to_le_bytes().to_vec()).unwrap();
                    }
                }
                for _ in 0..2000 {
                    let (from, frame) = net.recv(soon()).unwrap().expect("a frame");
                    assert_eq!(frame, next[from].to_le_bytes());
                    next[from] += 1;
                }
                assert_eq!(net.wire_bytes().iter().sum::<u64>(), 8000);
                net
            })
        };
        let parties: Vec<_> = ends.into_iter().map(exchange).collect();
        // No party leaves before all have read: a party that is gone is lost to the others.
        let _ends: Vec<_> = parties.into_iter().map(|party| party.join().unwrap()).collect();
    });
}

#[test]
fn a_dropped_party_is_lost_after_its_frames_and_reported_once() {
    let mut ends = memory::mesh(3);
    let (mut third, mut second, mut first) = (ends.pop().unwrap(), ends.pop().unwrap(), ends.pop().unwrap());
    second.send(0, vec![1]).unwrap();
    drop(second);
    first.send(1, vec![9]).expect("not reported yet");
    third.send(0, vec![2]).unwrap();
    assert_eq!(first.recv(Wait::Poll).unwrap(), Some((1, vec![1])));
    assert!(matches!(first.recv(Wait::Poll), Err(NetError::Lost { peer: 1, .. })));
    assert_eq!(first.recv(Wait::Poll).unwrap(), Some((2, vec![2])));
    assert!(matches!(first.send(1, vec![9]), Err(NetError::Lost { peer: 1, .. })));
    assert_eq!(first.recv(Wait::Poll).unwrap(), None);
    drop(third);
    assert!(matches!(first.recv(soon()), Err(NetError::Lost { peer: 2, .. })));
    assert!(matches!(first.recv(Wait::Forever), Err(NetError::NoPeersLeft)));
    assert!(matches!(first.recv(Wait::Poll), Ok(None)));
}

#[test]
fn bad_sends_are_refused() {
    let mut ends = memory::mesh(2);
    assert!(matches!(ends[0].send(0, vec![]), Err(NetError::NoSuchPeer { peer: 0, me: 0, parties: 2 })));
    assert!(matches!(ends[0].send(2, vec![]), Err(NetError::NoSuchPeer { peer: 2, .. })));
    let large = vec![0; MAX_FRAME + 1];
    assert!(matches!(ends[0].send(1, large), Err(NetError::FrameTooLarge { peer: 1, .. })));
    ends[0].send(1, vec![0; MAX_FRAME]).unwrap();
    ends[0].send(1, vec![]).unwrap();
    assert_eq!(ends[1].recv(Wait::Poll).unwrap().map(|(_, frame)| frame.len()), Some(MAX_FRAME));
    assert_eq!(ends[1].recv(Wait::Poll).unwrap(), Some((0, vec![])));
}

#[test]
fn waits_end_by_time_and_by_interrupt() {
    let mut ends = memory::mesh(2);
    let start = Instant::now();
    assert_eq!(ends[0].recv(Wait::Until(start + Duration::from_millis(30))).unwrap(), None);
    assert!(start.elapsed() >= Duration::from_millis(30));
    let interrupt = ends[0].interrupt_handle();
    let raiser = thread::spawn({
        let interrupt = interrupt.clone();
        move || {
            thread::sleep(Duration::from_millis(30));
            interrupt.raise();
        }
    });
    let start = Instant::now();
    assert_eq!(ends[0].recv(Wait::Forever).unwrap(), None);
    assert!(start.elapsed() < Duration::from_secs(10));
    assert_eq!(ends[0].recv(Wait::Forever).unwrap(), None, "the flag stays up until it is taken");
    raiser.join().unwrap();
    assert!(interrupt.take() && !interrupt.is_raised());
}
