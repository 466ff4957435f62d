//! Links between the threads of one process with the delays of a network: threads really wait.
//!
//! Each directed link is independent and full duplex. A frame occupies its link for size / bandwidth, beginning when
//! the frames before it have left, and arrives half a round trip later. So a party that sends much to one peer slows
//! down neither what it sends to another nor what it receives.

use quorate_sync::{Arc, Mutex, PoisonError};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::hint;
use std::time::{Duration, Instant};

use crate::mailbox::Mailbox;
use crate::peers::Peers;
use crate::{Frame, Interrupt, Net, NetError, Place, Wait};

/// The length of the last part of a wait, in which the thread spins: sleeping threads wake up later than they ask to.
const SPIN: Duration = Duration::from_micros(50);

/// The properties of a link, the same in each direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// Round-trip time; a frame takes half of it.
    pub rtt: Duration,
    /// Bandwidth of each direction in bytes per second; `None` is unlimited. Less than 1 counts as 1.
    pub bytes_per_second: Option<f64>,
}

impl Shape {
    /// Returns the time for which a link is occupied by `bytes` bytes.
    fn occupied(&self, bytes: usize) -> Duration {
        self.bytes_per_second.map_or(Duration::ZERO, |rate| Duration::from_secs_f64(bytes as f64 / rate.max(1.0)))
    }
}

/// A frame of a peer, or the end of its link (`None`), with its time of arrival.
struct Letter {
    due: Instant,
    from: usize,
    frame: Option<Frame>,
}

/// The lines between some parties. All meshes over them share their bandwidth.
pub struct Lines {
    shape: Shape,
    /// By sender and receiver, the time at which the line will have sent all its data.
    free_at: Arc<FreeAt>,
}

type FreeAt = Vec<Vec<Mutex<Instant>>>;

impl Lines {
    /// Returns the lines between `parties` parties, all of one shape.
    pub fn new(parties: usize, shape: Shape) -> Lines {
        let now = Instant::now();
        let of_sender = |_| (0..parties).map(|_| Mutex::new(now)).collect();
        Lines { shape, free_at: Arc::new((0..parties).map(of_sender).collect()) }
    }

    /// Connects every pair of parties; element i is party i's end.
    pub fn mesh(&self) -> Vec<ShapedNet> {
        let parties = self.free_at.len();
        let mailboxes: Arc<Vec<_>> = Arc::new((0..parties).map(|_| Arc::new(Mailbox::new(Duration::ZERO))).collect());
        let end = |me: usize| {
            let mine: Arc<Mailbox<Letter>> = Arc::clone(&mailboxes[me]);
            ShapedNet {
                peers: Peers::new(me, parties),
                shape: self.shape,
                mailboxes: Arc::clone(&mailboxes),
                free_at: Arc::clone(&self.free_at),
                sent_at: vec![Instant::now(); parties],
                travelling: Travelling::default(),
                interrupt: Interrupt::new(move || mine.wake()),
            }
        };
        (0..parties).map(end).collect()
    }
}

/// One party's end of a shaped mesh.
pub struct ShapedNet {
    peers: Peers,
    shape: Shape,
    mailboxes: Arc<Vec<Arc<Mailbox<Letter>>>>,
    free_at: Arc<FreeAt>,
    /// The time at which the line to each peer will have sent all data of this mesh.
    sent_at: Vec<Instant>,
    travelling: Travelling,
    interrupt: Interrupt,
}

/// Connects every pair of `parties` parties by links of one shape; element i is party i's end.
pub fn mesh(parties: usize, shape: Shape) -> Vec<ShapedNet> {
    Lines::new(parties, shape).mesh()
}

impl ShapedNet {
    fn put(&mut self, to: usize, frame: Option<Frame>) {
        let (me, bytes) = (self.peers.me(), frame.as_ref().map_or(0, Vec::len));
        // Letters of one line are put in the order in which it sends them.
        let mut free_at = self.free_at[me][to].lock().unwrap_or_else(PoisonError::into_inner);
        *free_at = (*free_at).max(Instant::now()) + self.shape.occupied(bytes);
        self.sent_at[to] = *free_at;
        self.mailboxes[to].put(Letter { due: *free_at + self.shape.rtt / 2, from: me, frame });
    }

    /// Returns the next letter that is due, and waits for it.
    fn next(&mut self, wait: Wait) -> Option<Letter> {
        let mailbox = Arc::clone(&self.mailboxes[self.peers.me()]);
        loop {
            mailbox.take(&mut self.travelling, Wait::Poll, &self.interrupt);
            let now = Instant::now();
            if let Some(letter) = self.travelling.pop(now) {
                return Some(letter);
            }
            let over = match wait {
                Wait::Poll => true,
                Wait::Until(end) => now >= end,
                Wait::Forever => false,
            };
            if over || self.interrupt.ends_waits() {
                return None;
            }
            match (self.travelling.first_due(), wait) {
                (Some(due), Wait::Until(end)) if due <= end => self.wait_for(&mailbox, due),
                (Some(due), Wait::Forever) => self.wait_for(&mailbox, due),
                _ => {
                    mailbox.take(&mut self.travelling, wait, &self.interrupt);
                }
            }
        }
    }

    /// Waits until `due`, or until another letter (which may be due earlier) or an interrupt arrives.
    fn wait_for(&mut self, mailbox: &Mailbox<Letter>, due: Instant) {
        match due.checked_sub(SPIN) {
            Some(nearly) if nearly > Instant::now() => {
                mailbox.take(&mut self.travelling, Wait::Until(nearly), &self.interrupt);
            }
            _ => {
                while Instant::now() < due {
                    hint::spin_loop();
                }
            }
        }
    }
}

impl Net for ShapedNet {
    fn me(&self) -> usize {
        self.peers.me()
    }

    fn parties(&self) -> usize {
        self.peers.parties()
    }

    fn send(&mut self, to: usize, frame: Frame) -> Result<(), NetError> {
        self.peers.check_send(to, &frame)?;
        self.peers.count_sent(to, frame.len());
        self.put(to, Some(frame));
        Ok(())
    }

    fn recv(&mut self, wait: Wait) -> Result<Option<(usize, Frame)>, NetError> {
        match self.next(self.peers.bounded_wait(wait)) {
            Some(Letter { from, frame: Some(frame), .. }) => Ok(Some((from, frame))),
            Some(Letter { from, frame: None, .. }) => {
                Err(self.peers.fail(NetError::Lost { peer: from, place: Place::HERE, tried: Duration::ZERO }, from))
            }
            None => self.peers.nothing(wait),
        }
    }

    /// Returns the bytes that the link's bandwidth has not let through yet.
    fn queued(&self, to: usize) -> usize {
        let left =
            self.sent_at.get(to).map_or(Duration::ZERO, |sent_at| sent_at.saturating_duration_since(Instant::now()));
        self.shape.bytes_per_second.map_or(0, |rate| (left.as_secs_f64() * rate.max(1.0)) as usize)
    }

    fn wire_bytes(&self) -> Vec<u64> {
        self.peers.sent()
    }

    fn flush(&mut self, wait: Wait) -> Result<(), NetError> {
        let Some(sent) = self.sent_at.iter().copied().max() else { return Ok(()) };
        let end = match wait {
            Wait::Poll => return Ok(()),
            Wait::Until(end) => end.min(sent),
            Wait::Forever => sent,
        };
        let mailbox = Arc::clone(&self.mailboxes[self.peers.me()]);
        while Instant::now() < end && !self.interrupt.ends_waits() {
            mailbox.take(&mut self.travelling, Wait::Until(end), &self.interrupt);
        }
        Ok(())
    }

    fn interrupt_handle(&self) -> Interrupt {
        self.interrupt.clone()
    }
}

impl Drop for ShapedNet {
    fn drop(&mut self) {
        let me = self.peers.me();
        self.mailboxes[me].close();
        for peer in (0..self.peers.parties()).filter(|peer| *peer != me) {
            self.put(peer, None);
        }
    }
}

/// Letters on their way here, the earliest first. Of those due at one moment, the one sent first comes first.
#[derive(Default)]
struct Travelling {
    heap: BinaryHeap<Reverse<Numbered>>,
    taken: u64,
}

impl Travelling {
    fn first_due(&self) -> Option<Instant> {
        self.heap.peek().map(|first| first.0.letter.due)
    }

    fn pop(&mut self, now: Instant) -> Option<Letter> {
        if self.first_due()? <= now { self.heap.pop().map(|first| first.0.letter) } else { None }
    }
}

impl Extend<Letter> for Travelling {
    fn extend<I: IntoIterator<Item = Letter>>(&mut self, letters: I) {
        for letter in letters {
            self.heap.push(Reverse(Numbered { letter, number: self.taken }));
            self.taken += 1;
        }
    }
}

/// A letter and its place in the order of the mailbox.
struct Numbered {
    letter: Letter,
    number: u64,
}

impl Ord for Numbered {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.letter.due, self.number).cmp(&(other.letter.due, other.number))
    }
}

impl PartialOrd for Numbered {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Numbered {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Numbered {}
