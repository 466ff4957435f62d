//! TLS links on loopback under load: the guarantees of `Net`.

use std::thread;
use std::time::{Duration, Instant};

use crate::common::{Keys, failure, impatient, mesh, mesh_of, receive, within};
use quorate_net::{MAX_FRAME, Net, NetError, Wait};

/// Returns a frame that identifies itself: sender, number, and a length that depends on both.
fn frame(from: usize, number: usize) -> Vec<u8> {
    let lengths = [0, 1, 3, 4, 5, 1000, 16_383, 16_384, 16_385, 100_000, MAX_FRAME];
    let mut bytes = vec![from as u8; lengths[(number + from) % lengths.len()]];
    for (byte, tag) in bytes.iter_mut().zip((number as u32).to_le_bytes()) {
        *byte = tag;
    }
    bytes
}

#[test]
fn frames_of_all_sizes_travel_in_all_directions_at_once() {
    let keys = Keys::new(3);
    let counts = thread::scope(|scope| {
        let joins: Vec<_> = mesh(3, &keys)
            .into_iter()
            .map(|mut net| {
                scope.spawn(move || {
                    let me = net.me();
                    let mut next = [0; 3];
                    for number in 0..110 {
                        for peer in (0..3).filter(|peer| *peer != me) {
                            net.send(peer, frame(me, number)).unwrap();
                        }
                    }
                    for _ in 0..220 {
                        let (from, bytes) = receive(&mut net);
                        assert!(bytes == frame(from, next[from]), "frame {} of party {from}", next[from]);
                        next[from] += 1;
                    }
                    net.flush(within(20)).unwrap();
                    assert!((0..3).all(|peer| net.queued(peer) == 0));
                    thread::sleep(Duration::from_millis(50));
                    net.recv(Wait::Poll).unwrap();
                    net
                })
            })
            .collect();
        let nets: Vec<_> = joins.into_iter().map(|join| join.join().unwrap()).collect();
        let sent: Vec<_> = nets.iter().map(Net::wire_bytes).collect();
        let received: Vec<_> = nets.iter().map(|net| net.wire_bytes_received()).collect();
        (sent, received)
    });
    let payload: usize = (0..110).map(|number| frame(0, number).len()).sum();
    for from in 0..3 {
        for to in (0..3).filter(|to| *to != from) {
            let (sent, received) = (counts.0[from][to], counts.1[to][from]);
            // Heartbeats may be on their way between the two counts.
            assert!(sent.abs_diff(received) <= 200, "{from} sent {sent} to {to}, which read {received}");
            let ratio = sent as f64 / payload as f64;
            assert!((1.0..1.01).contains(&ratio), "framing and TLS add {ratio}");
        }
        assert_eq!(counts.0[from][from], 0);
    }
}

#[test]
fn nobody_waits_when_all_send_first() {
    let keys = Keys::new(3);
    let mut ends = mesh(3, &keys); // all stay until all have finished
    thread::scope(|scope| {
        for net in &mut ends {
            scope.spawn(move || {
                let peers: Vec<usize> = (0..3).filter(|peer| *peer != net.me()).collect();
                for _ in 0..32 {
                    peers.iter().for_each(|&peer| net.send(peer, vec![5; MAX_FRAME]).unwrap());
                }
                for _ in 0..64 {
                    assert_eq!(receive(net).1.len(), MAX_FRAME);
                }
                net.flush(within(20)).unwrap();
            });
        }
    });
}

#[test]
fn a_reader_that_does_not_read_holds_the_sender_back() {
    const TOTAL: usize = 256;
    let keys = Keys::new(2);
    let mut ends = mesh_of(2, &keys, impatient);
    let mut reader = ends.pop().unwrap();
    let mut sender = ends.pop().unwrap();
    let (stuck, is_stuck) = std::sync::mpsc::channel();
    thread::scope(|scope| {
        let sending = scope.spawn(move || {
            let (mut sent, mut moved, mut told) = (0, Instant::now(), false);
            while sent < TOTAL {
                while sent < TOTAL && sender.queued(1) < 2 * MAX_FRAME {
                    sender.send(1, vec![sent as u8; MAX_FRAME]).unwrap();
                    (sent, moved) = (sent + 1, Instant::now());
                }
                if !told && moved.elapsed() > Duration::from_secs(1) {
                    told = stuck.send(sent).is_ok();
                }
                assert_eq!(sender.recv(Wait::Until(Instant::now() + Duration::from_millis(1))).unwrap(), None);
            }
            sender.flush(within(20)).unwrap();
            sender
        });
        let sent_to_sleeper = is_stuck.recv_timeout(Duration::from_secs(60)).expect("the sender is held back");
        // Longer than the time-out: a party that does not read is slow, not dead, and neither is its sender.
        thread::sleep(Duration::from_secs(3));
        for number in 0..TOTAL {
            let (_, bytes) = receive(&mut reader);
            assert!(bytes.len() == MAX_FRAME && bytes.iter().all(|byte| *byte == number as u8));
        }
        let _sender = sending.join().unwrap();
        // 64 MiB in the inbox, 2 in the outbox, and the buffers of the system.
        assert!(sent_to_sleeper <= 128, "{sent_to_sleeper} MiB were taken for a reader that sleeps");
    });
}

#[test]
fn a_party_that_computes_is_not_taken_for_dead() {
    let keys = Keys::new(2);
    let mut ends = mesh_of(2, &keys, impatient);
    let mut busy = ends.pop().unwrap();
    let mut patient = ends.pop().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            let until = Instant::now() + Duration::from_millis(4500);
            while Instant::now() < until {
                std::hint::spin_loop();
            }
            assert_eq!(receive(&mut busy), (0, vec![1]));
            busy.send(0, vec![2]).unwrap();
            busy.flush(within(20)).unwrap();
        });
        patient.send(1, vec![1]).unwrap();
        assert_eq!(receive(&mut patient), (1, vec![2]));
    });
}

#[test]
fn a_party_that_leaves_is_lost_after_its_last_words() {
    let keys = Keys::new(3);
    let mut ends = mesh(3, &keys);
    let (mut third, mut second, mut first) = (ends.pop().unwrap(), ends.pop().unwrap(), ends.pop().unwrap());
    for number in 0..20 {
        second.send(0, vec![number; 50_000]).unwrap();
        // Unread bytes in the leaving party's socket must not destroy its last messages.
        first.send(1, vec![number; 50_000]).unwrap();
    }
    second.flush(within(20)).unwrap();
    drop(second);
    for number in 0..20 {
        assert_eq!(receive(&mut first), (1, vec![number; 50_000]));
    }
    let (error, took) = failure(&mut first);
    assert!(matches!(error, NetError::Lost { peer: 1, .. }), "{error}");
    assert!(took < Duration::from_secs(10));
    assert!(matches!(first.send(1, vec![1]), Err(NetError::Lost { peer: 1, .. })));
    let (error, _) = failure(&mut third);
    assert!(matches!(error, NetError::Lost { peer: 1, .. }), "{error}");
    third.send(0, vec![3]).unwrap();
    assert_eq!(receive(&mut first), (2, vec![3]), "the others still talk, and a failure is reported once");
    drop(third);
    assert!(matches!(failure(&mut first).0, NetError::Lost { peer: 2, .. }));
    assert!(matches!(first.recv(Wait::Forever), Err(NetError::NoPeersLeft)));
}

#[test]
fn waits_end_by_time_and_by_interrupt() {
    let keys = Keys::new(2);
    let mut ends = mesh(2, &keys);
    let start = Instant::now();
    assert_eq!(ends[0].recv(Wait::Until(start + Duration::from_millis(30))).unwrap(), None);
    assert!(start.elapsed() >= Duration::from_millis(30));
    let interrupt = ends[0].interrupt_handle();
    let handle = interrupt.clone();
    thread::spawn(move || {
        thread::sleep(Duration::from_millis(30));
        handle.raise();
    });
    assert_eq!(ends[0].recv(Wait::Forever).unwrap(), None);
    assert!(start.elapsed() < Duration::from_secs(10));
    assert!(interrupt.take());
    ends[1].send(0, vec![4]).unwrap();
    assert_eq!(receive(&mut ends[0]), (1, vec![4]));
}

#[test]
fn bad_sends_are_refused() {
    let keys = Keys::new(2);
    let mut ends = mesh(2, &keys);
    assert!(matches!(ends[0].send(0, vec![]), Err(NetError::NoSuchPeer { peer: 0, .. })));
    assert!(matches!(ends[0].send(7, vec![]), Err(NetError::NoSuchPeer { peer: 7, .. })));
    assert!(matches!(ends[0].send(1, vec![0; MAX_FRAME + 1]), Err(NetError::FrameTooLarge { peer: 1, .. })));
    assert_eq!(ends[0].nonces(), ends[1].nonces());
    assert_ne!(ends[0].nonces()[0], ends[0].nonces()[1]);
}
