//! One party's scheduler: delivers whatever has arrived, polls until nothing moves, flushes, waits for any frame.
//!
//! It is single-threaded and knows no protocol. What a lane waits for lies in `waiting`; what has arrived for lanes that do
//! not wait yet lies in `inbox`. Both are keyed by lane and peer, so nothing depends on the order in which peers' frames come.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::ops::Range;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use quorate_net::{Net, NetError, Wait};

use crate::costs::{Costs, Phase};
use crate::error::{Cause, Error, Fault, Mismatch, Result, Step};
use crate::lane::LaneId;
use crate::wire::{self, Kind, Tag};

/// Bytes of one peer that may be parked before its lanes read them. Honest peers stay far below: every lane has a window
/// and so has every stream. A peer beyond it breaks the protocol.
const PARKED_LIMIT: usize = 1 << 30;
/// Longest handshake message.
const GREETING_LIMIT: usize = 64 << 20;

/// A message as it arrived: a slice of a frame, or bytes put together from several frames.
pub(crate) struct Message {
    pub depth: u32,
    frame: Rc<Vec<u8>>,
    range: Range<usize>,
}

impl Message {
    pub fn bytes(&self) -> &[u8] {
        &self.frame[self.range.clone()]
    }
}

#[derive(Default)]
struct Queue {
    messages: VecDeque<Message>,
    partial: Vec<u8>,
}

struct Waiting {
    waker: Waker,
    phase: Phase,
    step: Option<Step>,
}

/// The state that all lanes of a run share.
pub(crate) struct Core {
    pub me: usize,
    pub parties: usize,
    /// `None` in a dry run.
    pub net: Option<RefCell<Box<dyn Net>>>,
    /// The run under way, or the last one.
    pub run: Cell<u32>,
    /// Frames of runs below this one are stale and dropped.
    pub floor: Cell<u32>,
    pub costs: RefCell<Costs>,
    out: RefCell<Vec<Vec<u8>>>,
    inbox: RefCell<HashMap<(LaneId, usize), Queue>>,
    parked: RefCell<Vec<usize>>,
    waiting: RefCell<HashMap<(LaneId, usize), Waiting>>,
    credit: RefCell<HashMap<(LaneId, usize), u64>>,
    credit_waiting: RefCell<Vec<Waker>>,
    progress: RefCell<HashMap<LaneId, Vec<u32>>>,
    progress_waiting: RefCell<HashMap<LaneId, Waker>>,
    pub(crate) handshake: RefCell<Vec<VecDeque<(Kind, u32, Vec<u8>)>>>,
    early: RefCell<Vec<(usize, Vec<u8>)>>,
    left: RefCell<Vec<bool>>,
    failure: RefCell<Option<Error>>,
    #[cfg(any(test, feature = "testing"))]
    pub(crate) probe: RefCell<crate::testing::Probe>,
}

struct RootWaker(AtomicBool);

impl Wake for RootWaker {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }
}

impl Core {
    pub fn new(me: usize, parties: usize, net: Option<Box<dyn Net>>) -> Self {
        Core {
            me,
            parties,
            net: net.map(RefCell::new),
            run: Cell::new(0),
            floor: Cell::new(0),
            costs: RefCell::new(Costs::new(parties)),
            out: RefCell::new(vec![Vec::new(); parties]),
            inbox: RefCell::default(),
            parked: RefCell::new(vec![0; parties]),
            waiting: RefCell::default(),
            credit: RefCell::default(),
            credit_waiting: RefCell::default(),
            progress: RefCell::default(),
            progress_waiting: RefCell::default(),
            handshake: RefCell::new(vec![VecDeque::new(); parties]),
            early: RefCell::default(),
            left: RefCell::new(vec![false; parties]),
            failure: RefCell::default(),
            #[cfg(any(test, feature = "testing"))]
            probe: RefCell::default(),
        }
    }

    pub fn is_dry(&self) -> bool {
        self.net.is_none()
    }

    /// Forgets everything of the last run; frames of it that are still under way will be dropped on arrival.
    pub fn begin(&self, run: u32) -> Result<()> {
        self.run.set(run);
        self.floor.set(run);
        *self.costs.borrow_mut() = Costs::new(self.parties);
        self.inbox.borrow_mut().clear();
        self.parked.borrow_mut().fill(0);
        self.waiting.borrow_mut().clear();
        self.credit.borrow_mut().clear();
        self.credit_waiting.borrow_mut().clear();
        self.progress.borrow_mut().clear();
        self.progress_waiting.borrow_mut().clear();
        self.out.borrow_mut().iter_mut().for_each(Vec::clear);
        *self.failure.borrow_mut() = None;
        for (peer, frame) in std::mem::take(&mut *self.early.borrow_mut()) {
            self.deliver(peer, frame)?;
        }
        Ok(())
    }

    /// Marks the run as over: what still arrives of it is dropped.
    pub fn end(&self, run: u32) {
        self.floor.set(self.floor.get().max(run + 1));
        self.out.borrow_mut().iter_mut().for_each(Vec::clear);
        *self.failure.borrow_mut() = None;
    }

    /// Runs a lane tree to its end.
    pub fn drive<T>(&self, future: impl Future<Output = Result<T>>) -> Result<T> {
        let mut future = std::pin::pin!(future);
        let root = Arc::new(RootWaker(AtomicBool::new(true)));
        let waker = Waker::from(root.clone());
        let mut context = Context::from_waker(&waker);
        loop {
            while root.0.swap(false, Ordering::AcqRel) {
                if let Poll::Ready(done) = future.as_mut().poll(&mut context) {
                    self.flush()?;
                    return done;
                }
            }
            if self.is_dry() {
                return Err(Error::bug("a dry run waits for a message"));
            }
            self.flush()?;
            self.check_for_leavers()?;
            self.pump(Wait::Forever)?;
        }
    }

    /// A party that said goodbye will not send what a lane waits for.
    fn check_for_leavers(&self) -> Result<()> {
        let left = self.left.borrow();
        if !left.contains(&true) {
            return Ok(());
        }
        match self.waiting.borrow().keys().map(|&(_, peer)| peer).filter(|&peer| left[peer]).min() {
            Some(peer) => Err(Error::Mismatch(Mismatch::Left { peer })),
            None => Ok(()),
        }
    }

    /// Waits for a frame, then takes in everything that has arrived.
    pub fn pump(&self, wait: Wait) -> Result<()> {
        #[cfg(any(test, feature = "testing"))]
        self.probe.borrow_mut().jitter();
        let net = self.net.as_ref().ok_or(Error::bug("a dry run has no links"))?;
        let mut wait = wait;
        loop {
            let received = net.borrow_mut().recv(wait);
            let received = match received {
                Err(error) if error.peer().is_some_and(|peer| self.has_left(peer)) => break,
                other => other.map_err(|e| self.link_error(e))?,
            };
            if net.borrow().interrupt_handle().take() {
                return Err(Error::Interrupted);
            }
            let Some((peer, frame)) = received else { break };
            self.deliver(peer, frame)?;
            wait = Wait::Poll;
        }
        match self.failure.borrow_mut().take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    fn deliver(&self, peer: usize, frame: Vec<u8>) -> Result<()> {
        let head = wire::header(&frame).map_err(|what| Error::Malformed { peer, what })?;
        match head.kind {
            Kind::Data | Kind::Abort | Kind::Start | Kind::Trace if head.run < self.floor.get() => Ok(()),
            Kind::Data if head.run == self.run.get() => self.deliver_pieces(peer, frame),
            Kind::Data => self.hold(peer, frame),
            Kind::Abort => {
                let cause = wire::decode_cause(&frame[wire::HEADER_BYTES..], self.parties)
                    .map_err(|what| Error::Malformed { peer, what })?;
                self.handshake.borrow_mut()[peer].retain(|(_, run, _)| *run > head.run);
                self.fail(self.abort_error(peer, cause));
                Ok(())
            }
            Kind::Start | Kind::Trace => {
                let queue = &mut self.handshake.borrow_mut()[peer];
                if queue.len() > 4 || frame.len() > GREETING_LIMIT {
                    return Err(Error::Malformed { peer, what: "handshake messages out of turn" });
                }
                queue.push_back((head.kind, head.run, frame[wire::HEADER_BYTES..].to_vec()));
                Ok(())
            }
            Kind::Goodbye => {
                self.left.borrow_mut()[peer] = true;
                Ok(())
            }
        }
    }

    /// Keeps a frame of a run that this party has not begun yet (its own handshake is still under way).
    fn hold(&self, peer: usize, frame: Vec<u8>) -> Result<()> {
        let mut parked = self.parked.borrow_mut();
        parked[peer] += frame.len();
        if parked[peer] > PARKED_LIMIT {
            return Err(Error::Malformed { peer, what: "more bytes than its credit" });
        }
        self.early.borrow_mut().push((peer, frame));
        Ok(())
    }

    fn deliver_pieces(&self, peer: usize, frame: Vec<u8>) -> Result<()> {
        let frame = Rc::new(frame);
        let mut at = wire::HEADER_BYTES;
        while at < frame.len() {
            let piece = wire::piece(&frame, at).map_err(|what| Error::Malformed { peer, what })?;
            at = piece.payload.end;
            match piece.tag {
                Tag::Last | Tag::More => self.park(peer, &frame, piece)?,
                Tag::Credit => {
                    *self.credit.borrow_mut().entry((piece.lane, peer)).or_default() += u64::from(piece.number);
                    self.credit_waiting.borrow_mut().drain(..).for_each(Waker::wake);
                }
                Tag::Progress => {
                    let mut progress = self.progress.borrow_mut();
                    let done = progress.entry(piece.lane).or_insert_with(|| vec![0; self.parties]);
                    done[peer] = done[peer].max(piece.number);
                    if let Some(waker) = self.progress_waiting.borrow_mut().remove(&piece.lane) {
                        waker.wake();
                    }
                }
            }
        }
        Ok(())
    }

    fn park(&self, peer: usize, frame: &Rc<Vec<u8>>, piece: wire::Piece) -> Result<()> {
        let mut parked = self.parked.borrow_mut();
        parked[peer] += piece.payload.len() + 64;
        if parked[peer] > PARKED_LIMIT {
            return Err(Error::Malformed { peer, what: "more bytes than its credit" });
        }
        let mut inbox = self.inbox.borrow_mut();
        let queue = inbox.entry((piece.lane, peer)).or_default();
        if piece.tag == Tag::More || !queue.partial.is_empty() {
            queue.partial.extend_from_slice(&frame[piece.payload.clone()]);
        }
        if piece.tag == Tag::More {
            return Ok(());
        }
        let (frame, range) = if queue.partial.is_empty() {
            (frame.clone(), piece.payload)
        } else {
            let whole = std::mem::take(&mut queue.partial);
            let range = 0..whole.len();
            (Rc::new(whole), range)
        };
        queue.messages.push_back(Message { depth: piece.number, frame, range });
        if let Some(waiting) = self.waiting.borrow_mut().remove(&(piece.lane, peer)) {
            waiting.waker.wake();
        }
        Ok(())
    }

    /// The next message of `peer` on `lane`, if it has arrived; otherwise registers the lane's waker.
    pub fn take(&self, lane: LaneId, peer: usize, waker: &Waker, phase: Phase, step: &Option<Step>) -> Option<Message> {
        let key = (lane, peer);
        let mut inbox = self.inbox.borrow_mut();
        if let Some(queue) = inbox.get_mut(&key)
            && let Some(message) = queue.messages.pop_front()
        {
            if queue.messages.is_empty() && queue.partial.is_empty() {
                inbox.remove(&key);
            }
            let parked = &mut self.parked.borrow_mut()[peer];
            *parked = parked.saturating_sub(message.range.len() + 64);
            return Some(message);
        }
        self.waiting.borrow_mut().insert(key, Waiting { waker: waker.clone(), phase, step: step.clone() });
        None
    }

    /// Queues one message; `write` appends exactly `length` bytes.
    pub fn post(
        &self,
        to: usize,
        lane: LaneId,
        depth: u32,
        length: usize,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Result<()> {
        if length <= wire::PIECE_BYTES {
            {
                let mut out = self.out.borrow_mut();
                let frame = self.open_frame(&mut out[to]);
                wire::push_piece(frame, Tag::Last, lane, depth, length);
                let start = frame.len();
                write(frame);
                debug_assert_eq!(frame.len() - start, length);
            }
            return self.flush_full(to);
        }
        let mut whole = Vec::with_capacity(length);
        write(&mut whole);
        let pieces = length.div_ceil(wire::PIECE_BYTES);
        for (i, part) in whole.chunks(wire::PIECE_BYTES).enumerate() {
            {
                let mut out = self.out.borrow_mut();
                let frame = self.open_frame(&mut out[to]);
                let tag = if i + 1 == pieces { Tag::Last } else { Tag::More };
                wire::push_piece(frame, tag, lane, depth, part.len());
                frame.extend_from_slice(part);
            }
            self.flush_full(to)?;
        }
        Ok(())
    }

    /// Queues a piece without payload: credit or a stream's progress.
    pub fn post_control(&self, to: usize, tag: Tag, lane: LaneId, number: u32) {
        let mut out = self.out.borrow_mut();
        wire::push_piece(self.open_frame(&mut out[to]), tag, lane, number, 0);
    }

    fn open_frame<'a>(&self, frame: &'a mut Vec<u8>) -> &'a mut Vec<u8> {
        if frame.is_empty() {
            *frame = wire::frame(Kind::Data, self.run.get());
        }
        frame
    }

    fn flush_full(&self, to: usize) -> Result<()> {
        if self.out.borrow()[to].len() >= wire::FLUSH_BYTES { self.flush_one(to) } else { Ok(()) }
    }

    fn flush_one(&self, to: usize) -> Result<()> {
        let frame = std::mem::take(&mut self.out.borrow_mut()[to]);
        if frame.is_empty() {
            return Ok(());
        }
        self.send_frame(to, frame)
    }

    pub fn flush(&self) -> Result<()> {
        (0..self.parties).filter(|&to| to != self.me).try_for_each(|to| self.flush_one(to))
    }

    pub fn send_frame(&self, to: usize, frame: Vec<u8>) -> Result<()> {
        let Some(net) = &self.net else { return Ok(()) };
        if self.has_left(to) {
            return Ok(());
        }
        net.borrow_mut().send(to, frame).map_err(|e| self.link_error(e))
    }

    /// Bytes that `peer` has granted to `lane` so far.
    pub fn granted(&self, lane: LaneId, peer: usize) -> u64 {
        self.credit.borrow().get(&(lane, peer)).copied().unwrap_or(0)
    }

    pub fn wait_for_credit(&self, waker: &Waker) {
        self.credit_waiting.borrow_mut().push(waker.clone());
    }

    /// Chunks of a stream that every peer is done with.
    pub fn slowest_progress(&self, stream: LaneId) -> u32 {
        let progress = self.progress.borrow();
        let Some(done) = progress.get(&stream) else { return 0 };
        (0..self.parties).filter(|&p| p != self.me).map(|p| done[p]).min().unwrap_or(u32::MAX)
    }

    pub fn wait_for_progress(&self, stream: LaneId, waker: &Waker) {
        self.progress_waiting.borrow_mut().insert(stream, waker.clone());
    }

    /// Whether `peer` said goodbye; a party that still waits for it runs another program.
    pub fn has_left(&self, peer: usize) -> bool {
        self.left.borrow()[peer]
    }

    /// Ends the run at the next chance; the first failure counts.
    pub fn fail(&self, error: Error) {
        self.failure.borrow_mut().get_or_insert(error);
    }

    fn abort_error(&self, by: usize, cause: Cause) -> Error {
        match cause {
            Cause::Lost { peer } if peer != self.me => self.net_error(peer, Fault::Lost, Some(by)),
            Cause::Silent { peer } if peer != self.me => self.net_error(peer, Fault::Silent { seconds: 0 }, Some(by)),
            cause => Error::Aborted { by, cause },
        }
    }

    fn link_error(&self, error: NetError) -> Error {
        let Some(peer) = error.peer() else {
            let peer = (self.me + 1) % self.parties;
            return self.net_error(peer, Fault::Other(error.to_string().into()), None);
        };
        match error {
            NetError::Lost { .. } => self.net_error(peer, Fault::Lost, None),
            NetError::Timeout { silent, .. } => self.net_error(peer, Fault::Silent { seconds: silent.as_secs() }, None),
            other => self.net_error(peer, Fault::Other(other.to_string().into()), None),
        }
    }

    /// Names the earliest step that waits for the peer, or the earliest that waits at all.
    fn net_error(&self, peer: usize, fault: Fault, reported_by: Option<usize>) -> Error {
        let waiting = self.waiting.borrow();
        let earliest = waiting
            .iter()
            .min_by_key(|((lane, from), w)| (*from != peer, w.step.as_ref().map_or(u32::MAX, |s| s.id), *lane))
            .map(|(_, w)| w);
        let phase = earliest.map_or(Phase::Online, |w| w.phase);
        let step = earliest.and_then(|w| w.step.as_ref()).map(|s| Arc::from(&*s.name));
        Error::Net { peer, fault, phase, step, reported_by }
    }
}

/// Waits for one message of `peer` on `lane`.
pub(crate) struct Receive<'a> {
    pub core: &'a Core,
    pub lane: LaneId,
    pub peer: usize,
    pub phase: Phase,
    pub step: &'a Option<Step>,
}

impl Future for Receive<'_> {
    type Output = Message;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Message> {
        match self.core.take(self.lane, self.peer, context.waker(), self.phase, self.step) {
            Some(message) => Poll::Ready(message),
            None => Poll::Pending,
        }
    }
}
