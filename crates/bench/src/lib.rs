//! Measurements of the standard workloads, for `quorate bench` and `benches/`.
//!
//! | module | contents |
//! |---|---|
//! | `cell`, `set`, `plan` | cells: workload, protocol, ring, parties, batch, link |
//! | `task`, `operands` | a workload as a protocol and as plain arithmetic; its operands |
//! | `output`, `sample` | a result and its comparison; the record of one execution |
//! | `operation` | single operations in each sharing of two parties |
//! | `transfers` | workloads of two parties, by oblivious transfer |
//! | `ciphertexts` | triples by homomorphic encryption; a stand-in where the build lacks the feature `he` |
//! | `links`, `group` | the parties, each a thread, over memory links or loopback |
//! | `memory` | the predicted memory of a cell |
//! | `measure` | repetitions, medians, predictions; [`Bench`] |
//! | `pingpong` | the bare round trip of a link, to compare with a chain of rounds |
//! | `peers`, `machine` | other columns of a row |
//!
//! Every measured result is opened after the clock has stopped, and compared with plain arithmetic at every party.
#![forbid(unsafe_code)]

mod cell;
#[cfg(feature = "he")]
mod ciphertexts;
#[cfg(not(feature = "he"))]
#[path = "no_ciphertexts.rs"]
mod ciphertexts;
mod error;
mod group;
mod links;
mod machine;
mod measure;
mod memory;
mod operands;
mod operation;
mod output;
pub mod peers;
mod pingpong;
mod plan;
mod sample;
mod set;
mod task;
mod transfers;

pub use cell::{AES_ANDS, Cell, KeySize, Link, Workload};
pub use error::BenchError;
pub use group::Stopper;
pub use machine::Machine;
pub use measure::{Bench, Limits, Measured, Outcome, PhaseFigures, Seconds, Skip};
pub use operation::{Held, Operation};
pub use plan::{cells, everywhere, narrowed, select, select_under};
pub use set::Set;
