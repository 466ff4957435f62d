//! The scheduler of one party: it delivers whatever has arrived, polls until nothing moves, flushes, and waits for any
//! frame.
//!
//! It is single-threaded and independent of protocols. Arrived messages lie in the [`Table`] by lane and peer, so
//! nothing depends on the order in which different peers' frames arrive.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use quorate_net::{Interrupt, Net, NetError, Wait};
use quorate_ring::memory::{guarded, with_room};

use crate::attempts::{Attempts, Greeted};
use crate::confirm::Confirmed;
use crate::costs::{Costs, Phase};
use crate::counting::Counting;
use crate::depth::Depth;
use crate::depth_board::Board;
use crate::error::{Cause, Error, Fault, Mismatch, Result};
use crate::lane::LaneId;
use crate::lane_table::{OVERHEAD_BYTES, Table};
use crate::making_clock::MakingClock;
use crate::openings::Openings;
use crate::plans::{PlanHash, Plans};
use crate::probe::Probe;
use crate::wire::{self, Abort, FrameType, Tag};

/// The number of frames taken in between two polls of the program, so that a flood cannot hide an interrupt.
const FRAMES_AT_ONCE: usize = 1024;

/// A party's links, and the handle that ends its waits.
pub(crate) struct Links {
    pub net: RefCell<Box<dyn Net>>,
    pub interrupt: Interrupt,
}

/// The state that all lanes of a run share.
pub(crate) struct Core {
    pub me: usize,
    pub parties: usize,
    /// `None` in a dry run, and where a party works alone.
    pub links: Option<Links>,
    alone: bool,
    /// The board of depths, in a dry run of all parties.
    pub board: Option<Rc<Board>>,
    /// The run under way, or the last one.
    pub run: Cell<u32>,
    /// The phase under way; the online phase until one has begun.
    pub phase: Cell<Phase>,
    pub costs: RefCell<Costs>,
    /// The way in which a dry run counts equal chunks.
    pub counting: Counting,
    /// The time of making correlations that the online phase waits for.
    pub making: MakingClock,
    /// The deepest point that the lanes of each phase have reached.
    deepest: [Cell<Depth>; 2],
    /// Payload bytes that this run has sent so far, for observers in other threads.
    pub sent: Arc<AtomicU64>,
    pub table: Table,
    pub attempts: RefCell<Attempts>,
    out: RefCell<Vec<Vec<u8>>>,
    /// Lanes that let others go first: they are woken when everything is flushed.
    gave_way: RefCell<Vec<Waker>>,
    /// Data of a run that this party has not begun yet, since its own handshake is still under way.
    early: RefCell<Vec<(usize, Vec<u8>)>>,
    left: Vec<Cell<bool>>,
    plans: Plans,
    pub confirmed: Confirmed,
    /// The number of opened values.
    pub openings: Cell<Openings>,
    failure: RefCell<Option<Error>>,
    pub probe: Probe,
}

struct RootWaker(AtomicBool);

impl Wake for RootWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }
}

/// Polls a lane tree and keeps its result.
pub(crate) type Poller<'a> = &'a mut dyn FnMut(&mut Context<'_>) -> Poll<Result<()>>;

/// Returns the result of a lane tree that `drive` runs to its end. The tree is dropped when this returns, whatever the
/// result.
pub(crate) fn driven<T>(
    future: impl Future<Output = Result<T>>,
    drive: impl FnOnce(Poller<'_>) -> Result<()>,
) -> Result<T> {
    let (mut future, mut result) = (std::pin::pin!(future), None);
    let poll = &mut |context: &mut Context<'_>| match future.as_mut().poll(context) {
        Poll::Ready(Ok(out)) => {
            result = Some(out);
            Poll::Ready(Ok(()))
        }
        Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
        Poll::Pending => Poll::Pending,
    };
    drive(poll)?;
    result.ok_or(Error::bug("a program that ended without a result"))
}

impl Core {
    pub fn new(me: usize, parties: usize, net: Option<Box<dyn Net>>) -> Self {
        Core {
            me,
            parties,
            links: net.map(|net| Links { interrupt: net.interrupt_handle(), net: RefCell::new(net) }),
            alone: false,
            board: None,
            run: Cell::new(0),
            phase: Cell::new(Phase::Online),
            costs: RefCell::new(Costs::new(parties)),
            counting: Counting::default(),
            making: MakingClock::default(),
            deepest: Default::default(),
            sent: Arc::default(),
            table: Table::new(parties),
            attempts: RefCell::new(Attempts::new(parties)),
            out: RefCell::new(vec![Vec::new(); parties]),
            gave_way: RefCell::default(),
            early: RefCell::default(),
            left: vec![Cell::new(false); parties],
            plans: Plans::new(parties),
            confirmed: Confirmed::new(parties),
            openings: Cell::default(),
            failure: RefCell::default(),
            probe: Default::default(),
        }
    }

    /// Creates the state for a dry run of all parties, which exchange their depths on this board.
    pub fn dry_together(me: usize, parties: usize, board: Rc<Board>) -> Self {
        Core { board: Some(board), ..Core::new(me, parties, None) }
    }

    /// Creates the state for work ahead in a run, by one party alone.
    pub fn alone(me: usize, parties: usize, run: u32) -> Self {
        let core = Core { alone: true, ..Core::new(me, parties, None) };
        core.run.set(run);
        core
    }

    /// Returns the deepest point that the lanes of a phase have reached.
    pub fn deepest(&self, phase: Phase) -> &Cell<Depth> {
        &self.deepest[phase as usize]
    }

    pub fn is_dry(&self) -> bool {
        self.links.is_none() && !self.alone
    }

    pub fn is_alone(&self) -> bool {
        self.alone
    }

    /// Returns every party but this one.
    pub fn peers(&self) -> impl Iterator<Item = usize> + use<> {
        let me = self.me;
        (0..self.parties).filter(move |&peer| peer != me)
    }

    /// Returns the bytes sent over the links so far to all peers, framing and TLS included.
    pub fn wire_bytes(&self) -> u64 {
        self.links.as_ref().map_or(0, |links| links.net.borrow().wire_bytes().iter().sum())
    }

    /// Begins the run on which the parties agreed.
    pub fn begin(&self, run: u32) -> Result<()> {
        self.attempts.borrow_mut().start(run);
        self.run.set(run);
        self.phase.set(Phase::Online);
        let early = std::mem::take(&mut *self.early.borrow_mut());
        self.forget();
        *self.costs.borrow_mut() = Costs::new(self.parties);
        // These are the totals of a run that did not end well.
        self.making.take();
        self.deepest.iter().for_each(|deepest| deepest.set(Depth::default()));
        self.sent.store(0, Ordering::Relaxed);
        early.into_iter().try_for_each(|(peer, frame)| self.deliver(peer, frame))
    }

    /// Marks the run as done: data of it that still arrives is dropped.
    pub fn finish(&self) {
        self.attempts.borrow_mut().finish();
        self.forget();
    }

    /// Marks the attempt as failed because of `error`. Returns the abort for the peers.
    pub fn give_up(&self, error: &Error) -> Abort {
        let (own, number) = self.attempts.borrow_mut().fail();
        self.early.borrow_mut().retain(|(_, frame)| wire::header(frame).is_ok_and(|head| head.number > number));
        self.forget();
        Abort { own, number, cause: error.cause(), origin: error.origin(self.me) }
    }

    fn forget(&self) {
        self.table.clear();
        self.plans.clear();
        self.confirmed.clear();
        for (peer, frame) in self.early.borrow().iter() {
            // It was within the limit when it arrived, and no other charges remain.
            let _ = self.table.charge(*peer, frame.len() + OVERHEAD_BYTES);
        }
        self.out.borrow_mut().iter_mut().for_each(Vec::clear);
        self.gave_way.borrow_mut().clear();
        *self.failure.borrow_mut() = None;
    }

    /// Runs a lane tree to its end by calling `poll`. It is not generic, so it is compiled only once.
    pub fn drive(&self, poll: Poller<'_>) -> Result<()> {
        let root = Arc::new(RootWaker(AtomicBool::new(true)));
        let waker = Waker::from(root.clone());
        let mut context = Context::from_waker(&waker);
        self.gave_way.borrow_mut().clear();
        loop {
            while root.0.swap(false, Ordering::AcqRel) {
                if let Poll::Ready(done) = poll(&mut context) {
                    return done.and_then(|()| self.flush());
                }
            }
            let gave_way = self.gave_way.take();
            if gave_way.is_empty() && !self.table.is_waiting() {
                return Err(Error::bug("a program waits for itself"));
            }
            self.flush()?;
            if !gave_way.is_empty() {
                gave_way.into_iter().for_each(Waker::wake);
                continue;
            }
            self.pump(&|peer| self.table.awaits(peer))?;
        }
    }

    /// Runs [`Core::drive`] for work that may run out of memory.
    pub fn drive_guarded(&self, poll: Poller<'_>) -> Result<()> {
        let result = guarded(|| self.drive(poll));
        result.unwrap_or_else(|short| Err(Error::OutOfMemory { bytes: short.bytes as u64 }))
    }

    /// Waits for a frame, then takes in everything that has arrived. `awaits` returns whether something is due from a
    /// peer.
    ///
    /// # Errors
    /// [`Fault::Stalled`] if something has been due for too long; any error that ends a run.
    pub fn pump(&self, awaits: &dyn Fn(usize) -> bool) -> Result<()> {
        self.probe.pause();
        let links = self.links.as_ref().ok_or(Error::bug("a dry run has no links"))?;
        let patience = &self.table.patience;
        let awaited: Vec<usize> = self.peers().filter(|&peer| awaits(peer)).collect();
        let stalled = |(peer, waited): (usize, Duration)| {
            self.net_error(peer, Fault::Stalled { seconds: waited.as_secs().max(1) }, None)
        };
        let (begun, left) = (Instant::now(), patience.left(&awaited).map_err(stalled)?);
        let mut wait = left.and_then(|left| begun.checked_add(left)).map_or(Wait::Forever, Wait::Until);
        for taken in 0..FRAMES_AT_ONCE {
            let received = links.net.borrow_mut().recv(wait);
            if taken == 0 {
                patience.waited(begun.elapsed(), &awaited);
            }
            match received {
                Ok(Some((peer, _))) if self.has_left(peer) => {
                    self.fail(Error::Malformed { peer, what: "a frame after its goodbye" });
                }
                Ok(Some((peer, frame))) => self.deliver(peer, frame).unwrap_or_else(|error| self.fail(error)),
                Ok(None) => break,
                Err(error) if error.peer().is_some_and(|peer| self.has_left(peer)) => {}
                Err(error) => self.fail(self.link_error(error)),
            }
            wait = Wait::Poll;
        }
        if links.interrupt.is_raised() && links.interrupt.take() {
            self.fail(Error::Interrupted);
        }
        self.failure.borrow_mut().take().map_or(Ok(()), Err)
    }

    /// Takes in one frame, whatever its bytes.
    pub fn deliver(&self, peer: usize, frame: Vec<u8>) -> Result<()> {
        let malformed = |what| Error::Malformed { peer, what };
        let head = wire::header(&frame).map_err(malformed)?;
        match head.kind {
            FrameType::Data if self.attempts.borrow().is_running(head.number) => self.deliver_pieces(peer, frame),
            FrameType::Data if self.attempts.borrow().is_stale(head.number) => Ok(()),
            FrameType::Data => {
                self.attempts.borrow().check_number(peer, head.number)?;
                self.table.charge(peer, frame.len() + OVERHEAD_BYTES)?;
                self.early.borrow_mut().push((peer, frame));
                Ok(())
            }
            FrameType::Abort => {
                let body = &frame[wire::HEADER_BYTES..];
                let abort = wire::abort(head.number, body, self.parties).map_err(malformed)?;
                if let Some(abort) = self.attempts.borrow_mut().aborted(peer, abort)? {
                    self.fail(self.abort_error(abort));
                }
                Ok(())
            }
            FrameType::Start | FrameType::Trace | FrameType::Node => {
                let body = frame[wire::HEADER_BYTES..].to_vec();
                self.attempts.borrow_mut().greeted(peer, Greeted { kind: head.kind, number: head.number, body })
            }
            FrameType::Goodbye => {
                self.left[peer].set(true);
                self.table.wake_all(peer);
                Ok(())
            }
        }
    }

    fn deliver_pieces(&self, peer: usize, frame: Vec<u8>) -> Result<()> {
        let frame = Rc::new(frame);
        let mut at = wire::HEADER_BYTES;
        while at < frame.len() {
            let piece = wire::piece(&frame, at).map_err(|what| Error::Malformed { peer, what })?;
            at = piece.payload.end;
            match piece.tag {
                Tag::Last | Tag::More => {
                    let last = piece.tag == Tag::Last;
                    self.table.park(peer, piece.lane, piece.number, last, &frame, piece.payload)?;
                }
                Tag::Credit | Tag::Progress => self.table.control(peer, piece.tag, piece.lane, piece.number)?,
                Tag::Plan => self.plans.hear(peer, &frame[piece.payload])?,
                Tag::Done => self.confirmed.hear(peer)?,
            }
        }
        Ok(())
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
        const WRONG_LENGTH: Error = Error::bug("a message of another length than announced");
        /// The length from which a few messages fill a frame: its room is then reserved at once, since growth would
        /// copy it.
        const LONG: usize = wire::FLUSH_BYTES / 16;
        if length <= wire::PIECE_BYTES {
            let mut out = self.out.borrow_mut();
            let frame = self.open_frame(&mut out[to]);
            if length >= LONG && frame.capacity() < wire::FLUSH_BYTES {
                frame.reserve_exact(wire::FLUSH_BYTES + length);
            }
            wire::push_piece(frame, Tag::Last, lane, depth, length);
            let start = frame.len();
            write(frame);
            if frame.len() - start != length {
                frame.clear();
                return Err(WRONG_LENGTH);
            }
            drop(out);
            return self.flush_full(to);
        }
        let mut whole = with_room(length);
        write(&mut whole);
        if whole.len() != length {
            return Err(WRONG_LENGTH);
        }
        let pieces = length.div_ceil(wire::PIECE_BYTES);
        for (i, part) in whole.chunks(wire::PIECE_BYTES).enumerate() {
            let mut out = self.out.borrow_mut();
            let frame = self.open_frame(&mut out[to]);
            let tag = if i + 1 == pieces { Tag::Last } else { Tag::More };
            wire::push_piece(frame, tag, lane, depth, part.len());
            frame.extend_from_slice(part);
            drop(out);
            self.flush_full(to)?;
        }
        Ok(())
    }

    /// Announces this party's plan ahead of its first message to each peer, and compares it with the peers' plans.
    /// Peers receive it even if theirs differs.
    pub fn compare(&self, own: PlanHash) -> Result<()> {
        for to in self.peers() {
            let mut out = self.out.borrow_mut();
            let frame = self.open_frame(&mut out[to]);
            wire::push_piece(frame, Tag::Plan, LaneId::ROOT, 0, own.len());
            frame.extend_from_slice(&own);
        }
        self.plans.decide(own).or_else(|error| self.flush().and(Err(error)))
    }

    /// Confirms to the peers that this party is done with the run, and waits for the confirmations of all of them.
    ///
    /// Once all have arrived, the run counts, whatever came with the last confirmation: only what ends the session is
    /// still an error.
    pub fn confirm(&self) -> Result<()> {
        self.peers().for_each(|peer| self.post_control(peer, Tag::Done, LaneId::ROOT, 0));
        self.flush()?;
        let waited_for = || self.peers().filter(|&peer| self.confirmed.lacks(peer));
        while waited_for().next().is_some() {
            if let Some(peer) = waited_for().find(|&peer| self.has_left(peer)) {
                return Err(Error::Mismatch(Mismatch::Left { peer }));
            }
            match self.pump(&|peer| self.confirmed.lacks(peer)) {
                Err(error) if error.is_final() || waited_for().next().is_some() => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Queues a piece without payload: credit, a stream's progress, or the end of a run.
    pub fn post_control(&self, to: usize, tag: Tag, lane: LaneId, number: u32) {
        let mut out = self.out.borrow_mut();
        wire::push_piece(self.open_frame(&mut out[to]), tag, lane, number, 0);
    }

    fn open_frame<'a>(&self, frame: &'a mut Vec<u8>) -> &'a mut Vec<u8> {
        if frame.is_empty() {
            *frame = wire::frame(FrameType::Data, self.run.get());
        }
        frame
    }

    /// Returns whether data waits to be sent. In that case this lane is woken again only after all others continued and
    /// the data was flushed. Forks continue with their lanes until none of them rings.
    pub fn gives_way(&self, waker: &Waker) -> bool {
        let unsent = self.out.borrow().iter().any(|frame| !frame.is_empty());
        if unsent {
            self.gave_way.borrow_mut().push(waker.clone());
        }
        unsent
    }

    fn flush_full(&self, to: usize) -> Result<()> {
        if self.out.borrow()[to].len() >= wire::FLUSH_BYTES { self.flush_one(to) } else { Ok(()) }
    }

    fn flush_one(&self, to: usize) -> Result<()> {
        let frame = std::mem::take(&mut self.out.borrow_mut()[to]);
        if frame.is_empty() { Ok(()) } else { self.send_frame(to, frame) }
    }

    pub fn flush(&self) -> Result<()> {
        self.peers().try_for_each(|to| self.flush_one(to))
    }

    pub fn send_frame(&self, to: usize, frame: Vec<u8>) -> Result<()> {
        let Some(links) = &self.links else { return Ok(()) };
        if self.has_left(to) {
            return Ok(());
        }
        links.net.borrow_mut().send(to, frame).map_err(|e| self.link_error(e))
    }

    /// Returns whether `peer` said goodbye; a party that still waits for it runs another program.
    pub fn has_left(&self, peer: usize) -> bool {
        self.left[peer].get()
    }

    /// Ends the run at the next opportunity; the first failure counts.
    fn fail(&self, error: Error) {
        self.failure.borrow_mut().get_or_insert(error);
    }

    /// Turns a peer's abort into this party's error: a lost party takes precedence over the party that reports it.
    pub fn abort_error(&self, abort: Abort) -> Error {
        let Abort { cause, origin, .. } = abort;
        match cause {
            Cause::Lost { peer } if peer != self.me => self.net_error(peer, Fault::Lost { seconds: 0 }, Some(origin)),
            Cause::Silent { peer } if peer != self.me => {
                self.net_error(peer, Fault::Silent { seconds: 0 }, Some(origin))
            }
            Cause::Stalled { peer } if peer != self.me => {
                self.net_error(peer, Fault::Stalled { seconds: 0 }, Some(origin))
            }
            Cause::Left { peer } if peer != self.me => Error::Mismatch(Mismatch::Left { peer }),
            cause => Error::Aborted { by: origin, cause },
        }
    }

    fn link_error(&self, error: NetError) -> Error {
        let Some(peer) = error.peer() else {
            if let Some(peer) = self.peers().find(|&peer| self.has_left(peer)) {
                return Error::Mismatch(Mismatch::Left { peer });
            }
            let peer = (self.me + 1) % self.parties;
            return self.net_error(peer, Fault::Other(error.to_string().into()), None);
        };
        match error {
            NetError::Lost { tried, .. } => self.net_error(peer, Fault::Lost { seconds: tried.as_secs() }, None),
            NetError::Timeout { silent, .. } => {
                self.net_error(peer, Fault::Silent { seconds: silent.as_secs().max(1) }, None)
            }
            other => self.net_error(peer, Fault::Other(other.to_string().into()), None),
        }
    }

    /// Makes the error for a failed link, with the step at which this party waits.
    fn net_error(&self, peer: usize, fault: Fault, reported_by: Option<usize>) -> Error {
        let (phase, step) = self.table.earliest_wait(peer).unwrap_or((self.phase.get(), None));
        let step = step.map(|step| Arc::from(&*step.name));
        Error::Net { peer, fault, phase, step, reported_by }
    }
}
