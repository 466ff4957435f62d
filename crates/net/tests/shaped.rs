//! Shaped links: the delays are real, and no link slows another.

use std::thread;
use std::time::{Duration, Instant};

use quorate_net::shaped::{self, Shape, ShapedNet};
use quorate_net::{Net, NetError, Wait};

/// The largest factor by which a delay may be too long. A delay is never too short. Machines that run tests are busy,
/// so one of several attempts must be within this factor.
const SLACK: u32 = 5;
const ATTEMPTS: usize = 10;

/// Checks that the time measured by `run` is as long as it should be.
fn takes(wanted: Duration, run: impl Fn() -> Duration) {
    let mut all = Vec::new();
    for _ in 0..ATTEMPTS {
        let took = run();
        assert!(took >= wanted, "{took:?} is less than {wanted:?}");
        if took < wanted * SLACK {
            return;
        }
        all.push(took);
    }
    panic!("wanted {wanted:?}, got {all:?}");
}

fn receive(net: &mut ShapedNet) -> (usize, Vec<u8>) {
    net.recv(Wait::Until(Instant::now() + Duration::from_secs(20))).unwrap().expect("a frame in time")
}

#[test]
fn a_ping_pong_takes_the_round_trip_time() {
    let rtt = Duration::from_millis(20);
    takes(rtt * 5, || {
        let mut ends = shaped::mesh(2, Shape { rtt, bytes_per_second: None });
        let mut second = ends.pop().unwrap();
        let mut first = ends.pop().unwrap();
        let echo = thread::spawn(move || {
            for _ in 0..5 {
                let (from, frame) = receive(&mut second);
                second.send(from, frame).unwrap();
            }
        });
        let start = Instant::now();
        for i in 0..5 {
            first.send(1, vec![i]).unwrap();
            assert_eq!(receive(&mut first), (1, vec![i]));
        }
        let took = start.elapsed();
        echo.join().unwrap();
        took
    });
}

#[test]
fn bandwidth_is_per_direction_and_per_link() {
    // 1.25 MB at 12.5 MB/s is 100 ms on each of the six directed links, all at once.
    let shape = Shape { rtt: Duration::from_millis(10), bytes_per_second: Some(12.5e6) };
    takes(Duration::from_millis(105), || {
        let start = Instant::now();
        thread::scope(|scope| {
            let joins: Vec<_> =
                shaped::mesh(3, shape).into_iter().map(|net| scope.spawn(move || exchange(net, start))).collect();
            joins.into_iter().map(|join| join.join().unwrap()).max().unwrap()
        })
    });
}

/// Sends 1.25 MB to each of two peers and receives as much. Returns when that was done.
fn exchange(mut net: ShapedNet, start: Instant) -> Duration {
    let peers: Vec<usize> = (0..3).filter(|peer| *peer != net.me()).collect();
    for _ in 0..10 {
        peers.iter().for_each(|&peer| net.send(peer, vec![7; 125_000]).unwrap());
    }
    assert!(net.queued(peers[0]) <= 1_250_000);
    for _ in 0..20 {
        receive(&mut net);
    }
    let took = start.elapsed();
    net.flush(Wait::Forever).unwrap();
    assert_eq!(net.queued(peers[0]), 0);
    assert_eq!(net.wire_bytes()[peers[1]], 1_250_000);
    took
}

#[test]
fn nothing_arrives_early_and_order_is_kept() {
    let shape = Shape { rtt: Duration::from_millis(100), bytes_per_second: Some(1e6) };
    takes(Duration::from_millis(50 + 19), || {
        let mut ends = shaped::mesh(2, shape);
        let start = Instant::now();
        for i in 0..20u8 {
            ends[0].send(1, vec![i; 1000 * usize::from(i % 3)]).unwrap();
        }
        let early = [ends[1].recv(Wait::Poll), ends[1].recv(Wait::Until(start + Duration::from_millis(30)))];
        if start.elapsed() < Duration::from_millis(50) {
            assert!(early.iter().all(|early| matches!(early, Ok(None))));
        }
        let frames =
            early.into_iter().filter_map(Result::unwrap).chain(std::iter::repeat_with(|| receive(&mut ends[1])));
        for (i, (_, frame)) in (0..20u8).zip(frames) {
            assert_eq!(frame, vec![i; 1000 * usize::from(i % 3)]);
        }
        start.elapsed()
    });
}

#[test]
fn the_end_of_a_link_travels_behind_its_frames() {
    takes(Duration::from_millis(30), || {
        let mut ends = shaped::mesh(2, Shape { rtt: Duration::from_millis(40), bytes_per_second: Some(1e6) });
        let start = Instant::now();
        ends[0].send(1, vec![1; 10_000]).unwrap();
        drop(ends.remove(0));
        assert_eq!(receive(&mut ends[0]).1.len(), 10_000);
        let end = ends[0].recv(Wait::Forever);
        assert!(matches!(end, Err(NetError::Lost { peer: 0, .. })), "{end:?}");
        start.elapsed()
    });
}

#[test]
fn an_interrupt_ends_a_wait_for_a_distant_frame() {
    let mut ends = shaped::mesh(2, Shape { rtt: Duration::from_secs(60), bytes_per_second: None });
    ends[0].send(1, vec![1]).unwrap();
    let interrupt = ends[1].interrupt_handle();
    let start = Instant::now();
    thread::spawn(move || {
        thread::sleep(Duration::from_millis(30));
        interrupt.raise();
    });
    assert_eq!(ends[1].recv(Wait::Forever).unwrap(), None);
    assert!(start.elapsed() < Duration::from_secs(10));
}
