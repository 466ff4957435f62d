//! Steps in pieces, which run so because of a limit on memory.
//!
//! Pieces are lanes that begin at their step's depth, a few at a time, so that a step has the rounds of one piece. A
//! piece makes its part of the values within it, and reads ranges of all others.

use std::collections::BTreeMap;
use std::future::Future;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;

use quorate_engine::{Chunks, Ctx, Error, Form, Linear, LinearBits, Positions, Result, Step, Update, UpdateBits};
use quorate_gadgets::Computes;
use quorate_graph::{Graph, NodeId, Op};
use quorate_ring::{Bits, Vector};

use crate::memory::split;
use crate::memory::split::{Piece, Put, Split, Take, near_of, own_period};
use crate::run::executor::Executor;
use crate::run::operations::layout::axis_of;
use crate::work::data::{Plain, constant, phantom};
use crate::work::value::{KINDS, Value};

/// The values that the pieces of a step read.
pub(crate) type Sources<S> = BTreeMap<NodeId, Arc<Value<S>>>;

/// A value under way, which may depend on others that are made first.
type Made<'a, S> = Pin<Box<dyn Future<Output = Result<Arc<Value<S>>>> + 'a>>;

impl<S: Computes> Executor<'_, S> {
    /// Computes node `id` in pieces of `units` units.
    pub(crate) async fn in_pieces(
        &self,
        ctx: &Ctx,
        id: NodeId,
        (units, window): (usize, usize),
        sources: &Sources<S>,
    ) -> Result<Value<S>> {
        let graph = self.work.graph;
        let node = graph.node(id);
        let split = Split::of(graph, id).ok_or(Error::Bug { what: "a step in pieces that cannot be cut" })?;
        if let Split::Rounds(axis) = split {
            return self.in_rounds(ctx, id, axis, (units, window), sources).await;
        }
        let mut whole = self.secret(phantom_or_zeros(ctx, node.dtype, node.elements()));
        let chunks = Chunks { len: split.units(node), chunk: units, window };
        let work = async |ctx: Ctx, units: Range<usize>| {
            let Piece { mut op, mut takes, put } = split.piece(graph, id, units.clone(), ctx.is_dry());
            if split == Split::Positions && self.reads_near(id, sources) {
                (op, takes, _) = split::near(graph, node, units);
            }
            Ok((self.piece(&ctx, id, &op, &takes, sources).await?, put))
        };
        let mut written = Ok(());
        let write = |_, (part, put): (Value<S>, Put)| {
            if written.is_ok() {
                written = self.put(&mut whole, &part, &put);
            }
        };
        match self.is_alike(id, sources, units) {
            true => ctx.stream_alike(chunks, work, write).await?,
            false => ctx.stream(chunks, work, write).await?,
        }
        written?;
        match (split, whole) {
            (Split::Terms { .. }, Value::Arith(sums)) => {
                self.clock.time(ctx, id.0, self.cut(ctx, id, sums)).await.map(Value::Arith)
            }
            (_, whole) => Ok(whole),
        }
    }

    /// Returns whether all pieces of one length cost the same: no public numbers of their own decide what they do.
    pub(crate) fn is_alike(&self, id: NodeId, sources: &Sources<S>, units: usize) -> bool {
        self.are_alike(id, sources, units, Some(units))
    }

    /// Returns whether pieces cost the same; each begins `step` elements after the one before, or `None`: at any.
    fn are_alike(&self, id: NodeId, sources: &Sources<S>, units: usize, step: Option<usize>) -> bool {
        let node = self.work.graph.node(id);
        let begins_alike = |period: usize| step.is_some_and(|step| step.is_multiple_of(period));
        let is_own = !own_period(&node.op).is_none_or(begins_alike);
        // Pieces of whole rows read alike what is near them.
        let has_parts = |(each, _): (usize, usize)| !units.is_multiple_of(each);
        let is_uneven = self.reads_near(id, sources) && near_of(self.work.graph, node).is_some_and(has_parts);
        // A piece of these reads the same elements of each operand.
        let step = step.filter(|_| node.op.is_elementwise() || matches!(node.op, Op::Sum(_) | Op::Reshape));
        let is_near = |input: &NodeId| sources.contains_key(input) || self.are_alike(*input, sources, units, step);
        !is_own && !is_uneven && node.inputs.iter().all(is_near)
    }

    /// Returns whether a node moves or multiplies rows of a value that is made within its pieces.
    fn reads_near(&self, id: NodeId, sources: &Sources<S>) -> bool {
        let node = self.work.graph.node(id);
        let is_near = matches!(node.op, Op::Gather(_) | Op::Broadcast | Op::MatMul { batch: 1, .. });
        is_near && !sources.contains_key(&node.inputs[0])
    }

    /// Computes one piece of node `id`, after making its part of the values within it, side by side.
    async fn piece(&self, ctx: &Ctx, id: NodeId, op: &Op, takes: &[Take], sources: &Sources<S>) -> Result<Value<S>> {
        let inputs = &self.work.graph.node(id).inputs;
        // An operand that occurs twice, as in a square, is made once.
        let first = |i: usize| (0..i).find(|&j| inputs[j] == inputs[i] && takes[j] == takes[i]).unwrap_or(i);
        let is_within = |i: &usize| !sources.contains_key(&inputs[*i]) && first(*i) == *i;
        let within: Vec<usize> = (0..inputs.len()).filter(is_within).collect();
        let step = |i: usize| self.step_of(inputs[within[i]]);
        let make = async |ctx: Ctx, i: usize| match &takes[within[i]] {
            Take::Range(range) => self.make(ctx, inputs[within[i]], range.clone(), sources).await,
            _ => Err(KINDS),
        };
        let made = match within.is_empty() {
            true => Vec::new(),
            false => ctx.join_steps(within.len(), step, make).await?,
        };
        let compute = async {
            let operand = |i: usize| match sources.get(&inputs[i]) {
                Some(source) => self.taken(source, &takes[i]),
                None => within.iter().position(|&j| j == first(i)).map(|at| made[at].clone()).ok_or(KINDS),
            };
            let operands = (0..inputs.len()).map(operand).collect::<Result<Vec<_>>>()?;
            drop(made); // so that the operands have no other user
            match op {
                Op::Reshape => operands.first().map(|operand| (**operand).clone()).ok_or(KINDS),
                // Only sums of all terms are truncated.
                &Op::MatMul { m, k, n, .. } if is_terms(self.work.graph, id) => {
                    let pair = (operands.first().map(|v| &**v), operands.get(1).map(|v| &**v));
                    self.raw_product(ctx, Form::MatMul { m, k, n }, pair).await.map(Value::Arith)
                }
                _ => Box::pin(self.operation(ctx, id, op, &operands)).await,
            }
        };
        self.clock.time(ctx, id.0, compute).await
    }

    /// Makes the elements `range` of the value of node `id`, which is within the step's pieces.
    pub(crate) fn make<'a>(
        &'a self,
        ctx: Ctx,
        id: NodeId,
        range: Range<usize>,
        sources: &'a Sources<S>,
    ) -> Made<'a, S> {
        Box::pin(async move {
            let graph = self.work.graph;
            let node = graph.node(id);
            let (len, elements) = (range.len(), range.clone());
            let is_product = matches!(node.op, Op::MatMul { .. });
            let (op, takes, wanted) = match self.reads_near(id, sources) || is_product {
                true => split::near(graph, node, range),
                false => {
                    let (op, takes) = split::part(graph, node, range, ctx.is_dry());
                    (op, takes, 0..len)
                }
            };
            let value = Arc::new(match &op {
                Op::Constant(_) if ctx.is_dry() => Value::Public(phantom(node.dtype, len)),
                Op::Constant(units) => Value::Public(constant(node.dtype, units, len)),
                Op::Input { owner, .. } => {
                    let read = self.read_input(&ctx, id, *owner, elements);
                    self.clock.time(&ctx, id.0, read).await?
                }
                _ => self.piece(&ctx, id, &op, &takes, sources).await.map_err(|error| self.at_step(id, error))?,
            });
            let is_all = !is_product || wanted.start == 0 && value_len(&op) == wanted.len();
            if is_all { Ok(value) } else { self.taken(&value, &Take::Range(wanted)) }
        })
    }

    /// Returns the description, for messages, of a node that is made within a piece; `None` where it sends nothing.
    pub(crate) fn step_of(&self, id: NodeId) -> Option<Step> {
        let graph = self.work.graph;
        let talks = graph.node(id).op.talks();
        talks.then(|| Step { id: id.0, name: graph.describe(id).into() })
    }

    fn secret(&self, plain: Plain) -> Value<S> {
        match plain {
            Plain::Vector(vector) => Value::Arith(self.s.public(&vector)),
            Plain::Bits(bits) => Value::Bits(self.s.public_bits(&bits)),
        }
    }

    fn taken(&self, source: &Arc<Value<S>>, take: &Take) -> Result<Arc<Value<S>>> {
        let (vector, bits) = match take {
            Take::Range(range) => (Linear::Slice(range.clone()), LinearBits::Lanes(range.clone())),
            Take::Positions(positions) => {
                (Linear::Gather(Positions::Given(positions)), LinearBits::GatherLanes(Positions::Given(positions)))
            }
            Take::Whole => return Ok(source.clone()),
        };
        Ok(match &**source {
            Value::Arith(x) => Arc::new(Value::Arith(self.s.linear(x, &vector))),
            Value::Bits(x) => Arc::new(Value::Bits(self.s.linear_bits(x, &bits))),
            Value::Public(Plain::Vector(v)) => Arc::new(Value::Public(Plain::Vector(vector.apply(v)))),
            Value::Public(Plain::Bits(b)) => Arc::new(Value::Public(Plain::Bits(bits.apply(b)))),
            Value::Rows(_) | Value::Labels(_) | Value::Many(_) => return Err(KINDS),
        })
    }

    /// Puts a piece's result into its place.
    fn put(&self, whole: &mut Value<S>, part: &Value<S>, put: &Put) -> Result<()> {
        match (whole, part) {
            (Value::Arith(whole), Value::Arith(part)) => {
                let update = match put {
                    Put::At(start) => Update::Write(*start),
                    Put::Lanes(axis, lanes) => Update::WriteLanes(axis_of(*axis), lanes.clone()),
                    Put::Sums(axis, start) => Update::AddSums(axis_of(*axis), *start),
                };
                self.s.update(whole, part, &update);
            }
            (Value::Bits(whole), Value::Bits(part)) => match put {
                Put::At(start) => self.s.update_bits(whole, part, &UpdateBits::Write(*start)),
                Put::Lanes(..) | Put::Sums(..) => return Err(KINDS),
            },
            _ => return Err(KINDS),
        }
        Ok(())
    }
}

/// Returns whether the pieces of a node are terms of its sums.
fn is_terms(graph: &Graph, id: NodeId) -> bool {
    matches!(Split::of(graph, id), Some(Split::Terms { .. }))
}

/// Returns the number of elements of a product of matrices.
fn value_len(op: &Op) -> usize {
    match op {
        Op::MatMul { batch, m, n, .. } => batch * m * n,
        _ => 0,
    }
}

fn phantom_or_zeros(ctx: &Ctx, dtype: quorate_graph::Dtype, len: usize) -> Plain {
    match phantom(dtype, len) {
        shape if ctx.is_dry() => shape,
        Plain::Vector(shape) => Plain::Vector(Vector::zeros(shape.ring(), len)),
        Plain::Bits(_) => Plain::Bits(Bits::zeros(1, len)),
    }
}

#[cfg(test)]
mod tests;
