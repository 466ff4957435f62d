//! Links for tests of what a party may see at which time: they hold messages back until no party can continue without
//! them.
//!
//! No clock is involved. Messages to the party that the test chose count as far away, and all other parties do
//! everything that is possible without them. Only then is a party that the test chose interrupted, and the messages
//! arrive afterwards. So every party that can finish before an interrupt has finished.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use quorate_net::memory::{self, MemoryNet};
use quorate_net::{Frame, Interrupt, Net, NetError, Place, Wait};

/// A frame of a peer, or the end of its link.
type Letter = (usize, Option<Frame>);

/// The messages to hold back, and the interrupt, in one step of a program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delay {
    /// The party to which messages are held back.
    pub to: usize,
    /// The peer that sends them; `None`: all peers.
    pub from: Option<usize>,
    /// The number of messages that pass before.
    pub after: usize,
    /// The party that is interrupted then.
    pub stop: usize,
}

/// The events of a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Came {
    /// The number of messages that came through and might have been held back; `None` where one was held back.
    pub passed: Option<usize>,
    /// Whether a party was interrupted.
    pub stopped: bool,
}

/// The state that the links of all parties share.
pub(crate) struct Office {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    seats: Vec<SeatState>,
    delay: Option<Delay>,
    /// The number of messages that the delay let through.
    passed: usize,
    /// Whether a frame was held back since the delay was set, and whether a party was interrupted.
    held: bool,
    stopped: bool,
}

struct SeatState {
    arrived: VecDeque<Letter>,
    far: VecDeque<Letter>,
    /// Whether it waits for a frame.
    waits: bool,
    /// Whether its program is not running.
    rests: bool,
    gone: bool,
    interrupt: Interrupt,
}

/// One party's end of the links.
pub(crate) struct HeldNet {
    me: usize,
    office: Arc<Office>,
    sent: Vec<u64>,
    ended: Vec<bool>,
    /// The source of the interrupt.
    _source: MemoryNet,
}

/// Creates links between `parties` parties.
pub(crate) fn mesh(parties: usize) -> (Arc<Office>, Vec<HeldNet>) {
    let sources = memory::mesh(parties);
    let seat = |source: &MemoryNet| SeatState {
        arrived: VecDeque::new(),
        far: VecDeque::new(),
        waits: false,
        rests: false,
        gone: false,
        interrupt: source.interrupt_handle(),
    };
    let seats = sources.iter().map(seat).collect();
    let state = Mutex::new(State { seats, delay: None, passed: 0, held: false, stopped: false });
    let office = Arc::new(Office { state, changed: Condvar::new() });
    let end = |(me, source)| HeldNet {
        me,
        office: office.clone(),
        sent: vec![0; parties],
        ended: vec![false; parties],
        _source: source,
    };
    let ends = sources.into_iter().enumerate().map(end).collect();
    (office, ends)
}

impl Office {
    /// Sets which messages are held back from now on.
    pub fn delay(&self, delay: Option<Delay>) {
        let mut state = self.lock();
        (state.delay, state.passed, state.held, state.stopped) = (delay, 0, false, false);
    }

    /// Returns the events since the delay was set.
    pub fn came(&self) -> Came {
        let state = self.lock();
        Came { passed: (!state.held).then_some(state.passed), stopped: state.stopped }
    }

    /// Marks a party's program as resting or running.
    pub fn rest(&self, party: usize, rests: bool) {
        let mut state = self.lock();
        state.seats[party].rests = rests;
        state.look();
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

impl State {
    fn put(&mut self, to: usize, letter: Letter) {
        let Some(delay) = self.delay.filter(|delay| delay.to == to && delay.from.is_none_or(|from| from == letter.0))
        else {
            return self.seats[to].put(letter);
        };
        if self.passed < delay.after {
            self.passed += 1;
            return self.seats[delay.to].put(letter);
        }
        self.held = true;
        self.seats[to].far.push_back(letter);
    }

    /// Acts if no party can continue: first raises the interrupt; later delivers the messages that were held back.
    fn look(&mut self) {
        let stuck = |seat: &SeatState| {
            seat.gone || seat.rests || (seat.waits && seat.arrived.is_empty() && !seat.interrupt.is_raised())
        };
        let Some(delay) = self.delay.filter(|_| self.held && self.seats.iter().all(stuck)) else { return };
        if !std::mem::replace(&mut self.stopped, true) && !self.seats[delay.stop].rests {
            self.seats[delay.stop].interrupt.raise();
            return;
        }
        self.delay = None;
        let seat = &mut self.seats[delay.to];
        seat.arrived.append(&mut seat.far);
    }
}

impl SeatState {
    fn put(&mut self, letter: Letter) {
        if !self.gone {
            self.arrived.push_back(letter);
        }
    }
}

impl Net for HeldNet {
    fn me(&self) -> usize {
        self.me
    }

    fn parties(&self) -> usize {
        self.sent.len()
    }

    fn send(&mut self, to: usize, frame: Frame) -> Result<(), NetError> {
        self.sent[to] += frame.len() as u64;
        self.office.lock().put(to, (self.me, Some(frame)));
        self.office.changed.notify_all();
        Ok(())
    }

    fn recv(&mut self, wait: Wait) -> Result<Option<(usize, Frame)>, NetError> {
        let mut state = self.office.lock();
        loop {
            match state.seats[self.me].arrived.pop_front() {
                Some((peer, Some(frame))) => return Ok(Some((peer, frame))),
                Some((peer, None)) => {
                    self.ended[peer] = true;
                    return Err(NetError::Lost { peer, place: Place::HERE, tried: Duration::ZERO });
                }
                None => {}
            }
            if self.ended.iter().filter(|ended| **ended).count() + 1 == self.ended.len() {
                return if wait == Wait::Poll { Ok(None) } else { Err(NetError::NoPeersLeft) };
            }
            let over = match wait {
                Wait::Poll => true,
                Wait::Until(end) => Instant::now() >= end,
                Wait::Forever => false,
            };
            if over || state.seats[self.me].interrupt.ends_waits() {
                return Ok(None);
            }
            state.seats[self.me].waits = true;
            state.look();
            self.office.changed.notify_all();
            let mine = |state: &mut State| {
                let seat = &state.seats[self.me];
                seat.arrived.is_empty() && !seat.interrupt.ends_waits()
            };
            state = self.office.changed.wait_while(state, mine).unwrap();
            state.seats[self.me].waits = false;
        }
    }

    fn queued(&self, _to: usize) -> usize {
        0
    }

    fn wire_bytes(&self) -> Vec<u64> {
        self.sent.clone()
    }

    fn flush(&mut self, _wait: Wait) -> Result<(), NetError> {
        Ok(())
    }

    fn interrupt_handle(&self) -> Interrupt {
        self.office.lock().seats[self.me].interrupt.clone()
    }
}

impl Drop for HeldNet {
    fn drop(&mut self) {
        let mut state = self.office.lock();
        state.seats[self.me].gone = true;
        (0..self.sent.len()).filter(|&peer| peer != self.me).for_each(|peer| state.put(peer, (self.me, None)));
        state.look();
        self.office.changed.notify_all();
    }
}
