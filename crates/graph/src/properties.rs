//! The properties of each operation, wherever it runs: its name, whether it sends messages, how it can be cut, its
//! memory, and whether its results may be too large. A new operation states all of them here; its interval is in
//! [`ranges`](crate::ranges), its meaning in [`reference`](crate::reference).

use quorate_ring::Conv;

use crate::node::{Division, Give, Op};
use crate::real::Real;
use crate::shape::Axis;

/// The properties of one operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Properties {
    /// The name in messages and plans.
    pub name: &'static str,
    /// Whether it may exchange messages, on secret operands.
    pub talks: bool,
    /// The pieces in which it can run.
    pub pieces: Pieces,
    /// The memory that it needs while it runs, for plans.
    pub memory: Memory,
    /// Whether to warn of inputs without bounds.
    pub wraps: Wraps,
    /// The relation of its result to the evaluation in the clear.
    pub result: Outcome,
}

/// The pieces of a result, and the elements of operands that each is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pieces {
    /// The whole result: the operation cannot be cut.
    Whole,
    /// An element of the result, made of the elements at the same place in all operands.
    Elements,
    /// An element of the result, which is an element of the operand at any place.
    Positions,
    /// Several elements: the bits of one element of the operand.
    Spread,
    /// An element made of several elements of the operand, its bits.
    Gathered,
    /// A run of a circuit, made of some wires of each operand.
    Runs,
    /// Sums over elements of the operand.
    Sums(Axis),
    /// Products of matrices.
    Products {
        /// The number of products.
        batch: usize,
        /// Rows of each left matrix.
        m: usize,
        /// Columns of each left matrix, rows of each right one.
        k: usize,
        /// Columns of each right matrix.
        n: usize,
    },
    /// The results of images, each made of one image and all filters.
    Images(Conv),
    /// The best candidate of each line.
    Best(Axis),
    /// A line made of the same line of the operand.
    Lines(Axis),
}

/// The memory of an operation besides its operands and its result, where these are in the protocol's own sharing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// No memory that counts.
    Nothing,
    /// A list of positions.
    Positions,
    /// Public numbers while they are converted into ring elements.
    Numbers,
    /// The sums so far.
    RunningSums,
    /// Messages of a stream.
    Input,
    /// Messages of a stream, and everything that it opens.
    Opened,
    /// A product before it is cut.
    Product,
    /// The product, its mask, and the messages in both directions.
    Matrices,
    /// All columns before and after a pass.
    Shuffle,
    /// Like [`Memory::Shuffle`], then keys with places, and the differences of a level.
    Order,
    /// Bits of each element.
    Bits,
    /// Bits of each element, for up to three signs.
    Signs,
    /// Products in rings of up to twice the bits.
    WideProducts,
    /// Like [`Memory::WideProducts`], twice side by side.
    TwoWideProducts,
    /// A public table, and one-hot rows of bits.
    Table,
    /// Tables and powers, of a few sizes.
    Bounded,
    /// Tables and powers like [`Memory::Bounded`], with more of them: exponentials and logarithms.
    Powers,
    /// Tables and powers like [`Memory::Bounded`], with more of them: square roots and their inverses.
    Roots,
    /// Tables and powers like [`Memory::Bounded`], with the most of them: quotients.
    Divisions,
    /// Powers of each line, their sums, and quotients.
    Softmax,
    /// The wires of a circuit that are in use.
    Circuit,
}

/// Whether results may leave their dtype for unbounded operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wraps {
    /// Results fit for all operands.
    Never,
    /// Results may leave it for numbers that are common in practice.
    Easily,
    /// Results may leave it for operands at the ends of their dtype.
    AtTheEnds,
    /// Results may leave it for operands at the ends of their dtype; without a sign, for small ones, too.
    Below,
}

/// The relation of the protocol's result to the evaluation in the clear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Equal numbers.
    Exact,
    /// Within a stated error.
    Near,
    /// One of many results, drawn at random.
    Random,
}

impl Op {
    /// Returns the properties of the operation.
    pub fn properties(&self) -> Properties {
        use Memory::{Bits, Nothing, Signs};
        use Pieces::{Elements, Positions, Whole};
        use Wraps::{AtTheEnds, Below, Easily, Never};
        let of = |name, talks, pieces, memory, wraps| Properties {
            name,
            talks,
            pieces,
            memory,
            wraps,
            result: Outcome::Exact,
        };
        let local = |name, pieces, wraps| of(name, false, pieces, Nothing, wraps);
        let near = |properties| Properties { result: Outcome::Near, ..properties };
        let random = |properties| Properties { result: Outcome::Random, ..properties };
        match self {
            Op::Input { .. } => of("input", true, Whole, Memory::Input, Never),
            Op::Submitted(_) => local("submitted", Elements, Never),
            Op::Masked(_) => local("masked", Elements, Never),
            Op::Combined { .. } => random(of("combined", true, Whole, Memory::Matrices, Never)),
            Op::Counted => of("counted", true, Whole, Memory::Opened, Never),
            Op::Constant(_) => of("constant", false, Whole, Memory::Numbers, Never),
            Op::Add => local("add", Elements, AtTheEnds),
            Op::Sub => local("sub", Elements, Below),
            Op::Neg => local("neg", Elements, Below),
            Op::Mul => of("mul", true, Elements, Memory::Product, Easily),
            &Op::MatMul { batch, m, k, n } => {
                of("matmul", true, Pieces::Products { batch, m, k, n }, Memory::Matrices, Easily)
            }
            Op::Conv(conv) => of("conv", true, Pieces::Images(**conv), Memory::Matrices, Easily),
            Op::Sum(axis) => local("sum", Pieces::Sums(*axis), Easily),
            Op::CumSum(_) => of("cumsum", false, Whole, Memory::RunningSums, Easily),
            Op::Shl(_) => local("shl", Elements, Easily),
            Op::Shr(_) => of("shr", true, Elements, Bits, Never),
            Op::FloorDiv(_) => of("floor_div", true, Elements, Memory::WideProducts, Never),
            Op::Remainder(_) => local("remainder", Elements, Never),
            Op::Scale(scale) if scale.talks() => {
                let two = scale.upper.is_some();
                let memory = if two { Memory::TwoWideProducts } else { Memory::WideProducts };
                of("scale", true, Elements, memory, Easily)
            }
            Op::Scale(_) => local("scale", Elements, Easily),
            Op::IntDivide(Division { give, .. }) => {
                let name = if *give == Give::Quotient { "quotient" } else { "modulo" };
                of(name, true, Elements, Memory::Divisions, Never)
            }
            Op::Lt => of("lt", true, Elements, Signs, Never),
            Op::Eq => of("eq", true, Elements, Bits, Never),
            Op::And => of("and", true, Elements, Bits, Never),
            Op::Or => of("or", true, Elements, Bits, Never),
            Op::Xor => local("xor", Elements, Never),
            Op::Not => local("not", Elements, Never),
            Op::Select => of("select", true, Elements, Bits, Never),
            Op::Other => local("other", Elements, Never),
            Op::Gather(_) => of("gather", false, Positions, Memory::Positions, Never),
            Op::Broadcast => of("broadcast", false, Positions, Memory::Positions, Never),
            Op::Reshape => local("reshape", Whole, Never),
            Op::To(_) => local("to", Elements, Never),
            Op::AsFactor => of("as_factor", true, Whole, Memory::Opened, Never),
            Op::AssertOneHot(_) => of("assert_one_hot", true, Whole, Memory::Matrices, Never),
            Op::AssertWithin => of("assert_within", true, Whole, Bits, Never),
            Op::Behind => local("behind", Whole, Never),
            Op::Concat => local("concat", Whole, Never),
            Op::Max(axis) => of("max", true, Pieces::Best(*axis), Signs, Never),
            Op::Min(axis) => of("min", true, Pieces::Best(*axis), Signs, Never),
            Op::ArgMax(axis) => of("argmax", true, Pieces::Best(*axis), Signs, Never),
            Op::ArgMin(axis) => of("argmin", true, Pieces::Best(*axis), Signs, Never),
            Op::Cast => of("cast", true, Elements, Bits, Never),
            Op::Bits => of("bits", true, Pieces::Spread, Bits, Never),
            Op::Circuit(circuit) => {
                let pieces = if circuit.inputs().is_empty() { Whole } else { Pieces::Runs };
                of("circuit", true, pieces, Memory::Circuit, Never)
            }
            Op::Compose => of("compose", true, Pieces::Gathered, Bits, Never),
            Op::Convert => of("astype", true, Elements, Bits, Easily),
            Op::Shuffle { .. } => random(of("shuffle", true, Whole, Memory::Shuffle, Never)),
            Op::Order { .. } => of("order", true, Whole, Memory::Order, Never),
            Op::Part { .. } => local("part", Whole, Never),
            Op::Lookup(_) => of("lookup", true, Elements, Memory::Table, Never),
            Op::Real(function) => near(of(function.name(), true, Elements, function.memory(), Never)),
            Op::Divide => near(of("divide", true, Elements, Memory::Divisions, Never)),
            Op::Softmax(axis) => near(of("softmax", true, Pieces::Lines(*axis), Memory::Softmax, Never)),
        }
    }

    /// Returns whether the operation may exchange messages, on secret operands.
    pub fn talks(&self) -> bool {
        self.properties().talks
    }

    /// Returns the name in messages and plans.
    pub fn name(&self) -> &'static str {
        self.properties().name
    }

    /// Returns whether the result is drawn at random, so that protocols return one of many.
    pub fn is_random(&self) -> bool {
        self.properties().result == Outcome::Random
    }

    /// Returns whether the result is only stated within an error, so that protocols need not equal the evaluation in
    /// the clear.
    pub fn is_approximate(&self) -> bool {
        self.properties().result == Outcome::Near
    }

    /// Returns whether each element of the result is made of the same elements of all operands.
    pub fn is_elementwise(&self) -> bool {
        self.properties().pieces == Pieces::Elements
    }

    /// Returns whether it only moves elements, in every sharing.
    pub fn only_moves(&self) -> bool {
        matches!(self, Op::Reshape | Op::Gather(_) | Op::Broadcast | Op::Concat)
    }

    /// Returns the operation along another axis, if it runs along one.
    pub fn along(&self, axis: Axis) -> Op {
        match self {
            Op::Sum(_) => Op::Sum(axis),
            Op::CumSum(_) => Op::CumSum(axis),
            Op::Max(_) => Op::Max(axis),
            Op::Min(_) => Op::Min(axis),
            Op::ArgMax(_) => Op::ArgMax(axis),
            Op::ArgMin(_) => Op::ArgMin(axis),
            Op::Softmax(_) => Op::Softmax(axis),
            other => unreachable!("{} is along no axis", other.name()),
        }
    }
}

impl Real {
    fn memory(self) -> Memory {
        match self {
            Real::Sigmoid | Real::Tanh | Real::Gelu => Memory::Bounded,
            Real::Exp | Real::Log => Memory::Powers,
            Real::Sqrt | Real::Rsqrt => Memory::Roots,
            Real::Reciprocal => Memory::Divisions,
        }
    }
}
