//! The rehearsal of a run: dry runs of both phases as one party, which tell what it will do before anything is sent.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Instant;

use quorate_engine::{Ctx, Demand, Phase, Result, Traffic, dry};
use quorate_graph::{Graph, NodeId, Op};
use quorate_ring::meter::{Work as Effort, charged};

use crate::data::{Plain, phantom};
use crate::effort::StepCost;
use crate::executor::{Executor, Known, Value, Work};
use crate::memory::{self, Need};
use crate::options::Options;
use crate::protocol::Backend;

/// One phase at one party, rehearsed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PhaseDry {
    pub traffic: Traffic,
    pub work: Effort,
    /// Seconds that the dry run took: what scheduling and bookkeeping take of a real one, too.
    pub control_seconds: f64,
}

/// What one party will do, rehearsed.
pub(crate) struct Rehearsal<K> {
    pub demand: Demand<K>,
    pub offline: PhaseDry,
    pub online: PhaseDry,
    pub correlations: BTreeMap<String, u64>,
    /// The nodes that run, and nodes that are revealed.
    pub steps: BTreeMap<u32, StepCost>,
    pub need: Need,
}

/// Dry runs of both phases as party `me` of `parties`. Correlations that do not fit the limit beside everything else are
/// made where they are drawn, chunk by chunk, and their work is that of the online phase.
pub(crate) fn rehearse<B: Backend>(
    work: &Work<'_>,
    (parties, me): (usize, usize),
    held: &BTreeSet<NodeId>,
    keeps: &dyn Fn(NodeId) -> bool,
    options: &Options,
) -> Result<Rehearsal<B::Kind>> {
    let dry = B::dry(parties, me)?;
    dry.choose(options.forms, options.network);
    dry.record_demand();
    let (mut online, mut steps, _) = run_dry(&dry, work, parties, me)?;
    let demand = dry.take_demand();
    let stock = demand.totals().iter().map(|(kind, &len)| dry.stock_bytes(kind, len)).sum();
    let need = memory::need(&dry, work, held, keeps, stock);
    let mut offline = PhaseDry { traffic: Traffic::new(parties), ..PhaseDry::default() };
    if !demand.totals().is_empty() && need.makes_ahead(options.max_memory) {
        offline = prepare(&dry, &demand, parties, me)?;
    } else if !demand.totals().is_empty() {
        dry.clear_stock();
        (online, steps, offline.traffic) = run_dry(&dry, work, parties, me)?;
    }
    price_memory(&dry, work, &demand, &mut steps);
    let correlations = demand.totals().iter().map(|(kind, &count)| (kind.to_string(), count as u64)).collect();
    Ok(Rehearsal { demand, offline, online, correlations, steps, need })
}

/// The online phase, dry: what it costs, its steps, and what it sends for correlations that are made where they are drawn.
fn run_dry<B: Backend>(
    dry: &B,
    work: &Work<'_>,
    parties: usize,
    me: usize,
) -> Result<(PhaseDry, BTreeMap<u32, StepCost>, Traffic)> {
    let known = shapes(dry, work);
    let inputs = BTreeMap::new();
    let keep = |_| false;
    let bytes = |id| memory::step_bytes(dry, work.graph, id);
    let executor = Executor::new(dry, work, &known, &inputs, &keep, (None, &bytes));
    let (tally, clock) = (charged(), Instant::now());
    let (done, costs) = dry::run(me, parties, Phase::Online, async |ctx: &Ctx| executor.run(ctx).await)?;
    let control_seconds = clock.elapsed().as_secs_f64();
    let mut steps = done.steps;
    for (id, sent) in &costs.by_step {
        steps.entry(*id).or_default().bytes = sent.bytes;
    }
    Ok((PhaseDry { traffic: costs.online, work: charged() - tally, control_seconds }, steps, costs.offline))
}

fn prepare<B: Backend>(dry: &B, demand: &Demand<B::Kind>, parties: usize, me: usize) -> Result<PhaseDry> {
    let again = demand.clone();
    let (tally, clock) = (charged(), Instant::now());
    let (_, costs) = dry::run(me, parties, Phase::Offline, async |ctx: &Ctx| dry.prepare(ctx, again).await)?;
    let control_seconds = clock.elapsed().as_secs_f64();
    Ok(PhaseDry { traffic: costs.offline, work: charged() - tally, control_seconds })
}

/// Shapes in place of the values that exist before a run.
fn shapes<B: Backend>(dry: &B, work: &Work<'_>) -> Known<B> {
    let running: BTreeSet<NodeId> = work.nodes.iter().copied().collect();
    let operands = work.nodes.iter().flat_map(|&id| &work.graph.node(id).inputs).copied();
    let used = operands.chain(work.reveals.iter().map(|r| r.node)).filter(|id| !running.contains(id));
    used.map(|id| (id, Rc::new(shape_of(dry, work.graph, id)))).collect()
}

fn shape_of<B: Backend>(dry: &B, graph: &Graph, id: NodeId) -> Value<B> {
    let node = graph.node(id);
    if let Op::Shuffle { .. } = node.op {
        return Value::Many(node.inputs.iter().map(|&array| shape_of(dry, graph, array)).map(secret(dry)).collect());
    }
    match (phantom(node.dtype, node.elements()), node.is_public()) {
        (plain, true) => Value::Public(plain),
        (plain, false) => secret(dry)(Value::Public(plain)),
    }
}

/// A public shape as that of shares.
fn secret<B: Backend>(dry: &B) -> impl Fn(Value<B>) -> Value<B> {
    |value| match value {
        Value::Public(Plain::Vector(v)) => Value::Arith(dry.public(&v)),
        Value::Public(Plain::Bits(b)) => Value::Bits(dry.public_bits(&b)),
        other => other,
    }
}

/// Notes what each step's value and correlations take, and how many it draws.
fn price_memory<B: Backend>(
    backend: &B,
    work: &Work<'_>,
    demand: &Demand<B::Kind>,
    steps: &mut BTreeMap<u32, StepCost>,
) {
    for &id in &work.nodes {
        steps.entry(id.0).or_default().memory_bytes += memory::value_bytes(backend, work.graph.node(id));
    }
    for (&id, drawn) in demand.by_step() {
        let step = steps.entry(id).or_default();
        step.memory_bytes += drawn.iter().map(|(kind, &len)| backend.stock_bytes(kind, len)).sum::<u64>();
        step.correlations = drawn.iter().map(|(kind, &len)| (kind.to_string(), len as u64)).collect();
    }
}
