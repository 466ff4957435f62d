//! The builder of programs: every operation checks shapes, dtypes, ranges and owners at once, and errors name the
//! user's line.

mod bits_of_reals;
mod circuit;
mod coerce;
mod conv;
mod convert;
mod divide;
mod elementwise;
mod entry;
mod fine;
mod layout;
mod linear;
mod lookup;
mod multiples;
mod order;
mod quotient;
mod real;
mod stated;
mod submitted;
mod within;

use std::sync::Arc;

pub use conv::Lies;
use linear::Reduce;
use quorate_circuits::Circuit;

use crate::column::Column;
use crate::domain::Domain;
use crate::dtype::{Dtype, MAX_BITS, REAL_BOUND};
use crate::error::{BuildError, Fault};
use crate::graph::Graph;
use crate::index::{Layer, Side};
use crate::interval::Interval;
use crate::node::{Division, Node, NodeId, Op, Room};
use crate::real::Real;
use crate::shape;
use crate::source::Source;

/// Operations on two arrays. Shapes broadcast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOp {
    /// Sum, in a dtype that holds both operands.
    Add,
    /// Difference, in a dtype that holds both operands.
    Sub,
    /// Product; of fixed point rounded to a unit.
    Mul,
    /// Whether the first is below the second. The result is a bit, as for all comparisons.
    Lt,
    /// Whether the first is below the second or equal.
    Le,
    /// Whether the first is above the second.
    Gt,
    /// Whether the first is above the second or equal.
    Ge,
    /// Whether both are equal.
    Eq,
    /// Whether they differ.
    Ne,
    /// And of bits, or of integers bit by bit.
    And,
    /// Or of bits, or of integers bit by bit.
    Or,
    /// Exclusive or of bits, or of integers bit by bit.
    Xor,
}

impl BinaryOp {
    /// Returns the operator as the user wrote it, for messages.
    pub fn name(self) -> &'static str {
        match self {
            BinaryOp::Add => "add",
            BinaryOp::Sub => "subtract",
            BinaryOp::Mul => "multiply",
            BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge | BinaryOp::Eq | BinaryOp::Ne => "compare",
            BinaryOp::And => "&",
            BinaryOp::Or => "|",
            BinaryOp::Xor => "^",
        }
    }
}

/// Operations on one array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOp {
    /// Negation; bits are taken as int(64).
    Neg,
    /// Not; of bits only.
    Not,
}

/// A stated bound of an input in the user's units: its largest magnitude, or its lowest and highest value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// The largest magnitude, an integer.
    Int(i128),
    /// The largest magnitude, a finite real number.
    Real(f64),
    /// The lowest and the highest value, integers.
    Ints(i128, i128),
    /// The lowest and the highest value, finite real numbers.
    Reals(f64, f64),
}

/// An operand of an operation: an array of the program, or public numbers written into it. Public numbers take the
/// dtype of the other operands (integers that of any numbers, reals that of fixed point). One value may stand for a
/// whole shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Operand<'a> {
    /// An array of the program, secret or not.
    Node(NodeId),
    /// Public integers.
    Ints {
        /// Shape of the array that they form; empty for a scalar.
        shape: &'a [usize],
        /// One value for each element, or one for all.
        values: &'a [i128],
    },
    /// Public real numbers.
    Reals {
        /// Shape of the array that they form; empty for a scalar.
        shape: &'a [usize],
        /// One value for each element, or one for all.
        values: &'a [f64],
    },
}

impl<'a> Operand<'a> {
    /// Returns a public integer as an operand.
    pub fn int(value: &'a i128) -> Operand<'a> {
        Operand::Ints { shape: &[], values: std::slice::from_ref(value) }
    }

    /// Returns a public real number as an operand.
    pub fn real(value: &'a f64) -> Operand<'a> {
        Operand::Reals { shape: &[], values: std::slice::from_ref(value) }
    }
}

impl From<NodeId> for Operand<'_> {
    fn from(id: NodeId) -> Self {
        Operand::Node(id)
    }
}

/// Adds operations to a graph on behalf of one line of the user's. An operation that fails leaves the graph as it was.
#[derive(Debug)]
pub struct Builder<'g> {
    graph: &'g mut Graph,
    at: Source,
    column: Option<Arc<Column>>,
    streamed: bool,
}

type Built = Result<NodeId, BuildError>;

impl Graph {
    /// Returns a builder that adds operations for the user's line `source`.
    pub fn at(&mut self, mut source: Source) -> Builder<'_> {
        match self.files.get(&source.file) {
            Some(file) => source.file = file.clone(),
            None => {
                self.files.insert(source.file.clone());
            }
        }
        Builder { graph: self, at: source, column: None, streamed: false }
    }
}

impl<'g> Builder<'g> {
    fn attempt(&mut self, build: impl FnOnce(&mut Self) -> Result<NodeId, Fault>) -> Built {
        let before = self.graph.len();
        build(self).map_err(|fault| {
            self.graph.truncate(before);
            BuildError::new(fault, self.at.clone())
        })
    }

    /// Builds the values of `a`, which have the meaning of the column of `like`.
    pub fn like_column(&mut self, a: NodeId, like: NodeId) -> Built {
        self.attempt(|b| b.build_like_column(a, like))
    }

    /// Adds secret values of party `owner` (of `parties`), given when the program runs. `bound` is their largest
    /// magnitude, or their lowest and highest value, from which range analysis starts; without it nothing is proven.
    pub fn input(
        &mut self,
        owner: usize,
        parties: usize,
        shape: &[usize],
        dtype: Dtype,
        bound: Option<Bound>,
    ) -> Built {
        self.attempt(|b| b.build_input((owner, parties), shape, (dtype.checked()?, Room::STATED), bound))
    }

    /// Adds secret real numbers without a stated dtype. They are kept as [`Dtype::FIXED64`], with magnitudes up to
    /// [`REAL_BOUND`] where no bound is stated. Results get the bits that their proven range takes.
    pub fn real_input(&mut self, owner: usize, parties: usize, shape: &[usize], bound: Option<Bound>) -> Built {
        let assumed = bound.is_none() && !self.graph.is_strict();
        let room = Room { grows: true, assumed };
        let bound = if assumed { Some(Bound::Int(REAL_BOUND)) } else { bound };
        self.attempt(|b| b.build_input((owner, parties), shape, (b.real_dtype(bound)?, room), bound))
    }

    /// Returns the first of the kept widths that holds reals of this bound, with more fractional bits if it is small.
    fn real_dtype(&self, bound: Option<Bound>) -> Result<Dtype, Fault> {
        let Some(bound) = bound else { return Ok(Dtype::FIXED64) };
        let magnitude = match bound {
            Bound::Real(magnitude) => magnitude,
            Bound::Reals(low, high) => low.abs().max(high.abs()),
            _ => 0.0,
        };
        let frac = match magnitude.is_finite() && magnitude > 0.0 {
            true => fine::enough(fine::exponent_of(magnitude)),
            false => fine::USUAL,
        };
        let all = [64, 96, MAX_BITS].map(|bits| Dtype::Fixed { bits, frac });
        let holds = all.into_iter().find(|&dtype| bounded(dtype, bound).is_ok());
        holds.ok_or(()).or_else(|()| bounded(all[2], bound).map(|_| all[2]))
    }

    fn build_input(
        &mut self,
        (owner, parties): (usize, usize),
        shape: &[usize],
        (dtype, room): (Dtype, Room),
        bound: Option<Bound>,
    ) -> Result<NodeId, Fault> {
        if owner >= parties {
            return Err(Fault::Owner { owner, parties });
        }
        shape::elements(shape)?;
        let interval = match (dtype, bound) {
            (Dtype::Bit, _) => Some(Interval::BIT),
            (_, Some(bound)) => Some(bounded(dtype, bound)?),
            (_, None) if self.graph.is_strict() => return Err(Fault::BoundRequired),
            (_, None) => None,
        };
        let op = Op::Input { owner, column: self.column.take(), streamed: self.streamed };
        self.graph.append(Node { interval, room, ..Node::new(op, vec![], shape.to_vec(), dtype, &self.at) })
    }

    /// Adds public integers of type `dtype`: one value for each element, or one for all.
    pub fn constant_ints(&mut self, shape: &[usize], values: &[i128], dtype: Dtype) -> Built {
        self.attempt(|b| b.place(Operand::Ints { shape, values }, dtype.checked()?, shape))
    }

    /// Adds public real numbers, rounded to the nearest of the fixed-point type `dtype` (ties to even).
    pub fn constant_reals(&mut self, shape: &[usize], values: &[f64], dtype: Dtype) -> Built {
        self.attempt(|b| b.place(Operand::Reals { shape, values }, dtype.checked()?, shape))
    }

    /// Builds `a op b`. Bits count as numbers in arithmetic (the product of two bits is a bit). Other dtypes must be
    /// equal, but fixed point times integers of the same ring is allowed and not truncated. Products of fixed point
    /// with public reals that its dtype does not hold are rounded to the nearest, within 3/4 of a unit ([`Op::Scale`]).
    pub fn binary<'a>(&mut self, op: BinaryOp, a: impl Into<Operand<'a>>, b: impl Into<Operand<'a>>) -> Built {
        let (left, right) = (a.into(), b.into());
        self.attempt(|b| b.build_binary(op, left, right))
    }

    /// Builds the whole part of `a / by`, rounded towards minus infinity, for public `by`: `int(k)` for `int(k)` and
    /// `fixed(k, f)`. A quotient that does not fit wraps: this is only that of the lowest number and -1.
    pub fn floor_div<'a>(&mut self, a: NodeId, by: impl Into<Operand<'a>>) -> Built {
        let by = by.into();
        self.attempt(|b| b.build_floor_div(a, by))
    }

    /// Builds a real without a stated dtype times a public number below 2^63, with `more` additional fractional bits: a
    /// power of two that makes it smaller by as many bits loses no digits. Other fixed point keeps its dtype.
    pub fn finer_multiple(&mut self, a: NodeId, by: f64, more: u32) -> Built {
        self.attempt(|b| b.build_finer_multiple(a, by, more))
    }

    /// Rounds fixed point to whole numbers, halves to the even one; a result beyond the largest element wraps.
    pub fn round(&mut self, a: NodeId) -> Built {
        self.attempt(|b| b.build_round(a))
    }

    /// Builds the remainder of `a`, with the sign of `by`. `whole` is the quotient of the same operands by
    /// [`Builder::floor_div`].
    pub fn remainder<'a>(&mut self, a: NodeId, whole: NodeId, by: impl Into<Operand<'a>>) -> Built {
        let by = by.into();
        self.attempt(|b| b.build_remainder(a, whole, by))
    }

    /// Builds the quotient, rounded towards minus infinity, or the remainder of `a` by `b`. Both are integers of one
    /// dtype, and at least one is secret. The result is 0 where the divisor is 0. A quotient that does not fit wraps.
    pub fn int_divide<'a>(
        &mut self,
        division: Division,
        a: impl Into<Operand<'a>>,
        b: impl Into<Operand<'a>>,
    ) -> Built {
        let (left, right) = (a.into(), b.into());
        self.attempt(|b| b.build_int_divide(division, left, right))
    }

    /// Builds `op a`.
    pub fn unary<'a>(&mut self, op: UnaryOp, a: impl Into<Operand<'a>>) -> Built {
        let a = a.into();
        self.attempt(|b| b.build_unary(op, a))
    }

    /// Builds `a` where `condition` is 1, and `b` where it is 0; all three broadcast.
    pub fn select<'a>(
        &mut self,
        condition: impl Into<Operand<'a>>,
        a: impl Into<Operand<'a>>,
        b: impl Into<Operand<'a>>,
    ) -> Built {
        let (condition, one, zero) = (condition.into(), a.into(), b.into());
        self.attempt(|b| b.build_select(condition, one, zero))
    }

    /// Builds the other one of `a` and `b`, element by element, where `one` holds one of the two. `one` has the shape
    /// to which both broadcast.
    pub fn other<'a>(&mut self, a: impl Into<Operand<'a>>, b: impl Into<Operand<'a>>, one: NodeId) -> Built {
        let (left, right) = (a.into(), b.into());
        self.attempt(|b| b.build_other(left, right, one))
    }

    /// Builds `a * 2^shift` in the ring; 0 <= shift < bits.
    pub fn shl(&mut self, a: NodeId, shift: i64) -> Built {
        self.attempt(|b| b.build_shift(a, shift, true))
    }

    /// Builds `floor(a / 2^shift)` of the ring units; 0 <= shift < bits.
    pub fn shr(&mut self, a: NodeId, shift: i64) -> Built {
        self.attempt(|b| b.build_shift(a, shift, false))
    }

    /// Builds `a` as `dtype`. Fixed point becomes an integer rounded towards minus infinity. A value that does not fit
    /// wraps, and range analysis reports it where bounds were stated. Numbers do not become bits.
    pub fn cast(&mut self, a: NodeId, dtype: Dtype) -> Built {
        self.attempt(|b| b.build_cast(a, dtype.checked()?))
    }

    /// Builds `a` as reals without a stated dtype, wide enough for every possible value.
    pub fn to_real(&mut self, a: NodeId) -> Built {
        self.attempt(|b| b.build_to_real(a))
    }

    /// Builds `a` with the range of its dtype as its proven range, where nothing more is known.
    pub fn held(&mut self, a: NodeId) -> Built {
        self.attempt(|b| b.build_held(a))
    }

    /// Builds `a @ b` by numpy's rules: vectors, matrices, leading axes that broadcast.
    pub fn matmul<'a>(&mut self, a: impl Into<Operand<'a>>, b: impl Into<Operand<'a>>) -> Built {
        let (left, right) = (a.into(), b.into());
        self.attempt(|b| b.build_matmul(left, right))
    }

    /// Builds the convolution of images (batch, channels, rows, columns) with filters (filters, channels of a group,
    /// rows, columns). As in neural networks, filters are not flipped. The result is (batch, filters, rows, columns).
    pub fn conv<'a>(&mut self, images: impl Into<Operand<'a>>, filters: impl Into<Operand<'a>>, lies: Lies) -> Built {
        let (images, filters) = (images.into(), filters.into());
        self.attempt(|b| b.build_conv(images, filters, lies))
    }

    /// Builds `numpy.dot(a, b)`. If the left operand has more than one dimension, the right one has at most two.
    pub fn dot<'a>(&mut self, a: impl Into<Operand<'a>>, b: impl Into<Operand<'a>>) -> Built {
        let (left, right) = (a.into(), b.into());
        self.attempt(|b| b.build_dot(left, right))
    }

    /// Builds the sum along an axis, or of all elements; of bits, their number as int(64).
    pub fn sum(&mut self, a: NodeId, axis: Option<i64>, keepdims: bool) -> Built {
        self.attempt(|b| b.build_reduce(Reduce::Sum, a, axis, keepdims))
    }

    /// Builds the mean of fixed point along an axis, or of all elements: the sum, which must fit, divided exactly and
    /// rounded down.
    pub fn mean(&mut self, a: NodeId, axis: Option<i64>, keepdims: bool) -> Built {
        self.attempt(|b| b.build_mean(a, axis, keepdims))
    }

    /// Builds the largest value along an axis, or of all elements.
    pub fn max(&mut self, a: NodeId, axis: Option<i64>, keepdims: bool) -> Built {
        self.attempt(|b| b.build_reduce(Reduce::Max, a, axis, keepdims))
    }

    /// Builds the smallest value along an axis, or of all elements.
    pub fn min(&mut self, a: NodeId, axis: Option<i64>, keepdims: bool) -> Built {
        self.attempt(|b| b.build_reduce(Reduce::Min, a, axis, keepdims))
    }

    /// Builds the index of the first maximum along an axis (of the flattened array without one), as int(64).
    pub fn argmax(&mut self, a: NodeId, axis: Option<i64>, keepdims: bool) -> Built {
        self.attempt(|b| b.build_reduce(Reduce::ArgMax, a, axis, keepdims))
    }

    /// Builds the index of the first minimum along an axis (of the flattened array without one), as int(64).
    pub fn argmin(&mut self, a: NodeId, axis: Option<i64>, keepdims: bool) -> Built {
        self.attempt(|b| b.build_reduce(Reduce::ArgMin, a, axis, keepdims))
    }

    /// Builds the sums of all elements up to each along an axis (of the flattened array without one).
    pub fn cumsum(&mut self, a: NodeId, axis: Option<i64>) -> Built {
        self.attempt(|b| b.build_cumsum(a, axis))
    }

    /// Asserts that one integer of each row along an axis is 1 and all others are 0, and returns the integers. Where
    /// parties may cheat, this is proven before any input that is built after it.
    pub fn assert_one_hot(&mut self, a: NodeId, axis: i64) -> Built {
        self.attempt(|b| b.build_assert_one_hot(a, axis))
    }

    /// Returns the numbers of `a` for use as places. If parties may cheat and the range of these numbers rests on a
    /// stated bound of one party's input, the numbers are proven to lie in that range.
    pub fn places(&mut self, a: NodeId) -> Built {
        self.attempt(|b| b.proven(a))
    }

    /// Builds the bits of every element along a new last axis, lowest first, in two's complement of the ring units.
    pub fn bits(&mut self, a: NodeId) -> Built {
        self.attempt(|b| b.build_bits(a))
    }

    /// Builds numbers from their bits along the last axis, lowest first; undoes [`Builder::bits`].
    pub fn from_bits(&mut self, a: NodeId, dtype: Dtype) -> Built {
        self.attempt(|b| b.build_from_bits(a, dtype.checked()?))
    }

    /// Builds a Boolean circuit on bits. The last axis of each input is the wires of that group, in their order; the
    /// axes before it broadcast and are the batch. The last axis of the result is all output wires.
    pub fn circuit(&mut self, circuit: &Arc<Circuit>, inputs: &[Operand<'_>]) -> Built {
        self.attempt(|b| b.build_circuit(circuit, inputs))
    }

    /// Builds the entry of each number in a public table. The entries are those of `first` (in ring units of `a`) and
    /// the numbers after it, given in ring units of `dtype`. Lower numbers have the first entry, higher ones the last.
    pub fn lookup(&mut self, a: NodeId, first: i128, entries: &[i128], dtype: Dtype) -> Built {
        self.attempt(|b| b.build_lookup(a, (first, entries), dtype.checked()?))
    }

    /// Builds a real function of fixed point. The argument has at most 16 fractional bits, or 60 for logarithms, roots
    /// and reciprocals.
    pub fn real(&mut self, function: Real, a: NodeId) -> Built {
        self.attempt(|b| b.build_real(function, a))
    }

    /// Builds `a / b` of fixed point, and of integers as reals. A secret divisor has at most 60 fractional bits
    /// ([`Op::Divide`]); quotients of reals without a stated dtype get more of them than usual where they are small.
    /// Quotients by public numbers that the dtype holds are exact, rounded down; by others they are within 3/4 of a
    /// unit. Quotients that may not fit are saturated.
    pub fn divide<'a>(&mut self, a: impl Into<Operand<'a>>, b: impl Into<Operand<'a>>) -> Built {
        let (left, right) = (a.into(), b.into());
        self.attempt(|b| {
            let id = b.build_divide(left, right)?;
            b.graph.warn_of_few(id);
            Ok(id)
        })
    }

    /// Builds softmax along an axis, of fixed point with at most 16 fractional bits.
    pub fn softmax(&mut self, a: NodeId, axis: i64) -> Built {
        self.attempt(|b| b.build_softmax(a, axis))
    }

    /// Builds the elements `index` of the flattened array, in shape `shape`: slicing and integer indexing.
    pub fn gather(&mut self, a: NodeId, index: Vec<u32>, shape: &[usize]) -> Built {
        self.attempt(|b| b.build_gather(a, index, shape))
    }

    /// Builds the elements at nested steps (count, step) from `start` of the flattened array, outermost first, in shape
    /// `shape`: slicing.
    pub fn strided(&mut self, a: NodeId, start: u32, levels: &[(u32, i64)], shape: &[usize]) -> Built {
        self.attempt(|b| b.build_strided(a, (start, levels), shape))
    }

    /// Builds the rows on one side of a layer of a sorting network ([`Side`]). The first axis of `a` has `layer.count`
    /// rows.
    pub fn exchange(&mut self, a: NodeId, layer: Layer, side: Side) -> Built {
        self.attempt(|b| b.build_exchange(a, layer, side))
    }

    /// Builds the values of `a` in this sharing. Operations on such values alone stay in it.
    pub fn to(&mut self, a: NodeId, domain: Domain) -> Built {
        self.attempt(|b| {
            let node = b.graph.get(a)?;
            let (shape, dtype) = (node.shape.clone(), node.dtype);
            if node.is_public() {
                return Ok(a);
            }
            b.graph.push(Op::To(domain), vec![a], shape, dtype, &b.at)
        })
    }

    /// Builds the numbers of `a`, marked as factors of later products ([`Op::AsFactor`]). Returns `a` itself where the
    /// mark would have no effect.
    pub fn as_factor(&mut self, a: NodeId) -> Built {
        self.attempt(|b| {
            let node = b.graph.get(a)?;
            let (shape, dtype) = (node.shape.clone(), node.dtype);
            let stays = node.is_public() || dtype == Dtype::Bit || node.op == Op::AsFactor;
            if stays || !b.graph.rules().keeps_factors {
                return Ok(a);
            }
            b.graph.push(Op::AsFactor, vec![a], shape, dtype, &b.at)
        })
    }

    /// Builds the elements in another shape, one size of which may be -1.
    pub fn reshape(&mut self, a: NodeId, shape: &[i64]) -> Built {
        self.attempt(|b| b.build_reshape(a, shape))
    }

    /// Builds the array broadcast to `shape`.
    pub fn broadcast_to(&mut self, a: NodeId, shape: &[usize]) -> Built {
        self.attempt(|b| b.broadcast_node(a, shape))
    }

    /// Builds the array with its axes in the order `axes`; reversed where none are given.
    pub fn transpose(&mut self, a: NodeId, axes: Option<&[i64]>) -> Built {
        self.attempt(|b| b.build_transpose(a, axes))
    }

    /// Builds the rows (of the first axis) of all arrays in one order, uniformly random. [`Builder::part`] takes each
    /// array out.
    pub fn shuffle(&mut self, arrays: &[NodeId]) -> Built {
        self.attempt(|b| b.build_shuffle(arrays))
    }

    /// Builds the array `index` of a shuffle or an order.
    pub fn part(&mut self, shuffled: NodeId, index: usize) -> Built {
        self.attempt(|b| b.build_part(shuffled, index))
    }

    /// Builds arrays side by side along an existing axis.
    pub fn concat(&mut self, arrays: &[Operand<'_>], axis: i64) -> Built {
        self.attempt(|b| b.build_concat(arrays, axis))
    }

    /// Builds arrays of one shape side by side along a new axis.
    pub fn stack(&mut self, arrays: &[Operand<'_>], axis: i64) -> Built {
        self.attempt(|b| b.build_stack(arrays, axis))
    }

    /// Builds `a` with `value`, broadcast to the shape `selection`, at `positions` of the flattened array. There is one
    /// position for each element of the selection; where one occurs twice, the last one counts.
    pub fn set_at<'a>(
        &mut self,
        a: NodeId,
        positions: &[u32],
        selection: &[usize],
        value: impl Into<Operand<'a>>,
    ) -> Built {
        let value = value.into();
        self.attempt(|b| b.build_set_at(a, positions, selection, value))
    }

    /// Returns a single operand as a node of its natural type.
    fn alone(&mut self, op: &'static str, a: Operand<'_>) -> Result<NodeId, Fault> {
        let dtype = coerce::joined(op, &self.types([a])?)?;
        let shape = self.shape_of(a)?;
        match a {
            Operand::Node(id) => Ok(id),
            literal => self.place(literal, dtype, &shape),
        }
    }
}

/// Returns the interval of an input with a stated bound.
fn bounded(dtype: Dtype, bound: Bound) -> Result<Interval, Fault> {
    let whole = |value: i128| value.checked_mul(1 << dtype.frac());
    // Values are rounded to the nearest unit, which may lie beyond the bound, but not beyond the next unit.
    let real = |value: f64, outwards: fn(f64) -> f64| {
        value.is_finite().then(|| outwards(value * f64::from(dtype.frac()).exp2()) as i128)
    };
    match bound {
        Bound::Int(magnitude) => up_to(dtype, whole(magnitude), magnitude as f64),
        Bound::Real(magnitude) => up_to(dtype, real(magnitude, f64::ceil), magnitude),
        Bound::Ints(low, high) => between(dtype, whole(low).zip(whole(high)), (low as f64, high as f64)),
        Bound::Reals(low, high) => between(dtype, real(low, f64::floor).zip(real(high, f64::ceil)), (low, high)),
    }
}

/// Returns the interval of magnitudes up to `units`, as far as the dtype has them.
fn up_to(dtype: Dtype, units: Option<i128>, bound: f64) -> Result<Interval, Fault> {
    let range = dtype.range();
    match units {
        Some(units) if (0..=range.hi().max(-range.lo())).contains(&units) => {
            Ok(Interval::new((-units).max(range.lo()), units.min(range.hi())))
        }
        _ => Err(Fault::Bound { bound, dtype }),
    }
}

/// Returns the interval from the first unit to the second, which the dtype must hold.
fn between(dtype: Dtype, units: Option<(i128, i128)>, (low, high): (f64, f64)) -> Result<Interval, Fault> {
    let ordered = units.filter(|(low, high)| low <= high).map(|(low, high)| Interval::new(low, high));
    ordered.filter(|&all| dtype.range().covers(all)).ok_or(Fault::Bounds { low, high, dtype })
}
