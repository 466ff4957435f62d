//! Links that misbehave: they change, exchange, hold back or cut off the messages of one party. They also end
//! deadlocks: if all parties wait for each other, each gets an error that a peer is silent.

use quorate_sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::{Duration, Instant};

use quorate_net::memory::{self, MemoryNet};
use quorate_net::{Frame, Interrupt, Net, NetError, Place, Wait};

use super::messages::{Change, is_message, pieces};
use super::workers;
use crate::wire::{self, FrameType, HEADER_BYTES};

/// The interval at which a waiting party checks whether all others wait, too.
const STEP: Duration = Duration::from_millis(1);

/// A misbehaviour of a party's links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lie {
    /// The message that it concerns.
    pub at: At,
    /// The change to it.
    pub what: What,
}

/// A choice of messages. Messages that are not empty are counted, to all peers together, in the order in which they are
/// sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// The message of this number, from 0.
    Number(usize),
    /// All messages of this many bytes.
    Length(usize),
}

/// A change to a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The bytes change, but not their number.
    Changed(Change),
    /// The last byte is missing.
    Shorter,
    /// A byte is added.
    Longer,
    /// The message is exchanged with another one of its length that is sent before the party waits again. It stays
    /// unchanged if there is none.
    Swapped,
    /// The message is not sent; later ones are.
    Withheld,
    /// Neither the message nor any later one is sent; the links stay open.
    Silent,
    /// The party's links end before the message.
    Gone,
}

/// A handle to the behaviour of a party's links, and to the record of their messages; clones share both.
#[derive(Clone, Default)]
pub struct Liar(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    lie: Option<Lie>,
    begun: bool,
    told: bool,
    silent: bool,
    /// The bytes of every message since the beginning.
    sent: Vec<usize>,
    /// The last message of each length, and another one before it.
    said: BTreeMap<usize, [Option<Vec<u8>>; 2]>,
}

/// A frame after its treatment.
struct Treated {
    frame: Frame,
    /// The message that waits for another one to be exchanged with.
    exchanged: Option<Range<usize>>,
    /// Whether the links end after it.
    ends: bool,
}

impl Liar {
    /// Creates links that behave like this from the call of [`Liar::begin`] on.
    pub fn new(lie: Lie) -> Liar {
        Liar(Arc::new(Mutex::new(State { lie: Some(lie), ..State::default() })))
    }

    /// Starts the count of messages.
    pub fn begin(&self) {
        let mut state = self.lock();
        (state.begun, state.sent) = (true, vec![]);
    }

    /// Returns the bytes of every message since [`Liar::begin`].
    pub fn sent(&self) -> Vec<usize> {
        self.lock().sent.clone()
    }

    /// Returns whether a message was changed, held back or cut off.
    pub fn has_lied(&self) -> bool {
        self.lock().told
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Returns the change to the next message, if any.
    fn next(&mut self, length: usize) -> Option<What> {
        let number = self.sent.len();
        if self.begun {
            self.sent.push(length);
        }
        let meant = |lie: &Lie| match lie.at {
            At::Number(wanted) => wanted == number,
            At::Length(wanted) => wanted == length,
        };
        self.lie.filter(|lie| self.begun && meant(lie)).map(|lie| lie.what)
    }

    fn change(&mut self, change: Change, payload: &mut [u8]) {
        let before = payload.to_vec();
        let said = self.said.get(&payload.len()).into_iter().flatten().flatten();
        change.apply(payload, said.into_iter().find(|said| said[..] != *payload));
        self.told |= before != payload;
    }

    fn remember(&mut self, payload: &[u8]) {
        let [last, before] = self.said.entry(payload.len()).or_default();
        if last.as_deref() != Some(payload) {
            *before = last.replace(payload.to_vec());
        }
    }

    fn treat(&mut self, frame: Frame) -> Treated {
        let (mut out, mut exchanged, mut places) = (frame[..HEADER_BYTES].to_vec(), None, Vec::new());
        for (piece, head) in pieces(&frame) {
            let mut payload = frame[piece.payload.clone()].to_vec();
            let what = if is_message(&piece) { self.next(payload.len()) } else { None };
            match what {
                Some(What::Changed(change)) => self.change(change, &mut payload),
                Some(What::Shorter) => drop(payload.pop()),
                Some(What::Longer) => payload.push(0),
                Some(What::Withheld | What::Silent | What::Gone) => {
                    self.told = true;
                    self.silent = what == Some(What::Silent);
                    match what {
                        Some(What::Withheld) => continue,
                        _ => return Treated { frame: out, exchanged: None, ends: what == Some(What::Gone) },
                    }
                }
                Some(What::Swapped) | None => {}
            }
            self.told |= matches!(what, Some(What::Shorter | What::Longer));
            self.remember(&frame[piece.payload.clone()]);
            let start = out.len() + head.len();
            wire::push_piece(&mut out, piece.tag, piece.lane, piece.number, payload.len());
            out.extend_from_slice(&payload);
            let place = start..out.len();
            match what {
                Some(What::Swapped) => exchanged = Some(place),
                _ if is_message(&piece) && exchanged.is_some() => places.push(place),
                _ => {}
            }
        }
        if let Some(first) = &exchanged
            && let Some(other) = places.into_iter().find(|other| differ(&out[first.clone()], &out[other.clone()]))
        {
            let (before, after) = out.split_at_mut(other.start);
            before[first.clone()].swap_with_slice(&mut after[..other.len()]);
            (self.told, exchanged) = (true, None);
        }
        Treated { frame: out, exchanged, ends: false }
    }
}

fn is_data(frame: &[u8]) -> bool {
    wire::header(frame).is_ok_and(|head| head.kind == FrameType::Data)
}

/// Returns whether two messages have the same length and different bytes.
fn differ(x: &[u8], y: &[u8]) -> bool {
    x.len() == y.len() && x != y
}

/// The states of all parties of a mesh.
struct Hall(Mutex<Vec<Seat>>);

#[derive(Clone, Default)]
struct Seat {
    waits: bool,
    gone: bool,
    /// The number of frames, and of ends of links, that the party has not taken.
    coming: usize,
}

impl Hall {
    fn with<T>(&self, change: impl FnOnce(&mut Vec<Seat>) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns whether nothing can happen any more.
    fn is_still(&self) -> bool {
        self.with(|seats| seats.iter().all(|seat| seat.gone || (seat.waits && seat.coming == 0)))
    }
}

/// One party's links.
struct LyingNet {
    /// `None` once the links have ended.
    inner: Option<MemoryNet>,
    me: usize,
    parties: usize,
    interrupt: Interrupt,
    liar: Liar,
    hall: Arc<Hall>,
    /// A frame with a message that is to be exchanged with one of the next frame.
    held: Option<(usize, Frame, Range<usize>)>,
}

/// Returns the number of steps for which all parties have to wait until they wait for each other: the other workers of
/// a party, if there are some, may compute meanwhile.
fn patience_in_steps() -> usize {
    if workers() > 1 { 500 } else { 0 }
}

/// Returns links between the threads of one process, one per liar.
pub fn lying(liars: &[Liar]) -> Vec<Box<dyn Net>> {
    let hall = Arc::new(Hall(Mutex::new(vec![Seat::default(); liars.len()])));
    let end = |(inner, liar): (MemoryNet, &Liar)| {
        let (me, parties, interrupt) = (inner.me(), inner.parties(), inner.interrupt_handle());
        let (liar, hall) = (liar.clone(), hall.clone());
        Box::new(LyingNet { inner: Some(inner), me, parties, interrupt, liar, hall, held: None }) as Box<dyn Net>
    };
    memory::mesh(liars.len()).into_iter().zip(liars).map(end).collect()
}

impl LyingNet {
    fn post(&mut self, to: usize, frame: Frame) -> Result<(), NetError> {
        let Some(inner) = &mut self.inner else { return Ok(()) };
        self.hall.with(|seats| seats[to].coming += 1);
        inner.send(to, frame)
    }

    fn release(&mut self) -> Result<(), NetError> {
        match self.held.take() {
            Some((to, frame, _)) => self.post(to, frame),
            None => Ok(()),
        }
    }

    /// Ends the links.
    fn end(&mut self) {
        if let Some(inner) = self.inner.take() {
            let me = self.me;
            self.hall.with(|seats| {
                seats[me].gone = true;
                seats.iter_mut().for_each(|seat| seat.coming += 1);
            });
            drop(inner);
        }
    }

    fn is_lost(&self) -> NetError {
        NetError::Lost { peer: (self.me + 1) % self.parties, place: Place::HERE, tried: Duration::ZERO }
    }

    /// Takes what has arrived, and counts it as taken.
    fn take(&mut self, wait: Wait) -> Result<Option<(usize, Frame)>, NetError> {
        let Some(inner) = &mut self.inner else { return Err(self.is_lost()) };
        let taken = inner.recv(wait);
        if !matches!(taken, Ok(None) | Err(NetError::NoPeersLeft)) {
            self.hall
                .with(|seats| seats[self.me] = Seat { waits: false, gone: false, coming: seats[self.me].coming - 1 });
        }
        taken
    }
}

impl Net for LyingNet {
    fn me(&self) -> usize {
        self.me
    }

    fn parties(&self) -> usize {
        self.parties
    }

    fn send(&mut self, to: usize, mut frame: Frame) -> Result<(), NetError> {
        if let Some((peer, mut held, place)) = self.held.take() {
            let partner = pieces(&frame)
                .into_iter()
                .map(|(piece, _)| piece)
                .find(|piece| is_message(piece) && differ(&held[place.clone()], &frame[piece.payload.clone()]));
            if let Some(partner) = partner.filter(|_| is_data(&frame)) {
                held[place].swap_with_slice(&mut frame[partner.payload]);
                self.liar.lock().told = true;
            }
            self.post(peer, held)?;
        }
        let treated = {
            let mut state = self.liar.lock();
            match state.silent {
                true => return Ok(()),
                false if is_data(&frame) => state.treat(frame),
                false => Treated { frame, exchanged: None, ends: false },
            }
        };
        match treated {
            Treated { frame, exchanged: Some(place), .. } => self.held = Some((to, frame, place)),
            Treated { frame, ends, .. } => {
                self.post(to, frame)?;
                if ends {
                    self.end();
                }
            }
        }
        Ok(())
    }

    fn recv(&mut self, wait: Wait) -> Result<Option<(usize, Frame)>, NetError> {
        if wait == Wait::Poll {
            return self.take(wait);
        }
        self.release()?;
        if self.interrupt.ends_waits() {
            return self.take(Wait::Poll);
        }
        let me = self.me;
        self.hall.with(|seats| seats[me].waits = true);
        let mut still = 0;
        loop {
            let taken = self.take(Wait::Until(Instant::now() + STEP));
            let is_over = match wait {
                Wait::Until(end) => Instant::now() >= end,
                _ => false,
            };
            still = if matches!(taken, Ok(None)) && self.hall.is_still() { still + 1 } else { 0 };
            let is_still = still > patience_in_steps();
            if matches!(taken, Ok(None)) && !is_over && !is_still && !self.interrupt.ends_waits() {
                continue;
            }
            self.hall.with(|seats| seats[me].waits = false);
            let peer = (me + 1) % self.parties;
            return match is_still {
                true => Err(NetError::Timeout { peer, place: Place::HERE, silent: STEP, tried: Duration::ZERO }),
                false => taken,
            };
        }
    }

    fn queued(&self, _to: usize) -> usize {
        0
    }

    fn wire_bytes(&self) -> Vec<u64> {
        self.inner.as_ref().map_or_else(|| vec![0; self.parties], |inner| inner.wire_bytes())
    }

    fn flush(&mut self, _wait: Wait) -> Result<(), NetError> {
        self.release()
    }

    fn interrupt_handle(&self) -> Interrupt {
        self.interrupt.clone()
    }
}

impl Drop for LyingNet {
    fn drop(&mut self) {
        // A held message is still sent.
        let _ = self.release();
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::error::{Cause, Error, Fault, Result};
    use crate::testing::over;
    use crate::{Ctx, Phase};

    /// Runs three rounds of two bytes, in which party 0 sends 1, 2, 3, and then two lanes, in which it sends 4 and 5.
    /// Returns the bytes that party 1 received, and its result.
    fn heard(lie: Option<Lie>) -> (Vec<u8>, Result<()>, Liar) {
        let liars = [lie.map_or_else(Liar::default, Liar::new), Liar::default()];
        let mut ends = over(lying(&liars), |mut party| {
            let (me, heard) = (party.me(), RefCell::new(vec![]));
            let mut run = party.begin_alone().unwrap();
            liars[me].begin();
            let done = run.phase(Phase::Online, async |ctx| {
                let say = async |ctx: &Ctx, value: u8| {
                    let got = ctx.exchange_bytes(&[(1 - me, &[value; 2])], &[(1 - me, 2)]).await?;
                    heard.borrow_mut().push(got[0][0]);
                    Ok(())
                };
                for value in 1..4 {
                    say(ctx, value).await?;
                }
                ctx.join(async |ctx: Ctx| say(&ctx, 4).await, async |ctx: Ctx| say(&ctx, 5).await).await?;
                Ok(())
            });
            run.finish();
            (heard.into_inner(), done)
        });
        let (heard, done) = ends.swap_remove(1);
        (heard, done, liars[0].clone())
    }

    #[test]
    fn links_do_what_they_are_told_and_nobody_waits_for_ever() {
        let (all, done, liar) = heard(None);
        assert_eq!((all, done, liar.sent(), liar.has_lied()), (vec![1, 2, 3, 4, 5], Ok(()), vec![2; 5], false));
        let with = |number, what| heard(Some(Lie { at: At::Number(number), what }));
        let (all, done, liar) = with(3, What::Swapped);
        assert_eq!((all, done, liar.has_lied()), (vec![1, 2, 3, 5, 4], Ok(()), true));
        // The party may have to wait before it sends the next message.
        let (all, done, liar) = with(1, What::Swapped);
        let swapped = if liar.has_lied() { vec![1, 3, 2, 4, 5] } else { vec![1, 2, 3, 4, 5] };
        assert_eq!((all, done), (swapped, Ok(())));
        let (all, done, liar) = with(2, What::Changed(Change::Bit(3)));
        assert_eq!((all, done, liar.has_lied()), (vec![1, 2, 11, 4, 5], Ok(()), true));
        let (all, done, liar) = heard(Some(Lie { at: At::Length(2), what: What::Changed(Change::Zeros) }));
        assert_eq!((all, done, liar.has_lied()), (vec![0; 5], Ok(()), true));
        for what in [What::Shorter, What::Longer] {
            let (all, done, liar) = with(2, what);
            assert!(
                all == [1, 2] && liar.has_lied() && matches!(done, Err(Error::Malformed { peer: 0, .. })),
                "{done:?}"
            );
        }
        for what in [What::Withheld, What::Silent, What::Gone] {
            let (all, done, liar) = with(1, what);
            // The next message of the lane takes the place of a withheld one. Messages before the end of the links may
            // not have been read.
            let before: &[u8] = if what == What::Withheld { &[1, 3] } else { &[1] };
            assert!(before.starts_with(&all) && liar.has_lied(), "{what:?}: {all:?}");
            let is_told = match (&done, what) {
                (Err(Error::Net { peer: 0, fault: Fault::Lost { .. }, .. }), _) => what != What::Withheld,
                (Err(Error::Net { peer: 0, fault: Fault::Silent { .. }, .. }), _) => what != What::Gone,
                (Err(Error::Aborted { by: 0, cause: Cause::Silent { .. } }), _) => what == What::Withheld,
                _ => false,
            };
            assert!(is_told, "{what:?}: {done:?}");
        }
    }
}
