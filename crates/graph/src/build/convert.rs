//! Conversions of numbers to other dtypes, and to and from bits.

use super::{BinaryOp, Builder, coerce};
use crate::dtype::Dtype;
use crate::error::Fault;
use crate::interval::Interval;
use crate::node::{Node, NodeId, Op, Room};
use crate::shape;
use crate::units::Units;

impl Builder<'_> {
    pub(super) fn build_cast(&mut self, a: NodeId, to: Dtype) -> Result<NodeId, Fault> {
        let node = self.graph.get(a)?;
        let from = node.dtype;
        if from == to && node.room.grows {
            return self.grow(a, false);
        }
        if from == to || from == Dtype::Bit || (node.is_public() && !from.is_fixed()) {
            return self.converted(a, to);
        }
        if to == Dtype::Bit {
            return Err(Fault::NoCast { from, to });
        }
        let shape = node.shape.clone();
        let id = self.graph.push(Op::Convert, vec![a], shape, to, &self.at)?;
        let room = self.graph.node(id).room;
        self.graph.give_room(id, Room { grows: false, ..room }); // for results from here on
        Ok(id)
    }

    /// Builds `a` as a real. The range of a secret integer without a stated range is that of its dtype, so that results
    /// get the bits that this takes. Since that range is not stated, no warning refers to it where values are checked.
    pub(super) fn build_to_real(&mut self, a: NodeId) -> Result<NodeId, Fault> {
        let node = self.graph.get(a)?;
        let unknown = node.dtype.is_integer() && node.interval.is_none();
        let held = if unknown { self.build_held(a)? } else { a };
        let real = self.as_real(held)?;
        if unknown && !self.graph.node(real).is_public() {
            self.graph.give_room(real, Room { grows: true, assumed: true });
        }
        Ok(real)
    }

    /// Builds `a` as a real whose results may get more bits.
    pub(super) fn as_real(&mut self, a: NodeId) -> Result<NodeId, Fault> {
        let [known] = self.types([a.into()])?;
        let dtype = coerce::joined("astype", &[known, coerce::Type::Reals { whole_bits: 0 }])?;
        let id = self.converted(a, dtype)?;
        if self.graph.node(id).is_public() || self.graph.node(id).room.grows {
            return Ok(id);
        }
        self.grow(id, true)
    }

    /// Builds the values of `a` with the range of the dtype as their proven range.
    pub(super) fn build_held(&mut self, a: NodeId) -> Result<NodeId, Fault> {
        let node = self.graph.get(a)?;
        if node.is_public() || node.interval.is_some() {
            return Ok(a);
        }
        let held = Node { interval: Some(node.dtype.range()), ..node.like(Op::Reshape, vec![a], &self.at) };
        self.graph.append(held)
    }

    /// Builds the values of `a` and sets whether their results may get more bits.
    fn grow(&mut self, a: NodeId, grows: bool) -> Result<NodeId, Fault> {
        let node = self.graph.node(a);
        let (shape, dtype, room) = (node.shape.clone(), node.dtype, Room { grows, ..node.room });
        let id = self.graph.push(Op::Reshape, vec![a], shape, dtype, &self.at)?;
        self.graph.give_room(id, room);
        Ok(id)
    }

    /// Rounds to the nearest whole number: the whole part, plus 1 where the rest is more than half, or is half and the
    /// whole part is odd.
    pub(super) fn build_round(&mut self, a: NodeId) -> Result<NodeId, Fault> {
        let node = self.graph.get(a)?;
        let (dtype, shape) = (node.dtype, node.shape.clone());
        let Dtype::Fixed { bits, frac } = dtype else { return Err(Fault::FixedOnly { op: "round", dtype }) };
        if frac == 0 {
            return Ok(a);
        }
        let (int, one) = (Dtype::Int { bits }, Units::from([1 << frac]));
        let whole = self.emit_as(Op::FloorDiv(one.clone()), &[a], int)?;
        let rest = self.emit_as(Op::Remainder(one), &[a, whole], dtype)?;
        let odd = self.lowest_bit(whole)?;
        let odd = self.emit_as(Op::Convert, &[odd], int)?;
        let half = self.graph.push_constant(vec![1 << (frac - 1)], shape, dtype, &self.at)?;
        let enough = self.emit_as(Op::Sub, &[half, odd], dtype)?;
        let up = self.emit_as(Op::Lt, &[enough, rest], Dtype::Bit)?;
        let up = self.emit_as(Op::Cast, &[up], int)?;
        let rounded = self.emit_as(Op::Add, &[whole, up], int)?;
        self.emit_as(Op::Shl(frac), &[rounded], dtype)
    }

    /// Builds integers modulo 2. They are meant to wrap, so there is no warning.
    fn lowest_bit(&mut self, a: NodeId) -> Result<NodeId, Fault> {
        let (dtype, node) = (Dtype::Uint { bits: 1 }, self.graph.node(a));
        let shape = node.shape.clone();
        if let Op::Constant(values) = &node.op {
            let odd: Vec<i128> = values.to_vec().iter().map(|v| v & 1).collect();
            return self.graph.push_units(&Units::repeated(&odd, values.each()), shape, dtype, &self.at);
        }
        let odd = Node::new(Op::Convert, vec![a], shape, dtype, &self.at);
        self.graph.append(Node { interval: Some(Interval::BIT), ..odd })
    }

    pub(super) fn build_bits(&mut self, a: NodeId) -> Result<NodeId, Fault> {
        let node = self.graph.get(a)?;
        let dtype = node.dtype;
        let mut to = node.shape.clone();
        to.push(dtype.bits() as usize);
        if dtype == Dtype::Bit {
            return self.graph.push(Op::Reshape, vec![a], to, dtype, &self.at);
        }
        self.graph.push(Op::Bits, vec![a], to, Dtype::Bit, &self.at)
    }

    pub(super) fn build_from_bits(&mut self, a: NodeId, dtype: Dtype) -> Result<NodeId, Fault> {
        let node = self.graph.get(a)?;
        if node.dtype != Dtype::Bit {
            return Err(Fault::NotBits { dtype: node.dtype });
        }
        let (given, wanted) = (node.shape.last().copied(), dtype.bits() as usize);
        if given != Some(wanted) {
            return Err(Fault::BitCount { shape: node.shape.as_slice().into(), dtype });
        }
        let to = node.shape[..node.shape.len() - 1].to_vec();
        let op = if dtype == Dtype::Bit { Op::Reshape } else { Op::Compose };
        self.graph.push(op, vec![a], to, dtype, &self.at)
    }

    /// Builds `&`, `|` or `^` of integers of one shape, bit by bit in two's complement.
    pub(super) fn bitwise(&mut self, op: BinaryOp, a: NodeId, b: NodeId, dtype: Dtype) -> Result<NodeId, Fault> {
        let shape = self.graph.get(a)?.shape.clone();
        let (a, b) = (self.build_bits(a)?, self.build_bits(b)?);
        let bits = self.build_binary(op, a.into(), b.into())?;
        self.graph.push(Op::Compose, vec![bits], shape, dtype, &self.at)
    }

    pub(super) fn build_assert_one_hot(&mut self, a: NodeId, along: i64) -> Result<NodeId, Fault> {
        let op = "assert_one_hot";
        let node = self.graph.get(a)?;
        let dtype = node.dtype;
        if dtype.is_fixed() || dtype == Dtype::Bit {
            return Err(Fault::IntegersOnly { op, dtype });
        }
        let (axis, _) = shape::reduction(&node.shape, Some(along), true)?;
        if axis.len == 0 {
            return Err(Fault::EmptyReduction { op, shape: node.shape.as_slice().into() });
        }
        if (axis.len - 1).checked_ilog2().is_some_and(|log| log >= dtype.bits()) {
            return Err(Fault::LongLines { op, len: axis.len, dtype });
        }
        let owners: Vec<usize> = self.graph.owners(a).iter().collect();
        if let Some(owner) = self.graph.rules().proves_nothing.filter(|&owner| owners == [owner]) {
            return Err(Fault::NoProof { owner });
        }
        let shape = node.shape.clone();
        self.graph.push(Op::AssertOneHot(axis), vec![a], shape, dtype, &self.at)
    }

    pub(super) fn build_cumsum(&mut self, a: NodeId, along: Option<i64>) -> Result<NodeId, Fault> {
        let id = self.number(a)?;
        let node = self.graph.node(id);
        let (axis, _) = shape::reduction(&node.shape, along, false)?;
        let to = if along.is_some() { node.shape.clone() } else { vec![axis.len] };
        let dtype = node.dtype;
        self.grown(Op::CumSum(axis), vec![id], to, dtype)
    }
}
