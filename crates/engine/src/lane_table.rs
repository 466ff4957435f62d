//! The table of lanes at one party: messages that have arrived, credit, progress, and the lanes that wait for them.
//!
//! A lane is created when it first communicates or when something arrives for it, and is removed when its context is
//! dropped. All workers of the party share the table: one of them takes in what arrives, and each lane lives on one of
//! them. A lane checks for a message, and registers its waker if the message is missing, under one lock, so that no
//! wake-up is lost. The lock of the map is taken before that of a lane, never after it.

use quorate_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use quorate_sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::task::{Poll, Waker};

use quorate_ring::memory::make_room;

use crate::costs::Phase;
use crate::error::{Error, Mismatch, Result, Step};
use crate::lane::LaneId;
use crate::patience::Patience;
use crate::wire::{PIECE_BYTES, Tag};

/// Bytes from one peer that may be parked before its lanes read them. Honest peers stay far below, since every lane and
/// every stream has a window. A peer beyond it violates the protocol.
const PARKED_LIMIT: usize = 1 << 30;
/// Bytes that a parked message, or a lane that is not read yet, takes besides its payload.
pub(crate) const OVERHEAD_BYTES: usize = 256;

/// Bytes of a frame.
struct Slice {
    frame: Arc<Vec<u8>>,
    range: Range<usize>,
}

impl Slice {
    /// Returns a slice that keeps its frame alive, unless that is much larger: the peer is charged for the slice only.
    fn of(frame: &Arc<Vec<u8>>, range: Range<usize>) -> Slice {
        if frame.len() <= 2 * range.len() + OVERHEAD_BYTES {
            return Slice { frame: frame.clone(), range };
        }
        let own = frame[range].to_vec();
        Slice { range: 0..own.len(), frame: Arc::new(own) }
    }

    fn bytes(&self) -> &[u8] {
        &self.frame[self.range.clone()]
    }
}

/// A message that is parked: its last piece, and those before it.
struct Parked {
    depth: u32,
    before: Vec<Slice>,
    last: Slice,
    /// The bytes charged for it.
    charge: usize,
}

impl Parked {
    /// Puts the pieces together.
    fn message(self) -> Message {
        let Parked { depth, mut before, last, .. } = self;
        if before.is_empty() {
            return Message { depth, bytes: last };
        }
        before.push(last);
        let mut whole = Vec::new();
        make_room(&mut whole, before.iter().map(|piece| piece.range.len()).sum());
        for piece in before {
            whole.extend_from_slice(piece.bytes()); // each frame can go as soon as it is copied
        }
        Message { depth, bytes: Slice { range: 0..whole.len(), frame: Arc::new(whole) } }
    }
}

/// A message that has arrived.
pub(crate) struct Message {
    pub depth: u32,
    bytes: Slice,
}

impl Message {
    pub fn bytes(&self) -> &[u8] {
        self.bytes.bytes()
    }
}

/// A lane's traffic with one peer.
#[derive(Default)]
pub(crate) struct Channel {
    messages: VecDeque<Parked>,
    /// The received pieces of a message that is still arriving, and the bytes charged for them.
    partial: Vec<Slice>,
    partial_charge: usize,
    /// Payload bytes sent, and granted by the peer, since the lane began.
    pub sent: u64,
    pub granted: u64,
    /// Payload bytes read since credit was last granted.
    pub read: u64,
    /// The number of chunks of this lane's stream that the peer has done.
    progress: u32,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

pub(crate) struct Lane {
    pub id: LaneId,
    state: Mutex<LaneState>,
    label: OnceLock<(Phase, Option<Step>)>,
}

struct LaneState {
    /// The peer for which this party holds the lane before its own context uses it, and the bytes charged for that.
    charged: Option<(usize, usize)>,
    channels: Vec<Channel>,
    /// The slowest peer of this lane's stream, and the waker of the task that waits for it.
    pacer: Option<(usize, Waker)>,
}

/// A peer that has left, so that nothing more will come from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HasLeft(pub usize);

impl From<HasLeft> for Error {
    fn from(HasLeft(peer): HasLeft) -> Error {
        Error::Mismatch(Mismatch::Left { peer })
    }
}

impl LaneState {
    /// Returns the smallest number of chunks of this lane's stream that one of these peers has done, and that peer.
    fn slowest(&self, peers: &[usize]) -> (u32, usize) {
        peers.iter().map(|&peer| (self.channels[peer].progress, peer)).min().unwrap_or((u32::MAX, 0))
    }
}

impl Lane {
    pub fn channel<T>(&self, peer: usize, change: impl FnOnce(&mut Channel) -> T) -> T {
        change(&mut self.lock().channels[peer])
    }

    /// Returns the smallest number of chunks of this lane's stream that one of these peers has done.
    pub fn slowest(&self, peers: &[usize]) -> u32 {
        self.lock().slowest(peers).0
    }

    fn lock(&self) -> MutexGuard<'_, LaneState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All lanes of a run.
pub(crate) struct Table {
    parties: usize,
    lanes: Mutex<BTreeMap<LaneId, Arc<Lane>>>,
    /// Parked bytes by peer, and their limit.
    parked: Vec<AtomicUsize>,
    pub limit: AtomicUsize,
    /// The number of lanes that wait for each peer, and how long this party has waited.
    waits: Vec<AtomicUsize>,
    /// The peers that have said goodbye.
    left: Vec<AtomicBool>,
    pub patience: Patience,
    /// The lane that received a message last.
    recent: Mutex<Option<Arc<Lane>>>,
}

impl Table {
    pub fn new(parties: usize) -> Self {
        Table::with_limit(parties, PARKED_LIMIT)
    }

    fn with_limit(parties: usize, limit: usize) -> Self {
        let zeros = || (0..parties).map(|_| AtomicUsize::new(0)).collect();
        Table {
            parties,
            lanes: Mutex::default(),
            parked: zeros(),
            limit: AtomicUsize::new(limit),
            waits: zeros(),
            left: (0..parties).map(|_| AtomicBool::new(false)).collect(),
            patience: Patience::new(parties),
            recent: Mutex::default(),
        }
    }

    /// Forgets a run, whose lanes are gone.
    pub fn clear(&self) {
        self.lanes().clear();
        self.parked.iter().chain(&self.waits).for_each(|count| count.store(0, Ordering::SeqCst));
        self.patience.forget();
        *self.recent() = None;
    }

    fn lanes(&self) -> MutexGuard<'_, BTreeMap<LaneId, Arc<Lane>>> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn recent(&self) -> MutexGuard<'_, Option<Arc<Lane>>> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether `peer` said goodbye; a party that still waits for it runs another program.
    pub fn has_left(&self, peer: usize) -> bool {
        self.left[peer].load(Ordering::SeqCst)
    }

    /// Returns whether some lane waits for any peer.
    pub fn is_waiting(&self) -> bool {
        (0..self.parties).any(|peer| self.awaits(peer))
    }

    /// Returns whether some lane waits for this peer.
    pub fn awaits(&self, peer: usize) -> bool {
        self.waits[peer].load(Ordering::SeqCst) > 0
    }

    fn unregister(&self, peer: usize, waiting: usize) {
        self.waits[peer].fetch_sub(waiting, Ordering::SeqCst);
    }

    /// Opens the lane of a context; phase and step name it in errors.
    pub fn open(&self, id: LaneId, phase: Phase, step: &Option<Step>) -> Arc<Lane> {
        let (lane, _) = self.lane(id, None);
        lane.label.get_or_init(|| (phase, step.clone()));
        self.refund_lane(&mut lane.lock());
        lane
    }

    /// Returns a lane, and whether it was made just now.
    fn lane(&self, id: LaneId, charged: Option<(usize, usize)>) -> (Arc<Lane>, bool) {
        let mut is_new = false;
        let mut lanes = self.lanes();
        let lane = lanes.entry(id).or_insert_with(|| {
            is_new = true;
            let channels = (0..self.parties).map(|_| Channel::default()).collect();
            let state = Mutex::new(LaneState { charged, channels, pacer: None });
            Arc::new(Lane { id, state, label: OnceLock::new() })
        });
        (lane.clone(), is_new)
    }

    /// Returns the lane to which a peer's message belongs. A new lane is charged for all its channels until this party
    /// opens it.
    fn lane_for(&self, peer: usize, id: LaneId) -> Result<Arc<Lane>> {
        let held = self.lanes().get(&id).cloned();
        if let Some(lane) = held {
            return Ok(lane);
        }
        let bytes = OVERHEAD_BYTES * self.parties;
        self.charge(peer, bytes)?;
        let (lane, is_new) = self.lane(id, Some((peer, bytes)));
        if !is_new {
            self.refund(peer, bytes);
        }
        Ok(lane)
    }

    fn refund_lane(&self, lane: &mut LaneState) {
        if let Some((peer, bytes)) = lane.charged.take() {
            self.refund(peer, bytes);
        }
    }

    /// Removes a lane whose context was dropped.
    pub fn retire(&self, lane: &Arc<Lane>) {
        let mut lanes = self.lanes();
        if !lanes.get(&lane.id).is_some_and(|held| Arc::ptr_eq(held, lane)) {
            return;
        }
        lanes.remove(&lane.id);
        drop(lanes);
        let mut state = lane.lock();
        self.refund_lane(&mut state);
        for (peer, channel) in state.channels.iter_mut().enumerate() {
            self.refund(peer, channel.partial_charge + channel.messages.iter().map(|m| m.charge).sum::<usize>());
            let waiting = [channel.reader.take(), channel.writer.take()].into_iter().flatten().count();
            self.unregister(peer, waiting);
        }
        if let Some((peer, _)) = state.pacer.take() {
            self.unregister(peer, 1);
        }
    }

    /// Accounts for memory that a peer makes this party hold.
    pub fn charge(&self, peer: usize, bytes: usize) -> Result<()> {
        let parked = self.parked[peer].fetch_add(bytes, Ordering::SeqCst).saturating_add(bytes);
        if parked > self.limit.load(Ordering::SeqCst) {
            return Err(Error::Malformed { peer, what: "more bytes than its credit" });
        }
        Ok(())
    }

    fn refund(&self, peer: usize, bytes: usize) {
        let less = |parked: usize| Some(parked.saturating_sub(bytes));
        let _ = self.parked[peer].fetch_update(Ordering::SeqCst, Ordering::SeqCst, less);
    }

    /// Parks a piece of a message; `range` is its payload in `frame`.
    pub fn park(
        &self,
        peer: usize,
        id: LaneId,
        depth: u32,
        last: bool,
        frame: &Arc<Vec<u8>>,
        range: Range<usize>,
    ) -> Result<()> {
        let charge = range.len() + OVERHEAD_BYTES;
        self.charge(peer, charge)?;
        let lane = self.lane_for(peer, id)?;
        let mut state = lane.lock();
        let channel = &mut state.channels[peer];
        channel.partial_charge += charge;
        let piece = Slice::of(frame, range);
        if !last {
            if piece.range.len() == PIECE_BYTES && channel.reader.is_some() {
                self.patience.heard(peer); // a long message, on a slow line
            }
            channel.partial.push(piece);
            return Ok(());
        }
        let (before, charge) = (std::mem::take(&mut channel.partial), std::mem::take(&mut channel.partial_charge));
        let message = Parked { depth, before, last: piece, charge };
        channel.messages.push_back(message);
        self.wake(peer, &mut channel.reader);
        drop(state);
        *self.recent() = Some(lane);
        Ok(())
    }

    /// Returns the next message of a peer on this lane, if it has arrived.
    pub fn take(&self, lane: &Lane, peer: usize) -> Option<Message> {
        let parked = self.take_from(peer, &mut lane.lock().channels[peer]);
        parked.map(Parked::message)
    }

    fn take_from(&self, peer: usize, channel: &mut Channel) -> Option<Parked> {
        let message = channel.messages.pop_front()?;
        self.refund(peer, message.charge);
        if channel.reader.take().is_some() {
            self.unregister(peer, 1);
        }
        self.patience.heard(peer);
        Some(message)
    }

    /// Returns the next message of a peer on this lane, or wakes `waker` when it arrives.
    ///
    /// # Errors
    /// [`HasLeft`] if no message will come.
    pub fn poll_message(&self, lane: &Lane, peer: usize, waker: &Waker) -> Poll<std::result::Result<Message, HasLeft>> {
        let mut state = lane.lock();
        let channel = &mut state.channels[peer];
        let Some(parked) = self.take_from(peer, channel) else { return self.wait(peer, &mut channel.reader, waker) };
        drop(state); // nobody waits for this lane while its message is put together
        Poll::Ready(Ok(parked.message()))
    }

    /// Is ready once fewer than `window` of the bytes sent to a peer on this lane are unread; until then, `waker` is
    /// registered.
    ///
    /// # Errors
    /// [`HasLeft`] if the peer reads no more.
    pub fn poll_credit(
        &self,
        lane: &Lane,
        peer: usize,
        window: u64,
        waker: &Waker,
    ) -> Poll<std::result::Result<(), HasLeft>> {
        let channel = &mut lane.lock().channels[peer];
        match channel.sent.saturating_sub(channel.granted) < window {
            true => Poll::Ready(Ok(())),
            false => self.wait(peer, &mut channel.writer, waker),
        }
    }

    /// Is ready once each of these peers has done `needed` chunks of this lane's stream. Until then, `waker` is woken
    /// when one of them reports progress; the wait counts as one for the slowest peer.
    ///
    /// # Errors
    /// [`HasLeft`] if the slowest peer makes no more progress.
    pub fn poll_progress(
        &self,
        lane: &Lane,
        peers: &[usize],
        needed: usize,
        waker: &Waker,
    ) -> Poll<std::result::Result<(), HasLeft>> {
        let mut state = lane.lock();
        let (done, slowest) = state.slowest(peers);
        if done as usize >= needed {
            return Poll::Ready(Ok(()));
        }
        if self.has_left(slowest) {
            return Poll::Ready(Err(HasLeft(slowest)));
        }
        if let Some((before, _)) = state.pacer.replace((slowest, waker.clone())) {
            self.unregister(before, 1);
        }
        self.register(slowest);
        Poll::Pending
    }

    /// Takes in credit or progress. Credit is for bytes that this party has sent, so a lane that is missing has done
    /// its work. Progress may arrive before this party begins the stream, but never after it ended (see `pace`).
    pub fn control(&self, peer: usize, tag: Tag, id: LaneId, number: u32) -> Result<()> {
        if tag == Tag::Credit {
            let Some(lane) = self.lanes().get(&id).cloned() else { return Ok(()) };
            let channel = &mut lane.lock().channels[peer];
            channel.granted = channel.granted.saturating_add(u64::from(number));
            self.wake(peer, &mut channel.writer);
        } else {
            let lane = self.lane_for(peer, id)?;
            let mut state = lane.lock();
            let done = &mut state.channels[peer].progress;
            let moved = number > *done;
            *done = (*done).max(number);
            self.wake_pacer(&mut state, moved.then_some(peer));
        }
        Ok(())
    }

    /// Puts a waker into its place, unless the peer has left. The caller has locked the lane; [`Table::leaves`] locks
    /// it after it has noted that a peer left.
    fn wait<T>(&self, peer: usize, place: &mut Option<Waker>, waker: &Waker) -> Poll<std::result::Result<T, HasLeft>> {
        if self.has_left(peer) {
            return Poll::Ready(Err(HasLeft(peer)));
        }
        match place {
            Some(held) => held.clone_from(waker),
            None => {
                self.register(peer);
                *place = Some(waker.clone());
            }
        }
        Poll::Pending
    }

    fn register(&self, peer: usize) {
        self.waits[peer].fetch_add(1, Ordering::SeqCst);
    }

    fn wake(&self, peer: usize, place: &mut Option<Waker>) {
        if let Some(waker) = place.take() {
            self.unregister(peer, 1);
            waker.wake();
        }
    }

    /// Wakes the task that waits for progress on this lane's stream, since a peer has `moved` or left.
    fn wake_pacer(&self, lane: &mut LaneState, moved: Option<usize>) {
        if let Some((peer, waker)) = lane.pacer.take() {
            if moved == Some(peer) {
                self.patience.heard(peer);
            }
            self.unregister(peer, 1);
            waker.wake();
        }
    }

    /// Notes that a peer left, and wakes all lanes that wait for it: nothing more will arrive from it.
    pub fn leaves(&self, peer: usize) {
        self.left[peer].store(true, Ordering::SeqCst);
        for lane in self.lanes().values() {
            let mut state = lane.lock();
            self.wake(peer, &mut state.channels[peer].reader);
            self.wake(peer, &mut state.channels[peer].writer);
            self.wake_pacer(&mut state, None);
        }
    }

    /// Returns phase and step of the earliest lane that waits for the peer. Without one, it returns those of the
    /// earliest lane that waits at all, or else of the one that was served last.
    pub fn earliest_wait(&self, peer: usize) -> Option<(Phase, Option<Step>)> {
        let lanes = self.lanes();
        let waiting = lanes.values().filter_map(|lane| {
            let state = lane.lock();
            let waits = |c: &Channel| c.reader.is_some() || c.writer.is_some();
            let anyhow = state.channels.iter().any(waits) || state.pacer.is_some();
            let (phase, step) = lane.label.get()?;
            let rank = (!waits(&state.channels[peer]), step.as_ref().map_or(u32::MAX, |s| s.id), lane.id);
            anyhow.then(|| (rank, (*phase, step.clone())))
        });
        let served = || self.recent().as_ref().and_then(|lane| lane.label.get().cloned());
        waiting.min_by_key(|(rank, _)| *rank).map(|(_, label)| label).or_else(served)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parked(table: &Table, peer: usize) -> usize {
        table.parked[peer].load(Ordering::SeqCst)
    }

    #[test]
    fn parked_bytes_are_given_back_when_read_and_when_the_lane_goes() {
        let table = Table::new(3);
        let frame = Arc::new(vec![0; 1000]);
        let lane = table.open(LaneId(7), Phase::Online, &None);
        table.park(1, LaneId(7), 1, false, &frame, 0..500).unwrap();
        table.park(1, LaneId(7), 1, true, &frame, 500..1000).unwrap();
        assert!(parked(&table, 1) > 1000);
        assert_eq!(table.take(&lane, 1).unwrap().bytes().len(), 1000);
        assert_eq!(parked(&table, 1), 0);
        table.park(1, LaneId(7), 1, true, &frame, 0..9).unwrap();
        assert!(table.poll_message(&lane, 2, Waker::noop()).is_pending());
        assert!(table.poll_message(&lane, 2, Waker::noop()).is_pending());
        assert!(table.poll_progress(&lane, &[1], 1, Waker::noop()).is_pending());
        assert!(table.poll_progress(&lane, &[0], 1, Waker::noop()).is_pending());
        assert_eq!([0, 1, 2].map(|peer| table.awaits(peer)), [true, false, true]);
        table.retire(&lane);
        assert!(!table.is_waiting());
        assert_eq!((parked(&table, 1), table.lanes().len()), (0, 0));
    }

    #[test]
    fn a_peer_cannot_make_this_party_hold_more_than_the_limit() {
        let frame = Arc::new(vec![0; 1 << 20]);
        let table = Table::with_limit(2, 8 << 20);
        let held = (0..20).take_while(|_| table.park(1, LaneId(3), 0, true, &frame, 0..1 << 20).is_ok()).count();
        assert_eq!(held, 7);
        let table = Table::with_limit(2, 1 << 20);
        let held = (0..9999).take_while(|&id| table.control(1, Tag::Progress, LaneId(id), 1).is_ok()).count();
        assert_eq!(held, (1 << 20) / (2 * OVERHEAD_BYTES));
        let table = Table::with_limit(2, 1 << 20);
        let held = (0..9999).take_while(|&id| table.park(1, LaneId(id), 0, false, &frame, 0..0).is_ok()).count();
        assert_eq!(held, (1 << 20) / (3 * OVERHEAD_BYTES), "a piece, and a lane with two channels");
    }

    #[test]
    fn a_lane_that_a_peer_begins_counts_until_this_party_gets_there_or_the_lane_goes() {
        let (table, frame) = (Table::new(3), Arc::new(vec![0; 9]));
        table.park(1, LaneId(7), 0, true, &frame, 0..9).unwrap();
        table.control(2, Tag::Progress, LaneId(8), 1).unwrap();
        assert_eq!([1, 2].map(|peer| parked(&table, peer)), [9 + 4 * OVERHEAD_BYTES, 3 * OVERHEAD_BYTES]);
        let lane = table.open(LaneId(7), Phase::Online, &None);
        assert_eq!(parked(&table, 1), 9 + OVERHEAD_BYTES);
        table.retire(&lane);
        table.retire(&table.lane(LaneId(8), None).0);
        assert_eq!([1, 2].map(|peer| parked(&table, peer)), [0, 0]);
    }

    #[test]
    fn credit_for_a_lane_that_has_gone_makes_no_lane() {
        let table = Table::new(2);
        let lane = table.open(LaneId(7), Phase::Online, &None);
        table.control(1, Tag::Credit, LaneId(7), 5).unwrap();
        assert_eq!(lane.channel(1, |channel| channel.granted), 5);
        table.retire(&lane);
        table.control(1, Tag::Credit, LaneId(7), 5).unwrap();
        assert_eq!((table.lanes().len(), parked(&table, 1)), (0, 0));
    }

    #[test]
    fn a_small_message_does_not_keep_its_frame() {
        let table = Table::new(2);
        let frame = Arc::new(vec![7; 1 << 20]);
        let lane = table.open(LaneId(7), Phase::Online, &None);
        table.park(1, LaneId(7), 1, true, &frame, 10..12).unwrap();
        assert_eq!(Arc::strong_count(&frame), 1);
        assert_eq!(table.take(&lane, 1).unwrap().bytes(), [7, 7]);
    }

    #[test]
    fn messages_read_at_once_do_not_accumulate() {
        let table = Table::with_limit(2, 4 << 20);
        let frame = Arc::new(vec![0; 1 << 20]);
        let lane = table.open(LaneId(7), Phase::Online, &None);
        table.park(1, LaneId(7), 1, true, &frame, 0..1 << 20).unwrap();
        for _ in 0..100 {
            table.park(1, LaneId(7), 1, true, &frame, 0..1 << 20).unwrap();
            table.take(&lane, 1).unwrap();
        }
    }
}
