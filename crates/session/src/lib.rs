//! Parties that run programs: all of them in this process, or this one of a deployment.
//!
//! A [`Session`] holds the program being built, and a worker thread per party in this process. [`Session::run`] executes
//! what a request needs, as data flow, on every worker; a dry run of the same code first tells the demand for correlations,
//! which are made in the offline phase. Which
//! protocol that is, it does not ask: see `quorate-protocols`.
#![forbid(unsafe_code)]

mod allowed;
mod choices;
mod config;
mod connect;
mod convert;
mod data;
mod dataflow;
mod division;
mod effort;
mod error;
mod executor;
#[cfg(test)]
mod flow;
mod free;
mod gate;
#[cfg(test)]
mod held;
mod layout;
mod lines;
mod look;
mod memory;
mod mixed;
mod operations;
mod options;
mod order;
mod pieces;
mod plan;
mod products;
mod real;
mod rehearsal;
mod rounds;
mod row;
mod schedule;
#[cfg(test)]
mod seen;
mod session;
mod shuffle;
mod split;
#[cfg(test)]
mod staged;
mod stats;
mod store;
mod truncation;
mod values;
mod worker;

pub use config::{Config, Limits, PartyEntry};
pub use data::{Data, Plain};
pub use effort::StepCost;
pub use error::SessionError;
pub use lines::{Line, LineCosts};
pub use mixed::Chosen;
pub use options::{Options, family_options, protocol, truncation};
pub use plan::{Plan, Price, Pricing, Rehearsed, Setting, StepPlan};
pub use quorate_gadgets::Descriptor;
pub use quorate_protocols::Protocol;
pub use rehearsal::PhaseDry;
pub use session::{Leaving, LocalOptions, Revealed, Running, Session};
pub use stats::{PhaseStats, Progress, RunStats, Stats};
pub use truncation::Truncations;
