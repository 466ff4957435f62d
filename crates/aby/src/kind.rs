//! The kinds of correlations, and what each party holds of them.

use quorate_additive::order;
use quorate_additive::stock::Shares;
use quorate_engine::Layout;
use quorate_ring::{Bits, Conv, Ring, Vector};

use crate::Share;
use crate::digits::Table;
use crate::keys;
use crate::yao::{GARBLER, LABEL_BITS};

/// A kind of correlation. If it names shares, both parties' shares add up (bits: xor) to the listed values.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)] // a kind says what its fields are
pub enum Kind {
    /// Shares of a, b and a b over Z_2^bits.
    Triple { bits: u32 },
    /// Shares of a (m x k), b (k x n) and their matrix product over Z_2^bits.
    MatrixTriple { bits: u32, m: usize, k: usize, n: usize },
    /// Shares of images a, filters b and their convolution over Z_2^bits.
    ConvTriple { bits: u32, conv: Conv },
    /// Shares of bits a, b and a AND b.
    BitTriple,
    /// Shares of bits a, b, b' and a AND b, a AND b'.
    BitPair,
    /// A bit of each party, and shares of their product over Z_2^bits.
    BitProduct { bits: u32 },
    /// Shares of a bit b over Z_2 and Z_2^bits, of a, and of a b over Z_2^bits.
    Selection { bits: u32 },
    /// Random tables at `sender`, and one entry of each at the other party, which knows its place.
    Tables { table: Table, sender: usize },
    /// An input of a garbled circuit: a block of party 0, and at party 1 a bit with a block. The blocks are equal if
    /// the bit is 0; otherwise they differ by the difference between the labels of 0 and 1.
    InputLabel,
    /// A block of party 0: the label of 0 of a bit that enters a circuit garbled ahead.
    EntryLabel,
    /// The table of an AND that is garbled ahead.
    GarbledAnd,
    /// Shares of a point r modulo 2^place_bits, a key of it (root and corrections), and pads of transfers modulo
    /// 2^(bits-1), in which each party chooses by its share of the sign of the keys' difference.
    Lookup { place_bits: u32, bits: u32 },
    /// Shares of a point, and a key of it.
    Point { place_bits: u32 },
    /// A permutation of `rows` rows that `mover` knows, and shares of the moved mask, which the other party knows.
    /// `columns` gives the bits of an element and the elements of a row, column by column.
    Permutation { rows: usize, columns: Vec<(u32, usize)>, mover: usize },
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Kind::Triple { bits } => write!(f, "triple mod 2^{bits}"),
            Kind::MatrixTriple { bits, m, k, n } => write!(f, "matrix triple {m} x {k} x {n} mod 2^{bits}"),
            Kind::ConvTriple { bits, conv } => write!(f, "triple of a convolution of {:?} mod 2^{bits}", conv.lens()),
            Kind::BitTriple => f.write_str("bit triple"),
            Kind::BitPair => f.write_str("pair of bit triples"),
            Kind::BitProduct { bits } => write!(f, "product of two parties' bits mod 2^{bits}"),
            Kind::Selection { bits } => write!(f, "selection mod 2^{bits}"),
            Kind::Tables { table, sender } => write!(f, "{table}, sent by party {sender}"),
            Kind::InputLabel => f.write_str("label of an input"),
            Kind::EntryLabel => f.write_str("label to send"),
            Kind::GarbledAnd => f.write_str("garbled AND"),
            Kind::Lookup { place_bits, bits } => write!(f, "look-up of {place_bits} bits mod 2^{bits}"),
            Kind::Point { place_bits } => write!(f, "point of {place_bits} bits"),
            Kind::Permutation { rows, mover, .. } => write!(f, "permutation of {rows} rows by party {mover}"),
        }
    }
}

impl Kind {
    /// Returns the layout of party `me`'s part of one correlation.
    pub(crate) fn layout(&self, me: usize) -> Layout {
        let over = |bits: u32, counts: &[usize]| counts.iter().map(|&count| (Ring::of(bits), count)).collect();
        let (vectors, bits) = match self {
            Kind::Triple { bits } => (over(*bits, &[1; 3]), vec![]),
            &Kind::MatrixTriple { bits, m, k, n } => (over(bits, &[m * k, k * n, m * n]), vec![]),
            &Kind::ConvTriple { bits, conv } => {
                let [images, filters] = conv.lens();
                (over(bits, &[images, filters, conv.len_out()]), vec![])
            }
            Kind::BitTriple => (vec![], vec![1; 3]),
            Kind::BitPair => (vec![], vec![1, 2, 2]),
            Kind::BitProduct { bits } => (over(*bits, &[1]), vec![1]),
            Kind::Selection { bits } => (over(*bits, &[1; 3]), vec![1]),
            Kind::Tables { table, sender } if *sender == me => (vec![], vec![table.entry_bits()]),
            Kind::Tables { table, .. } => (vec![], vec![table.choice_bits(), table.value_bits()]),
            Kind::InputLabel => (over(LABEL_BITS, &[1]), if me == GARBLER { vec![] } else { vec![1] }),
            Kind::EntryLabel => (if me == GARBLER { over(LABEL_BITS, &[1]) } else { vec![] }, vec![]),
            Kind::GarbledAnd => (over(LABEL_BITS, &[2]), vec![]),
            &Kind::Lookup { place_bits, bits } => keys::layout(place_bits, Some(bits)),
            &Kind::Point { place_bits } => keys::layout(place_bits, None),
            Kind::Permutation { rows, columns, mover } => (order::layout(*rows, columns, *mover == me), vec![]),
        };
        Layout::new(vectors, bits)
    }
}

pub(crate) type Material = Shares;
pub(crate) type Stock = quorate_engine::Stock<Kind, Share<Vector>, Share<Bits>>;
