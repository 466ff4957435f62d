//! What a request will cost, before anything is sent: a dry run of every party, priced on a network.

use std::collections::BTreeMap;

use quorate_engine::Traffic;
use quorate_graph::Network;

use crate::truncation::Truncations;

/// One phase, at every party.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PhasePlan {
    pub rounds: u64,
    /// Payload bytes sent, by party.
    pub bytes_sent: Vec<u64>,
}

impl PhasePlan {
    /// Takes in the next party's dry run.
    pub(crate) fn take(&mut self, traffic: &Traffic) {
        self.rounds = self.rounds.max(u64::from(traffic.rounds));
        self.bytes_sent.push(traffic.bytes());
    }

    /// Seconds on a network: rounds times half a round trip, and the busiest party's bytes.
    pub fn seconds(&self, network: Network) -> f64 {
        network.price(self.rounds, self.bytes_sent.iter().copied().max().unwrap_or(0), 0.0)
    }
}

/// One program step: who it is, and what it sends in the online phase, all parties together.
#[derive(Clone, Debug, PartialEq)]
pub struct StepPlan {
    pub node: u32,
    pub what: String,
    pub file: String,
    pub line: u32,
    pub bytes: u64,
    /// The round after which the step is done.
    pub done_after_round: u32,
}

/// The plan of a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    pub offline: PhasePlan,
    pub online: PhasePlan,
    /// Correlations by kind.
    pub correlations: BTreeMap<String, u64>,
    pub steps: Vec<StepPlan>,
    /// Bytes of shares that a party holds at most: the correlations, and every value of the program.
    pub memory_bytes: u64,
    /// How fixed-point results are truncated.
    pub truncations: Truncations,
    /// The nodes that would be run.
    pub executed: Vec<quorate_graph::NodeId>,
}
