//! Parties that run programs: all of them in this process, or this one of a deployment.
//!
//! A [`Session`] holds the program being built, and a worker thread for each party in this process. [`Session::run`]
//! executes what a request needs, as data flow, on every worker. A dry run of the same code first counts the
//! correlations, which are made in the offline phase. Sessions are generic over the protocol: see `quorate-protocols`.
//!
//! **Words**: a *node* is an operation of the program, and a *step* a node or a reveal under way in a run. A step
//! *talks* if it exchanges messages; other steps are *local*. A is the protocol's own sharing of numbers; B (shared
//! bits) and Y (labels of garbled circuits) are further sharings, which some families have.
#![forbid(unsafe_code)]

mod approval;
mod audit;
mod config;
mod connect;
mod error;
mod memory;
mod options;
mod party;
mod plan;
pub mod pool;
#[doc(hidden)]
#[cfg(feature = "readers")]
pub mod readers;
#[doc(hidden)]
#[cfg(feature = "replay")]
pub mod replay;
mod reveals;
mod run;
mod session;
mod work;

pub use approval::Approved;
pub use config::{Config, Limits, Named, PartyEntry};
pub use error::SessionError;
pub use options::{Options, PoolMode, family_options, protocol, truncation};
pub use party::bell::Bell;
pub use party::stats::{PhaseStats, Progress, RunStats, Stats};
pub use plan::dry_run::PredictedPhase;
pub use plan::lines::{Line, LineCosts};
pub use plan::{OrderPlan, Plan, Predicted, Price, Pricing, Setting, StepPlan};
pub use quorate_gadgets::Descriptor;
pub use quorate_planner::Chosen;
pub use quorate_protocols::Protocol;
pub use reveals::Told;
pub use run::operations::truncation::Truncations;
pub use session::{
    Access, Branched, Branching, Checked, Leaving, LocalOptions, Moment, Planning, Request, Revealed, Running, Session,
    check,
};
pub use work::data::{Data, Plain, Rows};
pub use work::effort::StepCost;
pub use work::seen::Seen;
