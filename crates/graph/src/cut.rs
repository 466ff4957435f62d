//! Cuts: the places where values drop surplus fractional bits, and what is known about the values there.

use crate::dtype::Dtype;
use crate::graph::Graph;
use crate::interval::Interval;
use crate::known::Known;
use crate::node::{NodeId, Op};
use crate::scale::Scale;
use crate::sparse::adds_one;

/// A right shift of a fixed-point value, which may be rounded either way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cut {
    /// Bits dropped.
    pub shift: u32,
    /// Bits of the ring in which the value stands before the shift.
    pub ring_bits: u32,
    /// Bits of the smallest signed integer that holds the value before the shift, where its range is proven. There may
    /// be more of them than the ring has.
    pub proven_bits: Option<u32>,
    /// Whether the value may be any number of its dtype. For a product this is false: its ring must hold it whole in
    /// any case, so the program's author promised a smaller range.
    pub is_any_value: bool,
}

impl Graph {
    /// Returns the cut of node `id`, if it drops fractional bits of a fixed-point result. Products of fixed point do,
    /// multiples by public reals, and conversions into fixed point with fewer fractional bits. Integers and shifts that
    /// users write are always exact.
    pub fn cut(&self, id: NodeId) -> Option<Cut> {
        let node = self.node(id);
        let inputs = self.known(&node.inputs);
        cut(&node.op, &inputs, node.dtype)
    }

    /// Returns the number of bits by which the product `id` is shifted right (exactly, towards minus infinity) after it
    /// wrapped in the ring of its dtype; 0 for other operations.
    pub fn product_shift(&self, id: NodeId) -> u32 {
        let node = self.node(id);
        product_shift(&node.op, &self.known(&node.inputs), node.dtype)
    }
}

pub(crate) fn cut(op: &Op, inputs: &[Known], dtype: Dtype) -> Option<Cut> {
    let known: Option<Vec<Interval>> = inputs.iter().map(|node| node.interval).collect();
    let bits = |interval: Interval| Some(interval.signed_bits());
    match (op, inputs) {
        (Op::Mul | Op::MatMul { .. } | Op::Conv(_), _) => {
            let shift = product_shift(op, inputs, dtype);
            let proven_bits = known.and_then(|known| bits(product(op, inputs, known[0], known[1])));
            (shift > 0).then_some(Cut { shift, ring_bits: dtype.bits(), proven_bits, is_any_value: false })
        }
        (Op::Scale(scale), _) => {
            // If there are two products, the one closer to the limit of its ring decides.
            let cut = scale.parts().filter(|part| part.shift > 0).min_by_key(|part| part.ring_bits - part.product_bits);
            cut.map(|&Scale { shift, ring_bits, product_bits, .. }| Cut {
                shift,
                ring_bits,
                proven_bits: Some(product_bits),
                is_any_value: false,
            })
        }
        (Op::Convert, [from]) if from.dtype.is_fixed() && dtype.is_fixed() && from.dtype.frac() > dtype.frac() => {
            let (shift, ring_bits) = (from.dtype.frac() - dtype.frac(), from.dtype.bits());
            Some(Cut { shift, ring_bits, proven_bits: known.and_then(|known| bits(known[0])), is_any_value: true })
        }
        _ => None,
    }
}

/// Returns the range, before any shift, of a product of operands that lie in `a` and `b`.
pub(crate) fn product(op: &Op, inputs: &[Known], a: Interval, b: Interval) -> Interval {
    match op {
        Op::MatMul { .. } if adds_one(op, inputs) => a.mul(b).union(Interval::point(0)),
        Op::MatMul { k, .. } => a.mul(b).times(*k),
        // The zeros around images are among the factors.
        Op::Conv(conv) if conv.has_zeros() => a.union(Interval::point(0)).mul(b).times(conv.patch()),
        Op::Conv(conv) => a.mul(b).times(conv.patch()),
        _ => a.mul(b),
    }
}

/// Returns the number of bits by which a product is shifted right after it was formed in the ring. These are the
/// fractional bits of both operands, less those that the result keeps. 0 where one operand is not fixed point, and for
/// every other operation.
pub(crate) fn product_shift(op: &Op, inputs: &[Known], dtype: Dtype) -> u32 {
    match (op, inputs) {
        (Op::Mul | Op::MatMul { .. } | Op::Conv(_), [a, b]) if a.dtype.is_fixed() && b.dtype.is_fixed() => {
            a.dtype.frac() + b.dtype.frac() - dtype.frac()
        }
        _ => 0,
    }
}
