//! The lazy, typed program: nodes, checks at build time, proven intervals, prefix hashes, and the evaluation in the
//! clear that every protocol must equal.
//!
//! A program is public, and this crate sends no messages. A program is built through [`Graph::at`], which carries the
//! user's line, and is run by an executor:
//!
//! ```
//! use quorate_graph::{BinaryOp, Bound, Dtype, Graph, Operand, Source};
//!
//! let mut graph = Graph::new();
//! let x = graph.at(Source::new("score.py", 3)).input(0, 3, &[3], Dtype::INT64, Some(Bound::Int(1000)))?;
//! let y = graph.at(Source::new("score.py", 4)).binary(BinaryOp::Mul, x, Operand::int(&2))?;
//! assert_eq!(graph.node(y).interval.unwrap().hi(), 2000);
//! assert_eq!(graph.describe(y), "mul of (3,) int(64) at score.py:4");
//! # Ok::<(), quorate_graph::BuildError>(())
//! ```
//!
//! An executor may rely on two facts. A node is public exactly when it is an [`Op::Constant`]: operations on constants
//! alone are evaluated while building, except the approximate ones. Elementwise operations have operands of the node's
//! own shape: broadcasting is a node of its own.
//!
//! - *Ring units*: the integers of a dtype's ring in which values are kept. For fixed point, the real number times
//!   2^frac ([`Dtype`]).
//! - *Interval*, or *range*: bounds on all values of a node, proven by range analysis. It starts from the *bounds* that
//!   programs state for inputs, and holds only if their owners keep to these bounds.
//! - *Room*: whether results get more bits where their ranges require it ([`Room`]).
//! - *Domain*: the sharing (A, B or Y) in which an operation runs ([`Domain`]).
#![forbid(unsafe_code)]

mod build;
mod check;
mod chunked;
mod clamp;
mod column;
mod cut;
mod digits;
mod domain;
mod dtype;
#[allow(missing_docs)] // the messages describe the fields
mod error;
mod forget;
mod graph;
mod hash;
mod in_bits;
mod index;
mod interval;
mod keep;
mod known;
mod literals;
mod lookup_table;
mod moved_inputs;
mod network_model;
mod node;
mod origin;
mod owners;
mod properties;
mod push;
mod ranges;
mod ready;
mod real;
mod recent;
mod reference;
mod repetitions;
mod rounded;
mod rules;
mod scale;
pub mod shape;
mod smallest_magnitudes;
mod source;
mod sparse;
mod tabulated;
mod unbounded;
mod units;
mod unproven;

pub use build::{BinaryOp, Bound, Builder, Lies, Operand, UnaryOp};
pub use check::{Checked, Checker};
pub use chunked::Chunked;
pub use column::{Column, Given, Meaning, Submission};
pub use cut::Cut;
pub use domain::{Domain, DomainError};
pub use dtype::{Dtype, MAX_BITS, REAL_BOUND};
pub use error::{Advice, BuildError, Category, Excess, Fault, Shape};
pub use graph::{Graph, RangeWarning};
pub use hash::{Hash, HashError, first_difference};
pub use in_bits::{InBits, Lane};
pub use index::{Index, Layer, Side};
pub use interval::Interval;
pub use keep::Keep;
pub use lookup_table::{MOST_ENTRIES, Table};
pub use network_model::{Network, NetworkError};
pub use node::{Division, Give, Inputs, Node, NodeId, Op, Origin, Room};
pub use owners::Owners;
pub use properties::{Memory, Outcome, Pieces, Properties, Wraps};
pub use ready::Ready;
pub use real::Real;
pub use reference::{EvalError, eval_clear};
pub use rules::{Rings, Rules, Truncation, Watch};
pub use scale::{Scale, Upper};
pub use shape::Axis;
pub use source::Source;
pub use tabulated::PairTable;
pub use units::Units;
