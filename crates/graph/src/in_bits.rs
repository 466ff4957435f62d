//! Operations as Boolean circuits on one element, for sharings that hold numbers as bits.
//!
//! Proven intervals make the circuits small: a number whose top bits are copies of lower ones has no wires for them,
//! and results have only the bits that they need. Constants that are equal for all elements are part of the circuit.

use std::sync::Arc;

use quorate_circuits::{Bit, Builder, Circuit, Goal, Quotient, Sign};

use crate::dtype::Dtype;
use crate::graph::Graph;
use crate::interval::Interval;
use crate::node::{Division, Give, Node, NodeId, Op};
use crate::scale::Scale;
use crate::shape::Axis;

/// The form of an operation on bits.
#[derive(Clone, Debug, PartialEq)]
pub enum InBits {
    /// Element by element.
    Each(Lane),
    /// Along an axis, two elements at a time. `pair` takes two elements, the earlier one first, and returns one.
    Fold {
        /// The axis along which elements meet.
        axis: Axis,
        /// A circuit that takes the wires of two elements.
        pair: Circuit,
    },
    /// Like [`InBits::Fold`], on elements with their positions in `index_bits` more bits. The result is these bits.
    FoldPlaces {
        /// The axis along which elements meet.
        axis: Axis,
        /// A circuit that takes the wires of two elements, each with its position after it.
        pair: Circuit,
        /// Bits of a position, which is counted along the axis from 0.
        index_bits: u32,
    },
    /// A circuit of the user's: each operand's last axis is the wires of a group.
    Groups(Arc<Circuit>),
}

impl InBits {
    /// Returns the circuit, which is run once or several times.
    pub fn circuit(&self) -> &Circuit {
        match self {
            InBits::Each(Lane { circuit, .. }) => circuit,
            InBits::Fold { pair, .. } | InBits::FoldPlaces { pair, .. } => pair,
            InBits::Groups(circuit) => circuit,
        }
    }
}

/// The circuit of one element of an elementwise operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Lane {
    /// A group of inputs for each of `operands`, as wide as its dtype; one group of outputs, as wide as the result's
    /// dtype.
    pub circuit: Circuit,
    /// The operands that are inputs; all others are constants within the circuit.
    pub operands: Vec<usize>,
}

/// The wires of a number, which may have fewer than its dtype; the missing ones are 0, or copies of the last one.
#[derive(Clone)]
struct Number {
    bits: Vec<Bit>,
    signed: bool,
}

impl Number {
    /// Returns the number in `width` bits, in two's complement.
    fn at(&self, width: usize) -> Vec<Bit> {
        let fill = if self.signed { self.bits.last().copied().unwrap_or(Bit::FALSE) } else { Bit::FALSE };
        (0..width).map(|i| self.bits.get(i).copied().unwrap_or(fill)).collect()
    }

    fn width(&self) -> usize {
        self.bits.len()
    }

    /// Returns floor(x / 2^shift).
    fn shifted_right(&self, shift: usize) -> Number {
        let keep = usize::from(self.signed).min(self.width());
        let dropped = shift.min(self.width() - keep);
        Number { bits: self.bits[dropped..].to_vec(), signed: self.signed }
    }

    /// Returns the sum with a public number that is not negative, in full.
    fn plus(&self, b: &mut Builder, value: i128, goal: Goal) -> Number {
        let value = constant(value);
        let width = self.width().max(value.width()) + 2;
        Number { bits: b.add(&self.at(width), &value.at(width), goal), signed: self.signed }
    }

    fn shifted_left(&self, shift: usize) -> Number {
        let zeros = std::iter::repeat_n(Bit::FALSE, shift);
        Number { bits: zeros.chain(self.bits.iter().copied()).collect(), signed: self.signed }
    }
}

/// Returns the bits that hold every value of a node, and whether the last one is a sign.
fn width_of(dtype: Dtype, interval: Option<Interval>) -> (usize, bool) {
    let bits = dtype.bits() as usize;
    match interval {
        Some(range) if range.lo() >= 0 => (bits.min(128 - range.hi().leading_zeros() as usize), false),
        Some(range) if !dtype.is_unsigned() => (bits.min(range.signed_bits() as usize), true),
        _ => (bits, !(dtype.is_unsigned() || dtype == Dtype::Bit)),
    }
}

/// Returns both operands in the bits that their values need, and how to compare them.
fn aligned(x: &Number, y: &Number) -> (Vec<Bit>, Vec<Bit>, Sign) {
    let signed = x.signed || y.signed;
    let needs = |n: &Number| n.width() + usize::from(signed && !n.signed);
    let width = needs(x).max(needs(y)).max(1);
    (x.at(width), y.at(width), if signed { Sign::Signed } else { Sign::Unsigned })
}

impl Graph {
    /// Returns the number of bits that hold every value of a node, at least one, and whether the last one is a sign.
    /// The dtype's other bits are copies of the sign, or 0.
    pub fn width(&self, id: NodeId) -> (usize, bool) {
        let node = self.node(id);
        let (width, signed) = width_of(node.dtype, node.interval);
        (width.max(1), signed)
    }

    /// Returns whether node `id` has an operation on bits, that is, whether [`Graph::in_bits`] returns one; builds
    /// nothing.
    pub fn has_circuit(&self, id: NodeId) -> bool {
        match &self.node(id).op {
            Op::FloorDiv(divisors) | Op::Remainder(divisors) => single(&divisors.to_vec()).is_some(),
            Op::Scale(scale) => scale_of_all(scale).is_some(),
            Op::Sum(_) | Op::Max(_) | Op::Min(_) | Op::ArgMax(_) | Op::ArgMin(_) | Op::Circuit(_) => true,
            Op::Add | Op::Sub | Op::Neg | Op::Mul | Op::Shl(_) | Op::Shr(_) | Op::IntDivide(_) => true,
            Op::Lt | Op::Eq | Op::And | Op::Or | Op::Xor | Op::Not => true,
            Op::Select | Op::Other | Op::Cast | Op::Convert => true,
            _ => false,
        }
    }

    /// Returns the operation of node `id` on bits; `None` where it has none. Operations that only move elements, and
    /// those between numbers and arrays of bits, need no circuit and return `None`, too.
    pub fn in_bits(&self, id: NodeId, goal: Goal) -> Option<InBits> {
        let node = self.node(id);
        match &node.op {
            Op::Sum(axis) => Some(self.sum_in_bits(node, *axis, goal)),
            Op::Max(axis) | Op::Min(axis) => Some(self.extremum_in_bits(node, *axis, goal)),
            Op::ArgMax(axis) | Op::ArgMin(axis) => Some(self.place_in_bits(node, *axis, goal)),
            Op::Circuit(circuit) => Some(InBits::Groups(circuit.clone())),
            _ => self.lane(id, goal).map(InBits::Each),
        }
    }

    fn lane(&self, id: NodeId, goal: Goal) -> Option<Lane> {
        let node = self.node(id);
        let mut b = Builder::new();
        let (mut numbers, mut operands) = (Vec::new(), Vec::new());
        for (place, &input) in node.inputs.iter().enumerate() {
            let from = self.node(input);
            if let Op::Constant(units) = &from.op
                && let [unit] = units.to_vec()[..]
            {
                numbers.push(constant(unit));
                continue;
            }
            let wires = b.input(from.dtype.bits());
            let (width, signed) = width_of(from.dtype, from.interval);
            numbers.push(Number { bits: wires[..width].to_vec(), signed });
            operands.push(place);
        }
        let result = self.computed(id, &mut b, &numbers, goal)?;
        let circuit = b.finish(&[&result.at(node.dtype.bits() as usize)]).ok()?;
        Some(Lane { circuit, operands })
    }

    fn computed(&self, id: NodeId, b: &mut Builder, numbers: &[Number], goal: Goal) -> Option<Number> {
        let node = self.node(id);
        let (width, signed) = width_of(node.dtype, node.interval);
        let whole = |bits: Vec<Bit>| Number { bits, signed };
        let bit = |bit: Bit| Number { bits: vec![bit], signed: false };
        Some(match (&node.op, numbers) {
            (Op::Add, [x, y]) => whole(b.add(&x.at(width), &y.at(width), goal)),
            (Op::Sub, [x, y]) => whole(b.sub(&x.at(width), &y.at(width), goal)),
            (Op::Neg, [x]) => whole(b.neg(&x.at(width), goal)),
            (Op::Mul, [x, y]) => {
                let shift = self.product_shift(id) as usize;
                let product_width = (width + shift).min(node.dtype.bits() as usize);
                whole(b.mul(&x.at(product_width), &y.at(product_width), goal)).shifted_right(shift)
            }
            (Op::Shl(shift), [x]) => whole(x.shifted_left(*shift as usize).at(width)),
            (Op::Shr(shift), [x]) => x.shifted_right(*shift as usize),
            (Op::FloorDiv(divisors), [x]) => whole(divided(b, x, single(&divisors.to_vec())?, goal).quotient.at(width)),
            (Op::Remainder(divisors), [x, _]) => {
                whole(divided(b, x, single(&divisors.to_vec())?, goal).remainder.at(width))
            }
            (Op::IntDivide(division), [x, y]) => {
                let Parts { quotient, remainder } = self.divided_secretly(id, b, (x, y), *division, goal);
                whole(if division.give == Give::Quotient { quotient } else { remainder }.at(width))
            }
            (Op::Scale(scale), [x]) => whole(scaled(b, x, scale, (width, node.dtype.range().hi()), goal)?),
            (Op::Lt, [x, y]) => {
                let (x, y, sign) = aligned(x, y);
                bit(b.less_than(&x, &y, sign, goal))
            }
            (Op::Eq, [x, y]) => {
                let (x, y, _) = aligned(x, y);
                bit(b.equal(&x, &y))
            }
            (Op::And, [x, y]) => bit(b.and(x.at(1)[0], y.at(1)[0])),
            (Op::Or, [x, y]) => bit(b.or(x.at(1)[0], y.at(1)[0])),
            (Op::Xor, [x, y]) => bit(b.xor(x.at(1)[0], y.at(1)[0])),
            (Op::Not, [x]) => bit(!x.at(1)[0]),
            (Op::Select, [c, x, y]) => whole(b.mux(c.at(1)[0], &x.at(width), &y.at(width))),
            (Op::Other, [x, y, one]) => {
                let both = b.xor_words(&x.at(width), &y.at(width));
                whole(b.xor_words(&both, &one.at(width)))
            }
            (Op::Cast, [x]) => x.shifted_left(node.dtype.frac() as usize),
            (Op::Convert, [x]) => {
                let (from, to) = (self.node(node.inputs[0]).dtype.frac() as usize, node.dtype.frac() as usize);
                let x = if from > to { x.shifted_right(from - to) } else { x.shifted_left(to - from) };
                whole(x.at(width))
            }
            _ => return None,
        })
    }

    /// Builds a division by a secret number; the result is 0 where the divisor is 0.
    fn divided_secretly(
        &self,
        id: NodeId,
        b: &mut Builder,
        (x, y): (&Number, &Number),
        division: Division,
        goal: Goal,
    ) -> Parts {
        let node = self.node(id);
        let signed = x.signed || y.signed;
        let Quotient { quotient, remainder } = match division.quotient_bits {
            Some(digits) if !signed => b.divide_short(&x.bits, &y.bits, digits as usize, goal),
            _ => {
                let (x, y, sign) = aligned(x, y);
                // A quotient by -1 may have one bit more, unless the dtype has no room for it.
                let width = x.len() + usize::from(signed && x.len() < node.dtype.bits() as usize);
                let [x, y] = [x, y].map(|bits| Number { bits, signed }.at(width));
                b.divide(&x, &y, sign, goal)
            }
        };
        let divides = b.any(&y.bits);
        let masked = |bits: &[Bit]| b.and_bit(divides, bits);
        let [quotient, remainder] = [&quotient, &remainder].map(|bits| bits.as_slice()).map(masked);
        Parts { quotient: Number { bits: quotient, signed }, remainder: Number { bits: remainder, signed } }
    }

    /// Returns two inputs as wide as the operand's dtype, also as numbers of its range.
    fn pair_of(&self, node: &Node, b: &mut Builder, more: u32) -> [(Number, Vec<Bit>); 2] {
        let from = self.node(node.inputs[0]);
        let (width, signed) = width_of(from.dtype, from.interval);
        [(); 2].map(|()| {
            let wires = b.input(from.dtype.bits() + more);
            let number = Number { bits: wires[..width].to_vec(), signed };
            (number, wires[from.dtype.bits() as usize..].to_vec())
        })
    }

    fn sum_in_bits(&self, node: &Node, axis: Axis, goal: Goal) -> InBits {
        let bits = node.dtype.bits();
        let (width, signed) = width_of(node.dtype, self.partial_sums(node));
        let mut b = Builder::new();
        let [x, y] = [(); 2].map(|()| b.input(bits)[..width].to_vec());
        let sum = Number { bits: b.add(&x, &y, goal), signed };
        let pair = b.finish(&[&sum.at(bits as usize)]).expect("an adder is small");
        InBits::Fold { axis, pair }
    }

    /// Returns the range of sums of any number of the elements.
    fn partial_sums(&self, node: &Node) -> Option<Interval> {
        let each = self.node(node.inputs[0]).interval;
        node.interval.zip(each).map(|(sum, each)| sum.union(each).union(Interval::point(0)))
    }

    fn extremum_in_bits(&self, node: &Node, axis: Axis, goal: Goal) -> InBits {
        let mut b = Builder::new();
        let [(x, _), (y, _)] = self.pair_of(node, &mut b, 0);
        let takes_later = later_is_better(&mut b, &node.op, &x, &y, goal);
        let bits = node.dtype.bits() as usize;
        let best = Number { bits: b.mux(takes_later, &y.bits, &x.bits), signed: x.signed };
        InBits::Fold { axis, pair: b.finish(&[&best.at(bits)]).expect("a comparison is small") }
    }

    fn place_in_bits(&self, node: &Node, axis: Axis, goal: Goal) -> InBits {
        let index_bits = usize::BITS - (axis.len - 1).leading_zeros();
        let mut b = Builder::new();
        let [(x, x_place), (y, y_place)] = self.pair_of(node, &mut b, index_bits);
        let takes_later = later_is_better(&mut b, &node.op, &x, &y, goal);
        let bits = self.node(node.inputs[0]).dtype.bits() as usize;
        let best = Number { bits: b.mux(takes_later, &y.bits, &x.bits), signed: x.signed };
        let place = b.mux(takes_later, &y_place, &x_place);
        let pair = b.finish(&[&[best.at(bits), place].concat()]).expect("a comparison is small");
        InBits::FoldPlaces { axis, pair, index_bits }
    }
}

/// Returns whether the later of two numbers is chosen; of equal ones the earlier one stays.
fn later_is_better(b: &mut Builder, op: &Op, x: &Number, y: &Number, goal: Goal) -> Bit {
    let (x, y, sign) = aligned(x, y);
    match op {
        Op::Max(_) | Op::ArgMax(_) => b.less_than(&x, &y, sign, goal),
        _ => b.less_than(&y, &x, sign, goal),
    }
}

/// Returns a public number in the bits that it needs.
fn constant(value: i128) -> Number {
    let bits = Interval::point(value).signed_bits();
    let width = if value < 0 { bits } else { bits - 1 };
    Number { bits: (0..width).map(|i| Bit::constant(value >> i & 1 == 1)).collect(), signed: value < 0 }
}

/// Returns the divisor, if all elements have the same one.
fn single(divisors: &[i128]) -> Option<i128> {
    let first = *divisors.first()?;
    divisors.iter().all(|&divisor| divisor == first).then_some(first)
}

/// Returns the whole part, the factor, and the limit, if there is one, where they are the same for all elements and one
/// product is enough.
fn scale_of_all(by: &Scale) -> Option<(i128, i128, Option<i128>)> {
    if by.upper.is_some() {
        return None;
    }
    let limit = match &by.limits {
        None => None,
        Some(limits) => Some(single(&limits.to_vec())?),
    };
    Some((single(&by.whole.to_vec())?, single(&by.factors.to_vec())?, limit))
}

/// Builds n x + floor((m x + half) / 2^shift), saturated beyond a limit, in `width` bits; `None` where elements differ
/// in n or m.
fn scaled(b: &mut Builder, x: &Number, by: &Scale, (width, most): (usize, i128), goal: Goal) -> Option<Vec<Bit>> {
    let (n, m, limit) = scale_of_all(by)?;
    let mut result = b.mul(&x.at(width), &constant(n).at(width), goal);
    if by.shift > 0 {
        let rounded = times(b, x, m, goal).plus(b, 1 << (by.shift - 1), goal).shifted_right(by.shift as usize);
        result = b.add(&result, &rounded.at(width), goal);
    }
    let limit = limit.unwrap_or(most);
    let reach = 1i128 << (x.width() - usize::from(x.signed)).min(126);
    if limit < most.min(reach) {
        let (low, x_low, sign) = aligned(&constant(-limit), x);
        let below = b.less_than(&x_low, &low, sign, goal);
        let (high, x_high, sign) = aligned(&constant(limit), x);
        let above = b.less_than(&high, &x_high, sign, goal);
        for (beyond, instead) in [(above, n.signum() * most), (below, -n.signum() * most)] {
            result = b.mux(beyond, &constant(instead).at(width), &result);
        }
    }
    Some(result)
}

/// Returns m x, in full.
fn times(b: &mut Builder, x: &Number, m: i128, goal: Goal) -> Number {
    let sign = if x.signed { Sign::Signed } else { Sign::Unsigned };
    let factor = constant(m.abs());
    let factor = factor.at(factor.width() + usize::from(x.signed));
    let product = Number { bits: b.mul_wide(&x.bits, &factor, sign, goal), signed: x.signed };
    match m < 0 {
        true => Number { bits: b.neg(&product.at(product.width() + 1), goal), signed: true },
        false => product,
    }
}

/// A quotient and a remainder as numbers.
struct Parts {
    quotient: Number,
    remainder: Number,
}

fn divided(b: &mut Builder, x: &Number, divisor: i128, goal: Goal) -> Parts {
    let (mut x, mut y, sign) = aligned(x, &constant(divisor));
    if divisor == -1 {
        // The lowest number has a quotient of one bit more.
        [x, y] = [x, y].map(|bits| Number { bits, signed: true }).map(|number| number.at(number.width() + 1));
    }
    let Quotient { quotient, remainder } = b.divide(&x, &y, sign, goal);
    let number = |bits: Vec<Bit>| Number { bits, signed: sign == Sign::Signed };
    Parts { quotient: number(quotient), remainder: number(remainder) }
}
