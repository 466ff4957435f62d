//! What the protocols of `rss` cost, by the paper's formulas. Tests hold these, the dry run and the wire equal.
//!
//! Bytes are those sent by all parties together; divide by n for the paper's average per party.

use quorate_gadgets::cost::{self as gadgets, Uses};

use crate::stock::Kind;

/// Rounds, and payload bytes sent by all n parties together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    pub rounds: u32,
    pub bytes: u64,
}

impl Cost {
    /// Both in the same rounds.
    pub fn beside(self, other: Cost) -> Cost {
        Cost { rounds: self.rounds.max(other.rounds), bytes: self.bytes + other.bytes }
    }

    /// One after the other.
    pub fn then(self, next: Cost) -> Cost {
        Cost { rounds: self.rounds + next.rounds, bytes: self.bytes + next.bytes }
    }
}

fn packed(bits: u64, len: usize) -> u64 {
    (bits * len as u64).div_ceil(8)
}

/// One round in which `messages` messages of `bits` per element are sent.
fn round(messages: u64, bits: u32, len: usize) -> Cost {
    Cost { rounds: 1, bytes: messages * packed(bits.into(), len) }
}

fn log2(x: u64) -> u32 {
    x.next_power_of_two().trailing_zeros()
}

/// Corruptions tolerated by n parties.
pub fn threshold(n: usize) -> u64 {
    (n as u64 - 1) / 2
}

/// Mul, DotProd, MatMul: t elements a party for every element of the result.
pub fn mul(n: usize, k: u32, results: usize) -> Cost {
    round(n as u64 * threshold(n), k, results)
}

/// Open to all: t elements a party.
pub fn open(n: usize, k: u32, len: usize) -> Cost {
    round(n as u64 * threshold(n), k, len)
}

/// Open to one: t elements in all.
pub fn open_to_one(n: usize, k: u32, len: usize) -> Cost {
    round(threshold(n), k, len)
}

/// MulPub: n - 1 elements a party.
pub fn mulpub(n: usize, k: u32, len: usize) -> Cost {
    round(n as u64 * (n as u64 - 1), k, len)
}

/// Input by a computing party: t elements by the owner.
pub fn input(n: usize, k: u32, len: usize) -> Cost {
    round(threshold(n), k, len)
}

/// RandBit: MulPub over Z_2^(k+2).
pub fn random_bit(n: usize, k: u32, len: usize) -> Cost {
    mulpub(n, k + 2, len)
}

/// edaBit(k): t+1 parties input k bits twice, then t adders, in ceil(log2(t+1)) layers. With a cut, they input a third time,
/// the adders have a carry out, and their 2t carries become elements of Z_2^k by random bits made beside all that.
pub fn edabit(n: usize, k: u32, cut: Option<u32>, len: usize) -> Cost {
    let t = threshold(n);
    let inputs = round((t + 1) * t * if cut.is_some() { 3 } else { 2 }, k, len);
    let adder = gadgets::add(k, cut.is_some());
    let ands: u64 = adder.messages().map(|rows| packed(rows, len)).sum();
    let sums = Cost { rounds: log2(t + 1) * adder.rounds, bytes: t * n as u64 * t * ands };
    if cut.is_none() {
        return inputs.then(sums);
    }
    let carries = 2 * t as usize * len;
    inputs.then(sums).beside(random_bit(n, k, carries)).then(open(n, 1, carries))
}

/// `len` correlations of one kind.
pub fn correlation(n: usize, kind: Kind, len: usize) -> Cost {
    match kind {
        Kind::RandBit { bits } => random_bit(n, bits, len),
        Kind::EdaBit { bits, cut } => edabit(n, bits, (cut > 0).then_some(cut), len),
    }
}

/// The online part of a gadget: every message goes from each party to t others.
pub fn online(n: usize, uses: &Uses, len: usize) -> Cost {
    let bytes: u64 = uses.messages().map(|bits| packed(bits, len)).sum();
    Cost { rounds: uses.rounds, bytes: n as u64 * threshold(n) * bytes }
}

/// The offline part of a gadget: all correlations of a kind made at once, the kinds side by side.
pub fn offline(n: usize, uses: &Uses, len: usize) -> Cost {
    let random_bits = uses.random_bits.iter().map(|&bits| Kind::RandBit { bits });
    let edabits = uses.edabits.iter().map(|&(bits, cut)| Kind::EdaBit { bits, cut: cut.unwrap_or(0) });
    let mut totals = std::collections::BTreeMap::new();
    for kind in random_bits.chain(edabits) {
        *totals.entry(kind).or_insert(0) += len;
    }
    totals.into_iter().map(|(kind, len)| correlation(n, kind, len)).fold(Cost::default(), Cost::beside)
}

/// What the paper's tables state, in bits sent per party for one element; log k is rounded up.
pub mod paper {
    use super::{log2, threshold};

    /// Table 13, RandBit: n - 1 elements of Z_2^(k+2).
    pub fn random_bit(n: usize, k: u32) -> f64 {
        (n as f64 - 1.0) * f64::from(k + 2)
    }

    /// Table 13, edaBit(k): t^2 (log k + 1) + t + 1/2 elements.
    pub fn edabit(n: usize, k: u32) -> f64 {
        let t = threshold(n) as f64;
        (t * t * f64::from(log2(k.into()) + 1) + t + 0.5) * f64::from(k)
    }

    /// Table 3, MSB with edaBits, as an element of Z_2^k: t^2 (log k + 1) + 7t + 1/2 elements.
    pub fn msb(n: usize, k: u32) -> f64 {
        let t = threshold(n) as f64;
        edabit(n, k) + 6.0 * t * f64::from(k)
    }

    /// Table 13, rounds of edaBit(k).
    pub fn edabit_rounds(n: usize, k: u32) -> u32 {
        log2(threshold(n) + 1) * (log2(k.into()) + 1) + 1
    }

    /// Table 3, rounds of MSB with edaBits.
    pub fn msb_rounds(n: usize, k: u32) -> u32 {
        edabit_rounds(n, k) + log2(u64::from(k) - 1) + 3
    }
}
