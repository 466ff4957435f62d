//! New nodes: what is recorded of each when it is added, and the evaluation of public ones.

use std::sync::Arc;

use crate::clamp::clamped;
use crate::dtype::Dtype;
use crate::error::{BuildError, Fault};
use crate::graph::{About, Graph};
use crate::hash::Hash;
use crate::interval::Interval;
use crate::literals::Literal;
use crate::node::{Node, NodeId, Op, Room};
use crate::origin::origin;
use crate::properties::Pieces;
use crate::ranges::{self, Reach};
use crate::rules::{Rings, Watch};
use crate::shape::Repeats;
use crate::source::Source;
use crate::units::Units;
use crate::{cut, digits, reference, shape, sparse, unbounded, unproven};

/// Returns whether results are squares, or sums of squares.
fn squares(op: &Op, inputs: &[NodeId]) -> bool {
    let of_itself = matches!(inputs, [a, b] if a == b);
    of_itself && matches!(op, Op::Mul | Op::MatMul { m: 1, n: 1, .. })
}

/// Returns the room of results of these operands.
fn room(operands: &[&Node], dtype: Dtype) -> Room {
    let secret = operands.iter().filter(|node| !node.is_public());
    let room = secret.fold(Room::STATED, |room, node| room.and(node.room));
    Room { grows: room.grows && dtype.is_fixed(), ..room }
}

/// Checks the number of elements of an operation that numbers them in words of 32 bits, or whose pieces do.
fn check_length(op: &Op, operands: &[&Node], shape: &[usize]) -> Result<(), Fault> {
    let right = |place: usize| operands.get(place).map_or(Ok(0), |node| shape::numbered(&node.shape)).map(|_| ());
    match op.properties().pieces {
        Pieces::Elements | Pieces::Spread | Pieces::Gathered | Pieces::Runs | Pieces::Sums(_) => Ok(()),
        Pieces::Products { batch: 1, .. } => right(1).and_then(|()| shape::numbered(shape).map(|_| ())),
        _ if matches!(op, Op::Reshape) => Ok(()),
        _ if matches!(op, Op::Broadcast) => right(0),
        _ => operands
            .iter()
            .map(|node| node.shape.as_slice())
            .chain([shape])
            .try_for_each(|s| shape::numbered(s).map(|_| ())),
    }
}

/// Returns the result of an operation on public numbers that are repeated, if it is repeated, too; without taking time
/// for each element.
fn repeated(op: &Op, operands: &[&Node], shape: &[usize], dtype: Dtype) -> Option<Units> {
    let Op::Constant(units) = &operands.first()?.op else { return None };
    match op {
        _ if units.is_empty() || shape.contains(&0) => None,
        Op::Reshape => Some(units.clone()),
        // If only axes before the first are added, all elements come again.
        Op::Broadcast if units.len() == 1 || shape.ends_with(&operands[0].shape) => Some(units.clone()),
        Op::Broadcast => Some(Repeats::new(&operands[0].shape, shape).units(&units.expand(operands[0].elements()))),
        Op::Bits if units.each() == 1 => {
            let bits = operands[0].dtype.bits();
            let one = Node { shape: vec![units.len()], ..operands[0].clone() };
            let all = reference::exact(op, &[&one], &[&units.to_vec()], &[units.len(), bits as usize], dtype)?;
            Some(Units::from(all.as_slice()))
        }
        _ => None,
    }
}

impl Graph {
    /// Adds an operation whose operands are checked; evaluates it at once where all of them are public.
    pub(crate) fn push(
        &mut self,
        op: Op,
        inputs: Vec<NodeId>,
        shape: Vec<usize>,
        dtype: Dtype,
        source: &Source,
    ) -> Result<NodeId, Fault> {
        shape::elements(&shape)?;
        let operands = self.operands(&inputs);
        check_length(&op, &operands, &shape)?;
        // Approximate and random results are left to the protocol, which gives the same on every machine.
        if !operands.is_empty() && !op.is_approximate() && !op.is_random() && operands.iter().all(|n| n.is_public()) {
            return self.fold(&op, &inputs, shape, dtype, source);
        }
        let name = op.name();
        let known = self.known(&inputs);
        let reach = match squares(&op, &inputs) {
            true => ranges::reach_of_squares(&op, &known, dtype, self.rules().truncation),
            false => ranges::reach(&op, &known, dtype, self.rules().truncation),
        };
        let room = room(&operands, dtype);
        let may_wrap = self.rules().watch == Watch::Program && unbounded::may_wrap(&op, &known, dtype);
        let mut overflow = None;
        let clamped = if op == Op::Select { clamped(self, &inputs) } else { None };
        let interval = match reach {
            _ if clamped.is_some() => clamped,
            // Values without a stated range lie in their dtype, which is an error only under strict rules. A function's
            // result is saturated in its dtype; results that may grow start from that range.
            Reach::Unknown if room.grows && op.is_approximate() => Some(dtype.range()),
            Reach::Unknown => (self.rules().strict && !op.is_random()).then(|| dtype.range()),
            Reach::Fits(interval) => Some(interval),
            // If nothing was stated, values are checked instead.
            Reach::Leaves(_) if room.assumed && self.rules().watch == Watch::Values && !self.rules().strict => None,
            Reach::Leaves(exact) => {
                let shift = cut::product_shift(&op, &known, dtype);
                overflow = Some(Fault::may_overflow(name, dtype, exact, shift));
                None
            }
        };
        let id = self.append(Node { interval, room, ..Node::new(op, inputs, shape, dtype, source) })?;
        if may_wrap && interval.is_none() && overflow.is_none() && !self.was_warned(id, About::Results) {
            overflow = Some(unbounded::fault(self, id));
        }
        self.warn(id, overflow)
    }

    /// Warns that no value of a quotient has many bits, where values are not checked.
    pub(crate) fn warn_of_few(&mut self, id: NodeId) {
        let node = self.node(id);
        if self.rules().watch != Watch::Program || !node.dtype.is_fixed() || node.is_public() || node.error_is_stated {
            return;
        }
        if let Some(fault) = node.interval.and_then(|values| digits::few_bits(node.op.name(), node.dtype, values)) {
            self.warn_once(id, fault);
        }
    }

    /// Adds a constant of checked values; equal values are kept once. A recent small constant is reused.
    pub(crate) fn push_constant(
        &mut self,
        values: Vec<i128>,
        shape: Vec<usize>,
        dtype: Dtype,
        source: &Source,
    ) -> Result<NodeId, Fault> {
        self.push_units(&Units::from(values.as_slice()), shape, dtype, source)
    }

    /// Adds a constant of checked values, as [`Graph::push_constant`] does.
    pub(crate) fn push_units(
        &mut self,
        units: &Units,
        shape: Vec<usize>,
        dtype: Dtype,
        source: &Source,
    ) -> Result<NodeId, Fault> {
        let values = units.to_vec();
        let interval = Some(Interval::spanning(&values));
        let one = matches!(values.as_slice(), [first, rest @ ..] if rest.iter().all(|v| v == first));
        if one && let Some(id) = self.literals.find(values[0], &shape, dtype) {
            return Ok(id);
        }
        let literal = one.then(|| Literal { value: values[0], shape: shape.clone(), dtype });
        let op = Op::Constant(if one { Units::from(&values[..1]) } else { units.clone() });
        let id = self.append(Node { interval, ..Node::new(op, vec![], shape, dtype, source) })?;
        literal.into_iter().for_each(|literal| self.literals.keep(literal, id));
        Ok(id)
    }

    /// Returns `id`, or a new node of its values where it is one that building remembers: a public array, a conversion
    /// or a proof, which other users may hold, too. `before` is the number of nodes before it was asked for. Users
    /// release their arrays and ask for them again at any time, at each party at another one.
    pub fn own(&mut self, id: NodeId, before: usize, source: Source) -> Result<NodeId, BuildError> {
        let node = self.node(id);
        let is_remembered = || self.remembered().any(|(_, made)| made == id);
        let node = match id.index() < before {
            true if node.is_public() => Node { source: source.clone(), ..node.clone() },
            true if is_remembered() => node.like(Op::Reshape, vec![id], &source),
            _ => return Ok(id),
        };
        self.append(node).map_err(|fault| BuildError::new(fault, source))
    }

    pub(crate) fn append(&mut self, mut node: Node) -> Result<NodeId, Fault> {
        let Rings { family, most_bits } = self.rules().rings;
        if node.dtype.bits() > most_bits {
            return Err(Fault::Ring { dtype: node.dtype, family, most_bits });
        }
        let id = NodeId(u32::try_from(self.len()).map_err(|_| Fault::TooManyNodes)?);
        let before = self.hashes.last().copied().unwrap_or_else(Hash::empty);
        let op = Hash::of_op(&node.op);
        node.origin = origin(self, id, &node, op)?;
        node.error_is_stated = self.errors_are_stated();
        node.sparse = sparse::sparse(self, &node).map(Box::new);
        node.unproven = unproven::unproven(self, id, &node);
        self.hashes.push(before.then(&node, op));
        self.nodes.push(Arc::new(node));
        Ok(id)
    }

    fn fold(
        &mut self,
        op: &Op,
        inputs: &[NodeId],
        shape: Vec<usize>,
        dtype: Dtype,
        source: &Source,
    ) -> Result<NodeId, Fault> {
        let operands = self.operands(inputs);
        if let Some(units) = repeated(op, &operands, &shape, dtype) {
            return self.push_units(&units, shape, dtype, source); // for every size of the shape
        }
        let full = |n: &&Node| match &n.op {
            Op::Constant(values) => values.expand(n.elements()),
            _ => Vec::new(),
        };
        let values: Vec<Vec<i128>> = operands.iter().map(full).collect();
        let slices: Vec<&[i128]> = values.iter().map(Vec::as_slice).collect();
        let Some(result) = reference::exact(op, &operands, &slices, &shape, dtype) else {
            return Err(Fault::public_result(op.name(), dtype, &[i128::MAX]));
        };
        let Some(holding) = dtype.holding(Interval::spanning(&result)) else {
            return Err(Fault::public_result(op.name(), dtype, &result));
        };
        // A conversion must keep the dtype that the user asked for.
        match holding == dtype || !matches!(op, Op::Convert) {
            true => self.push_constant(result, shape, holding, source),
            false => Err(Fault::public_result(op.name(), dtype, &result)),
        }
    }
}
