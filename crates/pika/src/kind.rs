//! The kinds of correlations, and what each party holds of them.

use quorate_additive::order;
use quorate_engine::{Chunks, Form, Layout};
use quorate_fss::Shape;
use quorate_ring::{Bits, Conv, Ring, Vector};

use crate::chunks;
use crate::share::Share;

/// The ring of nodes of a tree, and of parts of its corrections.
pub(crate) const BLOCK: Ring = Ring::of(128);

/// A kind of correlation: shares of parties 0 and 1, which add up (bits: xor) to the listed values.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)] // a kind says what its fields are
pub enum Kind {
    /// a, b and a b over Z_2^bits.
    Triple { bits: u32 },
    /// a and b of axis x inner elements over Z_2^bits, and their products, summed over the axis.
    DotTriple { bits: u32, axis: usize, inner: usize },
    /// a (m x k), b (k x n) and their matrix product over Z_2^bits.
    MatrixTriple { bits: u32, m: usize, k: usize, n: usize },
    /// Images a, filters b and their convolution over Z_2^bits.
    ConvTriple { bits: u32, conv: Conv },
    /// b of the factor of this name, its mask.
    FactorMask { bits: u32, len: usize, factor: u32 },
    /// a, and form(a, b) if the factor is on the right, form(b, a) otherwise.
    TripleBy { bits: u32, form: Form, right: bool, factor: u32 },
    /// Bits a, b and a AND b.
    BitTriple,
    /// A bit over Z_2^bits and Z_2.
    DaBit { bits: u32 },
    /// r over Z_2^bits and the bits of r; with `cut` > 0 also floor(r / 2^cut).
    EdaBit { bits: u32, cut: u32 },
    /// r over Z_2^bits, its bits, and the products of the lowest `pairs` pairs of neighbours among them.
    ComparisonMask { bits: u32, pairs: usize },
    /// r over Z_2^bits, floor((r mod 2^(bits-1)) / 2^cut), and the top bit of r over Z_2^(cut+1).
    TruncMask { bits: u32, cut: u32 },
    /// r over Z_2^bits, the carry of its two shares over Z_2^(wide-bits), and the bits of r.
    WideEdaBit { bits: u32, wide: u32 },
    /// a, a bit b and a b over Z_2^bits, and b over Z_2.
    Selection { bits: u32 },
    /// A point r of 2^place_bits, a key of it; b, the sign w of the key, and w b over Z_2^bits.
    Lookup { place_bits: u32, bits: u32 },
    /// A point r of 2^place_bits, and a key of it.
    Point { place_bits: u32 },
    /// r over Z_2^bits, its top bit, and a key of r mod 2^(bits-1).
    SignKey { bits: u32 },
    /// r over Z_2^bits, floor(r / 2^cut), and keys of r and of r mod 2^cut.
    FloorKeys { bits: u32, cut: u32 },
    /// r over Z_2^bits, floor(r / 2^cut), the top bit of r over Z_2^cut, and a key of r mod 2^cut.
    BoundedFloorKey { bits: u32, cut: u32 },
    /// A permutation of `rows` rows that `mover` and party 2 know, and shares of the moved mask; the other party and
    /// party 2 know that mask. `columns` gives the bits of an element and the elements of a row, column by column.
    Permutation { rows: usize, columns: Vec<(u32, usize)>, mover: usize },
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Kind::Triple { bits } => write!(f, "triple mod 2^{bits}"),
            Kind::DotTriple { bits, axis, inner } => write!(f, "triple of sums of {axis} x {inner} mod 2^{bits}"),
            Kind::MatrixTriple { bits, m, k, n } => write!(f, "matrix triple {m} x {k} x {n} mod 2^{bits}"),
            Kind::ConvTriple { bits, conv } => write!(f, "triple of a convolution of {:?} mod 2^{bits}", conv.lens()),
            Kind::FactorMask { bits, len, .. } => write!(f, "mask of a factor of {len} elements mod 2^{bits}"),
            Kind::TripleBy { bits, form, .. } => {
                write!(f, "triple of {} results by a factor mod 2^{bits}", form.len_out(0))
            }
            Kind::BitTriple => f.write_str("bit triple"),
            Kind::DaBit { bits } => write!(f, "random bit mod 2^{bits}"),
            Kind::EdaBit { bits, cut: 0 } => write!(f, "edaBit mod 2^{bits}"),
            Kind::EdaBit { bits, cut } => write!(f, "edaBit mod 2^{bits}, cut at {cut}"),
            Kind::ComparisonMask { bits, .. } => write!(f, "comparison mask mod 2^{bits}"),
            Kind::TruncMask { bits, cut } => write!(f, "truncation mask mod 2^{bits}, by {cut}"),
            Kind::WideEdaBit { bits, wide } => write!(f, "edaBit of {bits} bits mod 2^{wide}"),
            Kind::Selection { bits } => write!(f, "selection mod 2^{bits}"),
            Kind::Lookup { place_bits, bits } => write!(f, "look-up of {place_bits} bits, mod 2^{bits}"),
            Kind::Point { place_bits } => write!(f, "point among 2^{place_bits}"),
            Kind::SignKey { bits } => write!(f, "key of a sign mod 2^{bits}"),
            Kind::FloorKeys { bits, cut } => write!(f, "keys of a truncation mod 2^{bits}, by {cut}"),
            Kind::BoundedFloorKey { bits, cut } => write!(f, "key of a bounded truncation mod 2^{bits}, by {cut}"),
            Kind::Permutation { rows, mover, .. } => write!(f, "permutation of {rows} rows by party {mover}"),
        }
    }
}

impl Kind {
    /// Returns what party `me` holds of one correlation; party 2 holds shapes of what party 1 has.
    pub(crate) fn layout(&self, me: usize) -> Layout {
        let over = |bits: u32, counts: &[usize]| counts.iter().map(|&count| (Ring::of(bits), count)).collect();
        let (vectors, bits) = match self {
            Kind::Triple { bits } => (over(*bits, &[1; 3]), vec![]),
            &Kind::DotTriple { bits, axis, inner } => (over(bits, &[axis * inner, axis * inner, inner]), vec![]),
            &Kind::MatrixTriple { bits, m, k, n } => (over(bits, &[m * k, k * n, m * n]), vec![]),
            &Kind::ConvTriple { bits, conv } => {
                let [images, filters] = conv.lens();
                (over(bits, &[images, filters, conv.len_out()]), vec![])
            }
            &Kind::FactorMask { bits, len, .. } => (over(bits, &[len]), vec![]),
            &Kind::TripleBy { bits, form, right, .. } => {
                (over(bits, &[form.lens(0)[usize::from(!right)], form.len_out(0)]), vec![])
            }
            Kind::BitTriple => (vec![], vec![1; 3]),
            Kind::DaBit { bits } => (over(*bits, &[1]), vec![1]),
            &Kind::EdaBit { bits, cut } => (over(bits, if cut > 0 { &[1, 1] } else { &[1] }), vec![bits as usize]),
            &Kind::ComparisonMask { bits, pairs } => (over(bits, &[1]), vec![bits as usize, pairs]),
            &Kind::TruncMask { bits, cut } => {
                (vec![(Ring::of(bits), 1), (Ring::of(bits), 1), (Ring::of(cut + 1), 1)], vec![])
            }
            &Kind::WideEdaBit { bits, wide } => {
                (vec![(Ring::of(bits), 1), (Ring::of(wide - bits), 1)], vec![bits as usize])
            }
            Kind::Selection { bits } => (over(*bits, &[1; 3]), vec![1]),
            &Kind::Lookup { place_bits, bits } => {
                let (point, element) = ((Ring::of(place_bits), 1), (Ring::of(bits), 1));
                (vec![point, (BLOCK, 1), element, element, element], vec![])
            }
            &Kind::Point { place_bits } => (vec![(Ring::of(place_bits), 1), (BLOCK, 1)], vec![]),
            &Kind::SignKey { bits } => (vec![(Ring::of(bits), 1), (BLOCK, 1)], vec![1]),
            &Kind::FloorKeys { bits, .. } => {
                (vec![(Ring::of(bits), 1), (BLOCK, 1), (BLOCK, 1), (Ring::of(bits), 1)], vec![])
            }
            &Kind::BoundedFloorKey { bits, cut } => {
                (vec![(Ring::of(bits), 1), (BLOCK, 1), (Ring::of(bits), 1), (Ring::of(cut), 1)], vec![])
            }
            Kind::Permutation { rows, columns, mover } => (order::layout(*rows, columns, *mover == me), vec![]),
        };
        // First come parts that are drawn or sent to one party, then the corrections of keys.
        let corrections = self.keys().into_iter().map(|shape| (BLOCK, shape.key_blocks()));
        Layout::new(vectors.into_iter().chain(corrections).collect(), bits)
    }

    /// Returns the shapes of the keys of each correlation.
    pub(crate) fn keys(&self) -> Vec<Shape> {
        let shapes = match *self {
            Kind::Lookup { place_bits, .. } | Kind::Point { place_bits } => vec![Shape::wide(place_bits)],
            Kind::SignKey { bits } => vec![Shape::narrow(bits - 1)],
            Kind::FloorKeys { bits, cut } => vec![Shape::narrow(bits), Shape::narrow(cut)],
            Kind::BoundedFloorKey { cut, .. } => vec![Shape::narrow(cut)],
            _ => vec![],
        };
        shapes.into_iter().flatten().collect()
    }

    /// Returns the chunks that are dealt together.
    pub(crate) fn chunks(&self, len: usize) -> Chunks {
        /// The copies of a correlation that are held while it is dealt: both parties' shares, their sums, what is sent.
        const COPIES: usize = 4;
        match self {
            Kind::MatrixTriple { .. }
            | Kind::ConvTriple { .. }
            | Kind::FactorMask { .. }
            | Kind::TripleBy { .. }
            | Kind::Permutation { .. } => Chunks { len, chunk: 1, window: 2 },
            kind => {
                let Layout { vectors, bits, .. } = kind.layout(0);
                let words: usize = vectors.iter().map(|(ring, count)| ring.carrier().bytes() * count).sum();
                chunks::of_lines(len, COPIES * (words + bits.iter().sum::<usize>().div_ceil(8)))
            }
        }
    }
}

pub(crate) type Material = quorate_engine::Material<Share<Vector>, Share<Bits>>;
pub(crate) type Stock = quorate_engine::Stock<Kind, Share<Vector>, Share<Bits>>;
