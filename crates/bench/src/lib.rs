//! The standard workloads, measured: what `quorate bench` and `benches/` run.
//!
//! | module | what |
//! |---|---|
//! | `cell`, `set`, `plan` | what is measured: workload, protocol, ring, parties, batch, link |
//! | `task`, `operands` | a workload as a protocol and as plain arithmetic; what it works on |
//! | `operation` | single operations in each sharing of two parties |
//! | `transfers` | workloads of two parties, by oblivious transfer |
//! | `links`, `group` | the parties: a thread each, over memory links or loopback |
//! | `memory` | what a cell is predicted to hold |
//! | `measure` | repetitions, medians, predictions; [`Bench`] |
//! | `pingpong` | the bare round trip beside which a chain of rounds stands |
//! | `peers`, `machine` | what else a row says |
//!
//! Every measured result is opened after the clock stopped and compared with plain arithmetic, at every party.
#![forbid(unsafe_code)]

mod cell;
mod error;
mod group;
mod links;
mod machine;
mod measure;
mod memory;
mod operands;
mod operation;
pub mod peers;
mod pingpong;
mod plan;
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
