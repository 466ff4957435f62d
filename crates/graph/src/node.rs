//! What a program is made of.

use std::fmt;
use std::sync::Arc;

use quorate_circuits::Circuit;
use quorate_ring::Conv;

use crate::column::Column;
use crate::domains::Domain;
use crate::dtype::Dtype;
use crate::index::Index;
use crate::interval::Interval;
use crate::origin::Origin;
use crate::real::Real;
use crate::scale::Scale;
use crate::table::Table;
use crate::units::Units;
use crate::unproven::Unproven;

/// The place of a node in its [`Graph`](crate::Graph); inputs of a node have smaller numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

impl NodeId {
    /// As an index into `Graph::nodes`.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The user's line that made a node: for messages only, never part of the program's hash.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Source {
    /// Path of the user's file, as the program that builds the graph gives it.
    pub file: Arc<str>,
    /// Counted from 1.
    pub line: u32,
}

impl Source {
    /// `line` of `file`.
    pub fn new(file: impl Into<Arc<str>>, line: u32) -> Source {
        Source { file: file.into(), line }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// An array seen as `outer` blocks of `len` rows of `inner` elements: element `(o, j, i)` lies at
/// `(o * len + j) * inner + i`, and a reduction runs over `j`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Product of the sizes before the axis.
    pub outer: usize,
    /// Size of the axis.
    pub len: usize,
    /// Product of the sizes after the axis.
    pub inner: usize,
}

/// What a division of integers gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Give {
    /// Towards minus infinity; 0 where the divisor is 0.
    Quotient,
    /// What the quotient leaves, with the sign of the divisor; 0 where that is 0.
    Remainder,
}

/// A division of integers by secret ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Division {
    /// Which of the two results.
    pub give: Give,
    /// The program's promise that magnitudes of quotients by what is not 0 are below 2^bits; where it is broken,
    /// results are any numbers.
    pub quotient_bits: Option<u32>,
}

/// What a node does. Elementwise operations have operands of the node's own shape.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// Secret values of party `owner`, given when the program runs.
    Input {
        /// The number of that party, from 0.
        owner: usize,
        /// The column of a table that they are.
        column: Option<Arc<Column>>,
    },
    /// Public values in ring units: one for every element, or one that all elements have.
    Constant(Units),
    /// (x, y): x + y in the ring.
    Add,
    /// (x, y): x - y in the ring.
    Sub,
    /// -x in the ring.
    Neg,
    /// Product in the ring. Where both operands are fixed point it is shifted right by the fractional bits, exactly
    /// and towards minus infinity, *after* the product wrapped; where one is an integer it is not shifted.
    Mul,
    /// `batch` products of (m, k) and (k, n); fixed point as for [`Op::Mul`], one shift after the sum.
    MatMul {
        /// Number of products: what is before the last two axes, flattened.
        batch: usize,
        /// Rows of the left matrices and of the results.
        m: usize,
        /// Columns of the left matrices and rows of the right ones.
        k: usize,
        /// Columns of the right matrices and of the results.
        n: usize,
    },
    /// (images, filters): their convolution; fixed point as for [`Op::MatMul`].
    Conv(Arc<Conv>),
    /// Sums along the axis, in the ring.
    Sum(Axis),
    /// Times 2^bits in the ring.
    Shl(u32),
    /// Shift right, with the sign where there is one: exact, towards minus infinity.
    Shr(u32),
    /// Divided by public numbers, one for all or one for each, towards minus infinity: a whole number of the operand's
    /// units, where the divisors count these; of its dtype, where the divisors are plain integers.
    FloorDiv(Arc<[i128]>),
    /// (number, its quotient by [`Op::FloorDiv`]): what these divisors leave.
    Remainder(Arc<[i128]>),
    /// Multiples by public reals, rounded to the nearest (or, where the program allows, either way), of fixed point.
    Scale(Arc<Scale>),
    /// (dividend, divisor), integers of one dtype, both secret or not.
    IntDivide(Division),
    /// Less-than in the order of the operands' dtype; the result is a bit.
    Lt,
    /// Whether the operands are equal; the result is a bit.
    Eq,
    /// Of two bits.
    And,
    /// Of two bits: whether one of them at least is 1.
    Or,
    /// Of two bits: whether they differ.
    Xor,
    /// Of a bit.
    Not,
    /// (condition bit, value where 1, value where 0).
    Select,
    /// (x, y, one of the two, element by element): the other one.
    Other,
    /// The elements of the flattened operand at these positions.
    Gather(Index),
    /// The same elements in another shape.
    Reshape,
    /// The same values in this sharing, in which what works on them alone stays.
    To(Domain),
    /// The same values, which stay factors of products to come: families that can send what these take of it once.
    AsFactor,
    /// Integers, the same ones: one of each row along the axis is 1 and all others are 0. Where parties may cheat this
    /// is proven, and inputs behind it in the program wait until the proof was checked.
    AssertOneHot(Axis),
    /// (x, a bit for each element): x. Where parties may cheat, the bits are opened, once all that was opened before
    /// was checked, and the run ends where one of them is 1.
    AssertWithin,
    /// (x, values with proofs of their ranges, of any shapes and dtypes): x, once these were proven.
    Behind,
    /// Numpy's broadcasting from the operand's shape to the node's ([`shape::broadcast_index`](crate::shape)).
    Broadcast,
    /// The flattened operands, one after another.
    Concat,
    /// The largest element along the axis, in the order of the dtype.
    Max(Axis),
    /// The least element along the axis, in the order of the dtype.
    Min(Axis),
    /// Index along the axis of the first maximum, as int(64).
    ArgMax(Axis),
    /// Index along the axis of the first minimum, as int(64).
    ArgMin(Axis),
    /// Sums along the axis of all elements up to each.
    CumSum(Axis),
    /// A bit as int(k) (0 or 1) or fixed(k, f) (0 or 2^f).
    Cast,
    /// The bits of each element along a new last axis, lowest first: two's complement of the ring units.
    Bits,
    /// A Boolean circuit: operands are bits, of which the last axis is the wires of one group of inputs and all before
    /// it the batch; the result's last axis is the output wires.
    Circuit(Arc<Circuit>),
    /// Numbers from their bits along the last axis, lowest first: undoes [`Op::Bits`].
    Compose,
    /// A number in another type, towards minus infinity where fractional bits are dropped; wraps where it does not fit.
    Convert,
    /// The rows of all operands in one order, uniformly random and known to nobody; each operand has so many rows. Its
    /// result is the operands in turn: [`Op::Part`] takes one of them out.
    Shuffle {
        /// Size of the first axis of every operand.
        rows: usize,
    },
    /// The operand `index` of a shuffle, whose elements come after `before` others.
    Part {
        /// Which operand of the shuffle, from 0.
        index: usize,
        /// Elements of all operands before that one.
        before: usize,
    },
    /// The entry of each number in a public table.
    Lookup(Arc<Table>),
    /// A real function of fixed point, within the error stated there.
    Real(Real),
    /// Quotient of fixed point: within 4 units or, of more than 64 bits, 2^-28 of itself; saturates.
    Divide,
    /// Softmax along the axis, within one unit.
    Softmax(Axis),
}

/// What becomes of results that may not fit their dtype; of several operands, whatever holds of one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Room {
    /// Reals without a stated dtype: a result gets as many bits as its proven range takes.
    pub grows: bool,
    /// A range goes back to that of all reals without a dtype or a bound, which nobody stated.
    pub assumed: bool,
}

impl Room {
    /// That of a stated dtype.
    pub const STATED: Room = Room { grows: false, assumed: false };

    /// Of what is made of both.
    pub(crate) fn and(self, other: Room) -> Room {
        Room { grows: self.grows || other.grows, assumed: self.assumed || other.assumed }
    }
}

/// The operands of an operation, a few of them without memory of their own.
#[derive(Clone, PartialEq, Eq)]
pub struct Inputs(Kept);

#[derive(Clone, PartialEq, Eq)]
enum Kept {
    Few(u8, [NodeId; Inputs::FEW]),
    #[allow(clippy::box_collection)] // a thin pointer: the whole stays at 16 bytes
    Many(Box<Vec<NodeId>>),
}

impl Inputs {
    const FEW: usize = 3;

    /// All of them.
    pub fn as_slice(&self) -> &[NodeId] {
        self
    }
}

impl Default for Inputs {
    fn default() -> Self {
        Inputs::from(Vec::new())
    }
}

impl From<Vec<NodeId>> for Inputs {
    fn from(all: Vec<NodeId>) -> Self {
        if all.len() > Inputs::FEW {
            return Inputs(Kept::Many(Box::new(all)));
        }
        let mut few = [NodeId(0); Inputs::FEW];
        few[..all.len()].copy_from_slice(&all);
        Inputs(Kept::Few(all.len() as u8, few))
    }
}

impl std::ops::Deref for Inputs {
    type Target = [NodeId];

    fn deref(&self) -> &[NodeId] {
        match &self.0 {
            Kept::Few(len, all) => &all[..usize::from(*len)],
            Kept::Many(all) => all,
        }
    }
}

impl<'i> IntoIterator for &'i Inputs {
    type Item = &'i NodeId;
    type IntoIter = std::slice::Iter<'i, NodeId>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Debug for Inputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().fmt(f)
    }
}

/// One operation of a program, with all that is known about its result.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// What is computed.
    pub op: Op,
    /// The nodes that it works on, in the order that `op` says.
    pub inputs: Inputs,
    /// Sizes of the result; empty for a scalar.
    pub shape: Vec<usize>,
    /// Type of the result's elements.
    pub dtype: Dtype,
    /// Where every value is proven to lie, in ring units; `None`: nothing is proven beyond the dtype.
    pub interval: Option<Interval>,
    /// The axis along which at most one element of each line is not 0, where there is one: found when it is built.
    pub(crate) sparse: Option<Box<Axis>>,
    /// What the range rests on where parties may cheat, if on anything: found when it is built.
    pub(crate) unproven: Option<Arc<Unproven>>,
    /// Whether the result's dtype grows with its range, and where that range is from.
    pub room: Room,
    /// The line that the result belongs to in messages and plans.
    pub source: Source,
    /// Whose inputs it is made of, and how: the program says so when the node is built.
    pub(crate) origin: Origin,
}

impl Node {
    /// Number of elements (1 for a scalar).
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }

    /// The proven interval, or all that the dtype can hold.
    pub fn range(&self) -> Interval {
        self.interval.unwrap_or_else(|| self.dtype.range())
    }

    /// The axis along which at most one element of each line is proven not to be 0.
    pub(crate) fn sparse_along(&self) -> Option<Axis> {
        self.sparse.as_deref().copied()
    }

    /// The values of a constant, one per element; `None` for every other node.
    pub fn constant(&self) -> Option<Vec<i128>> {
        match &self.op {
            Op::Constant(values) => Some(values.expand(self.elements())),
            _ => None,
        }
    }

    /// Whether every party knows the values.
    pub fn is_public(&self) -> bool {
        matches!(self.op, Op::Constant(_))
    }
}
