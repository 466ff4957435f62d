//! What a protocol sees of the world: its party, its lane, its depth, messages and randomness.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use quorate_crypto::{Prg, Seed};
use quorate_ring::Module;

use crate::costs::Phase;
use crate::error::{Error, Result, Step};
use crate::lane::LaneId;
use crate::scheduler::{Core, Message, Receive};
use crate::wire::Tag;

/// Bytes that one lane may send ahead of what a peer has read of it. Covers 100 Mbit/s at 300 ms.
const LANE_WINDOW: u64 = 4 << 20;

/// A lane of a run, at one party. Forks are made by [`Ctx::join`], [`Ctx::join_all`] and [`Ctx::stream`].
pub struct Ctx {
    pub(crate) core: Rc<Core>,
    pub(crate) lane: LaneId,
    pub(crate) depth: Rc<Cell<u32>>,
    pub(crate) forks: Cell<u64>,
    uses: Cell<u64>,
    pub(crate) phase: Phase,
    pub(crate) step: Option<Step>,
    flow: RefCell<Vec<Flow>>,
}

/// Bytes sent to a peer on this lane, and bytes read of it since credit was last granted.
#[derive(Clone, Copy, Default)]
struct Flow {
    sent: u64,
    read: u64,
}

/// The right to draw, once, what the parties draw in step: every stream made of it is bound to (run, lane, use).
pub struct Randomness {
    context: [u8; 28],
    dry: bool,
}

/// A pseudorandom stream, or nothing in a dry run.
pub struct Stream(Option<Prg>);

impl Stream {
    /// Fills a vector with uniform elements (every bit of every carrier word).
    pub fn fill<M: Module>(&mut self, vector: &mut M) {
        if let Some(prg) = &mut self.0 {
            prg.fill(vector.bytes_mut());
        }
    }

    /// A vector of uniform elements.
    pub fn draw<M: Module>(&mut self, shape: M::Shape) -> M {
        if self.0.is_none() {
            return M::phantom(shape);
        }
        let mut vector = M::zeros(shape);
        self.fill(&mut vector);
        vector
    }
}

impl Randomness {
    /// A number for what is not a stream (a commitment, say): unique to run, lane and use.
    pub(crate) fn instance(&self) -> u128 {
        LaneId::of(&self.context).0
    }

    /// The stream that `seed` gives here. Call it once per seed: a second stream would repeat the first.
    pub fn stream(&self, seed: &Seed) -> Stream {
        Stream((!self.dry).then(|| seed.prg("quorate/engine/step", &self.context)))
    }
}

impl Ctx {
    pub(crate) fn root(core: Rc<Core>, phase: Phase, lane: LaneId) -> Ctx {
        Ctx::on(core, lane, Rc::default(), phase, None)
    }

    pub(crate) fn on(core: Rc<Core>, lane: LaneId, depth: Rc<Cell<u32>>, phase: Phase, step: Option<Step>) -> Ctx {
        Ctx { core, lane, depth, forks: Cell::new(0), uses: Cell::new(0), phase, step, flow: RefCell::default() }
    }

    /// This party's number.
    pub fn me(&self) -> usize {
        self.core.me
    }

    /// The number of parties.
    pub fn parties(&self) -> usize {
        self.core.parties
    }

    /// The party `by` places after this one, around the circle.
    pub fn next(&self, by: usize) -> usize {
        (self.core.me + by) % self.core.parties
    }

    /// The party `by` places before this one.
    pub fn previous(&self, by: usize) -> usize {
        (self.core.me + self.core.parties - by) % self.core.parties
    }

    /// Whether this is a dry run: vectors are shapes and nothing is sent.
    pub fn is_dry(&self) -> bool {
        self.core.is_dry()
    }

    /// Rounds so far on this lane.
    pub fn depth(&self) -> u32 {
        self.depth.get()
    }

    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// The lane's identity, alike at all parties.
    pub fn lane(&self) -> LaneId {
        self.lane
    }

    /// A number that no earlier call on this lane returned; alike at all parties.
    pub fn next_use(&self) -> u64 {
        let number = self.uses.get();
        self.uses.set(number + 1);
        number
    }

    /// Randomness for one step of a protocol, drawn in step by all parties that hold a seed.
    pub fn randomness(&self) -> Randomness {
        let mut context = [0; 28];
        context[..4].copy_from_slice(&self.core.run.get().to_le_bytes());
        context[4..20].copy_from_slice(&self.lane.to_bytes());
        context[20..].copy_from_slice(&self.next_use().to_le_bytes());
        Randomness { context, dry: self.is_dry() }
    }

    /// One round: sends `outgoing` and receives `incoming`, in that order of peers.
    ///
    /// Every party of the lane calls it in step, also one that only sends or only receives; the round counts for all.
    ///
    /// # Errors
    /// Whatever ends the run; [`Error::Malformed`] if a message has another length than its shape.
    pub async fn exchange<M: Module>(
        &self,
        outgoing: &[(usize, &M)],
        incoming: &[(usize, M::Shape)],
    ) -> Result<Vec<M>> {
        for &(to, vector) in outgoing {
            let length = M::packed_bytes(vector.shape_of());
            self.post(to, length, |frame| vector.pack(frame)).await?;
        }
        let sent_at = self.depth.get();
        let mut received = Vec::with_capacity(incoming.len());
        for &(from, shape) in incoming {
            received.push(self.receive(from, shape).await?);
        }
        self.finish_round(sent_at);
        Ok(received)
    }

    /// One round of bytes; `incoming` gives the exact lengths. In a dry run, zeros are received.
    pub async fn exchange_bytes(
        &self,
        outgoing: &[(usize, &[u8])],
        incoming: &[(usize, usize)],
    ) -> Result<Vec<Vec<u8>>> {
        for &(to, bytes) in outgoing {
            self.post(to, bytes.len(), |frame| frame.extend_from_slice(bytes)).await?;
        }
        let sent_at = self.depth.get();
        let mut received = Vec::with_capacity(incoming.len());
        for &(from, length) in incoming {
            if self.is_dry() {
                received.push(vec![0; length]);
                continue;
            }
            let message = self.next_message(from).await;
            if message.bytes().len() != length {
                return Err(Error::Malformed { peer: from, what: "message of a wrong length" });
            }
            received.push(message.bytes().to_vec());
        }
        self.finish_round(sent_at);
        Ok(received)
    }

    async fn post(&self, to: usize, length: usize, write: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        debug_assert!(to != self.core.me && to < self.core.parties);
        self.core.costs.borrow_mut().sent(self.phase, to, length, self.step.as_ref().map(|s| s.id));
        if self.is_dry() {
            return Ok(());
        }
        self.wait_for_credit(to).await;
        self.flow_of(to, |flow| flow.sent += length as u64);
        self.core.post(to, self.lane, self.depth.get() + 1, length, write)
    }

    async fn wait_for_credit(&self, to: usize) {
        poll_fn(|context| {
            let sent = self.flow_of(to, |flow| flow.sent);
            if sent < LANE_WINDOW || sent - self.core.granted(self.lane, to).min(sent) < LANE_WINDOW {
                return Poll::Ready(());
            }
            self.core.wait_for_credit(context.waker());
            Poll::Pending
        })
        .await
    }

    async fn receive<M: Module>(&self, from: usize, shape: M::Shape) -> Result<M> {
        if self.is_dry() {
            return Ok(M::phantom(shape));
        }
        let message = self.next_message(from).await;
        #[cfg(any(test, feature = "testing"))]
        self.core.probe.borrow_mut().record(from, self.phase, message.bytes());
        M::unpack(shape, message.bytes())
            .map_err(|_| Error::Malformed { peer: from, what: "message of a wrong length" })
    }

    async fn next_message(&self, from: usize) -> Message {
        let message =
            Receive { core: &self.core, lane: self.lane, peer: from, phase: self.phase, step: &self.step }.await;
        self.depth.set(self.depth.get().max(message.depth.saturating_sub(1)));
        let grant = self.flow_of(from, |flow| {
            flow.read += message.bytes().len() as u64;
            (flow.read >= LANE_WINDOW / 2).then(|| std::mem::take(&mut flow.read))
        });
        if let Some(bytes) = grant {
            self.core.post_control(from, Tag::Credit, self.lane, bytes.min(u64::from(u32::MAX)) as u32);
        }
        message
    }

    fn finish_round(&self, sent_at: u32) {
        let depth = self.depth.get().max(sent_at) + 1;
        self.depth.set(depth);
        self.core.costs.borrow_mut().reached(self.phase, depth, self.step.as_ref().map(|s| s.id));
    }

    fn flow_of<T>(&self, peer: usize, change: impl FnOnce(&mut Flow) -> T) -> T {
        let mut flow = self.flow.borrow_mut();
        if flow.is_empty() {
            flow.resize(self.core.parties, Flow::default());
        }
        change(&mut flow[peer])
    }
}
