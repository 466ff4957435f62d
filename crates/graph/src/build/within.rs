//! Proofs that places and divisors lie where stated bounds of inputs say, where parties may cheat.
//!
//! A look-up, a comparison with positions and a division go by the range that is proven for what they are given. Where
//! that rests on the bound of an input, its owner could put in something else: a place beyond a table reads whatever
//! row has the same last bits. So the range itself is compared with, over the whole ring, and a bit for each element
//! says whether it is left.
//!
//! Only what is made of inputs of one party is proven, so the bits say nothing of other parties' inputs, and those of
//! an honest owner are zeros. What arrays of several owners were put together from is proven part by part.

use std::collections::BTreeSet;

use super::{Builder, Operand};
use crate::dtype::Dtype;
use crate::error::Fault;
use crate::graph::Graph;
use crate::interval::Interval;
use crate::node::{Inputs, Node, NodeId, Op};
use crate::origin::Origin;

/// As many nodes are looked at for what a range rests on; one that has more behind it counts as one that does.
const MOST_LOOKED_AT: usize = 10_000;

impl Builder<'_> {
    /// An operand that is a place or a divisor.
    pub(super) fn proven_operand<'o>(&mut self, a: Operand<'o>) -> Result<Operand<'o>, Fault> {
        match a {
            Operand::Node(id) => Ok(Operand::Node(self.proven(id)?)),
            public => Ok(public),
        }
    }

    /// The same values, proven to lie in their range where that rests on a stated bound.
    pub(super) fn proven(&mut self, a: NodeId) -> Result<NodeId, Fault> {
        let node = self.graph.get(a)?;
        let Some(range) = node.interval.filter(|_| node.elements() > 0 && self.graph.rules().proves_bounds) else {
            return Ok(a);
        };
        if !self.graph.rests_on_bounds(a) {
            return Ok(a);
        }
        if self.graph.owners(a).iter().count() == 1 {
            return self.build_within(a, range);
        }
        let node = self.graph.get(a)?;
        let moves = matches!(node.op, Op::Reshape | Op::Gather(_) | Op::Broadcast | Op::Concat | Op::To(_));
        let there = |id: &NodeId| self.graph.get(*id).is_ok();
        if !moves || !node.inputs.iter().all(there) {
            return Ok(a);
        }
        let (op, shape, dtype) = (node.op.clone(), node.shape.clone(), node.dtype);
        let parts = node.inputs.as_slice().to_vec();
        let parts = parts.into_iter().map(|part| self.proven(part)).collect::<Result<Vec<_>, _>>()?;
        self.graph.push(op, parts, shape, dtype, &self.at)
    }

    fn build_within(&mut self, a: NodeId, range: Interval) -> Result<NodeId, Fault> {
        let dtype = self.graph.node(a).dtype;
        let all = dtype.range();
        let free = self.in_whole_ring(Op::Reshape, vec![a])?;
        let outside = if range.lo() == all.lo() {
            self.compare(Some(range.hi()), free, None)?
        } else if !dtype.is_unsigned() && range.lo() <= 0 {
            // The lowest number of the range becomes that of the ring, so that one comparison sees both ends.
            let moved = self.constant_like(a, all.lo() - range.lo())?;
            let moved = self.in_whole_ring(Op::Add, vec![free, moved])?;
            self.compare(Some(range.hi() - range.lo() + all.lo()), moved, None)?
        } else {
            let below = self.compare(None, free, Some(range.lo()))?;
            let above = self.compare(Some(range.hi()), free, None)?;
            self.emit_as(Op::Or, &[below, above], Dtype::Bit)?
        };
        self.emit_as(Op::AssertWithin, &[a, outside], dtype)
    }

    /// Whether the first is less than the second; one of them is public.
    fn compare(&mut self, left: Option<i128>, x: NodeId, right: Option<i128>) -> Result<NodeId, Fault> {
        let [left, right] = [left, right].map(|end| end.map(|end| self.constant_like(x, end)));
        let (left, right) = (left.transpose()?.unwrap_or(x), right.transpose()?.unwrap_or(x));
        self.emit_as(Op::Lt, &[left, right], Dtype::Bit)
    }

    fn constant_like(&mut self, x: NodeId, value: i128) -> Result<NodeId, Fault> {
        let node = self.graph.node(x);
        let (shape, dtype) = (node.shape.clone(), node.dtype);
        self.graph.push_constant(vec![value], shape, dtype, &self.at)
    }

    /// A result of which nothing is taken to be proven, and nobody is told that it may leave its dtype.
    fn in_whole_ring(&mut self, op: Op, inputs: Vec<NodeId>) -> Result<NodeId, Fault> {
        let node = self.graph.node(inputs[0]);
        let (shape, dtype, room, source) = (node.shape.clone(), node.dtype, node.room, self.at.clone());
        let (inputs, origin) = (Inputs::from(inputs), Origin::unknown());
        self.graph.append(Node { op, inputs, shape, dtype, interval: None, sparse: None, room, source, origin })
    }
}

impl Graph {
    /// Whether the range of a value is what it is since the owner of an input stated a bound.
    fn rests_on_bounds(&self, id: NodeId) -> bool {
        let (mut seen, mut open) = (BTreeSet::new(), vec![id]);
        while let Some(id) = open.pop() {
            let Ok(node) = self.get(id) else { return true };
            if seen.len() == MOST_LOOKED_AT {
                return true;
            }
            match &node.op {
                Op::Input { .. } if node.dtype == Dtype::Bit || node.room.assumed || self.is_trusted(id) => {}
                Op::Input { .. } if node.interval.is_some() => return true,
                op if has_own_range(op) || node.dtype == Dtype::Bit => {}
                _ => open.extend(node.inputs.iter().copied().filter(|id| seen.insert(*id))),
            }
        }
        false
    }
}

/// Whether results lie in their range whatever the operands are.
fn has_own_range(op: &Op) -> bool {
    let picks = matches!(op, Op::ArgMax(_) | Op::ArgMin(_) | Op::Lookup(_) | Op::Cast | Op::Compose | Op::Softmax(_));
    picks || matches!(op, Op::Constant(_) | Op::AssertWithin | Op::AssertOneHot(_))
}
