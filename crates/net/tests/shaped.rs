//! Shaped links: the delays are real, and no link slows another.

use std::thread;
use std::time::{Duration, Instant};

use quorate_net::shaped::{self, Shape, ShapedNet};
use quorate_net::{Net, NetError, Wait};

/// Machines that run tests are busy: a delay may be this much longer than it should, never shorter.
const SLACK: Duration = Duration::from_millis(60);

fn receive(net: &mut ShapedNet) -> (usize, Vec<u8>) {
    net.recv(Wait::Until(Instant::now() + Duration::from_secs(20))).unwrap().expect("a frame in time")
}

fn assert_took(start: Instant, wanted: Duration) {
    let took = start.elapsed();
    assert!(took >= wanted && took < wanted + SLACK, "took {took:?} instead of {wanted:?}");
}

#[test]
fn a_ping_pong_takes_the_round_trip_time() {
    let rtt = Duration::from_millis(20);
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
    assert_took(start, rtt * 5);
    echo.join().unwrap();
}

#[test]
fn bandwidth_is_per_direction_and_per_link() {
    // 1.25 MB at 12.5 MB/s is 100 ms on each of the six directed links, all at once.
    let shape = Shape { rtt: Duration::from_millis(10), bytes_per_second: Some(12.5e6) };
    let start = Instant::now();
    thread::scope(|scope| {
        for mut net in shaped::mesh(3, shape) {
            scope.spawn(move || {
                for _ in 0..10 {
                    for peer in (0..3).filter(|peer| *peer != net.me()).collect::<Vec<_>>() {
                        net.send(peer, vec![7; 125_000]).unwrap();
                    }
                }
                let peer = (net.me() + 1) % 3;
                assert!((1_000_000..=1_250_000).contains(&net.queued(peer)), "{}", net.queued(peer));
                for _ in 0..20 {
                    receive(&mut net);
                }
                assert_took(start, Duration::from_millis(105));
                net.flush(Wait::Forever).unwrap();
                assert_eq!(net.queued(peer), 0);
            });
        }
    });
}

#[test]
fn nothing_arrives_early_and_order_is_kept() {
    let shape = Shape { rtt: Duration::from_millis(100), bytes_per_second: Some(1e6) };
    let mut ends = shaped::mesh(2, shape);
    let start = Instant::now();
    for i in 0..20u8 {
        ends[0].send(1, vec![i; 1000 * usize::from(i % 3)]).unwrap();
    }
    assert_eq!(ends[1].recv(Wait::Poll).unwrap(), None);
    assert_eq!(ends[1].recv(Wait::Until(start + Duration::from_millis(30))).unwrap(), None);
    assert!(start.elapsed() < Duration::from_millis(49), "a short wait does not last until the frame");
    for i in 0..20u8 {
        assert_eq!(receive(&mut ends[1]).1, vec![i; 1000 * usize::from(i % 3)]);
    }
    assert_took(start, Duration::from_millis(50 + 19));
}

#[test]
fn the_end_of_a_link_travels_behind_its_frames() {
    let mut ends = shaped::mesh(2, Shape { rtt: Duration::from_millis(40), bytes_per_second: Some(1e6) });
    let start = Instant::now();
    ends[0].send(1, vec![1; 10_000]).unwrap();
    drop(ends.remove(0));
    assert_eq!(receive(&mut ends[0]).1.len(), 10_000);
    let end = ends[0].recv(Wait::Forever);
    assert!(matches!(end, Err(NetError::Lost { peer: 0, .. })), "{end:?}");
    assert_took(start, Duration::from_millis(30));
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
