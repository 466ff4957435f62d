//! Cells: a workload, a ring, a number of parties, a batch, and a kind of link.

use std::borrow::Cow;
use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use quorate_net::shaped::Shape;

use crate::operation::{Held, Operation};
use crate::set::Set;

/// A standard workload. Operands are shared before the clock starts, and results are opened after it stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Workload {
    /// Element-wise products.
    Mul,
    /// Product of two square matrices; the batch is their side.
    MatMul,
    /// Element-wise products of an input of the first party with one of the last, in families where that makes a
    /// difference.
    MulOwned,
    /// Random bits over Z_2^k.
    RandomBit,
    /// edaBits over Z_2^k.
    EdaBit,
    /// daBits over Z_2^k.
    DaBit,
    /// Multiplication triples over Z_2^k, in families whose products take them.
    Triple,
    /// Triples of bits, in families whose ANDs take them.
    BitTriple,
    /// Less-than of operands one bit shorter than the ring; the result stays a bit.
    LessThanBounded,
    /// Less-than over the full signed range; the result stays a bit.
    LessThanFull,
    /// Less-than of operands one bit shorter than the ring, on masked and opened values, as any sharing can compute it.
    /// 5 and 7 parties always do so; 3 parties have a cheaper way.
    LessThanBoundedGeneral,
    /// Less-than over the full signed range, on masked and opened values like [`Workload::LessThanBoundedGeneral`].
    LessThanFullGeneral,
    /// Equality with zero of differences; the result stays a bit.
    Equality,
    /// Numbers shifted right by half of their bits, exactly.
    Truncation,
    /// The logistic function of numbers of 16 bits, 12 of them after the point. As in sessions, it is looked up where
    /// the family's tables have 2^16 entries, and computed elsewhere.
    Sigmoid,
    /// Look-ups of numbers of 16 bits in a table without any order.
    Table,
    /// Look-ups of numbers in a table without any order, which has an entry for every number of this width.
    Domain(Places),
    /// ANDs of shared bits.
    And,
    /// Multiplications of one element, one after another; the batch is 1.
    Chain,
    /// Conversion of numbers from arithmetic shares of two parties to Boolean shares of their k bits.
    A2B,
    /// Conversion of numbers from Boolean shares of their bits to arithmetic shares.
    B2A,
    /// Conversion of the k bits of numbers from Boolean shares to labels of a garbled circuit.
    B2Y,
    /// Conversion of the k bits of numbers from labels to Boolean shares.
    Y2B,
    /// Conversion of numbers from arithmetic shares to labels of their bits.
    A2Y,
    /// Conversion of numbers from labels of their bits to arithmetic shares.
    Y2A,
    /// One operation on numbers in one sharing of two parties; circuits are garbled ahead of the inputs.
    Operation(Held, Operation),
    /// AES-128 of shared keys and blocks, garbled; the batch is the number of blocks, and a result is an AND.
    YaoAes,
    /// AES-128 of shared keys and blocks, garbled ahead of the inputs.
    YaoAesAhead,
    /// AES-128 on Boolean shares of bits, layer by layer.
    GmwAes,
    /// Correlated OTs between two parties, in one direction, semi-honest.
    OtCot,
    /// Correlated OTs between two parties, with checks against a malicious party.
    OtCotMalicious,
    /// Multiplication triples of two parties by OT, over Z_2^k.
    OtTriples,
    /// Triples of bits of two parties by OT.
    OtBitTriples,
    /// Multiplication triples of two parties over Z_2^k by OT, to compare with homomorphic encryption.
    TriplesOt,
    /// Multiplication triples of two parties over Z_2^k by Paillier's cryptosystem, packed.
    TriplesPaillier(KeySize),
    /// Multiplication triples of two parties over Z_2^k by the cryptosystem of Damgård, Geisler and Krøigaard.
    TriplesDgk(KeySize),
}

/// The number of entries of a table: 2^10 to 2^24.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Places {
    P10,
    P12,
    P14,
    P16,
    P18,
    P20,
    P22,
    P24,
}

impl Places {
    /// Returns the bits of a number that has an entry.
    pub(crate) fn bits(self) -> u32 {
        10 + 2 * self as u32
    }
}

/// The bits of a modulus: those of the paper's legacy, medium and long-term security.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeySize {
    /// 1024 bits.
    Legacy,
    /// 2048 bits.
    Medium,
    /// 3072 bits.
    Long,
}

/// The ANDs of one block of AES-128, including its key schedule.
pub const AES_ANDS: usize = 6400;

/// The links between the parties.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Link {
    /// Queues between the threads of this process.
    Memory,
    /// TLS 1.3 over TCP on the loopback interface.
    Tls,
    /// Queues as slow as a local network: 0.106 ms and 1 Gbit/s.
    Lan,
    /// Queues as slow as a wide-area network: 46 ms and 76 Mbit/s.
    Wan,
    /// Queues as slow as given.
    Slow {
        /// Round-trip time in microseconds.
        rtt_micros: u32,
        /// Bandwidth of each direction in kbit/s.
        kbit: u32,
    },
}

/// One cell of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell {
    /// The workload.
    pub workload: Workload,
    /// The set that lists it.
    pub set: Set,
    /// Bits of the ring.
    pub bits: u32,
    /// The number of parties.
    pub parties: usize,
    /// Elements; the side of a matrix; 1 for a chain.
    pub batch: usize,
    /// The links between the parties.
    pub link: Link,
}

impl Workload {
    /// All workloads, in the order of the table.
    pub const ALL: [Workload; 64] = [
        Workload::Mul,
        Workload::MatMul,
        Workload::MulOwned,
        Workload::RandomBit,
        Workload::EdaBit,
        Workload::DaBit,
        Workload::Triple,
        Workload::BitTriple,
        Workload::LessThanBounded,
        Workload::LessThanFull,
        Workload::LessThanBoundedGeneral,
        Workload::LessThanFullGeneral,
        Workload::Equality,
        Workload::Truncation,
        Workload::Sigmoid,
        Workload::Table,
        Workload::Domain(Places::P10),
        Workload::Domain(Places::P12),
        Workload::Domain(Places::P14),
        Workload::Domain(Places::P16),
        Workload::Domain(Places::P18),
        Workload::Domain(Places::P20),
        Workload::Domain(Places::P22),
        Workload::Domain(Places::P24),
        Workload::And,
        Workload::Chain,
        Workload::A2B,
        Workload::B2A,
        Workload::B2Y,
        Workload::Y2B,
        Workload::A2Y,
        Workload::Y2A,
        Workload::Operation(Held::Summands, Operation::Add),
        Workload::Operation(Held::Summands, Operation::Mul),
        Workload::Operation(Held::Summands, Operation::Less),
        Workload::Operation(Held::Summands, Operation::Equal),
        Workload::Operation(Held::Summands, Operation::Mux),
        Workload::Operation(Held::Summands, Operation::And),
        Workload::Operation(Held::Bits, Operation::Add),
        Workload::Operation(Held::Bits, Operation::Mul),
        Workload::Operation(Held::Bits, Operation::Less),
        Workload::Operation(Held::Bits, Operation::Equal),
        Workload::Operation(Held::Bits, Operation::Mux),
        Workload::Operation(Held::Bits, Operation::And),
        Workload::Operation(Held::Labels, Operation::Add),
        Workload::Operation(Held::Labels, Operation::Mul),
        Workload::Operation(Held::Labels, Operation::Less),
        Workload::Operation(Held::Labels, Operation::Equal),
        Workload::Operation(Held::Labels, Operation::Mux),
        Workload::Operation(Held::Labels, Operation::And),
        Workload::YaoAes,
        Workload::YaoAesAhead,
        Workload::GmwAes,
        Workload::OtCot,
        Workload::OtCotMalicious,
        Workload::OtTriples,
        Workload::OtBitTriples,
        Workload::TriplesOt,
        Workload::TriplesPaillier(KeySize::Legacy),
        Workload::TriplesPaillier(KeySize::Medium),
        Workload::TriplesPaillier(KeySize::Long),
        Workload::TriplesDgk(KeySize::Legacy),
        Workload::TriplesDgk(KeySize::Medium),
        Workload::TriplesDgk(KeySize::Long),
    ];

    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Workload::Mul => "mul",
            Workload::MatMul => "matmul",
            Workload::MulOwned => "mul-owned",
            Workload::RandomBit => "random-bit",
            Workload::EdaBit => "edabit",
            Workload::DaBit => "dabit",
            Workload::Triple => "triple",
            Workload::BitTriple => "bit-triple",
            Workload::LessThanBounded => "less-than-bounded",
            Workload::LessThanFull => "less-than-full",
            Workload::LessThanBoundedGeneral => "less-than-bounded-general",
            Workload::LessThanFullGeneral => "less-than-full-general",
            Workload::Equality => "equality",
            Workload::Truncation => "truncation",
            Workload::Sigmoid => "sigmoid",
            Workload::Table => "table",
            Workload::Domain(Places::P10) => "domain-10",
            Workload::Domain(Places::P12) => "domain-12",
            Workload::Domain(Places::P14) => "domain-14",
            Workload::Domain(Places::P16) => "domain-16",
            Workload::Domain(Places::P18) => "domain-18",
            Workload::Domain(Places::P20) => "domain-20",
            Workload::Domain(Places::P22) => "domain-22",
            Workload::Domain(Places::P24) => "domain-24",
            Workload::And => "and",
            Workload::Chain => "chain",
            Workload::A2B => "a2b",
            Workload::B2A => "b2a",
            Workload::B2Y => "b2y",
            Workload::Y2B => "y2b",
            Workload::A2Y => "a2y",
            Workload::Y2A => "y2a",
            Workload::Operation(held, operation) => operation.name(held),
            Workload::YaoAes => "yao-aes",
            Workload::YaoAesAhead => "yao-aes-ahead",
            Workload::GmwAes => "gmw-aes",
            Workload::OtCot => "ot-cot",
            Workload::OtCotMalicious => "ot-cot-malicious",
            Workload::OtTriples => "ot-triples",
            Workload::OtBitTriples => "ot-bit-triples",
            Workload::TriplesOt => "triples-ot",
            Workload::TriplesPaillier(KeySize::Legacy) => "triples-paillier-1024",
            Workload::TriplesPaillier(KeySize::Medium) => "triples-paillier-2048",
            Workload::TriplesPaillier(KeySize::Long) => "triples-paillier-3072",
            Workload::TriplesDgk(KeySize::Legacy) => "triples-dgk-1024",
            Workload::TriplesDgk(KeySize::Medium) => "triples-dgk-2048",
            Workload::TriplesDgk(KeySize::Long) => "triples-dgk-3072",
        }
    }

    /// Returns the name that selects it together with its variants.
    pub fn family(self) -> &'static str {
        match self {
            Workload::LessThanBounded
            | Workload::LessThanFull
            | Workload::LessThanBoundedGeneral
            | Workload::LessThanFullGeneral => "less-than",
            Workload::OtCot | Workload::OtCotMalicious => "ot-cot",
            Workload::TriplesOt | Workload::TriplesPaillier(_) | Workload::TriplesDgk(_) => "triples",
            Workload::Operation(..) => "operations",
            Workload::Domain(_) => "domains",
            other if other.is_circuit() => "aes",
            other if other.is_conversion() => "conversions",
            other => other.name(),
        }
    }

    /// Whether it works on two rows of bits.
    pub(crate) fn is_on_bits(self) -> bool {
        matches!(self, Workload::And | Workload::BitTriple)
    }

    /// Returns the bits of the numbers that it looks up, if it does.
    pub(crate) fn place_bits(self) -> Option<u32> {
        match self {
            Workload::Sigmoid | Workload::Table => Some(16),
            Workload::Domain(places) => Some(places.bits()),
            _ => None,
        }
    }

    /// Whether it converts one sharing to another.
    pub(crate) fn is_conversion(self) -> bool {
        use Workload::{A2B, A2Y, B2A, B2Y, Y2A, Y2B};
        matches!(self, A2B | B2A | B2Y | Y2B | A2Y | Y2A)
    }

    /// Whether it is AES, with a key and a block of 128 bits each.
    pub(crate) fn is_circuit(self) -> bool {
        matches!(self, Workload::YaoAes | Workload::YaoAesAhead | Workload::GmwAes)
    }

    /// Whether three parties ignore the summands that they know and compute like other numbers of parties.
    pub(crate) fn is_general(self) -> bool {
        matches!(self, Workload::LessThanBoundedGeneral | Workload::LessThanFullGeneral)
    }

    /// Whether it only makes correlations, all in the offline phase. Triples are used once, to be checked.
    pub fn is_correlation(self) -> bool {
        use Workload::{BitTriple, DaBit, EdaBit, RandomBit, Triple};
        matches!(self, RandomBit | EdaBit | DaBit | Triple | BitTriple) || self.is_transfer()
    }

    /// Whether two parties make it by oblivious transfers or ciphertexts alone.
    pub fn is_transfer(self) -> bool {
        Set::Transfers.has(self) || self.family() == "triples"
    }

    /// Whether it is made by homomorphic encryption, which only builds with the feature `he` have.
    pub(crate) fn is_of_ciphertexts(self) -> bool {
        matches!(self, Workload::TriplesPaillier(_) | Workload::TriplesDgk(_))
    }
}

/// Returns every name that selects workloads.
pub(crate) fn names() -> Vec<&'static str> {
    let mut names: Vec<&str> = Vec::new();
    for workload in Workload::ALL {
        for name in [workload.family(), workload.name()] {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

impl Link {
    /// The links that every build has, in the order of the table.
    pub const ALL: [Link; 4] = [Link::Memory, Link::Tls, Link::Lan, Link::Wan];

    /// Returns the link with this name; `RTT_MS/MBIT` is a simulated network.
    pub fn named(name: &str) -> Option<Link> {
        match name {
            "memory" => Some(Link::Memory),
            "tls" => Some(Link::Tls),
            "lan" => Some(Link::Lan),
            "wan" => Some(Link::Wan),
            numbers => Link::of_numbers(numbers),
        }
    }

    /// Reads a round-trip time up to an hour, and a bandwidth from 1 kbit/s to 1 Tbit/s.
    fn of_numbers(text: &str) -> Option<Link> {
        let (rtt_ms, mbit) = text.split_once('/')?;
        let thousandths = |text: &str, range: RangeInclusive<f64>| {
            let number = (text.trim().parse::<f64>().ok()? * 1e3).round();
            range.contains(&number).then_some(number as u32)
        };
        Some(Link::Slow { rtt_micros: thousandths(rtt_ms, 0.0..=3.6e9)?, kbit: thousandths(mbit, 1.0..=1e9)? })
    }

    /// Returns the simulated network, if it is one.
    pub(crate) fn shape(self) -> Option<Shape> {
        let shape = |micros: u32, kbit: u32| {
            let bytes_per_second = Some(f64::from(kbit) * 125.0);
            Some(Shape { rtt: Duration::from_micros(micros.into()), bytes_per_second })
        };
        match self {
            Link::Lan => shape(106, 1_000_000),
            Link::Wan => shape(46_000, 76_000),
            Link::Slow { rtt_micros, kbit } => shape(rtt_micros, kbit),
            _ => None,
        }
    }

    /// Returns the name in rows.
    pub fn name(self) -> Cow<'static, str> {
        let name = match self {
            Link::Memory => "memory",
            Link::Tls => "loopback TLS",
            Link::Lan => "LAN",
            Link::Wan => "WAN",
            Link::Slow { rtt_micros, kbit } => {
                let [ms, mbit] = [rtt_micros, kbit].map(|number| f64::from(number) / 1e3);
                return format!("{ms} ms, {mbit} Mbit/s").into();
            }
        };
        name.into()
    }
}

impl Cell {
    /// Returns the number of elements of an operand.
    pub fn operand_len(&self) -> usize {
        if self.workload == Workload::MatMul { self.batch * self.batch } else { self.batch }
    }

    /// Returns the set that its parties set up.
    pub fn runs(&self) -> Set {
        if self.workload.is_transfer() { Set::Transfers } else { self.set }
    }

    /// Returns the number of single results, the unit of throughput. For circuits, these are the ANDs.
    pub fn results(&self) -> usize {
        self.operand_len() * if self.workload.is_circuit() { AES_ANDS } else { 1 }
    }

    /// Returns the work relative to that of batch 1, to predict a cell's time from a smaller one.
    pub(crate) fn work(&self) -> f64 {
        (self.batch as f64).powi(if self.workload == Workload::MatMul { 3 } else { 1 })
    }

    /// Whether both cells only differ in the batch.
    pub(crate) fn same_series(&self, other: &Cell) -> bool {
        Cell { batch: other.batch, ..*self } == *other
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Cell { workload, set, bits, parties, batch, link } = self;
        write!(f, "{}, {set}, k = {bits}, {parties} parties, batch {batch}, {}", workload.name(), link.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_have_names_or_numbers() {
        assert!(Link::named("wan") == Some(Link::Wan) && Link::named("dsl").is_none());
        let slow = Link::named("70/100").unwrap();
        assert_eq!(slow, Link::Slow { rtt_micros: 70_000, kbit: 100_000 });
        assert_eq!(slow.name(), "70 ms, 100 Mbit/s");
        assert_eq!(Link::named("46/76").unwrap().shape(), Link::Wan.shape());
        assert_eq!(Link::named("0.5/0.001").unwrap(), Link::Slow { rtt_micros: 500, kbit: 1 });
        for bad in ["70", "70/", "/100", "70/0", "-1/100", "nan/100", "70/inf", "4e6/1", "70/100/1", "1/2000000"] {
            assert_eq!(Link::named(bad), None, "{bad}");
        }
    }
}
