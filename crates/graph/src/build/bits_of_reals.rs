//! The bits of results of reals without a stated dtype: those that their proven range takes.
//!
//! Such reals are kept in 64 bits, and in 96 or 120 where 64 may not hold them. A product is made in a ring that holds
//! it before its surplus fractional bits are dropped, at most the family's largest ring. Then it goes back to the
//! narrowest ring that holds it, which costs nothing. There are few widths, so operands mostly have the same one. This
//! matters because converting to a larger ring takes messages.

use super::Builder;
use crate::cut;
use crate::dtype::{Dtype, MAX_BITS};
use crate::error::Fault;
use crate::interval::Interval;
use crate::node::{NodeId, Op};
use crate::ranges::{self, Reach};

/// Widths in which reals without a stated dtype are kept.
pub(super) const KEPT_BITS: [u32; 3] = [64, 96, MAX_BITS];

/// Returns the narrowest of `widths` for signed numbers that lie in `values`; the widest where none is enough.
fn width(values: Interval, widths: [u32; 3]) -> u32 {
    widths.into_iter().find(|&bits| bits >= values.signed_bits()).unwrap_or(widths[2])
}

impl Builder<'_> {
    /// Builds an operation on operands that may grow, in a ring that holds its result where there is one. `dtype` is
    /// that of the result in the operands' own ring.
    pub(super) fn grown(
        &mut self,
        op: Op,
        inputs: Vec<NodeId>,
        shape: Vec<usize>,
        dtype: Dtype,
    ) -> Result<NodeId, Fault> {
        let known = self.graph.known(&inputs);
        let reach = ranges::reach(&op, &known, dtype, self.graph.rules().truncation);
        if let Reach::Leaves(exact) = reach
            && cut::product_shift(&op, &known, dtype) == 0
            && self.grows(&inputs, dtype)
            && let Some(lowered) = self.lowered_for(&inputs, exact)?
        {
            let frac = lowered.iter().map(|&id| self.graph.node(id).dtype.frac()).max().unwrap_or(dtype.frac());
            return self.grown(op, lowered, shape, Dtype::Fixed { bits: dtype.bits(), frac });
        }
        let (inputs, dtype) = match reach {
            Reach::Leaves(exact) if self.grows(&inputs, dtype) => {
                let bits = width(exact, self.product_bits()).max(dtype.bits());
                (self.all_in(&inputs, bits)?, dtype.with_bits(bits))
            }
            _ => (inputs, dtype),
        };
        let id = self.graph.push(op, inputs, shape, dtype, &self.at)?;
        self.kept(id)
    }

    /// Returns whether results of these operands may get more bits.
    pub(super) fn grows(&self, inputs: &[NodeId], dtype: Dtype) -> bool {
        let grows = |&id: &NodeId| !self.graph.node(id).is_public() && self.graph.node(id).room.grows;
        dtype.is_fixed() && inputs.iter().any(grows)
    }

    /// Returns the operands in rings of `bits` bits.
    pub(super) fn all_in(&mut self, inputs: &[NodeId], bits: u32) -> Result<Vec<NodeId>, Fault> {
        let in_ring = |&id: &NodeId| {
            let dtype = self.graph.node(id).dtype.with_bits(bits);
            self.converted(id, dtype)
        };
        inputs.iter().map(in_ring).collect()
    }

    /// Returns the operand in one of the kept rings that holds `values`, if it may grow and its own ring does not hold
    /// them.
    pub(super) fn in_room_for(&mut self, id: NodeId, values: Interval) -> Result<NodeId, Fault> {
        let dtype = self.graph.node(id).dtype;
        if dtype.range().covers(values) || !self.grows(&[id], dtype) {
            return Ok(id);
        }
        self.converted(id, self.room_for(dtype, values))
    }

    /// Returns the bits of the ring for a product that lies in `values`, with `more` bits free: those of the operands
    /// where they are enough.
    pub(super) fn product_room(&self, dtype: Dtype, values: Interval, more: u32) -> u32 {
        let needed = values.signed_bits() + more;
        let widths = self.product_bits();
        let wider = widths.into_iter().find(|&bits| bits >= needed.max(dtype.bits()));
        if needed <= dtype.bits() { dtype.bits() } else { wider.unwrap_or(widths[2]) }
    }

    /// Returns the widths in which products of reals without a stated dtype are made.
    fn product_bits(&self) -> [u32; 3] {
        self.within([64, 96, u32::MAX])
    }

    /// Returns the widths, each at most the family's largest.
    pub(super) fn within(&self, widths: [u32; 3]) -> [u32; 3] {
        widths.map(|bits| bits.min(self.graph.rules().rings.most_bits))
    }

    /// Returns the dtype in the narrowest of the kept rings, its own or wider, that holds `values`; the widest where
    /// none does.
    pub(super) fn room_for(&self, dtype: Dtype, values: Interval) -> Dtype {
        dtype.with_bits(width(values, self.within(KEPT_BITS)).max(dtype.bits()))
    }

    /// Returns a result that may have grown, in the narrowest of the kept rings that is proven to hold it. This is
    /// local.
    pub(super) fn kept(&mut self, id: NodeId) -> Result<NodeId, Fault> {
        let node = self.graph.node(id);
        let dtype = node.dtype;
        if dtype.bits() <= KEPT_BITS[0] || node.is_public() || !self.grows(&[id], dtype) {
            return Ok(id);
        }
        let kept = self.within(KEPT_BITS);
        let bits = node.interval.map_or(kept[2], |values| width(values, kept));
        if bits < dtype.bits() { self.moved(id, dtype.with_bits(bits)) } else { Ok(id) }
    }

    /// Converts numbers to another dtype that holds them.
    pub(super) fn moved(&mut self, id: NodeId, dtype: Dtype) -> Result<NodeId, Fault> {
        if let Some(known) = self.graph.recent.find(id, dtype) {
            return Ok(known);
        }
        let shape = self.graph.node(id).shape.clone();
        let moved = self.graph.push(Op::Convert, vec![id], shape, dtype, &self.at)?;
        self.graph.recent.note(id, dtype, moved);
        Ok(moved)
    }
}
