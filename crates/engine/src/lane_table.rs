//! The table of lanes at one party: messages that have arrived, credit, progress, and the lanes that wait for them.
//!
//! A lane is created when it first communicates or when something arrives for it, and is removed when its context is
//! dropped.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::rc::Rc;
use std::task::Waker;

use quorate_ring::memory::make_room;

use crate::costs::Phase;
use crate::error::{Error, Result, Step};
use crate::lane::LaneId;
use crate::patience::Patience;
use crate::probe::LaneCount;
use crate::wire::{PIECE_BYTES, Tag};

/// Bytes from one peer that may be parked before its lanes read them. Honest peers stay far below, since every lane and
/// every stream has a window. A peer beyond it violates the protocol.
const PARKED_LIMIT: usize = 1 << 30;
/// Bytes that a parked message, or a lane that is not read yet, takes besides its payload.
pub(crate) const OVERHEAD_BYTES: usize = 256;

/// A message as it arrived: a slice of a frame, or bytes put together from several frames.
pub(crate) struct Message {
    pub depth: u32,
    frame: Rc<Vec<u8>>,
    range: Range<usize>,
    /// The bytes charged for it while it is parked.
    charge: usize,
}

impl Message {
    pub fn bytes(&self) -> &[u8] {
        &self.frame[self.range.clone()]
    }
}

/// A lane's traffic with one peer.
#[derive(Default)]
pub(crate) struct Channel {
    messages: VecDeque<Message>,
    /// The received pieces of a message that is still arriving, and the bytes charged for them.
    partial: Vec<u8>,
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
    /// The peer for which this party holds the lane before its own context uses it, and the bytes charged for that.
    charged: Cell<Option<(usize, usize)>>,
    channels: RefCell<Vec<Channel>>,
    /// The slowest peer of this lane's stream, and the waker of the task that waits for it.
    pacer: RefCell<Option<(usize, Waker)>>,
    label: OnceCell<(Phase, Option<Step>)>,
}

/// The data that a lane waits for from a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    Message,
    Credit,
}

impl Channel {
    fn waker(&mut self, want: Want) -> &mut Option<Waker> {
        match want {
            Want::Message => &mut self.reader,
            Want::Credit => &mut self.writer,
        }
    }
}

impl Lane {
    pub fn channel<T>(&self, peer: usize, change: impl FnOnce(&mut Channel) -> T) -> T {
        change(&mut self.channels.borrow_mut()[peer])
    }

    /// Returns the smallest number of chunks of this lane's stream that one of these peers has done, and that peer.
    pub fn slowest(&self, peers: &[usize]) -> (u32, usize) {
        let channels = self.channels.borrow();
        peers.iter().map(|&peer| (channels[peer].progress, peer)).min().unwrap_or((u32::MAX, 0))
    }
}

/// All lanes of a run.
pub(crate) struct Table {
    parties: usize,
    lanes: RefCell<BTreeMap<LaneId, Rc<Lane>>>,
    /// Parked bytes by peer, and their limit.
    parked: Vec<Cell<usize>>,
    pub limit: Cell<usize>,
    /// The number of lanes that wait for each peer, and how long this party has waited.
    waits: Vec<Cell<usize>>,
    pub patience: Patience,
    /// The lane that received a message last.
    recent: RefCell<Option<Rc<Lane>>>,
    pub own_lanes: LaneCount,
}

impl Table {
    pub fn new(parties: usize) -> Self {
        Table::with_limit(parties, PARKED_LIMIT)
    }

    fn with_limit(parties: usize, limit: usize) -> Self {
        let (parked, limit) = (vec![Cell::new(0); parties], Cell::new(limit));
        Table {
            parties,
            lanes: RefCell::default(),
            parked,
            limit,
            waits: vec![Cell::default(); parties],
            patience: Patience::new(parties),
            recent: RefCell::default(),
            own_lanes: Default::default(),
        }
    }

    pub fn clear(&self) {
        self.lanes.borrow_mut().clear();
        self.parked.iter().for_each(|bytes| bytes.set(0));
        self.waits.iter().for_each(|waits| waits.set(0));
        self.patience.forget();
        self.own_lanes.clear();
        *self.recent.borrow_mut() = None;
    }

    /// Returns whether some lane waits for any peer.
    pub fn is_waiting(&self) -> bool {
        (0..self.parties).any(|peer| self.awaits(peer))
    }

    /// Returns whether some lane waits for this peer.
    pub fn awaits(&self, peer: usize) -> bool {
        self.waits[peer].get() > 0
    }

    fn unregister(&self, peer: usize, waiting: usize) {
        self.waits[peer].set(self.waits[peer].get() - waiting);
    }

    /// Opens the lane of a context; phase and step name it in errors.
    pub fn open(&self, id: LaneId, phase: Phase, step: &Option<Step>) -> Rc<Lane> {
        let lane = self.lane(id);
        self.own_lanes.open(lane.label.get().is_none());
        lane.label.get_or_init(|| (phase, step.clone()));
        self.refund_lane(&lane);
        lane
    }

    fn lane(&self, id: LaneId) -> Rc<Lane> {
        let mut lanes = self.lanes.borrow_mut();
        let lane = lanes.entry(id).or_insert_with(|| {
            let channels = RefCell::new((0..self.parties).map(|_| Channel::default()).collect());
            let (charged, pacer, label) = Default::default();
            Rc::new(Lane { id, charged, channels, pacer, label })
        });
        lane.clone()
    }

    /// Returns the lane to which a peer's message belongs. A new lane is charged for all its channels until this party
    /// opens it.
    fn lane_for(&self, peer: usize, id: LaneId) -> Result<Rc<Lane>> {
        let held = self.lanes.borrow().get(&id).cloned();
        if let Some(lane) = held {
            return Ok(lane);
        }
        let bytes = OVERHEAD_BYTES * self.parties;
        self.charge(peer, bytes)?;
        let lane = self.lane(id);
        lane.charged.set(Some((peer, bytes)));
        Ok(lane)
    }

    fn refund_lane(&self, lane: &Lane) {
        if let Some((peer, bytes)) = lane.charged.take() {
            self.refund(peer, bytes);
        }
    }

    /// Removes a lane whose context was dropped.
    pub fn retire(&self, lane: &Rc<Lane>) {
        let mut lanes = self.lanes.borrow_mut();
        if !lanes.get(&lane.id).is_some_and(|held| Rc::ptr_eq(held, lane)) {
            return;
        }
        lanes.remove(&lane.id);
        self.own_lanes.retire(lane.label.get().is_some());
        self.refund_lane(lane);
        for (peer, channel) in lane.channels.borrow().iter().enumerate() {
            self.refund(peer, channel.partial_charge + channel.messages.iter().map(|m| m.charge).sum::<usize>());
            self.unregister(peer, usize::from(channel.reader.is_some()) + usize::from(channel.writer.is_some()));
        }
        if let Some((peer, _)) = &*lane.pacer.borrow() {
            self.unregister(*peer, 1);
        }
    }

    /// Accounts for memory that a peer makes this party hold.
    pub fn charge(&self, peer: usize, bytes: usize) -> Result<()> {
        let parked = self.parked[peer].get().saturating_add(bytes);
        self.parked[peer].set(parked);
        if parked > self.limit.get() {
            return Err(Error::Malformed { peer, what: "more bytes than its credit" });
        }
        Ok(())
    }

    fn refund(&self, peer: usize, bytes: usize) {
        self.parked[peer].set(self.parked[peer].get().saturating_sub(bytes));
    }

    /// Parks a piece of a message; `range` is its payload in `frame`.
    pub fn park(
        &self,
        peer: usize,
        id: LaneId,
        depth: u32,
        last: bool,
        frame: &Rc<Vec<u8>>,
        range: Range<usize>,
    ) -> Result<()> {
        let charge = range.len() + OVERHEAD_BYTES;
        self.charge(peer, charge)?;
        let lane = self.lane_for(peer, id)?;
        let mut channels = lane.channels.borrow_mut();
        let channel = &mut channels[peer];
        let whole = last && channel.partial_charge == 0;
        if !whole {
            make_room(&mut channel.partial, range.len());
            channel.partial.extend_from_slice(&frame[range.clone()]);
            channel.partial_charge += charge;
        }
        if !last {
            if range.len() == PIECE_BYTES && channel.reader.is_some() {
                self.patience.heard(peer); // a long message, on a slow line
            }
            return Ok(());
        }
        let message = if whole && frame.len() > 2 * range.len() + OVERHEAD_BYTES {
            // A small message must not keep a large frame alive: the peer is charged for the message only.
            let own = frame[range].to_vec();
            let range = 0..own.len();
            Message { depth, frame: Rc::new(own), range, charge }
        } else if whole {
            Message { depth, frame: frame.clone(), range, charge }
        } else {
            let whole = std::mem::take(&mut channel.partial);
            let (range, charge) = (0..whole.len(), std::mem::take(&mut channel.partial_charge));
            Message { depth, frame: Rc::new(whole), range, charge }
        };
        channel.messages.push_back(message);
        self.wake(peer, &mut channel.reader);
        drop(channels);
        *self.recent.borrow_mut() = Some(lane);
        Ok(())
    }

    /// Returns the next message of a peer on this lane, if it has arrived.
    pub fn take(&self, lane: &Lane, peer: usize) -> Option<Message> {
        let mut channels = lane.channels.borrow_mut();
        let channel = &mut channels[peer];
        let message = channel.messages.pop_front()?;
        self.refund(peer, message.charge);
        if channel.reader.take().is_some() {
            self.unregister(peer, 1);
        }
        self.patience.heard(peer);
        Some(message)
    }

    /// Takes in credit or progress. Credit is for bytes that this party has sent, so a lane that is missing has done
    /// its work. Progress may arrive before this party begins the stream, but never after it ended (see `pace`).
    pub fn control(&self, peer: usize, tag: Tag, id: LaneId, number: u32) -> Result<()> {
        if tag == Tag::Credit {
            let Some(lane) = self.lanes.borrow().get(&id).cloned() else { return Ok(()) };
            let mut channels = lane.channels.borrow_mut();
            channels[peer].granted = channels[peer].granted.saturating_add(u64::from(number));
            self.wake(peer, &mut channels[peer].writer);
        } else {
            let lane = self.lane_for(peer, id)?;
            let done = &mut lane.channels.borrow_mut()[peer].progress;
            let moved = number > *done;
            *done = (*done).max(number);
            self.wake_pacer(&lane, moved.then_some(peer));
        }
        Ok(())
    }

    /// Wakes `waker` when the lane gets what it wants from the peer.
    pub fn wait(&self, lane: &Lane, peer: usize, want: Want, waker: &Waker) {
        let mut channels = lane.channels.borrow_mut();
        let place = channels[peer].waker(want);
        match place {
            Some(held) => held.clone_from(waker),
            None => {
                self.register(peer);
                *place = Some(waker.clone());
            }
        }
    }

    /// Wakes `waker` when some peer reports progress on this lane's stream; the wait counts as one for `slowest`.
    pub fn wait_for_progress(&self, lane: &Lane, slowest: usize, waker: &Waker) {
        if let Some((before, _)) = lane.pacer.replace(Some((slowest, waker.clone()))) {
            self.unregister(before, 1);
        }
        self.register(slowest);
    }

    fn register(&self, peer: usize) {
        self.waits[peer].set(self.waits[peer].get() + 1);
    }

    fn wake(&self, peer: usize, place: &mut Option<Waker>) {
        if let Some(waker) = place.take() {
            self.unregister(peer, 1);
            waker.wake();
        }
    }

    /// Wakes the task that waits for progress on this lane's stream, since a peer has `moved` or left.
    fn wake_pacer(&self, lane: &Lane, moved: Option<usize>) {
        if let Some((peer, waker)) = lane.pacer.take() {
            if moved == Some(peer) {
                self.patience.heard(peer);
            }
            self.unregister(peer, 1);
            waker.wake();
        }
    }

    /// Wakes all lanes that wait for this peer: it left, and nothing more will arrive from it.
    pub fn wake_all(&self, peer: usize) {
        for lane in self.lanes.borrow().values() {
            let mut channels = lane.channels.borrow_mut();
            self.wake(peer, &mut channels[peer].reader);
            self.wake(peer, &mut channels[peer].writer);
            self.wake_pacer(lane, None);
        }
    }

    /// Returns phase and step of the earliest lane that waits for the peer. Without one, it returns those of the
    /// earliest lane that waits at all, or else of the one that was served last.
    pub fn earliest_wait(&self, peer: usize) -> Option<(Phase, Option<Step>)> {
        let lanes = self.lanes.borrow();
        let waiting = lanes.values().filter_map(|lane| {
            let channels = lane.channels.borrow();
            let waits = |c: &Channel| c.reader.is_some() || c.writer.is_some();
            let anyhow = channels.iter().any(waits) || lane.pacer.borrow().is_some();
            let (phase, step) = lane.label.get()?;
            let rank = (!waits(&channels[peer]), step.as_ref().map_or(u32::MAX, |s| s.id), lane.id);
            anyhow.then(|| (rank, (*phase, step.clone())))
        });
        let served = || self.recent.borrow().as_ref().and_then(|lane| lane.label.get().cloned());
        waiting.min_by_key(|(rank, _)| *rank).map(|(_, label)| label).or_else(served)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parked_bytes_are_given_back_when_read_and_when_the_lane_goes() {
        let table = Table::new(3);
        let frame = Rc::new(vec![0; 1000]);
        let lane = table.open(LaneId(7), Phase::Online, &None);
        table.park(1, LaneId(7), 1, false, &frame, 0..500).unwrap();
        table.park(1, LaneId(7), 1, true, &frame, 500..1000).unwrap();
        assert!(table.parked[1].get() > 1000);
        assert_eq!(table.take(&lane, 1).unwrap().bytes().len(), 1000);
        assert_eq!(table.parked[1].get(), 0);
        table.park(1, LaneId(7), 1, true, &frame, 0..9).unwrap();
        table.wait(&lane, 2, Want::Message, Waker::noop());
        table.wait(&lane, 2, Want::Message, Waker::noop());
        table.wait_for_progress(&lane, 1, Waker::noop());
        table.wait_for_progress(&lane, 0, Waker::noop());
        assert_eq!([0, 1, 2].map(|peer| table.awaits(peer)), [true, false, true]);
        table.retire(&lane);
        assert!(!table.is_waiting());
        assert_eq!((table.parked[1].get(), table.lanes.borrow().len()), (0, 0));
    }

    #[test]
    fn a_peer_cannot_make_this_party_hold_more_than_the_limit() {
        let frame = Rc::new(vec![0; 1 << 20]);
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
        let (table, frame) = (Table::new(3), Rc::new(vec![0; 9]));
        table.park(1, LaneId(7), 0, true, &frame, 0..9).unwrap();
        table.control(2, Tag::Progress, LaneId(8), 1).unwrap();
        assert_eq!([1, 2].map(|peer| table.parked[peer].get()), [9 + 4 * OVERHEAD_BYTES, 3 * OVERHEAD_BYTES]);
        let lane = table.open(LaneId(7), Phase::Online, &None);
        assert_eq!(table.parked[1].get(), 9 + OVERHEAD_BYTES);
        table.retire(&lane);
        table.retire(&table.lane(LaneId(8)));
        assert_eq!([1, 2].map(|peer| table.parked[peer].get()), [0, 0]);
    }

    #[test]
    fn credit_for_a_lane_that_has_gone_makes_no_lane() {
        let table = Table::new(2);
        let lane = table.open(LaneId(7), Phase::Online, &None);
        table.control(1, Tag::Credit, LaneId(7), 5).unwrap();
        assert_eq!(lane.channel(1, |channel| channel.granted), 5);
        table.retire(&lane);
        table.control(1, Tag::Credit, LaneId(7), 5).unwrap();
        assert_eq!((table.lanes.borrow().len(), table.parked[1].get()), (0, 0));
    }

    #[test]
    fn a_small_message_does_not_keep_its_frame() {
        let table = Table::new(2);
        let frame = Rc::new(vec![7; 1 << 20]);
        let lane = table.open(LaneId(7), Phase::Online, &None);
        table.park(1, LaneId(7), 1, true, &frame, 10..12).unwrap();
        assert_eq!(Rc::strong_count(&frame), 1);
        assert_eq!(table.take(&lane, 1).unwrap().bytes(), [7, 7]);
    }

    #[test]
    fn messages_read_at_once_do_not_accumulate() {
        let table = Table::with_limit(2, 4 << 20);
        let frame = Rc::new(vec![0; 1 << 20]);
        let lane = table.open(LaneId(7), Phase::Online, &None);
        table.park(1, LaneId(7), 1, true, &frame, 0..1 << 20).unwrap();
        for _ in 0..100 {
            table.park(1, LaneId(7), 1, true, &frame, 0..1 << 20).unwrap();
            table.take(&lane, 1).unwrap();
        }
    }
}
