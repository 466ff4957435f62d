//! The scheduler of one party: it delivers whatever has arrived, polls until nothing moves, flushes, and waits for any
//! frame.
//!
//! It is independent of protocols. Arrived messages lie in the [`Table`] by lane and peer, so nothing depends on the
//! order in which different peers' frames arrive. A party may have further workers ([`Crew`]), each with a scheduler of
//! its own thread; only the first one touches the links.

use quorate_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use quorate_sync::thread::ThreadId;
use quorate_sync::{Arc, OnceLock};
use std::cell::{Cell, OnceCell, RefCell};
use std::future::Future;
use std::rc::Rc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use quorate_crypto::Seed;
use quorate_net::{Interrupt, Net, NetError, Wait};
use quorate_ring::memory::guarded;

use crate::attempts::{Attempts, Greeted, Numbers};
use crate::confirm::Confirmed;
use crate::costs::{Costs, Phase};
use crate::counting::Counting;
use crate::crew::{Crew, Failure, Running};
use crate::depth::Depth;
use crate::depth_board::Board;
use crate::error::{Cause, Error, Fault, Mismatch, Result};
use crate::lane::LaneId;
use crate::lane_table::{OVERHEAD_BYTES, Table};
use crate::making_clock::MakingClock;
use crate::openings::AllOpenings;
use crate::plans::{PlanHash, Plans};
use crate::wire::{self, Abort, FrameType, Tag};

/// The number of frames taken in between two polls of the program, so that a flood cannot hide an interrupt.
const FRAMES_AT_ONCE: usize = 1024;

/// The interval at which a party whose peers have all ended checks its other workers.
const ALONE: Duration = Duration::from_millis(1);

/// A party's links, and the handle that ends its waits.
pub(crate) struct Links {
    pub net: RefCell<Box<dyn Net>>,
    pub interrupt: Interrupt,
}

/// The state that all lanes of a run share.
pub(crate) struct Core {
    pub me: usize,
    pub parties: usize,
    /// `None` in a dry run, where a party works alone, and at all workers but the first.
    pub links: Option<Links>,
    alone: bool,
    /// The party's other workers, or at one of these the crew to which it belongs.
    crew: OnceCell<Arc<Crew>>,
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
    pub making: Arc<MakingClock>,
    /// The deepest point that the lanes of each phase have reached.
    deepest: [Cell<Depth>; 2],
    /// Payload bytes that this run has sent so far, for observers in other threads.
    pub sent: Arc<AtomicU64>,
    pub table: Arc<Table>,
    pub attempts: RefCell<Attempts>,
    pub out: RefCell<Vec<Vec<u8>>>,
    /// Lanes that have yielded: they are woken when everything is flushed.
    pub gave_way: RefCell<Vec<Waker>>,
    /// Data of a run that this party has not begun yet, since its own handshake is still under way.
    early: RefCell<Vec<(usize, Vec<u8>)>>,
    plans: Plans,
    pub confirmed: Confirmed,
    /// The number of opened values.
    pub openings: Arc<AllOpenings>,
    failure: RefCell<Option<Error>>,
    /// The seed of what [`Ctx::fresh_random`](crate::Ctx::fresh_random) returns, where the party has one.
    pub coins: Arc<OnceLock<Seed>>,
}

/// Wakes the first worker: its root lane, or its jobs.
struct RootWaker {
    rang: AtomicBool,
    thread: ThreadId,
    /// Ends a wait for frames, where other threads may wake this one.
    nudges: Option<Interrupt>,
}

impl RootWaker {
    fn new(nudges: Option<Interrupt>) -> (Arc<RootWaker>, Waker) {
        let thread = quorate_sync::thread::current().id();
        let root = Arc::new(RootWaker { rang: AtomicBool::new(true), thread, nudges });
        (root.clone(), Waker::from(root))
    }

    fn take(&self) -> bool {
        self.rang.swap(false, Ordering::AcqRel)
    }
}

impl Wake for RootWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.rang.swap(true, Ordering::AcqRel)
            && let Some(first) = &self.nudges
            && quorate_sync::thread::current().id() != self.thread
        {
            first.nudge();
        }
    }
}

/// Waits, when dropped, until no worker has a job of the run any more.
struct Settles<'c>(Option<&'c Arc<Crew>>);

impl Settles<'_> {
    /// Waits now. Returns the failure of a job that ended the run.
    fn failure(mut self) -> Option<Failure> {
        self.0.take().and_then(|crew| crew.settle())
    }
}

impl Drop for Settles<'_> {
    fn drop(&mut self) {
        if let Some(crew) = self.0 {
            crew.settle();
        }
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

/// Returns the error of a job that failed; a panic goes on here.
fn failed(failure: Failure) -> Error {
    match failure {
        Failure::Error(error) => error,
        Failure::Panic(panic) => std::panic::resume_unwind(panic),
    }
}

impl Core {
    pub fn new(me: usize, parties: usize, net: Option<Box<dyn Net>>) -> Self {
        Core {
            me,
            parties,
            links: net.map(|net| Links { interrupt: net.interrupt_handle(), net: RefCell::new(net) }),
            alone: false,
            crew: OnceCell::new(),
            board: None,
            run: Cell::new(0),
            phase: Cell::new(Phase::Online),
            costs: RefCell::new(Costs::new(parties)),
            counting: Counting::default(),
            making: Arc::default(),
            deepest: Default::default(),
            sent: Arc::default(),
            table: Arc::new(Table::new(parties)),
            attempts: RefCell::new(Attempts::new(parties, Numbers::MAIN)),
            out: RefCell::new(vec![Vec::new(); parties]),
            gave_way: RefCell::default(),
            early: RefCell::default(),
            plans: Plans::new(parties),
            confirmed: Confirmed::new(parties),
            openings: Arc::default(),
            failure: RefCell::default(),
            coins: Arc::default(),
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

    /// Returns a function that makes the state of a further worker, on that worker's thread.
    pub fn worker(&self, crew: &Arc<Crew>) -> impl FnOnce() -> Rc<Core> + Send + use<> {
        let (me, parties, crew) = (self.me, self.parties, crew.clone());
        let (making, sent, table, openings) =
            (self.making.clone(), self.sent.clone(), self.table.clone(), self.openings.clone());
        let coins = self.coins.clone();
        move || {
            let crew = OnceCell::from(crew);
            Rc::new(Core { crew, making, sent, table, openings, coins, ..Core::new(me, parties, None) })
        }
    }

    /// Makes this the first worker of a crew; once only.
    pub fn lead(&self, crew: Arc<Crew>) {
        let _ = self.crew.set(crew);
    }

    /// Returns the party's crew, if it has more workers than one.
    pub fn crew(&self) -> Option<&Arc<Crew>> {
        self.crew.get()
    }

    /// Returns whether messages reach the other parties.
    pub fn talks(&self) -> bool {
        self.links.is_some() || self.crew.get().is_some()
    }

    /// Returns the deepest point that the lanes of a phase have reached.
    pub fn deepest(&self, phase: Phase) -> &Cell<Depth> {
        &self.deepest[phase as usize]
    }

    pub fn is_dry(&self) -> bool {
        !self.talks() && !self.alone
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
        self.drop_lanes();
        if let Some(crew) = self.crew() {
            crew.take_outgoing();
            crew.take_sums();
            crew.take_seconds();
        }
        *self.failure.borrow_mut() = None;
    }

    /// Forgets what this worker's lanes have not sent and where they wait.
    pub fn drop_lanes(&self) {
        self.out.borrow_mut().iter_mut().for_each(Vec::clear);
        self.gave_way.borrow_mut().clear();
        if self.links.is_none() {
            *self.costs.borrow_mut() = Costs::new(self.parties);
            self.deepest.iter().for_each(|deepest| deepest.set(Depth::default()));
        }
    }

    /// Runs a lane tree to its end by calling `poll`. It is not generic, so it is compiled only once.
    pub fn drive(self: &Rc<Self>, poll: Poller<'_>) -> Result<()> {
        self.gave_way.borrow_mut().clear();
        let settles = Settles(self.crew());
        let result = self.drive_lanes(poll);
        if let Some(failure) = settles.failure() {
            return Err(failed(failure));
        }
        result?;
        if let Some(sums) = self.crew().and_then(|crew| crew.take_sums()) {
            self.costs.borrow_mut().add(sums.costs);
            self.deepest.iter().zip(sums.deepest).for_each(|(sum, depth)| sum.set(sum.get().join(depth)));
        }
        self.flush()
    }

    fn drive_lanes(self: &Rc<Self>, poll: Poller<'_>) -> Result<()> {
        let crew = self.crew().filter(|_| self.links.is_some());
        let nudges = || crew.and(self.links.as_ref()).map(|links| links.interrupt.clone());
        let (root, waker) = RootWaker::new(nudges());
        let mut context = Context::from_waker(&waker);
        let (jobs, jobs_waker) = RootWaker::new(nudges());
        let mut running = crew.map(|_| Running::new(&jobs_waker));
        loop {
            while root.take() {
                if let Poll::Ready(done) = poll(&mut context) {
                    return done;
                }
            }
            if let (Some(crew), Some(running)) = (crew, &mut running)
                && jobs.take()
                && let (true, ended) = running.poll().map_err(failed)?
            {
                crew.end(&ended);
                jobs.rang.store(true, Ordering::Release); // polling may have woken others
                continue;
            }
            let gave_way = self.gave_way.take();
            self.flush()?;
            if !gave_way.is_empty() {
                gave_way.into_iter().for_each(Waker::wake);
                continue;
            }
            let (mut is_busy, mut is_rung) = (false, false);
            if let (Some(crew), Some(running)) = (crew, &mut running) {
                if let Some(job) = crew.take_job() {
                    running.begin(self, job);
                    jobs.rang.store(true, Ordering::Release);
                    self.take_in(Wait::Poll, None)?; // other workers' lanes may wait for it
                    continue;
                }
                // Workers that rest have woken all that they could wake, and have said whether they failed.
                is_busy = crew.is_busy();
                is_rung = [&root, &jobs].iter().any(|waker| waker.rang.load(Ordering::Acquire));
                if let Some(failure) = crew.take_failure() {
                    return Err(failed(failure));
                }
            }
            match (is_busy, is_rung) {
                (_, true) => {}
                // The peers may wait for what another worker will send.
                (true, false) => self.take_in(Wait::Forever, None)?,
                (false, false) if !self.table.is_waiting() => return Err(Error::bug("a program waits for itself")),
                (false, false) => self.pump(&|peer| self.table.awaits(peer))?,
            }
        }
    }

    /// Hands the costs of an ended job, and what it sent, to the first worker.
    pub fn hand_in(&self) -> Result<()> {
        self.flush()?;
        if let (None, Some(crew)) = (&self.links, self.crew()) {
            let costs = std::mem::replace(&mut *self.costs.borrow_mut(), Costs::new(self.parties));
            crew.add_up(costs, [0, 1].map(|phase| self.deepest[phase].take()));
        }
        Ok(())
    }

    /// Notes the seconds that a job took at this worker.
    pub fn note_seconds(&self, phase: Phase, step: Option<u32>, seconds: f64) {
        if let Some(crew) = self.crew() {
            crew.add_seconds(phase, step, self.links.is_none(), seconds);
        }
    }

    /// Runs [`Core::drive`] for work that may run out of memory.
    pub fn drive_guarded(self: &Rc<Self>, poll: Poller<'_>) -> Result<()> {
        let result = guarded(|| self.drive(poll));
        result.unwrap_or_else(|short| Err(Error::OutOfMemory { bytes: short.bytes as u64 }))
    }

    /// Waits for a frame, then takes in everything that has arrived. `awaits` returns whether something is due from a
    /// peer.
    ///
    /// # Errors
    /// [`Fault::Stalled`] if something has been due for too long; any error that ends a run.
    pub fn pump(&self, awaits: &dyn Fn(usize) -> bool) -> Result<()> {
        let patience = &self.table.patience;
        let awaited: Vec<usize> = self.peers().filter(|&peer| awaits(peer)).collect();
        let stalled = |(peer, waited): (usize, Duration)| {
            self.net_error(peer, Fault::Stalled { seconds: waited.as_secs().max(1) }, None)
        };
        let left = patience.left(&awaited).map_err(stalled)?;
        let end = left.and_then(|left| Instant::now().checked_add(left));
        self.take_in(end.map_or(Wait::Forever, Wait::Until), Some(&awaited))
    }

    /// Waits for a frame, then takes in everything that has arrived. The wait is one for the peers `awaited`, if this
    /// party has nothing else to do.
    fn take_in(&self, mut wait: Wait, awaited: Option<&[usize]>) -> Result<()> {
        let links = self.links.as_ref().ok_or(Error::bug("a dry run has no links"))?;
        let begun = Instant::now();
        for taken in 0..FRAMES_AT_ONCE {
            let received = links.net.borrow_mut().recv(wait);
            if let (0, Some(awaited)) = (taken, awaited) {
                self.table.patience.waited(begun.elapsed(), awaited);
            }
            match received {
                Ok(Some((peer, _))) if self.has_left(peer) => {
                    self.fail(Error::Malformed { peer, what: "a frame after its goodbye" });
                }
                Ok(Some((peer, frame))) => self.deliver(peer, frame).unwrap_or_else(|error| self.fail(error)),
                Ok(None) => break,
                Err(error) if error.peer().is_some_and(|peer| self.has_left(peer)) => {}
                Err(NetError::NoPeersLeft) if awaited.is_none() => {
                    // Only other workers are waited for.
                    quorate_sync::thread::sleep(ALONE);
                    break;
                }
                Err(error) => self.fail(self.link_error(error)),
            }
            wait = Wait::Poll;
        }
        links.interrupt.take_nudge();
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
                self.table.leaves(peer);
                Ok(())
            }
        }
    }

    fn deliver_pieces(&self, peer: usize, frame: Vec<u8>) -> Result<()> {
        let frame = Arc::new(frame);
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

    /// Returns whether `peer` said goodbye; a party that still waits for it runs another program.
    pub fn has_left(&self, peer: usize) -> bool {
        self.table.has_left(peer)
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

    pub fn link_error(&self, error: NetError) -> Error {
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
        let step = step.map(|step| step.name);
        Error::Net { peer, fault, phase, step, reported_by }
    }
}
