//! What other frameworks published or showed for the same cells, and what ours must reach, for the table's last column.

use crate::cell::{Cell, Link, Workload};

/// What holds for every figure here.
pub const CONDITIONS: &str = "peers: measured on another machine (two cores, one thread a party, loopback)";

/// Somebody else's figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peer {
    pub name: &'static str,
    /// Seconds; `None` where the framework cannot do it.
    pub seconds: Option<f64>,
    /// Bytes sent per party, where stated.
    pub bytes_per_party: Option<f64>,
    /// What was different, or why there is no figure.
    pub note: &'static str,
}

const fn peer(name: &'static str, ms: f64, megabytes: Option<f64>, note: &'static str) -> Peer {
    let bytes_per_party = match megabytes {
        Some(megabytes) => Some(megabytes * 1e6),
        None => None,
    };
    Peer { name, seconds: Some(ms / 1e3), bytes_per_party, note }
}

const fn fails(name: &'static str, note: &'static str) -> Peer {
    Peer { name, seconds: None, bytes_per_party: None, note }
}

const PAPER: &str = "the paper's own code";

const MUL: &[Peer] = &[
    peer("MP-SPDZ", 83.0, Some(8.0), "92 ms with TLS"),
    peer("SPU (ABY3)", 87.0, None, ""),
    peer(PAPER, 135.0, None, "k = 60"),
];
const LESS_THAN_BOUNDED: &[Peer] = &[
    peer("MP-SPDZ", 69.0, Some(3.9), "133 ms with edaBits"),
    peer("SPU (ABY3)", 228.0, Some(3.6), ""),
    peer(PAPER, 985.0, Some(11.7), "k = 60"),
];
const LESS_THAN_FULL: &[Peer] = &[fails("MP-SPDZ", "refuses or is wrong"), fails("SPU (ABY3)", "wrong beyond 2^63")];
const RANDOM_BIT: &[Peer] = &[peer(PAPER, 73.0, None, "")];
const EDABIT: &[Peer] = &[peer(PAPER, 728.0, None, "")];
const MATMUL: &[Peer] =
    &[peer("MP-SPDZ", 601.0, None, ""), peer("SPU (ABY3)", 258.0, None, ""), peer(PAPER, 338.0, None, "k = 60")];
const CHAIN: &[Peer] = &[peer(PAPER, 0.08, None, "as published, per round")];
const MUL_OF_FIVE: &[Peer] = &[peer(PAPER, 402.0, None, "loaded machine")];
const MUL_OF_SEVEN: &[Peer] = &[peer(PAPER, 1280.0, None, "loaded machine")];

/// What this release promises for a cell on a machine of two cores that all parties share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// Seconds and payload bytes of a party.
    Cost { seconds: f64, bytes_per_party: Option<f64> },
    /// Times the bare round trip of the same run, for a round of a chain.
    RoundTrips(f64),
}

const fn within(ms: f64, megabytes: Option<f64>) -> Option<Target> {
    let bytes_per_party = match megabytes {
        Some(megabytes) => Some(megabytes * 1e6),
        None => None,
    };
    Some(Target::Cost { seconds: ms / 1e3, bytes_per_party })
}

/// The target of a cell, where there is one. Those of correlations and comparisons hold for any link.
pub fn target(cell: &Cell) -> Option<Target> {
    let encrypted = cell.link == Link::Tls;
    match (cell.workload, cell.parties, cell.bits, cell.batch) {
        (Workload::Mul, 3, 64, 1_000_000) => within(if encrypted { 45.0 } else { 30.0 }, Some(8.0)),
        (Workload::LessThanBounded, 3, 64, 100_000) => within(25.0, Some(2.6)),
        (Workload::LessThanBoundedGeneral, 3, 64, 100_000) => within(100.0, Some(11.6)),
        (Workload::LessThanFull, 3, 64, 100_000) => within(70.0, Some(7.8)),
        (Workload::RandomBit, 3, 60, 100_000) => within(25.0, None),
        (Workload::RandomBit, 3, 64, 100_000) => within(40.0, None),
        (Workload::EdaBit, 3, 60, 100_000) => within(60.0, None),
        (Workload::MatMul, 3, 64, 512) => within(90.0, None),
        (Workload::Mul, 5, 64, 100_000) => within(20.0, None),
        (Workload::Mul, 7, 64, 100_000) => within(60.0, None),
        (Workload::Chain, 3, 64, 1) if encrypted => Some(Target::RoundTrips(2.0)),
        _ => None,
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Target::Cost { seconds, bytes_per_party } => {
                write!(f, "{} ms", seconds * 1e3)?;
                bytes_per_party.map_or(Ok(()), |bytes| write!(f, ", {} MB", bytes / 1e6))
            }
            Target::RoundTrips(most) => write!(f, "{most} round trips"),
        }
    }
}

impl Target {
    /// Whether figures stay within it, by the median: `seconds` per execution, or per round of a chain beside its bare
    /// round trip.
    pub fn holds(&self, seconds: f64, bytes_per_party: f64, round_trip: Option<f64>) -> bool {
        match *self {
            // A share of a byte is a party's that sends less than the others.
            Target::Cost { seconds: most, bytes_per_party: bytes } => {
                seconds <= most && bytes.is_none_or(|most| bytes_per_party <= most + 1.0)
            }
            Target::RoundTrips(most) => round_trip.is_some_and(|trip| seconds <= most * trip),
        }
    }
}

/// The figures for a cell; those of a chain are per round.
pub fn figures(cell: &Cell) -> &'static [Peer] {
    match (cell.workload, cell.parties, cell.bits, cell.batch) {
        (Workload::Mul, 3, 64, 1_000_000) => MUL,
        (Workload::Mul, 5, 64, 100_000) => MUL_OF_FIVE,
        (Workload::Mul, 7, 64, 100_000) => MUL_OF_SEVEN,
        (Workload::LessThanBounded | Workload::LessThanBoundedGeneral, 3, 64, 100_000) => LESS_THAN_BOUNDED,
        (Workload::LessThanFull | Workload::LessThanFullGeneral, 3, 64, 100_000) => LESS_THAN_FULL,
        (Workload::RandomBit, 3, 60, 100_000) => RANDOM_BIT,
        (Workload::EdaBit, 3, 60, 100_000) => EDABIT,
        (Workload::MatMul, 3, 64, 512) => MATMUL,
        (Workload::Chain, 3, 64, 1) => CHAIN,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_holds_or_does_not() {
        let cost = Target::Cost { seconds: 0.03, bytes_per_party: Some(8e6) };
        assert!(cost.holds(0.03, 8e6, None) && !cost.holds(0.031, 8e6, None) && !cost.holds(0.03, 8.1e6, None));
        let trips = Target::RoundTrips(2.0);
        assert!(
            trips.holds(2e-5, 0.0, Some(1e-5)) && !trips.holds(2.1e-5, 0.0, Some(1e-5)) && !trips.holds(0.0, 0.0, None)
        );
    }
}
