//! Values whose parts the parties hold already: those of a campaign's clients, who are no parties, and those that an
//! earlier program kept. They are the sum of parts that parties input.
//!
//! A client divides its values into uniform summands, one for each of the parties that it chose. The sum wraps in the
//! ring on purpose, so nothing is proven of it: whoever relies on bounds compares first, over the whole ring.

use std::sync::Arc;

use super::{Builder, Built};
use crate::column::Submission;
use crate::dtype::Dtype;
use crate::error::Fault;
use crate::interval::Interval;
use crate::node::{Node, NodeId, Op, Room};

impl Builder<'_> {
    /// Builds the values that clients gave for a column: the sum of `parts` in the ring of `dtype`, or the exclusive or
    /// of bits. Parts of numbers are unsigned integers of one width, with the bits of `dtype` at least; only these bits
    /// count.
    ///
    /// # Errors
    /// No part, or one of another shape or dtype.
    pub fn submitted(&mut self, parts: &[NodeId], dtype: Dtype, from: Submission) -> Built {
        self.attempt(|b| b.build_submitted(parts, dtype.checked()?, from))
    }

    /// Builds values that an earlier program kept, as [`Builder::submitted`] does. What that program knew of their
    /// range and of the room of results holds on.
    ///
    /// # Errors
    /// No part, or one of another shape or dtype; [`Fault::BoundRequired`] where a bound is required.
    pub fn kept_before(
        &mut self,
        parts: &[NodeId],
        dtype: Dtype,
        from: Submission,
        (interval, room): (Option<Interval>, Room),
    ) -> Built {
        self.attempt(|b| {
            if interval.is_none() && b.graph.is_strict() {
                return Err(Fault::BoundRequired);
            }
            let interval = interval.map(|known| dtype.range().clamped(known));
            let node = b.submitted_node(parts, dtype.checked()?, from)?;
            b.graph.append(Node { interval, room, ..node })
        })
    }

    /// Builds a bit for each element of values that clients gave: whether it lies outside `low` to `high`, in units.
    /// The lowest number of these bounds is moved to that of the ring, so that one comparison covers both ends. It is
    /// over the whole ring, since a client may give anything.
    ///
    /// # Errors
    /// [`Fault::Bounds`]: bounds that the dtype does not hold.
    pub fn outside_bounds(&mut self, a: NodeId, low: i128, high: i128) -> Built {
        self.attempt(|b| b.build_outside_bounds(a, low, high))
    }

    fn build_outside_bounds(&mut self, a: NodeId, low: i128, high: i128) -> Result<NodeId, Fault> {
        let node = self.graph.get(a)?;
        let (dtype, shape, all) = (node.dtype, node.shape.clone(), node.dtype.range());
        let Op::Submitted(from) = node.op.clone() else { return Err(Fault::SubmittedParts { dtype }) };
        if dtype == Dtype::Bit || low > high || !all.contains(low) || !all.contains(high) {
            return Err(Fault::Bounds { low: low as f64, high: high as f64, dtype });
        }
        let constant = |b: &mut Self, value| b.graph.push_constant(vec![value], shape.clone(), dtype, &b.at);
        let by = constant(self, dtype.wrap(all.lo() - low))?;
        let moved = Node::new(Op::Submitted(from), vec![a, by], shape.clone(), dtype, &self.at);
        let moved = self.graph.append(moved)?;
        let highest = constant(self, high - low + all.lo())?;
        self.emit_as(Op::Lt, &[highest, moved], Dtype::Bit)
    }

    /// Builds results for clients: the words of `a` plus `masks`, in the ring of `a`, or their exclusive or. Masks are
    /// what clients gave for a column that names the result: uniform numbers, one for each element, each used once.
    ///
    /// # Errors
    /// Masks of another shape or width than `a`, or that no client gave.
    pub fn masked(&mut self, a: NodeId, masks: NodeId) -> Built {
        self.attempt(|b| b.build_masked(a, masks))
    }

    fn build_masked(&mut self, a: NodeId, masks: NodeId) -> Result<NodeId, Fault> {
        let (of, by) = (self.graph.get(a)?, self.graph.get(masks)?);
        let words = if of.dtype == Dtype::Bit { Dtype::Bit } else { Dtype::Uint { bits: of.dtype.bits() } };
        let Op::Submitted(from) = by.op.clone() else { return Err(Fault::SubmittedParts { dtype: words }) };
        if by.dtype != words || by.shape != of.shape {
            return Err(Fault::SubmittedParts { dtype: words });
        }
        self.graph.append(Node::new(Op::Masked(from), vec![a, masks], of.shape.clone(), words, &self.at))
    }

    fn build_submitted(&mut self, parts: &[NodeId], dtype: Dtype, from: Submission) -> Result<NodeId, Fault> {
        let node = self.submitted_node(parts, dtype, from)?;
        self.graph.append(node)
    }

    fn submitted_node(&self, parts: &[NodeId], dtype: Dtype, from: Submission) -> Result<Node, Fault> {
        let of_part = if dtype == Dtype::Bit { Dtype::Bit } else { Dtype::Uint { bits: dtype.bits() } };
        let (given, shape) = match parts {
            [first, ..] => self.graph.get(*first).map(|node| (node.dtype, node.shape.clone()))?,
            [] => return Err(Fault::SubmittedParts { dtype: of_part }),
        };
        let is_wide = of_part.is_unsigned() && given.is_unsigned() && given.bits() >= of_part.bits();
        for &part in parts {
            let node = self.graph.get(part)?;
            if !(is_wide || given == of_part) || node.dtype != given || node.shape != shape {
                return Err(Fault::SubmittedParts { dtype: of_part });
            }
        }
        Ok(Node::new(Op::Submitted(Arc::new(from)), parts.to_vec(), shape, dtype, &self.at))
    }
}
