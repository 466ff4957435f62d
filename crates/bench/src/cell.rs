//! What is measured: a workload, a ring, a number of parties, a batch, a kind of link.

use std::fmt;

/// A standard workload. Operands are shared before the clock starts, and results are opened after it stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Workload {
    /// Element-wise products.
    Mul,
    /// A product of two square matrices; the batch is their side.
    MatMul,
    /// Random bits over Z_2^k.
    RandomBit,
    /// edaBits over Z_2^k.
    EdaBit,
    /// Less-than of operands one bit shorter than the ring; the result stays a bit.
    LessThanBounded,
    /// Less-than over the full signed range; the result stays a bit.
    LessThanFull,
    /// The same two on masked and opened values, as any sharing can: the way of 5 and 7 parties, which 3 need not go.
    LessThanBoundedGeneral,
    LessThanFullGeneral,
    /// One multiplication of one element after another; the batch is 1.
    Chain,
}

/// What carries the frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Link {
    /// Queues between the threads of this process.
    Memory,
    /// TLS 1.3 over TCP on the loopback interface.
    Tls,
    /// TCP on the loopback interface without encryption: to see what TLS costs.
    #[cfg(feature = "testing")]
    InsecureTcp,
}

/// One cell of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell {
    pub workload: Workload,
    /// Bits of the ring.
    pub bits: u32,
    pub parties: usize,
    /// Elements; the side of a matrix; 1 for a chain.
    pub batch: usize,
    pub link: Link,
}

impl Workload {
    pub const ALL: [Workload; 9] = [
        Workload::Mul,
        Workload::MatMul,
        Workload::RandomBit,
        Workload::EdaBit,
        Workload::LessThanBounded,
        Workload::LessThanFull,
        Workload::LessThanBoundedGeneral,
        Workload::LessThanFullGeneral,
        Workload::Chain,
    ];

    /// How it is called on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Workload::Mul => "mul",
            Workload::MatMul => "matmul",
            Workload::RandomBit => "random-bit",
            Workload::EdaBit => "edabit",
            Workload::LessThanBounded => "less-than-bounded",
            Workload::LessThanFull => "less-than-full",
            Workload::LessThanBoundedGeneral => "less-than-bounded-general",
            Workload::LessThanFullGeneral => "less-than-full-general",
            Workload::Chain => "chain",
        }
    }

    /// The name that selects it together with its variants.
    pub fn family(self) -> &'static str {
        match self {
            Workload::LessThanBounded
            | Workload::LessThanFull
            | Workload::LessThanBoundedGeneral
            | Workload::LessThanFullGeneral => "less-than",
            other => other.name(),
        }
    }

    /// Whether three parties leave out what they know and work as any number does.
    pub(crate) fn is_general(self) -> bool {
        matches!(self, Workload::LessThanBoundedGeneral | Workload::LessThanFullGeneral)
    }

    /// Whether it makes correlations and uses none: all of it is the offline phase.
    pub fn is_correlation(self) -> bool {
        matches!(self, Workload::RandomBit | Workload::EdaBit)
    }
}

/// Every name that selects workloads.
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
    /// How it is called in rows.
    pub fn name(self) -> &'static str {
        match self {
            Link::Memory => "memory",
            Link::Tls => "loopback TLS",
            #[cfg(feature = "testing")]
            Link::InsecureTcp => "loopback TCP, insecure",
        }
    }
}

impl Cell {
    /// Elements of an operand.
    pub fn operand_len(&self) -> usize {
        if self.workload == Workload::MatMul { self.batch * self.batch } else { self.batch }
    }

    /// Single results: the unit of throughput.
    pub fn results(&self) -> usize {
        self.operand_len()
    }

    /// Work relative to that of batch 1, to predict a cell's time from a smaller one.
    pub(crate) fn work(&self) -> f64 {
        (self.batch as f64).powi(if self.workload == Workload::MatMul { 3 } else { 1 })
    }

    /// Whether both are points of one curve over the batch.
    pub(crate) fn same_series(&self, other: &Cell) -> bool {
        Cell { batch: other.batch, ..*self } == *other
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Cell { workload, bits, parties, batch, link } = self;
        write!(f, "{}, k = {bits}, {parties} parties, batch {batch}, {}", workload.name(), link.name())
    }
}
