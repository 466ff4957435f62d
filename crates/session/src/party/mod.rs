//! One party of a session: its thread, its values between runs, the costs of its runs.

mod agreement;
pub(crate) mod bell;
pub(crate) mod job;
pub(crate) mod line;
mod mixing;
mod planning;
pub(crate) mod program;
pub(crate) mod queue;
pub(crate) mod serve;
pub(crate) mod shared;
pub(crate) mod stats;
pub(crate) mod store;
pub(crate) mod tracks;
mod worker;
