//! The executor: runs the nodes of a program as data flow, on any sharing.
//!
//! A node starts when its operands exist (see [`dataflow`](crate::run::dataflow)), so independent work shares rounds.
//! Live runs and dry runs share this code. A value is freed after its last use unless the session keeps it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;
use std::ops::Range;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use quorate_engine::{Believed, Checked, Ctx, Error, Misuse, Opened, Result};
use quorate_gadgets::Computes;
use quorate_graph::{Domain, Dtype, NodeId, Op};
use quorate_planner::{Reveal, Work, native};
use quorate_ring::meter::charged;

use crate::memory::gate::Gate;
use crate::memory::schedule::{Schedule, Way};
use crate::run::ahead::Ahead;
use crate::run::conversions::Conversions;
use crate::run::pacing::{AHEAD_BYTES, Row};
use crate::run::shapes::shape_of;
use crate::run::values::Values;
use crate::work::data::{OwnInput, Plain, constant, phantom, read_part};
use crate::work::effort::{Clock, Taken};
use crate::work::order::Order;
use crate::work::seen::Campaigns;
use crate::work::value::{KINDS, Known, Value};

/// The result of a run: opened values by request, the values of all nodes that are kept, and the costs of each step.
pub(crate) struct Done<S: Computes> {
    pub opened: Vec<Option<Believed<Plain>>>,
    pub kept: Known<S>,
    pub steps: Taken,
}

/// The state around the steps that run.
pub(crate) struct Around<'a, S: Computes> {
    /// Values that exist before the run.
    pub known: &'a Known<S>,
    /// This party's inputs, encoded.
    pub inputs: &'a BTreeMap<NodeId, Arc<OwnInput>>,
    /// Whether a value is kept after the run.
    pub keep: &'a dyn Fn(NodeId) -> bool,
}

pub(crate) struct Executor<'a, S: Computes> {
    pub s: &'a S,
    pub work: &'a Work<'a>,
    /// This party's inputs, encoded.
    pub inputs: &'a BTreeMap<NodeId, Arc<OwnInput>>,
    pub keep: &'a dyn Fn(NodeId) -> bool,
    pub order: Order,
    pub values: Values<'a, S>,
    pub kept: RefCell<Known<S>>,
    pub conversions: Conversions<S>,
    /// Bounds how far the parties may be apart.
    pub row: Row,
    pub gate: Gate,
    schedule: &'a Schedule,
    pub clock: Clock,
    pub ahead: Ahead<S>,
    /// The campaigns whose submissions the program reads, and the number of the run.
    pub campaigns: Option<(&'a Campaigns, u64)>,
}

impl<'a, S: Computes> Executor<'a, S> {
    pub fn new(
        s: &'a S,
        work: &'a Work<'a>,
        Around { known, inputs, keep }: Around<'a, S>,
        (room, schedule): (Option<u64>, &'a Schedule),
    ) -> Self {
        let (order, values) = (Order::of(work, S::CHECKED), Values::of(work, known));
        let conversions = Conversions::of(work, &|id| values.contains(id));
        let (row, gate, clock) = (Row::new(work, &order, schedule, AHEAD_BYTES), Gate::new(room), Clock::start());
        Executor {
            s,
            work,
            inputs,
            keep,
            order,
            values,
            kept: RefCell::default(),
            conversions,
            row,
            gate,
            schedule,
            clock,
            ahead: Ahead::Nothing,
            campaigns: None,
        }
    }

    /// Computes a node, unless it was computed ahead: then returns its value, or its shape where the value is no longer
    /// needed. Inputs are never computed ahead, since their owners provide them online.
    pub(crate) async fn whole_or_ahead(
        &self,
        ctx: &Ctx,
        id: NodeId,
        operands: Vec<Arc<Value<S>>>,
    ) -> Result<Arc<Value<S>>> {
        let is_input = matches!(self.work.graph.node(id).op, Op::Input { .. });
        let is_garbled = self.work.domains.of(id) == Domain::Y && !is_input;
        match &self.ahead {
            Ahead::Done(made) if is_garbled => match made.get(&id) {
                Some(value) => Ok(value.clone()),
                None => self.shape(id),
            },
            Ahead::Apart(apart) if is_garbled => {
                let before = charged();
                let value = self.whole(ctx, id, operands).await?;
                let mut sum = apart.get();
                sum += charged() - before;
                apart.set(sum);
                Ok(Arc::new(value))
            }
            _ => self.whole(ctx, id, operands).await.map(Arc::new),
        }
    }

    pub(crate) fn shape(&self, id: NodeId) -> Result<Arc<Value<S>>> {
        shape_of(self.s, self.work.graph, id, self.work.domains.of(id)).map(Arc::new)
    }

    /// Returns whether a node is not computed by a step of its own: it is within others' pieces, or left out.
    pub(crate) fn is_absent(&self, id: NodeId) -> bool {
        self.schedule.is_within(id) || self.ahead.leaves_out(id)
    }

    /// Returns whether the step at a place sends nothing and waits for no message.
    pub(crate) fn is_local(&self, place: usize) -> bool {
        let id = self.work.nodes[place];
        self.is_absent(id) || self.schedule.way(id).is_none() && !self.schedule.talks(self.work, id)
    }

    /// Returns the nodes whose values a step reads.
    pub(crate) fn sources(&self, id: NodeId) -> Vec<NodeId> {
        self.schedule.sources(self.work.graph, id)
    }

    /// Returns the bytes that a step takes besides its operands.
    pub(crate) fn step_bytes(&self, place: usize) -> u64 {
        if self.is_absent(self.work.nodes[place]) { 0 } else { self.schedule.step_bytes(place) }
    }

    /// Runs a step that sends nothing.
    pub(crate) fn local(&self, ctx: &Ctx, place: usize) -> Result<()> {
        let id = self.work.nodes[place];
        if self.schedule.is_within(id) {
            return Ok(());
        }
        if self.ahead.leaves_out(id) {
            self.values.set(ctx, place, self.shape(id)?);
            return Ok(());
        }
        let reads = self.sources(id);
        let sources = self.read(ctx, &reads)?;
        let line = &self.work.graph.node(id).source;
        let value = self.clock.time_local(line, || self.at_once(ctx, id, sources))?;
        self.is_done(ctx, place, Arc::new(value), &reads);
        Ok(())
    }

    /// Runs a step that may talk.
    pub(crate) async fn node(&self, ctx: &Ctx, place: usize) -> Result<()> {
        let id = self.work.nodes[place];
        let reads = self.sources(id);
        let mut sources = self.read(ctx, &reads)?;
        if !self.work.domains.is_plain() {
            sources =
                Box::pin(self.conversions.where_wanted((self.s, self.work, &self.clock), ctx, id, &reads, sources))
                    .await?;
        }
        let value = match self.schedule.way(id) {
            Some(Way::Pieces { units, window }) => {
                let sources = reads.iter().copied().zip(sources).collect();
                Box::pin(self.in_pieces(ctx, id, (units, window), &sources)).await.map(Arc::new)
            }
            _ => {
                ctx.widen(self.schedule.windows(id));
                self.clock.time(ctx, id.0, self.whole_or_ahead(ctx, id, sources)).await
            }
        };
        let value = value.map_err(|error| self.at_step(id, error))?;
        self.is_done(ctx, place, value, &reads);
        Ok(())
    }

    /// Adds the user's line to a family's refusal of a step: that of the step itself, also where it runs within
    /// another's pieces.
    pub(crate) fn at_step(&self, id: NodeId, error: Error) -> Error {
        match error {
            Error::Misuse { what: Misuse::Input { .. } | Misuse::Step { .. } } => error, // has its line already
            Error::Misuse { what } => {
                Misuse::Step { step: self.work.graph.describe(id).into(), what: what.into() }.into()
            }
            error => error,
        }
    }

    fn read(&self, ctx: &Ctx, reads: &[NodeId]) -> Result<Vec<Arc<Value<S>>>> {
        reads.iter().map(|&read| self.values.read(ctx, read)).collect()
    }

    /// Ends a step: stores its value for others, and drops operands that are no longer needed.
    fn is_done(&self, ctx: &Ctx, place: usize, value: Arc<Value<S>>, reads: &[NodeId]) {
        let id = self.work.nodes[place];
        reads.iter().for_each(|&read| self.used(read));
        if (self.keep)(id) {
            self.kept.borrow_mut().insert(id, value.clone());
        }
        self.values.set(ctx, place, value);
    }

    fn at_once(&self, ctx: &Ctx, id: NodeId, operands: Vec<Arc<Value<S>>>) -> Result<Value<S>> {
        let op = &self.work.graph.node(id).op;
        if let Some(value) = self.local_operation(ctx, id, op, &operands)? {
            return Ok(value);
        }
        match pin!(self.whole(ctx, id, operands)).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(value) => value,
            Poll::Pending => Err(Error::Bug { what: "a step that sends nothing waits" }),
        }
    }

    pub(crate) async fn whole(&self, ctx: &Ctx, id: NodeId, operands: Vec<Arc<Value<S>>>) -> Result<Value<S>> {
        let node = self.work.graph.node(id);
        match &node.op {
            Op::Constant(_) => self.constant(ctx, id, &node.op).ok_or(KINDS),
            Op::Input { owner, .. } => self.input(ctx, id, *owner).await,
            _ if self.work.domains.of(id) != Domain::A => {
                Box::pin(self.in_domain(ctx, id, self.work.domains.of(id), &operands)).await
            }
            op => Box::pin(self.operation(ctx, id, op, &operands)).await,
        }
    }

    /// Returns public numbers as a value; `None` where `op` is not a constant.
    pub(crate) fn constant(&self, ctx: &Ctx, id: NodeId, op: &Op) -> Option<Value<S>> {
        let node = self.work.graph.node(id);
        let Op::Constant(units) = op else { return None };
        Some(Value::Public(match ctx.is_dry() {
            true => phantom(node.dtype, node.elements()),
            false => constant(node.dtype, units, node.elements()),
        }))
    }

    /// Counts one use of a value; after the last one the value and its conversions are dropped.
    fn used(&self, id: NodeId) {
        if self.values.used(id) {
            self.conversions.clear(id);
        }
    }

    async fn input(&self, ctx: &Ctx, id: NodeId, owner: usize) -> Result<Value<S>> {
        let whole = 0..self.work.graph.node(id).elements();
        let given = self.inputs.get(&id).filter(|_| owner == ctx.me());
        let read = given.map(|own| self.part_of(ctx, id, own, whole.clone())).transpose()?.flatten();
        self.input_part(ctx, id, (owner, whole), read.as_ref().or(given.map(|own| &**own))).await
    }

    /// Inputs a range of the elements of a node that is read in parts.
    pub(crate) async fn read_input(
        &self,
        ctx: &Ctx,
        id: NodeId,
        owner: usize,
        range: Range<usize>,
    ) -> Result<Value<S>> {
        let given = self.inputs.get(&id).filter(|_| owner == ctx.me());
        let read = given.map(|own| self.part_of(ctx, id, own, range.clone())).transpose()?.flatten();
        self.input_part(ctx, id, (owner, range), read.as_ref()).await
    }

    /// Reads a range of an own input that is read in parts; `None` for one that is held.
    fn part_of(&self, ctx: &Ctx, id: NodeId, own: &OwnInput, range: Range<usize>) -> Result<Option<OwnInput>> {
        match own {
            OwnInput::Read(rows) if !ctx.is_dry() && !ctx.is_alone() => {
                let read = read_part(self.work.graph, id, &**rows, range);
                read.map(Some).map_err(|what| Misuse::Source { what: what.into() }.into())
            }
            _ => Ok(None),
        }
    }

    /// Inputs a range of the elements of a node, of which the owner has the values.
    async fn input_part(
        &self,
        ctx: &Ctx,
        id: NodeId,
        (owner, range): (usize, Range<usize>),
        given: Option<&OwnInput>,
    ) -> Result<Value<S>> {
        let node = self.work.graph.node(id);
        let mine = match (owner == ctx.me(), given) {
            (true, Some(OwnInput::Held(plain))) => Some(plain),
            (true, _) if !ctx.is_dry() && !ctx.is_alone() => {
                return Err(Error::Bug { what: "the values of an own input are missing" });
            }
            _ => None,
        };
        let len = range.len();
        let domain = native(self.work.domains.of(id), node.dtype);
        if domain == Domain::Y || domain == Domain::B && node.dtype != Dtype::Bit {
            return self.input_in_bits(ctx, owner, (node, domain), mine).await;
        }
        match phantom(node.dtype, len) {
            Plain::Bits(_) => {
                let bits = mine.and_then(|plain| if let Plain::Bits(bits) = plain { Some(bits) } else { None });
                Ok(Value::Bits(self.s.input_bits(ctx, owner, (1, len), bits).await?))
            }
            Plain::Vector(shape) => {
                let vector = mine.and_then(|plain| if let Plain::Vector(v) = plain { Some(v) } else { None });
                Ok(Value::Arith(self.s.input(ctx, owner, (shape.ring(), len), vector).await?))
            }
        }
    }

    pub(crate) async fn reveal(
        &self,
        ctx: &Ctx,
        reveal: Reveal,
        checked: Option<&Checked>,
    ) -> Result<Option<Opened<Plain>>> {
        if ctx.is_alone() {
            return Ok(None);
        }
        let checked = checked.ok_or(Error::Bug { what: "a result is revealed before a check" })?;
        let value = self.values.read(ctx, reveal.node)?;
        if let Some((campaigns, number)) = self.campaigns {
            let marked = campaigns.mark(self.work, ctx.me(), number, reveal.node);
            marked.map_err(|what| Error::from(Misuse::Source { what: what.into() }))?;
        }
        let to_me = reveal.to.is_none_or(|to| to == ctx.me());
        let open = async {
            Ok::<_, Error>(match &*value {
                Value::Public(plain) => to_me.then(|| ctx.revealed(plain.clone())),
                Value::Arith(x) => self.s.reveal(ctx, checked, x, reveal.to).await?.map(|v| v.map(Plain::Vector)),
                Value::Bits(x) => self.s.reveal_bits(ctx, checked, x, reveal.to).await?.map(|b| b.map(Plain::Bits)),
                Value::Rows(_) | Value::Labels(_) => self.reveal_rows(ctx, reveal, &value, checked).await?,
                Value::Many(_) => return Err(KINDS),
            })
        };
        let opened = self.clock.time(ctx, reveal.node.0, open).await?;
        self.used(reveal.node);
        Ok(opened)
    }
}
