//! Nodes: the operations of a program and their results.

use std::fmt;
use std::sync::Arc;

use quorate_circuits::Circuit;
use quorate_ring::Conv;

use crate::column::{Column, Submission};
use crate::domain::Domain;
use crate::dtype::Dtype;
use crate::hash::Hash;
use crate::index::Index;
use crate::interval::Interval;
use crate::lookup_table::Table;
use crate::moved_inputs::Raw;
use crate::owners::Owners;
use crate::real::Real;
use crate::scale::Scale;
use crate::shape::Axis;
use crate::source::Source;
use crate::units::Units;

/// The place of a node in its [`Graph`](crate::Graph); inputs of a node have smaller numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

impl NodeId {
    /// Returns the id as an index into `Graph::nodes`.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The result of a division of integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Give {
    /// The quotient, rounded towards minus infinity; 0 where the divisor is 0.
    Quotient,
    /// The remainder, with the sign of the divisor; 0 where the divisor is 0.
    Remainder,
}

/// A division of integers by secret ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Division {
    /// The result that is wanted.
    pub give: Give,
    /// The program's promise that magnitudes of quotients by divisors other than 0 are below 2^bits; where it is
    /// broken, results may be any numbers.
    pub quotient_bits: Option<u32>,
}

/// The operation of a node. Elementwise operations have operands of the node's own shape.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// Secret values of party `owner`, given when the program runs.
    Input {
        /// The number of that party, from 0.
        owner: usize,
        /// The column of a table, if the values are one.
        column: Option<Arc<Column>>,
        /// Whether steps read the values from their owner as they need them, so that nobody holds all of them. Such an
        /// input has no value between runs.
        streamed: bool,
    },
    /// (parts): values that clients gave, as the sum of the parts in the ring, which may wrap, or their exclusive or.
    Submitted(Arc<Submission>),
    /// (x, a uniform number that a client drew, for each element): the words of their sum in the ring, or their
    /// exclusive or, which only that client can use.
    Masked(Arc<Submission>),
    /// (for each holder an array of places times elements, the last `rows` of which are masks; then seeds): coins that
    /// the seeds give, a row of factors for each mask; then for each holder, place and row the sum of the elements
    /// times their factors, plus the mask, in the ring. The seeds are opened.
    Combined {
        /// The number of arrays before the seeds.
        holders: usize,
        /// The number of masks of each place.
        rows: usize,
        /// The number of bits of a coin.
        coin_bits: u32,
    },
    /// (x, a bit for each row from each party): x, with zeros in the rows where bits are 0. The bits are opened, and
    /// the run ends unless all parties gave the same.
    Counted,
    /// Public values in ring units: one for each element, one for all elements, or numbers that are repeated.
    Constant(Units),
    /// (x, y): x + y in the ring.
    Add,
    /// (x, y): x - y in the ring.
    Sub,
    /// -x in the ring.
    Neg,
    /// Product in the ring. If both operands are fixed point, it is shifted right by the fractional bits, exactly
    /// and towards minus infinity, *after* the product wrapped. If one is an integer, it is not shifted.
    Mul,
    /// `batch` products of (m, k) and (k, n); fixed point as for [`Op::Mul`], one shift after the sum.
    MatMul {
        /// Number of products: the axes before the last two, flattened.
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
    /// Shift right, arithmetic for signed numbers: exact, towards minus infinity.
    Shr(u32),
    /// Quotient by public numbers, one for all or one for each element, rounded towards minus infinity. If the
    /// divisors are in units of the operand, it is a whole number; where they are plain integers, it is in the
    /// operand's dtype.
    FloorDiv(Units),
    /// (number, its quotient by [`Op::FloorDiv`]): the remainder by these divisors.
    Remainder(Units),
    /// Multiples of fixed point by public reals, rounded to the nearest (or, where the program allows it, either way).
    Scale(Arc<Scale>),
    /// (dividend, divisor), integers of one dtype; one of the two may be public.
    IntDivide(Division),
    /// Less-than in the order of the operands' dtype; the result is a bit.
    Lt,
    /// Whether the operands are equal; the result is a bit.
    Eq,
    /// And of two bits.
    And,
    /// Or of two bits.
    Or,
    /// Exclusive or of two bits.
    Xor,
    /// Not of a bit.
    Not,
    /// (condition bit, value where 1, value where 0).
    Select,
    /// (x, y, one of the two, element by element): the other one.
    Other,
    /// The elements of the flattened operand at these positions.
    Gather(Index),
    /// The elements of the operand in another shape.
    Reshape,
    /// The values of the operand in this sharing. Operations on these values alone stay in it.
    To(Domain),
    /// The values of the operand, marked as factors of later products. Some families then send only once what these
    /// products need of the factor.
    AsFactor,
    /// The integers of the operand, of which one in each row along the axis is 1 and all others are 0. If parties
    /// may cheat, this is proven, and inputs after it in the program wait until the proof is checked.
    AssertOneHot(Axis),
    /// (x, a bit for each element): x. If parties may cheat, the bits are opened, after everything that was opened
    /// before is checked. The run ends where one of them is 1.
    AssertWithin,
    /// (x, values with proofs of their ranges, of any shapes and dtypes): x, after these are proven.
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
    /// A Boolean circuit. Operands are bits: the last axis is the wires of one group of inputs, and the axes before it
    /// are the batch. The last axis of the result is the output wires.
    Circuit(Arc<Circuit>),
    /// Numbers from their bits along the last axis, lowest first: undoes [`Op::Bits`].
    Compose,
    /// A number in another dtype, rounded towards minus infinity where fractional bits are dropped; wraps where it does
    /// not fit.
    Convert,
    /// The rows of all operands in one order, uniformly random and unknown to all parties. Each operand has `rows`
    /// rows. The result is the operands in turn: [`Op::Part`] takes one of them out.
    Shuffle {
        /// Size of the first axis of every operand.
        rows: usize,
    },
    /// The rows of all operands but the last in the order of the last one, the key: a number for each row. Rows of
    /// equal keys keep their order. The result is these operands in turn: [`Op::Part`] takes one of them out.
    Order {
        /// Size of the first axis of every operand.
        rows: usize,
        /// Whether the largest key comes first.
        descending: bool,
    },
    /// The operand `index` of a shuffle or an order; its elements come after `before` others.
    Part {
        /// The number of the operand, from 0.
        index: usize,
        /// Elements of all operands before that one.
        before: usize,
    },
    /// The entry of each number in a public table.
    Lookup(Arc<Table>),
    /// A real function of fixed point, within the error stated for [`Real`].
    Real(Real),
    /// Quotient of fixed point: within 4 units or, for more than 64 bits, 2^-28 of itself; saturates.
    Divide,
    /// Softmax along the axis, within one unit.
    Softmax(Axis),
}

/// The room of results: what happens to results that may not fit their dtype. Of several operands, a property holds for
/// the result if it holds for one of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Room {
    /// Whether a result gets the bits that its proven range takes: reals without a stated dtype.
    pub grows: bool,
    /// Whether a range follows from that of all reals without a dtype or a bound, which is not stated.
    pub assumed: bool,
}

impl Room {
    /// The room of a stated dtype.
    pub const STATED: Room = Room { grows: false, assumed: false };

    /// Returns the room of results of both.
    pub(crate) fn and(self, other: Room) -> Room {
        Room { grows: self.grows || other.grows, assumed: self.assumed || other.assumed }
    }
}

/// The operands of an operation; a few of them need no memory of their own.
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

    /// Returns all operands.
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

/// One operation of a program, with everything that is known about its result.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The operation.
    pub op: Op,
    /// The operands, in the order that `op` requires.
    pub inputs: Inputs,
    /// Shape of the result; empty for a scalar.
    pub shape: Vec<usize>,
    /// Type of the result's elements.
    pub dtype: Dtype,
    /// The range in which every value is proven to lie, in ring units; `None`: nothing is proven beyond the dtype.
    pub interval: Option<Interval>,
    /// The axis along which at most one element of each line is not 0, if there is one; found when the node is built.
    pub(crate) sparse: Option<Box<Axis>>,
    /// The values on which the range rests where parties may cheat, if any; found when the node is built.
    pub(crate) unproven: Option<Arc<Unproven>>,
    /// The room of results of this node.
    pub room: Room,
    /// Whether the code that built the node states the error of its results, so that lost digits are not reported.
    pub error_is_stated: bool,
    /// The line that the result belongs to in messages and plans.
    pub source: Source,
    /// The parties whose inputs it is made of, and how; found when the node is built.
    pub(crate) origin: Origin,
}

impl Node {
    /// Returns a node of which nothing is proven beyond its stated dtype. Adding it to a graph checks its operands.
    pub(crate) fn new(op: Op, inputs: impl Into<Inputs>, shape: Vec<usize>, dtype: Dtype, source: &Source) -> Node {
        Node {
            op,
            inputs: inputs.into(),
            shape,
            dtype,
            interval: None,
            sparse: None,
            unproven: None,
            room: Room::STATED,
            error_is_stated: false,
            source: source.clone(),
            origin: Origin::unknown(),
        }
    }

    /// Returns a node with this node's shape, dtype, range and room.
    pub(crate) fn like(&self, op: Op, inputs: impl Into<Inputs>, source: &Source) -> Node {
        let Node { interval, room, .. } = *self;
        Node { interval, room, ..Node::new(op, inputs, self.shape.clone(), self.dtype, source) }
    }

    /// Returns whether this is an input that is read in parts.
    pub fn is_streamed(&self) -> bool {
        matches!(self.op, Op::Input { streamed: true, .. })
    }

    /// Returns the number of elements (1 for a scalar).
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }

    /// Returns the proven interval, or the dtype's range.
    pub fn range(&self) -> Interval {
        self.interval.unwrap_or_else(|| self.dtype.range())
    }

    /// Returns the axis along which at most one element of each line is proven not to be 0.
    pub(crate) fn sparse_along(&self) -> Option<Axis> {
        self.sparse.as_deref().copied()
    }

    /// Returns the values of a constant, one for each element; `None` for every other node.
    pub fn constant(&self) -> Option<Vec<i128>> {
        match &self.op {
            Op::Constant(values) => Some(values.expand(self.elements())),
            _ => None,
        }
    }

    /// Returns whether every party knows the values.
    pub fn is_public(&self) -> bool {
        matches!(self.op, Op::Constant(_))
    }

    /// Returns whether the proven range is smaller than that of the dtype.
    pub(crate) fn says_more_than_its_dtype(&self) -> bool {
        self.interval.is_some_and(|range| range != self.dtype.range())
    }
}

/// The origin of a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Origin {
    /// All parties on whose inputs the value depends.
    pub(crate) owners: Owners,
    /// The elements that are elements of an input.
    pub(crate) raw: Raw,
    /// The column whose words or dates it consists of.
    pub(crate) column: Option<Arc<Column>>,
    /// The hash of what makes it: see [`Graph::part_hash`](crate::Graph::part_hash).
    pub(crate) part: Hash,
}

impl Origin {
    /// Returns the origin of a node that is not in its program yet.
    pub(crate) fn unknown() -> Origin {
        Origin { owners: Owners::default(), raw: Raw::default(), column: None, part: Hash([0; 32]) }
    }
}

/// A range that rests on more values than this is not relied on.
pub(crate) const MOST_UNPROVEN: usize = 256;

/// The values, each made of one party's inputs, that must lie in their ranges.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Unproven {
    /// Ascending; at least one.
    These(Vec<NodeId>),
    /// More than [`MOST_UNPROVEN`].
    Many,
}
