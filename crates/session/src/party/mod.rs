//! One party of a session: its thread, its values between runs, the costs of its runs.

mod agreement;
pub(crate) mod bell;
mod branch;
pub(crate) mod job;
mod mixing;
pub(crate) mod part;
mod place;
mod planning;
pub(crate) mod program;
pub(crate) mod queue;
pub(crate) mod serve;
pub(crate) mod shared;
pub(crate) mod stats;
pub(crate) mod store;
mod takes;
pub(crate) mod tracks;
mod worker;
