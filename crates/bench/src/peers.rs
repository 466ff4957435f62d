//! What other frameworks published or showed for the same cells, for the table's last column.

use crate::cell::{Cell, Workload};

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

/// The figures for a cell; those of a chain are per round.
pub fn figures(cell: &Cell) -> &'static [Peer] {
    match (cell.workload, cell.parties, cell.bits, cell.batch) {
        (Workload::Mul, 3, 64, 1_000_000) => MUL,
        (Workload::Mul, 5, 64, 100_000) => MUL_OF_FIVE,
        (Workload::Mul, 7, 64, 100_000) => MUL_OF_SEVEN,
        (Workload::LessThanBounded, 3, 64, 100_000) => LESS_THAN_BOUNDED,
        (Workload::LessThanFull, 3, 64, 100_000) => LESS_THAN_FULL,
        (Workload::RandomBit, 3, 60, 100_000) => RANDOM_BIT,
        (Workload::EdaBit, 3, 60, 100_000) => EDABIT,
        (Workload::MatMul, 3, 64, 512) => MATMUL,
        (Workload::Chain, 3, 64, 1) => CHAIN,
        _ => &[],
    }
}
