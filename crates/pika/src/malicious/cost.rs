//! The costs of dealing, in bits that P2 sends. Tests hold formulas, dry runs and the wire equal.
//!
//! Numbers that are put together from proven bits have tags, the bits themselves do not. L = k + s bits. A product to
//! be checked takes the dealer's opening of its left factor, to both, and chat. A bit with MACs takes a key of 128 bits
//! at either party.

use std::collections::BTreeMap;

use quorate_authenticated::{Kind, Params};
use quorate_gadgets::cost::{and_all, carry_tree};
use quorate_ring::Ring;

use super::comparison::Mask;
use super::digits::Digits;

/// Bits that P2 sends P0 and P1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dealt(pub [u64; 2]);

const KEY: u64 = 128;
const FIELD: u64 = 64;

impl Dealt {
    fn and(self, other: Dealt) -> Dealt {
        Dealt([self.0[0] + other.0[0], self.0[1] + other.0[1]])
    }

    fn times(self, count: u64) -> Dealt {
        Dealt(self.0.map(|bits| bits * count))
    }
}

fn to_second(bits: u64) -> Dealt {
    Dealt([0, bits])
}

fn to_both(bits: u64) -> Dealt {
    Dealt([bits; 2])
}

/// Returns the bits for one correlation, without those that a batch takes for its check.
pub fn of_kind(params: Params, kind: &Kind) -> Dealt {
    let wide = |bits: u32| u64::from(params.shares(Ring::of(bits)).bits());
    // For given numbers of elements of a, b and c: tags, c, chat, and rho.
    let products = |bits: u32, [a, b, c]: [usize; 3]| {
        let (l, [a, b, c]) = (wide(bits), [a, b, c].map(|count| count as u64));
        to_second(l * (a + b + 3 * c)).and(to_both(l * a))
    };
    let with_mac = to_both(KEY);
    let bit_product = to_second(1 + FIELD).and(to_both(FIELD));
    let proven = |l: u64| to_second(2 * l).and(to_both(l));
    let number =
        |width: u32, ring: u32, tags: u64| proven(wide(ring)).times(width.into()).and(to_second(tags * wide(ring)));
    match *kind {
        Kind::Triple { bits } => products(bits, [1; 3]),
        Kind::DotTriple { bits, axis, inner } => products(bits, [axis * inner, axis * inner, inner]),
        Kind::MatrixTriple { bits, m, k, n } => products(bits, [m * k, k * n, m * n]),
        Kind::ConvTriple { bits, conv } => {
            let [images, filters] = conv.lens();
            products(bits, [images, filters, conv.len_out()])
        }
        Kind::Random { bits } | Kind::Mask { bits, .. } => to_second(wide(bits)),
        Kind::Owned { bits, .. } => to_second(3 * wide(bits)),
        Kind::BitTriple => bit_product.and(with_mac.times(3)),
        Kind::BitMask { .. } => with_mac,
        Kind::Link => to_second(wide(1)).and(with_mac),
        Kind::DaBit { bits } => number(1, bits, 1).and(with_mac),
        Kind::RandomBit { bits } => number(1, bits, 1),
        Kind::EdaBit { bits, ring, cut } => {
            number(bits, ring, if cut > 0 { 2 } else { 1 }).and(with_mac.times(bits.into()))
        }
        Kind::ComparisonMask { bits, pairs } => {
            let of_pair = bit_product.and(with_mac).times(pairs.into());
            number(bits, bits, 1).and(with_mac.times(bits.into())).and(of_pair)
        }
        Kind::TruncMask { bits, cut } => number(bits, bits, 2).and(to_second(wide(cut + 1))),
        Kind::Place { bits, choices, .. } => {
            let key_bits = |digits: Digits| digits.shapes().iter().map(|shape| 8 * shape.key_bytes() as u64).sum();
            let keys = Digits::of(params, kind).map_or(0, key_bits);
            // Tags of b; c, its tag, and chat; rho.
            let (l, choices) = (wide(bits), choices as u64);
            let chosen = if choices > 0 { choices + 3 } else { 0 };
            to_both(keys + l * choices).and(to_second(l * chosen))
        }
        // Kinds that two parties with a dealer do not use.
        Kind::OneSided { .. } | Kind::KnownMatrices { .. } | Kind::OwnedMatrices { .. } | Kind::BitZero => {
            Dealt::default()
        }
    }
}

/// Returns the cost of a look-up of a number that has an entry: rounds, and bits that each of P0 and P1 sends.
pub fn of_lookup(digits: Digits) -> (u32, u64) {
    let Kind::Place { place_bits, bits, choices, .. } = digits.kind() else { return (0, 0) };
    let differences = choices as u64 * u64::from(bits);
    (if choices > 0 { 2 } else { 1 }, u64::from(place_bits) + differences)
}

/// The cost of a gadget for one number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Use {
    /// The number of rounds online.
    pub rounds: u32,
    /// Bits that each of P0 and P1 sends online.
    pub bits: u64,
    /// The number of correlations by kind.
    pub kinds: BTreeMap<Kind, usize>,
}

impl Use {
    fn of(rounds: u32, bits: u32, kinds: Vec<(Kind, usize)>) -> Use {
        Use { rounds, bits: bits.into(), kinds: kinds.into_iter().filter(|(_, count)| *count > 0).collect() }
    }

    fn then(mut self, next: Use) -> Use {
        next.kinds.into_iter().for_each(|(kind, count)| *self.kinds.entry(kind).or_default() += count);
        Use { rounds: self.rounds + next.rounds, bits: self.bits + next.bits, kinds: self.kinds }
    }

    /// Returns the cost of both in the same rounds.
    fn beside(self, other: Use) -> Use {
        let rounds = self.rounds.max(other.rounds);
        Use { rounds, ..self.then(other) }
    }

    /// Returns the bits that P2 sends for this.
    pub fn dealt(&self, params: Params) -> Dealt {
        let of = |(kind, &count): (&Kind, &usize)| of_kind(params, kind).times(count as u64);
        self.kinds.iter().map(of).fold(Dealt::default(), Dealt::and)
    }
}

/// Returns the cost of products over Z_2^bits, layer by layer.
fn layers(products: &[u64], bits: u32) -> Use {
    let all: u64 = products.iter().sum();
    Use::of(products.len() as u32, 2 * all as u32 * bits, vec![(Kind::Triple { bits }, all as usize)])
}

/// Returns the cost of opening a masked number.
fn masked(mask: &Mask, k: u32) -> Use {
    Use::of(1, k, mask.kinds())
}

/// Returns the cost of turning an element of Z_2 into a bit.
fn as_bit() -> Use {
    Use::of(1, 1, vec![(Kind::Link, 1)])
}

/// Returns the cost of the top bit of an element of Z_2^k, by a mask's digits.
pub fn of_sign(mask: &Mask, k: u32) -> Use {
    masked(mask, k).then(layers(&carry_tree(mask.digits() as u64, false), 1)).then(as_bit())
}

/// Returns the cost of equality with zero.
pub fn of_equality(mask: &Mask, k: u32) -> Use {
    masked(mask, k).then(layers(&and_all(mask.digits() as u64), 1)).then(as_bit())
}

/// Returns the cost of exact truncation by 0 < cut < k - 1, for all numbers or for those that fit k - 1 bits.
pub fn of_truncation(mask: &Mask, k: u32, cut: u32, bounded: bool) -> Use {
    let (lower, upper) = mask.cut(cut);
    let low = layers(&carry_tree(lower as u64, false), k);
    let high = layers(&carry_tree(upper as u64, true), cut);
    masked(mask, k).then(if bounded { low } else { low.beside(high).then(layers(&[1], cut)) })
}

/// Returns the bits for the check of a batch; `largest` is the largest number of bits of its elements, if it has any.
pub fn of_check(params: Params, largest: Option<u32>, has_bits: bool) -> Dealt {
    let rows = largest.map_or(0, |l| u64::from(l) * u64::from(params.key_bits()));
    let bits = if has_bits { to_both(64 * KEY + 2 * FIELD) } else { Dealt::default() };
    to_second(rows).and(to_both(rows)).and(bits)
}
