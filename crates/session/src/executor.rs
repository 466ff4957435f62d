//! Runs the nodes of a program as data flow, on any sharing.
//!
//! Every node is a lane of its own and starts when its operands are there, so that independent work shares rounds. The
//! same code runs live and dry; a value is freed after its last use unless the session keeps it.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use quorate_engine::{Ctx, Error, Result, Slot, Step};
use quorate_gadgets::Gadgets;
use quorate_graph::domains::Domain;
use quorate_graph::{Dtype, Graph, NodeId, Op};

use crate::data::{OwnInput, Plain, constant, phantom};
use crate::effort::{Clock, StepCost};
use crate::gate::Gate;
use crate::mixed::{Ahead, Conversions, Domains, native};
use crate::operations::KINDS;
use crate::row::{AHEAD_BYTES, Row};
use crate::schedule::{Schedule, Way};

/// What a node's value is at this party.
pub(crate) enum Value<S: Gadgets> {
    /// Known to everybody.
    Public(Plain),
    Arith(S::A),
    Bits(S::B),
    /// Numbers by their bits, a row for each.
    Rows(S::B),
    /// Bits or numbers, by the labels of their bits.
    Labels(S::Y),
    /// Several arrays that one step makes.
    Many(Vec<Value<S>>),
}

impl<S: Gadgets> Clone for Value<S> {
    fn clone(&self) -> Self {
        match self {
            Value::Public(plain) => Value::Public(plain.clone()),
            Value::Arith(x) => Value::Arith(x.clone()),
            Value::Bits(x) => Value::Bits(x.clone()),
            Value::Rows(x) => Value::Rows(x.clone()),
            Value::Labels(x) => Value::Labels(x.clone()),
            Value::Many(all) => Value::Many(all.clone()),
        }
    }
}

/// One value to open, to everybody or to one party.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reveal {
    pub node: NodeId,
    pub to: Option<usize>,
}

/// What a run has to do; alike at all parties.
#[derive(Clone)]
pub(crate) struct Work<'g> {
    pub graph: &'g Graph,
    /// Operands before the nodes that use them.
    pub nodes: Vec<NodeId>,
    pub reveals: Vec<Reveal>,
    /// Where nodes run.
    pub domains: Domains,
}

impl Work<'_> {
    /// Whether a step may exchange messages. Outside of A, sums do, and operands may have to be converted.
    pub fn talks(&self, schedule: &Schedule, id: NodeId) -> bool {
        !self.domains.is_plain() || schedule.talks(self.graph, id)
    }
}

/// Values that exist before the run.
pub(crate) type Known<S> = BTreeMap<NodeId, Rc<Value<S>>>;

/// What a run leaves: opened values by request, the values of all nodes that are to be kept, and what each step took.
pub(crate) struct Done<S: Gadgets> {
    pub opened: Vec<Option<Plain>>,
    pub kept: Known<S>,
    pub steps: BTreeMap<u32, StepCost>,
}

pub(crate) struct Executor<'a, S: Gadgets> {
    pub s: &'a S,
    pub work: &'a Work<'a>,
    /// This party's inputs, encoded.
    pub inputs: &'a BTreeMap<NodeId, Arc<OwnInput>>,
    pub keep: &'a dyn Fn(NodeId) -> bool,
    slots: BTreeMap<NodeId, Slot<Value<S>>>,
    uses: BTreeMap<NodeId, Cell<usize>>,
    kept: RefCell<Known<S>>,
    pub conversions: Conversions<S>,
    /// How far the parties may be apart.
    pub row: Row,
    gate: Gate,
    schedule: &'a Schedule,
    pub clock: Clock,
    pub ahead: Ahead<S>,
}

impl<'a, S: Gadgets> Executor<'a, S> {
    pub fn new(
        s: &'a S,
        work: &'a Work<'a>,
        known: &Known<S>,
        inputs: &'a BTreeMap<NodeId, Arc<OwnInput>>,
        keep: &'a dyn Fn(NodeId) -> bool,
        (room, schedule): (Option<u64>, &'a Schedule),
    ) -> Self {
        let mut slots = BTreeMap::new();
        let mut uses: BTreeMap<NodeId, Cell<usize>> = BTreeMap::new();
        let operands = work.nodes.iter().flat_map(|&id| &work.graph.node(id).inputs).copied();
        for id in operands.chain(work.reveals.iter().map(|r| r.node)) {
            let count = uses.entry(id).or_default();
            count.set(count.get() + 1);
            if let Some(value) = known.get(&id) {
                slots.entry(id).or_insert_with(|| Slot::full(value.clone()));
            }
        }
        for &id in &work.nodes {
            slots.entry(id).or_default();
        }
        let conversions = Conversions::of(work, |id| slots.contains_key(&id));
        let (row, gate, clock) = (Row::new(work, schedule, AHEAD_BYTES), Gate::new(room), Clock::start());
        Executor {
            s,
            work,
            inputs,
            keep,
            slots,
            uses,
            kept: RefCell::default(),
            conversions,
            row,
            gate,
            schedule,
            clock,
            ahead: Ahead::Nothing,
        }
    }

    /// Runs everything; rounds merge wherever nodes do not depend on each other.
    pub async fn run(self, ctx: &Ctx) -> Result<Done<S>> {
        let nodes = self.work.nodes.len();
        let lanes = nodes + self.work.reveals.len();
        let step = |i: usize| self.step(i);
        self.row.keep_together(ctx);
        let opened = ctx
            .join_steps(lanes, step, async |ctx: Ctx, i: usize| match self.work.nodes.get(i) {
                Some(&id) => self.node(&ctx, i, id).await.map(|()| None),
                None => self.reveal(&ctx, i, self.work.reveals[i - nodes]).await,
            })
            .await?;
        let opened = opened.into_iter().skip(nodes).collect();
        Ok(Done { opened, kept: self.kept.into_inner(), steps: self.clock.into_steps() })
    }

    /// How a message calls the i-th lane; only what talks to peers needs a name.
    fn step(&self, i: usize) -> Option<Step> {
        let graph = self.work.graph;
        match self.work.nodes.get(i) {
            Some(&id) if self.work.talks(self.schedule, id) => Some(Step { id: id.0, name: graph.describe(id).into() }),
            Some(_) => None,
            None => {
                let reveal = self.work.reveals.get(i - self.work.nodes.len())?;
                let name = format!("reveal of {}", graph.describe(reveal.node));
                Some(Step { id: reveal.node.0, name: name.into() })
            }
        }
    }

    async fn node(&self, ctx: &Ctx, place: usize, id: NodeId) -> Result<()> {
        if self.schedule.is_within(id) {
            drop(self.gate.enter(place, 0).await);
            return Ok(());
        }
        if let Some(shape) = self.left_out(id)? {
            drop(self.gate.enter(place, 0).await);
            self.slots.get(&id).into_iter().for_each(|slot| slot.set(ctx, shape.clone()));
            return Ok(());
        }
        let reads = self.schedule.sources(self.work.graph, id);
        let mut sources = Vec::with_capacity(reads.len());
        for &read in &reads {
            sources.push(self.value(ctx, read).await?);
        }
        let _turn = self.row.enter(place).await?;
        let _pass = self.gate.enter(place, self.schedule.step_bytes(id)).await;
        if !self.work.domains.is_plain() {
            sources = self.where_wanted(ctx, id, &reads, sources).await?;
        }
        let value = match self.schedule.way(id) {
            Some(Way::Pieces { units, window }) => {
                let sources = reads.iter().copied().zip(sources).collect();
                Rc::new(self.in_pieces(ctx, id, (units, window), &sources).await?)
            }
            _ => self.clock.time(ctx, id.0, self.whole_or_ahead(ctx, id, sources)).await?,
        };
        reads.iter().for_each(|&read| self.used(read));
        if (self.keep)(id) {
            self.kept.borrow_mut().insert(id, value.clone());
        }
        if let Some(slot) = self.slots.get(&id) {
            slot.set(ctx, value);
        }
        Ok(())
    }

    pub(crate) async fn whole(&self, ctx: &Ctx, id: NodeId, operands: Vec<Rc<Value<S>>>) -> Result<Value<S>> {
        let node = self.work.graph.node(id);
        match &node.op {
            Op::Constant(units) if !ctx.is_dry() => {
                Ok(Value::Public(constant(node.dtype, &units.to_vec(), node.elements())))
            }
            Op::Constant(_) => Ok(Value::Public(phantom(node.dtype, node.elements()))),
            Op::Input { owner } => self.input(ctx, id, *owner).await,
            _ if self.work.domains.of(id) != Domain::A => {
                Box::pin(self.in_domain(ctx, id, self.work.domains.of(id), &operands)).await
            }
            op => Box::pin(self.operation(ctx, id, op, &operands)).await,
        }
    }

    pub(crate) async fn value(&self, ctx: &Ctx, id: NodeId) -> Result<Rc<Value<S>>> {
        match self.slots.get(&id) {
            Some(slot) => Ok(slot.get(ctx).await),
            None => Err(Error::Bug { what: "a program step needs a value that nothing computes" }),
        }
    }

    /// Notes one use; after the last one the slot lets go of its value.
    fn used(&self, id: NodeId) {
        let Some(count) = self.uses.get(&id) else { return };
        count.set(count.get() - 1);
        if count.get() == 0
            && let Some(slot) = self.slots.get(&id)
        {
            slot.clear();
            self.conversions.clear(id);
        }
    }

    async fn input(&self, ctx: &Ctx, id: NodeId, owner: usize) -> Result<Value<S>> {
        let node = self.work.graph.node(id);
        let mine = match (owner == ctx.me(), self.inputs.get(&id)) {
            (true, None) if !ctx.is_dry() && !ctx.is_alone() => {
                return Err(Error::Bug { what: "the values of an own input are missing" });
            }
            (true, plain) => plain,
            (false, _) => None,
        };
        let len = node.elements();
        let domain = native(self.work.domains.of(id), node.dtype);
        if domain == Domain::Y || domain == Domain::B && node.dtype != Dtype::Bit {
            return self.input_in_bits(ctx, owner, (node, domain), mine.map(|plain| &plain.0)).await;
        }
        match phantom(node.dtype, len) {
            Plain::Bits(_) => {
                let bits = mine.and_then(|plain| if let Plain::Bits(bits) = &plain.0 { Some(bits) } else { None });
                Ok(Value::Bits(self.s.input_bits(ctx, owner, (1, len), bits).await?))
            }
            Plain::Vector(shape) => {
                let vector = mine.and_then(|plain| if let Plain::Vector(v) = &plain.0 { Some(v) } else { None });
                Ok(Value::Arith(self.s.input(ctx, owner, (shape.ring(), len), vector).await?))
            }
        }
    }

    async fn reveal(&self, ctx: &Ctx, lane: usize, reveal: Reveal) -> Result<Option<Plain>> {
        if ctx.is_alone() {
            return Ok(None);
        }
        let value = self.value(ctx, reveal.node).await?;
        let _turn = self.row.enter(lane).await?;
        let to_me = reveal.to.is_none_or(|to| to == ctx.me());
        let open = async {
            Ok::<_, Error>(match (&*value, reveal.to) {
                (Value::Public(plain), _) => to_me.then(|| plain.clone()),
                (Value::Arith(x), None) => Some(Plain::Vector(self.s.open(ctx, x).await?)),
                (Value::Arith(x), Some(to)) => self.s.open_to(ctx, to, x).await?.map(Plain::Vector),
                (Value::Bits(x), None) => Some(Plain::Bits(self.s.open_bits(ctx, x).await?)),
                (Value::Bits(x), Some(to)) => self.s.open_bits_to(ctx, to, x).await?.map(Plain::Bits),
                (Value::Rows(_) | Value::Labels(_), to) => self.open_in_bits(ctx, reveal.node, &value, to).await?,
                (Value::Many(_), _) => return Err(KINDS),
            })
        };
        let opened = self.clock.time(ctx, reveal.node.0, open).await?;
        self.used(reveal.node);
        Ok(opened)
    }
}
