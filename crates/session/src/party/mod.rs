//! One party of a session: its thread, what it keeps, what its runs cost.

mod agreement;
pub(crate) mod job;
mod mixing;
mod planning;
pub(crate) mod serve;
pub(crate) mod stats;
pub(crate) mod store;
mod worker;
