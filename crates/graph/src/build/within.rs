//! Proofs that places and divisors lie within the stated bounds of inputs, where parties may cheat.
//!
//! A look-up, a comparison with positions and a division rely on the proven range of their operand. If that range rests
//! on the bound of an input, the owner could exceed it: a place beyond a table reads the row with the same last bits.
//! So the values of one party from which the range follows (see `unproven`) are compared with both ends of their
//! ranges, over the whole ring. A bit for each element indicates whether it lies outside.
//!
//! The compared values are made of inputs of one party. So the bits show nothing of other parties' inputs, and those of
//! an honest owner are zeros.

use super::{Builder, Operand};
use crate::dtype::Dtype;
use crate::error::Fault;
use crate::node::{Node, NodeId, Op, Unproven};

impl Builder<'_> {
    /// Returns an operand that is a place or a divisor, with its proof.
    pub(super) fn proven_operand<'o>(&mut self, a: Operand<'o>) -> Result<Operand<'o>, Fault> {
        match a {
            Operand::Node(id) => Ok(Operand::Node(self.proven(id)?)),
            public => Ok(public),
        }
    }

    /// Returns the values of `a`, proven to lie in their range where that rests on stated bounds. If it rests on too
    /// many values, the result has no proven range.
    pub(super) fn proven(&mut self, a: NodeId) -> Result<NodeId, Fault> {
        let node = self.graph.get(a)?;
        let is_asked = node.elements() > 0 && node.says_more_than_its_dtype();
        let Some(unproven) = node.unproven.clone().filter(|_| is_asked) else { return Ok(a) };
        let Unproven::These(values) = &*unproven else { return self.in_whole_ring(Op::Reshape, vec![a]) };
        // All comparisons come first, so that the bits that are opened in a row wait for one check.
        let is_new = |&id: &NodeId| self.graph.node(id).elements() > 0 && self.graph.proof_of(id).is_none();
        let new: Vec<NodeId> = values.iter().copied().filter(is_new).collect();
        let outside = new.iter().map(|&id| self.outside(id)).collect::<Result<Vec<_>, _>>()?;
        let mut inputs = vec![a];
        for &id in values {
            inputs.extend(self.graph.proof_of(id));
        }
        for (&id, outside) in new.iter().zip(outside) {
            let dtype = self.graph.node(id).dtype;
            let proof = self.emit_as(Op::AssertWithin, &[id, outside], dtype)?;
            self.graph.proofs.note(id, proof);
            inputs.push(proof);
        }
        if values.as_slice() == [a] {
            return Ok(inputs[1]);
        }
        let node = self.graph.node(a).like(Op::Behind, inputs, &self.at);
        self.graph.append(node)
    }

    /// Builds a bit for each element: whether it lies outside its range. The lowest number of the range is moved to
    /// that of the ring, so that one comparison covers both ends.
    fn outside(&mut self, a: NodeId) -> Result<NodeId, Fault> {
        let node = self.graph.node(a);
        let (range, all, is_unsigned) = (node.range(), node.dtype.range(), node.dtype.is_unsigned());
        let mut moved = self.in_whole_ring(Op::Reshape, vec![a])?;
        if range.lo() > 0 {
            // Two steps; neither wraps if the owner keeps to its bound.
            moved = self.moved_by(Op::Sub, moved, range.lo())?;
            moved = if is_unsigned { moved } else { self.moved_by(Op::Add, moved, all.lo())? };
        } else if range.lo() > all.lo() {
            moved = self.moved_by(Op::Add, moved, all.lo() - range.lo())?;
        }
        let highest = self.constant_like(moved, range.hi() - range.lo() + all.lo())?;
        self.emit_as(Op::Lt, &[highest, moved], Dtype::Bit)
    }

    fn moved_by(&mut self, op: Op, x: NodeId, by: i128) -> Result<NodeId, Fault> {
        let by = self.constant_like(x, by)?;
        self.in_whole_ring(op, vec![x, by])
    }

    fn constant_like(&mut self, x: NodeId, value: i128) -> Result<NodeId, Fault> {
        let node = self.graph.node(x);
        let (shape, dtype) = (node.shape.clone(), node.dtype);
        self.graph.push_constant(vec![value], shape, dtype, &self.at)
    }

    /// Builds a result without a proven range, and without a warning that it may leave its dtype.
    fn in_whole_ring(&mut self, op: Op, inputs: Vec<NodeId>) -> Result<NodeId, Fault> {
        let node = self.graph.node(inputs[0]).like(op, inputs, &self.at);
        self.graph.append(Node { interval: None, ..node })
    }
}
