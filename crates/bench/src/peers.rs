//! Figures of other frameworks for the same cells, published or measured, and the targets of ours, for the table's last
//! column.

use quorate_aby::cost::paper;

use crate::cell::{Cell, KeySize, Link, Workload};

/// The conditions of all figures here.
pub const CONDITIONS: &str = "peers: measured on another machine (two cores, one thread a party, loopback)";

/// A figure of another framework.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peer {
    /// The name of the framework, or of a table of a paper.
    pub name: &'static str,
    /// Seconds; `None` where the framework cannot do it, or where a paper only states bytes.
    pub seconds: Option<f64>,
    /// Bytes sent per party, where stated.
    pub bytes_per_party: Option<f64>,
    /// The difference in conditions, or the reason why there is no figure.
    pub note: &'static str,
}

const fn peer(name: &'static str, ms: f64, megabytes: Option<f64>, note: &'static str) -> Peer {
    let bytes_per_party = match megabytes {
        Some(megabytes) => Some(megabytes * 1e6),
        None => None,
    };
    Peer { name, seconds: Some(ms / 1e3), bytes_per_party, note }
}

/// Returns a paper's statement of an operation's communication, in bits for one of `elements`, without a time.
const fn stated(name: &'static str, bits: u64, elements: u64, note: &'static str) -> Peer {
    Peer { name, seconds: None, bytes_per_party: Some((bits * elements) as f64 / 16.0), note }
}

/// Returns figures for sigmoids by replicated shares among three parties.
const fn sigmoids(mp_spdz: f64, spu: f64) -> [Peer; 2] {
    [peer("MP-SPDZ", mp_spdz, None, "exact, semi-honest"), peer("SPU", spu, None, "94 units off, semi-honest")]
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
const SIGMOID_1K: &[Peer] = &sigmoids(3.6, 54.0);
const SIGMOID_10K: &[Peer] = &sigmoids(12.0, 67.0);
const SIGMOID_100K: &[Peer] = &sigmoids(87.0, 160.0);
const LESS_THAN_OF_DEALT: &[Peer] = &[peer("MP-SPDZ", 70.0, None, "to 104 ms, three parties, semi-honest")];
const MUL_OF_FIVE: &[Peer] = &[peer(PAPER, 402.0, None, "loaded machine")];
const MUL_OF_SEVEN: &[Peer] = &[peer(PAPER, 1280.0, None, "loaded machine")];

const COTS: &[Peer] = &[
    peer("libOTe (IKNP)", 200.0, Some(79.5), ""),
    peer("libOTe (SoftSpoken-4)", 244.0, Some(19.5), ""),
    peer("EMP (Ferret)", 294.0, Some(0.25), "silent"),
];
const COTS_CHECKED: &[Peer] = &[peer("libOTe (SoftSpoken-4)", 256.0, Some(19.5), "")];
const TRIPLES_64: &[Peer] = &[peer("MP-SPDZ", 943.0, Some(51.2), ""), peer("ABY", 1493.0, Some(153.6), "")];
const TRIPLES_32: &[Peer] = &[peer("MP-SPDZ", 541.0, None, ""), peer("ABY", 935.0, None, "")];
const BIT_TRIPLES: &[Peer] = &[peer("MP-SPDZ", 286.0, None, ""), peer("ABY", 244.0, None, "AND gates, all in all")];

const LESS_THAN_OF_TWO: &[Peer] =
    &[peer("MP-SPDZ", 2000.0, Some(78.0), "online 70 ms"), peer("ABY", 3700.0, Some(147.0), "online 30 ms")];

const TRIPLES_CHECKED: &[Peer] = &[peer("MP-SPDZ", 1266.0, Some(170.0), "SPDZ2k, s = 64")];
const RANDOM_BIT_CHECKED: &[Peer] = &[peer("MP-SPDZ", 4348.0, None, "SPDZ2k, s = 64")];

/// The rings of Table II of the paper. For each way and key size, the figures are bytes (of both parties) and
/// microseconds (local, two threads) of one triple over each ring.
const TABLE_II_RINGS: [u32; 4] = [8, 16, 32, 64];
const TABLE_II_TRIPLES: usize = 1_000;
const TABLE_II: [[[Peer; 1]; 4]; 7] = [
    published([265.0, 546.0, 1156.0, 2568.0], [3.0, 6.0, 11.0, 27.0]),
    published([528.0, 531.0, 541.0, 555.0], [245.0, 246.0, 278.0, 328.0]),
    published([1039.0, 1043.0, 1051.0, 1067.0], [1430.0, 1475.0, 1572.0, 1748.0]),
    published([1551.0, 1555.0, 1563.0, 1579.0], [4309.0, 4374.0, 4565.0, 4957.0]),
    published([384.0; 4], [94.0, 104.0, 151.0, 322.0]),
    published([768.0; 4], [259.0, 313.0, 465.0, 1020.0]),
    published([1152.0; 4], [534.0, 629.0, 929.0, 2005.0]),
];

const fn published(bytes: [f64; 4], us: [f64; 4]) -> [[Peer; 1]; 4] {
    let mut row = [[fails("ABY", "")]; 4];
    let mut i = 0;
    while i < 4 {
        let count = TABLE_II_TRIPLES as f64;
        let megabytes = Some(bytes[i] * count / 2.0 / 1e6);
        row[i] = [peer("ABY", us[i] * count / 1e3, megabytes, "as published, two threads")];
        i += 1;
    }
    row
}

/// Returns the figures of Table II for a cell.
fn table_ii(cell: &Cell) -> &'static [Peer] {
    let sized = |size: KeySize| size as usize;
    let row = match cell.workload {
        Workload::TriplesOt => 0,
        Workload::TriplesPaillier(size) => 1 + sized(size),
        Workload::TriplesDgk(size) => 4 + sized(size),
        _ => return &[],
    };
    match TABLE_II_RINGS.iter().position(|&k| k == cell.bits && cell.batch == TABLE_II_TRIPLES) {
        Some(column) => &TABLE_II[row][column],
        None => &[],
    }
}

const TABLE: &str = "ABY, Table I";
const A2B_64: &[Peer] = &[stated(TABLE, paper::a2b(64), 100_000, "as printed")];
const A2B_32: &[Peer] = &[stated(TABLE, paper::a2b(32), 100_000, "as printed")];
const B2A_64: &[Peer] = &[stated(TABLE, paper::b2a(64), 100_000, "as printed")];
const B2A_32: &[Peer] = &[stated(TABLE, paper::b2a(32), 100_000, "as printed")];
const B2Y_64: &[Peer] = &[stated(TABLE, paper::b2y(64), 100_000, "as printed")];
const B2Y_32: &[Peer] = &[stated(TABLE, paper::b2y(32), 100_000, "as printed")];
const YAO_AES: &[Peer] = &[
    peer("MP-SPDZ", 398.0, Some(102.4), "16.1 million ANDs/s"),
    peer("ABY", 1939.0, None, "3.3 million ANDs/s"),
    peer("EMP", 413.0, None, "15.5 million ANDs/s"),
];
const GMW_AES: &[Peer] = &[peer("MP-SPDZ", 1870.0, None, ""), peer("ABY", 1320.0, None, "")];

/// The target of this release for a cell, on a machine of two cores that all parties share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// Seconds, seconds of the online phase, and payload bytes of a party.
    Cost {
        /// The most seconds of an execution.
        seconds: f64,
        /// The most seconds of the phase that depends on operands; `None`: no target.
        online: Option<f64>,
        /// The most payload bytes that a party sends, on average; `None`: no target.
        bytes_per_party: Option<f64>,
    },
    /// The most multiples of the bare round trip of the same run, for a round of a chain.
    RoundTrips(f64),
}

const fn within(ms: f64, megabytes: Option<f64>) -> Option<Target> {
    let bytes_per_party = match megabytes {
        Some(megabytes) => Some(megabytes * 1e6),
        None => None,
    };
    Some(Target::Cost { seconds: ms / 1e3, online: None, bytes_per_party })
}

/// A comparison of two parties, 30 ms of which are online.
const LESS_THAN_TARGET: Target = Target::Cost { seconds: 0.9, online: Some(0.03), bytes_per_party: Some(30e6) };

/// Returns the protocol and the number of parties whose figures compare with a cell.
fn of(cell: &Cell) -> (&'static str, usize) {
    (cell.set.name(), cell.parties)
}

const TWO: (&str, usize) = ("aby", 2);
const THREE: (&str, usize) = ("rss", 3);
const FIVE: (&str, usize) = ("rss", 5);
const SEVEN: (&str, usize) = ("rss", 7);
const DEALT: (&str, usize) = ("pika", 3);
const TRANSFERS: (&str, usize) = ("ot", 2);
const CHECKED: (&str, usize) = ("spdz2k", 2);

/// Returns the target of a cell, where there is one. Those of correlations and comparisons hold for any link.
pub fn target(cell: &Cell) -> Option<Target> {
    let encrypted = cell.link == Link::Tls;
    match (cell.workload, of(cell), cell.bits, cell.batch) {
        (Workload::Mul, THREE, 64, 1_000_000) => within(if encrypted { 45.0 } else { 30.0 }, Some(8.0)),
        (Workload::LessThanBounded, THREE, 64, 100_000) => within(25.0, Some(2.6)),
        (Workload::LessThanBoundedGeneral, THREE, 64, 100_000) => within(100.0, Some(11.6)),
        (Workload::LessThanFull, THREE, 64, 100_000) => within(70.0, Some(7.8)),
        (Workload::RandomBit, THREE, 60, 100_000) => within(25.0, None),
        (Workload::RandomBit, THREE, 64, 100_000) => within(40.0, None),
        (Workload::EdaBit, THREE, 60, 100_000) => within(60.0, None),
        (Workload::MatMul, THREE, 64, 512) => within(90.0, None),
        (Workload::Mul, FIVE, 64, 100_000) => within(20.0, None),
        (Workload::Mul, SEVEN, 64, 100_000) => within(60.0, None),
        (Workload::Chain, THREE, 64, 1) if encrypted => Some(Target::RoundTrips(2.0)),
        (Workload::OtCot | Workload::OtCotMalicious, TRANSFERS, _, 10_000_000) => within(250.0, Some(19.5)),
        (Workload::OtTriples, TRANSFERS, 64, 100_000) => within(400.0, Some(51.2)),
        (Workload::OtTriples, TRANSFERS, 32, 100_000) => within(222.0, None),
        (Workload::OtBitTriples, TRANSFERS, _, 1_000_000) => within(83.3, None),
        (Workload::LessThanBounded, TWO, 64, 100_000) => Some(LESS_THAN_TARGET),
        // Thirty million ANDs a second, of 32 bytes each.
        (Workload::YaoAes, TWO, _, 1000) => within(213.3, Some(102.4)),
        (Workload::GmwAes, TWO, _, 1000) => within(750.0, None),
        (Workload::Mul, TWO, 64, 100_000) => within(400.0, None),
        _ => None,
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Target::Cost { seconds, online, bytes_per_party } => {
                write!(f, "{} ms", seconds * 1e3)?;
                online.map_or(Ok(()), |online| write!(f, " (online {} ms)", online * 1e3))?;
                bytes_per_party.map_or(Ok(()), |bytes| write!(f, ", {} MB", bytes / 1e6))
            }
            Target::RoundTrips(most) => write!(f, "{most} round trips"),
        }
    }
}

impl Target {
    /// Returns whether figures reach the target, by the medians.
    pub fn holds(&self, figures: &Figures) -> bool {
        match *self {
            // The average has a fraction of a byte if one party sends less than the others.
            Target::Cost { seconds, online, bytes_per_party } => {
                figures.seconds <= seconds
                    && online.is_none_or(|most| figures.online.is_some_and(|online| online <= most))
                    && bytes_per_party.is_none_or(|most| figures.bytes_per_party <= most + 1.0)
            }
            Target::RoundTrips(most) => figures.round_trip.is_some_and(|trip| figures.seconds <= most * trip),
        }
    }
}

/// The figures that a target is compared with.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figures {
    /// Seconds of an execution, or of a round of a chain.
    pub seconds: f64,
    /// Seconds of the online phase, if there is one.
    pub online: Option<f64>,
    /// Payload bytes of both phases that a party sends, on average.
    pub bytes_per_party: f64,
    /// The bare round trip of the link of a chain, in seconds.
    pub round_trip: Option<f64>,
}

/// Returns the figures for a cell; those of a chain are for one round.
pub fn figures(cell: &Cell) -> &'static [Peer] {
    match (cell.workload, of(cell), cell.bits, cell.batch) {
        (Workload::Mul, THREE, 64, 1_000_000) => MUL,
        (Workload::Mul, FIVE, 64, 100_000) => MUL_OF_FIVE,
        (Workload::Mul, SEVEN, 64, 100_000) => MUL_OF_SEVEN,
        (Workload::LessThanBounded | Workload::LessThanBoundedGeneral, THREE, 64, 100_000) => LESS_THAN_BOUNDED,
        (Workload::LessThanFull | Workload::LessThanFullGeneral, THREE, 64, 100_000) => LESS_THAN_FULL,
        (Workload::RandomBit, THREE, 60, 100_000) => RANDOM_BIT,
        (Workload::EdaBit, THREE, 60, 100_000) => EDABIT,
        (Workload::MatMul, THREE, 64, 512) => MATMUL,
        (Workload::Chain, THREE, 64, 1) => CHAIN,
        (Workload::Sigmoid, DEALT, 32, 1000) => SIGMOID_1K,
        (Workload::Sigmoid, DEALT, 32, 10_000) => SIGMOID_10K,
        (Workload::Sigmoid, DEALT, 32, 100_000) => SIGMOID_100K,
        (Workload::LessThanBounded | Workload::LessThanFull, DEALT, 64, 100_000) => LESS_THAN_OF_DEALT,
        (Workload::OtCot, TRANSFERS, _, 10_000_000) => COTS,
        (Workload::OtCotMalicious, TRANSFERS, _, 10_000_000) => COTS_CHECKED,
        (Workload::OtTriples, TRANSFERS, 64, 100_000) => TRIPLES_64,
        (Workload::OtTriples, TRANSFERS, 32, 100_000) => TRIPLES_32,
        (Workload::OtBitTriples, TRANSFERS, _, 1_000_000) => BIT_TRIPLES,
        (Workload::LessThanBounded, TWO, 64, 100_000) => LESS_THAN_OF_TWO,
        (Workload::A2B | Workload::A2Y, TWO, 64, 100_000) => A2B_64,
        (Workload::A2B | Workload::A2Y, TWO, 32, 100_000) => A2B_32,
        (Workload::B2A | Workload::Y2A, TWO, 64, 100_000) => B2A_64,
        (Workload::B2A | Workload::Y2A, TWO, 32, 100_000) => B2A_32,
        (Workload::B2Y, TWO, 64, 100_000) => B2Y_64,
        (Workload::B2Y, TWO, 32, 100_000) => B2Y_32,
        (Workload::YaoAes, TWO, _, 1000) => YAO_AES,
        (Workload::GmwAes, TWO, _, 1000) => GMW_AES,
        (Workload::Mul, TWO, 64, 100_000) => TRIPLES_64,
        (Workload::Mul, TWO, 32, 100_000) => TRIPLES_32,
        (Workload::Triple, CHECKED, 64, 10_000) => TRIPLES_CHECKED,
        (Workload::RandomBit, CHECKED, 64, 10_000) => RANDOM_BIT_CHECKED,
        (_, TWO, ..) => table_ii(cell),
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::set::Set;

    #[test]
    fn figures_belong_to_comparable_cells() {
        let set = Set::named("spdz2k").unwrap();
        let cell = |workload, parties| Cell { workload, set, bits: 64, parties, batch: 10_000, link: Link::Memory };
        for workload in [Workload::Triple, Workload::RandomBit] {
            assert_eq!(figures(&cell(workload, 2)).first().map(|peer| peer.name), Some("MP-SPDZ"));
            assert!(figures(&cell(workload, 3)).is_empty());
        }
    }

    #[test]
    fn a_target_holds_or_does_not() {
        let costs = |seconds, bytes_per_party| Figures { seconds, bytes_per_party, ..Figures::default() };
        let cost = Target::Cost { seconds: 0.03, online: None, bytes_per_party: Some(8e6) };
        assert!(cost.holds(&costs(0.03, 8e6)) && !cost.holds(&costs(0.031, 8e6)) && !cost.holds(&costs(0.03, 8.1e6)));
        let cost = Target::Cost { seconds: 0.03, online: Some(0.01), bytes_per_party: None };
        let online = |online| Figures { online: Some(online), ..costs(0.02, 0.0) };
        assert!(cost.holds(&online(0.01)) && !cost.holds(&online(0.011)) && !cost.holds(&costs(0.02, 0.0)));
        let trips = Target::RoundTrips(2.0);
        let trip = |seconds| Figures { round_trip: Some(1e-5), ..costs(seconds, 0.0) };
        assert!(trips.holds(&trip(2e-5)) && !trips.holds(&trip(2.1e-5)) && !trips.holds(&costs(0.0, 0.0)));
    }
}
