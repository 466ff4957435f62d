//! The context of a protocol: its party, its lane, its depth, messages and randomness.

use quorate_sync::Arc;
use quorate_sync::atomic::Ordering;
use std::cell::{Cell, OnceCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use quorate_crypto::{Prg, Seed};
use quorate_ring::Module;
use quorate_ring::meter::{Kernel, charge};

use crate::costs::Phase;
use crate::depth::Depth;
use crate::error::{Error, Misuse, Result, Step};
use crate::lane::LaneId;
use crate::lane_table::{Lane, Message};
use crate::scheduler::Core;
use crate::wire::Tag;

/// Bytes that one lane may send ahead of a peer's reads: its initial *credit*. A peer grants new credit as it reads. 4
/// MiB keep a line of 100 Mbit/s with a round trip of 300 ms busy.
const LANE_WINDOW: u64 = 4 << 20;

/// A lane of a run, at one party. Forks are made by [`Ctx::join`], [`Ctx::join_all`] and [`Ctx::stream`].
pub struct Ctx {
    pub(crate) core: Rc<Core>,
    pub(crate) lane: LaneId,
    pub(crate) depth: Rc<Cell<Depth>>,
    pub(crate) forks: Cell<u64>,
    pub(crate) uses: Cell<u64>,
    /// The number of calls of [`Ctx::fresh_random`], which other parties need not make.
    pub(crate) fresh: Cell<u64>,
    pub(crate) phase: Phase,
    pub(crate) step: Option<Step>,
    /// The parties that take part, where not all do.
    pub(crate) members: Option<Arc<[usize]>>,
    /// Factor by which the number of chunks under way in a stream of this lane is larger than usual.
    pub(crate) windows: Cell<usize>,
    /// The lane's messages and credit (the bytes that each peer still lets it send), once it has sent or received.
    channels: OnceCell<Arc<Lane>>,
}

impl Drop for Ctx {
    fn drop(&mut self) {
        if let Some(lane) = self.channels.get() {
            self.core.table.retire(lane);
        }
    }
}

/// The right to draw once from streams that parties share: every stream made of it is bound to (run, lane, use).
pub struct Randomness {
    context: [u8; 28],
    dry: bool,
}

/// A pseudorandom stream, or nothing in a dry run.
pub struct Stream(Option<Prg>);

impl Stream {
    /// Fills a vector with uniform elements (every bit of every carrier word).
    pub fn fill<M: Module>(&mut self, vector: &mut M) {
        match &mut self.0 {
            Some(prg) => prg.fill(vector.bytes_mut()),
            None => charge(Kernel::Draw, M::carried_bytes(vector.shape_of())),
        }
    }

    /// Fills memory with uniform bytes.
    pub fn fill_bytes(&mut self, bytes: &mut [u8]) {
        if let Some(prg) = &mut self.0 {
            prg.fill(bytes);
        }
    }

    /// Fills memory with the bytes that lie `offset` bytes ahead, without moving the stream.
    pub fn fill_at(&self, offset: u64, bytes: &mut [u8]) {
        if let Some(prg) = &self.0 {
            prg.fill_at(offset, bytes);
        }
    }

    /// Returns a vector of uniform elements.
    pub fn draw<M: Module>(&mut self, shape: M::Shape) -> M {
        let mut vector = if self.0.is_none() { M::phantom(shape) } else { M::zeros(shape) };
        self.fill(&mut vector);
        vector
    }
}

impl Randomness {
    /// Returns a number for uses other than a stream (a commitment, the tweaks of a hash). It is the same at all
    /// parties and unique to run, lane and use, up to collisions of 128-bit hashes.
    pub fn instance(&self) -> u128 {
        LaneId::of(&self.context).0
    }

    /// Returns the stream of `seed` for this use. Call it once per seed: a second stream would repeat the first.
    pub fn stream(&self, seed: &Seed) -> Stream {
        if self.dry {
            charge(Kernel::Generator, 1);
            return Stream(None);
        }
        Stream(Some(seed.prg("quorate/engine/step", &self.context)))
    }
}

impl Ctx {
    /// Returns the root lane of a phase; `earlier` is the number of times that the run has had this phase before.
    pub(crate) fn root(core: Rc<Core>, phase: Phase, earlier: u32) -> Ctx {
        let lane = LaneId::ROOT.child(phase as u64 + 2 * u64::from(earlier));
        let depth = core.deepest(phase).get();
        Ctx::on(core, lane, Rc::new(Cell::new(depth)), phase, None)
    }

    pub(crate) fn on(core: Rc<Core>, lane: LaneId, depth: Rc<Cell<Depth>>, phase: Phase, step: Option<Step>) -> Ctx {
        let (forks, uses, fresh) = Default::default();
        let windows = Cell::new(1);
        Ctx { core, lane, depth, forks, uses, fresh, phase, step, members: None, windows, channels: OnceCell::new() }
    }

    /// Returns this party's number.
    pub fn me(&self) -> usize {
        self.core.me
    }

    /// Returns the number of parties.
    pub fn parties(&self) -> usize {
        self.core.parties
    }

    /// Returns the parties that take part here, in increasing order: all, or those that [`Ctx::among`] names.
    pub fn members(&self) -> Vec<usize> {
        self.members.as_ref().map_or_else(|| (0..self.parties()).collect(), |members| members.to_vec())
    }

    /// Returns the parties that take part here, without this one.
    pub fn peers(&self) -> Vec<usize> {
        let mut members = self.members();
        members.retain(|&member| member != self.me());
        members
    }

    /// Returns the number of the party `by` places after this one, around the circle.
    pub fn next(&self, by: usize) -> usize {
        (self.core.me + by) % self.core.parties
    }

    /// Returns the number of the party `by` places before this one, around the circle.
    pub fn previous(&self, by: usize) -> usize {
        (self.core.me + self.core.parties - by) % self.core.parties
    }

    /// Returns whether this is a dry run: vectors are shapes and nothing is sent.
    pub fn is_dry(&self) -> bool {
        self.core.is_dry()
    }

    /// Returns the rounds so far on this lane, at this party.
    pub fn depth(&self) -> u32 {
        self.depth.get().own
    }

    /// Returns the phase that pays for what this lane sends.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Multiplies by `windows` the number of chunks under way in streams of this lane and of its forks, except streams
    /// within the chunks of another. This is for lines with a long delay, on which each chunk spends most of its time
    /// waiting. Memory grows by the same factor, as does the data parked at a slower party. All parties call it with
    /// the same factor.
    pub fn widen(&self, windows: usize) {
        self.windows.set(windows.max(1));
    }

    /// Returns the lane's identity, the same at all parties.
    pub fn lane(&self) -> LaneId {
        self.lane
    }

    /// Returns a number that no earlier call on this lane returned. It is the same at all parties.
    pub fn next_use(&self) -> u64 {
        let number = self.uses.get();
        self.uses.set(number + 1);
        number
    }

    /// Returns the randomness for one step of a protocol. All parties that hold a seed call it in step.
    pub fn randomness(&self) -> Randomness {
        Randomness { context: self.named(self.next_use()), dry: self.is_dry() }
    }

    /// Returns the name of a use of this lane.
    pub(crate) fn named(&self, number: u64) -> [u8; 28] {
        let mut context = [0; 28];
        context[..4].copy_from_slice(&self.core.run.get().to_le_bytes());
        context[4..20].copy_from_slice(&self.lane.to_bytes());
        context[20..].copy_from_slice(&number.to_le_bytes());
        context
    }

    /// Sends `outgoing` and receives `incoming`, in that order of peers: one round.
    ///
    /// Every party of the lane calls it in step (at the same place in the lane's sequence of calls), even a party that
    /// only sends or only receives. The round counts for all of them.
    ///
    /// # Errors
    /// Any error that ends the run; [`Error::Malformed`] if a message's length does not match its shape.
    pub async fn exchange<M: Module>(
        &self,
        outgoing: &[(usize, &M)],
        incoming: &[(usize, M::Shape)],
    ) -> Result<Vec<M>> {
        for (i, &(to, vector)) in outgoing.iter().enumerate() {
            self.wait_for_credit(to, outgoing[..i].iter().any(|sent| sent.0 == to)).await?;
            self.post(to, M::packed_bytes(vector.shape_of()), |frame| vector.pack(frame))?;
        }
        let mut round = Round::new(self, !outgoing.is_empty(), !incoming.is_empty());
        let mut received = Vec::with_capacity(incoming.len());
        for &(from, shape) in incoming {
            if self.is_dry() {
                self.check_peer(from)?;
                charge(Kernel::Message, 1);
                charge(Kernel::Wire, M::packed_bytes(shape));
                M::charge_unpack(shape);
                round.hear(self.told(from).await);
                received.push(M::phantom(shape));
                continue;
            }
            let message = self.next_message(from).await?;
            round.hear(message.depth);
            received.push(M::unpack(shape, message.bytes()).map_err(|_| wrong_length(from))?);
        }
        self.reach(round.after);
        Ok(received)
    }

    /// Sends and receives bytes: one round. `incoming` gives the exact lengths. A dry run receives zeros.
    ///
    /// # Errors
    /// Those of [`Ctx::exchange`].
    pub async fn exchange_bytes(
        &self,
        outgoing: &[(usize, &[u8])],
        incoming: &[(usize, usize)],
    ) -> Result<Vec<Vec<u8>>> {
        for (i, &(to, bytes)) in outgoing.iter().enumerate() {
            self.wait_for_credit(to, outgoing[..i].iter().any(|sent| sent.0 == to)).await?;
            self.post(to, bytes.len(), |frame| {
                if !self.is_dry() {
                    frame.extend_from_slice(bytes)
                }
            })?;
        }
        let mut round = Round::new(self, !outgoing.is_empty(), !incoming.is_empty());
        let mut received = Vec::with_capacity(incoming.len());
        for &(from, length) in incoming {
            if self.is_dry() {
                self.check_peer(from)?;
                charge(Kernel::Message, 1);
                charge(Kernel::Wire, length);
                round.hear(self.told(from).await);
                received.push(vec![0; length]);
                continue;
            }
            let message = self.next_message(from).await?;
            round.hear(message.depth);
            if message.bytes().len() != length {
                return Err(wrong_length(from));
            }
            received.push(message.bytes().to_vec());
        }
        self.reach(round.after);
        Ok(received)
    }

    /// Returns whether messages were sent or received on this lane; always false in a dry run.
    pub(crate) fn has_communicated(&self) -> bool {
        self.channels.get().is_some()
    }

    fn channels(&self) -> &Arc<Lane> {
        self.channels.get_or_init(|| self.core.table.open(self.lane, self.phase, &self.step))
    }

    pub(crate) fn check_peer(&self, peer: usize) -> Result<()> {
        let parties = self.core.parties;
        if self.is_alone() {
            return Err(Error::bug("a message where a party works alone"));
        }
        let takes_part = self.members.as_ref().is_none_or(|members| members.contains(&peer));
        if peer < parties && peer != self.core.me {
            return if takes_part { Ok(()) } else { Err(Error::bug("a message to who does not take part")) };
        }
        Err(Error::Misuse { what: Misuse::NoSuchParty { party: peer, parties } })
    }

    pub(crate) fn post(&self, to: usize, length: usize, write: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        let counted = length * self.core.counting.times();
        self.core.costs.borrow_mut().sent(self.phase, to, counted, self.step.as_ref().map(|s| s.id));
        if self.is_dry() {
            charge(Kernel::Message, 1);
            charge(Kernel::Wire, length);
            self.tell(to);
            // Shapes write nothing into the frame, but this charges the work of writing.
            write(&mut Vec::new());
            return Ok(());
        }
        self.core.sent.fetch_add(length as u64, Ordering::Relaxed);
        self.channels().channel(to, |channel| channel.sent += length as u64);
        self.core.post(to, self.lane, self.depth().saturating_add(1), length, write)
    }

    /// Waits until the peer has read most of the bytes that earlier rounds of this lane sent. With `again`, that is,
    /// within a round, it never waits: the peer may itself be sending, and reads only after that.
    pub(crate) async fn wait_for_credit(&self, to: usize, again: bool) -> Result<()> {
        self.check_peer(to)?;
        if again || self.is_dry() {
            return Ok(());
        }
        let mut has_waited = false;
        poll_fn(|context| {
            let ready = self.core.table.poll_credit(self.channels(), to, LANE_WINDOW, context.waker());
            let ready = ready.map_err(Error::from);
            if std::mem::replace(&mut has_waited, true) && ready.is_ready() {
                self.core.table.patience.heard(to);
            }
            ready
        })
        .await
    }

    pub(crate) async fn next_message(&self, from: usize) -> Result<Message> {
        self.check_peer(from)?;
        let (mut message, mut first) = (None, true);
        let message = poll_fn(|context| {
            // A message that has arrived already must not keep this party from flushing what its peers wait for.
            if std::mem::take(&mut first) {
                message = self.core.table.take(self.channels(), from);
                if message.is_some() && self.core.gives_way(context.waker()) {
                    return Poll::Pending;
                }
            }
            match message.take() {
                Some(message) => Poll::Ready(Ok(message)),
                None => self.core.table.poll_message(self.channels(), from, context.waker()).map_err(Error::from),
            }
        })
        .await?;
        let grant = self.channels().channel(from, |channel| {
            channel.read += message.bytes().len() as u64;
            if channel.read >= LANE_WINDOW / 2 { std::mem::take(&mut channel.read) } else { 0 }
        });
        let mut granted = 0;
        while granted < grant {
            let bytes = u32::try_from(grant - granted).unwrap_or(u32::MAX);
            self.core.post_control(from, Tag::Credit, self.lane, bytes);
            granted += u64::from(bytes);
        }
        Ok(message)
    }

    /// Returns whether this party computes the others' depths itself: in a dry run of one party.
    pub(crate) fn reckons(&self) -> bool {
        self.is_dry() && self.core.board.is_none()
    }

    /// Leaves this party's depth for a peer's next receive on this lane, in a dry run of all parties.
    pub(crate) fn tell(&self, to: usize) {
        if let Some(board) = &self.core.board {
            board.tell((self.me(), to, self.lane), self.depth().saturating_add(1));
        }
    }

    /// Returns the depth that a peer left; 0 in a dry run of one party.
    pub(crate) async fn told(&self, from: usize) -> u32 {
        match &self.core.board {
            Some(board) => poll_fn(|context| board.poll((from, self.me(), self.lane), context.waker())).await,
            None => 0,
        }
    }

    /// Continues this lane at `depth`, and records it.
    pub(crate) fn reach(&self, depth: Depth) {
        self.depth.set(depth);
        let deepest = self.core.deepest(self.phase);
        deepest.set(deepest.get().join(depth));
        self.core.costs.borrow_mut().reached(self.phase, depth.own, self.step.as_ref().map(|s| s.id));
    }
}

/// The depth after a round. With links, messages carry it; a dry run computes it.
struct Round {
    after: Depth,
}

impl Round {
    fn new(ctx: &Ctx, sends: bool, receives: bool) -> Round {
        let before = ctx.depth.get();
        let mut after = before.exchanged(sends, receives);
        if !ctx.reckons() {
            after.own = before.own.saturating_add(1);
        }
        Round { after }
    }

    /// Takes in the depth that a received message carries.
    fn hear(&mut self, depth: u32) {
        self.after.own = self.after.own.max(depth);
    }
}

pub(crate) fn wrong_length(peer: usize) -> Error {
    Error::Malformed { peer, what: "message of a wrong length" }
}
