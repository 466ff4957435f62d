//! Boolean circuits: builders, readers and writers, programs for protocols, and evaluation in the clear.
//!
//! * [`Circuit`]: gates in topological order, eight bytes each; counts, AND-depth, layers.
//! * [`Builder`]: bits and numbers as wires: sums, products, quotients, comparisons, extrema, shifts, AES-128. Every
//!   operation is optimised for [`Goal::Size`] or [`Goal::Depth`]; [`catalog`] has whole circuits of them.
//! * [`bristol`]: both Bristol formats, from untrusted text.
//! * [`permutation_network`]: permutation networks of switches.
//! * [`Program`]: a circuit over reused slots, in steps of local gates and independent ANDs, for protocols and
//!   [evaluation](Circuit::evaluate) of 512 instances side by side.
//!
//! ```
//! use quorate_circuits::{Goal, Sign, catalog, from_rows, to_rows};
//!
//! let circuit = catalog::less_than(8, Sign::Signed, Goal::Size);
//! assert_eq!(circuit.counts().and, 8);
//! // Two instances: -3 < 5 and 5 < -3. Each number is one value for each instance.
//! let inputs = to_rows(circuit.inputs(), &[vec![253, 5], vec![5, 253]]);
//! let outputs = from_rows(circuit.outputs(), &circuit.evaluate(&inputs)?);
//! assert_eq!(outputs, [vec![1, 0]]);
//! # Ok::<(), quorate_circuits::CircuitError>(())
//! ```
//!
//! Circuits are public, and so is everything here except the values that are evaluated; no step depends on those.

#![forbid(unsafe_code)]

pub mod bristol;
mod build;
pub mod catalog;
mod circuit;
mod error;
mod evaluate;
mod numbers;
pub mod permutation_network;
mod program;
mod schedule;

pub use build::{Bit, Builder, Direction, Extreme, Extremum, Goal, Quotient, Sign};
pub use circuit::{Circuit, Counts, Gate, MAX_PORT_WIRES, MAX_WIRES, Wire};
pub use error::{CircuitError, Field};
pub use numbers::{from_rows, to_rows};
pub use program::{And, Local, Order, Program, Slot, Step};
