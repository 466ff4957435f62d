//! Links within a process under many schedules: no wake-up is lost.

use quorate_scheduled_net::memory::{self, MemoryNet};
use quorate_scheduled_net::{Net, NetError, Wait};
use quorate_sync::atomic::{AtomicUsize, Ordering};
use quorate_sync::{Arc, schedules, thread};

const FRAMES: u8 = 3;

/// Sends frames from a thread of its own, which then leaves.
fn sender(mut net: MemoryNet) -> thread::JoinHandle<()> {
    thread::spawn(move || (0..FRAMES).for_each(|frame| net.send(0, vec![frame]).unwrap()))
}

#[test]
fn a_party_that_waits_gets_all_frames_in_order_and_learns_who_left() {
    schedules(2000, || {
        let mut ends = memory::mesh(3);
        let senders: Vec<_> = ends.drain(1..).map(sender).collect();
        let (mut next, mut left) = ([0; 3], 0);
        while left < 2 {
            match ends[0].recv(Wait::Forever) {
                Ok(Some((peer, frame))) => {
                    assert_eq!(frame, [next[peer]]);
                    next[peer] += 1;
                }
                Err(NetError::Lost { peer, .. }) => {
                    assert_eq!(next[peer], FRAMES);
                    left += 1;
                }
                other => panic!("a wait without an end returned {other:?}"),
            }
        }
        senders.into_iter().for_each(|sender| sender.join().unwrap());
    });
}

/// This is how a party's scheduler waits: a nudge that comes while it looks for work ends its next wait.
#[test]
fn a_nudge_ends_this_wait_or_the_next() {
    const NUDGES: usize = 4;
    schedules(2000, || {
        let mut ends = memory::mesh(2);
        let work = Arc::new(AtomicUsize::new(0));
        let nudging = |_| {
            let (work, first) = (work.clone(), ends[0].interrupt_handle());
            thread::spawn(move || {
                for _ in 0..NUDGES / 2 {
                    work.fetch_add(1, Ordering::SeqCst);
                    first.nudge();
                }
            })
        };
        let nudging: Vec<_> = (0..2).map(nudging).collect();
        let mut done = 0;
        while done < NUDGES {
            assert!(matches!(ends[0].recv(Wait::Forever), Ok(None)));
            ends[0].interrupt_handle().take_nudge();
            done += work.swap(0, Ordering::SeqCst);
        }
        nudging.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

/// Frames and interrupts come at the same time: none of them hides another.
#[test]
fn an_interrupt_ends_a_wait_while_frames_arrive() {
    schedules(2000, || {
        let mut ends = memory::mesh(2);
        let (mut peer, first) = (ends.remove(1), ends[0].interrupt_handle());
        let sending = thread::spawn(move || {
            (0..FRAMES).for_each(|frame| peer.send(0, vec![frame]).unwrap());
            peer
        });
        let raising = thread::spawn(move || first.raise());
        let (mut frames, mut interrupts) = (0, 0);
        while frames < FRAMES || interrupts < 1 {
            match ends[0].recv(Wait::Forever).unwrap() {
                Some(_) => frames += 1,
                None => interrupts += usize::from(ends[0].interrupt_handle().take()),
            }
        }
        sending.join().unwrap();
        raising.join().unwrap();
    });
}
