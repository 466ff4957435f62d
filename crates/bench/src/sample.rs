//! The record of one execution.

use std::time::Instant;

use quorate_engine::Costs;

/// The record of one execution at one party.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    /// Start and end of the offline and of the online phase.
    pub spans: [(Instant, Instant); 2],
    pub costs: Costs,
    /// Bytes on the wire, by phase.
    pub wire_bytes: [u64; 2],
}
