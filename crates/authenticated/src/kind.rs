//! Kinds of correlations, and the layout of each.

use std::fmt;

use quorate_engine::Layout;
use quorate_ring::{Conv, Ring};

use crate::forms::SharedBits;
use crate::tagged::Tagged;

/// A kind of correlations.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Random elements a, b and their product.
    Triple {
        /// The bits of the ring.
        bits: u32,
    },
    /// Random elements a, b and their product: one party knows a, and another one b.
    OneSided {
        /// The party that knows a: the smaller number.
        left: usize,
        /// The party that knows b.
        right: usize,
        /// The bits of the ring.
        bits: u32,
    },
    /// Random matrices, m x k and k x n, and their product: one party knows the left one, another one the right one.
    KnownMatrices {
        /// The party that knows the left one.
        left: usize,
        /// The party that knows the right one.
        right: usize,
        /// Bits of the ring.
        bits: u32,
        /// Rows of the left one.
        m: usize,
        /// The dimension that is summed.
        k: usize,
        /// Columns of the right one.
        n: usize,
    },
    /// Random elements a, b and their product, all of which one party knows.
    Owned {
        /// The party that knows them.
        owner: usize,
        /// The bits of the ring.
        bits: u32,
    },
    /// Random matrices, m x k and k x n, and their product, all of which one party knows.
    OwnedMatrices {
        /// The party that knows them.
        owner: usize,
        /// Bits of the ring.
        bits: u32,
        /// Rows of the left one.
        m: usize,
        /// The dimension that is summed.
        k: usize,
        /// Columns of the right one.
        n: usize,
    },
    /// A random element.
    Random {
        /// The bits of the ring.
        bits: u32,
    },
    /// A random element that its owner knows: the owner's share is the element, the others' are 0.
    Mask {
        /// The party that knows it.
        owner: usize,
        /// The bits of the ring.
        bits: u32,
    },
    /// Random bits a and b with MACs, and a AND b.
    BitTriple,
    /// A random bit with MACs that its owner knows: the owner's share is the bit, the others' are 0.
    BitMask {
        /// The party that knows it.
        owner: usize,
    },
    /// A sharing of 0 with MACs, among more than two parties, which is added to a bit that is opened.
    BitZero,
    /// A random bit with MACs that is also an element of Z_2.
    Link,
    /// A random bit as an element, and with MACs.
    DaBit {
        /// The bits of the ring.
        bits: u32,
    },
    /// A random bit as an element.
    RandomBit {
        /// The bits of the ring.
        bits: u32,
    },
    /// A random element of Z_2^bits in a ring, with its bits; and shifted right by `cut` if that is not 0.
    EdaBit {
        /// Bits of the element.
        bits: u32,
        /// The bits of the ring.
        ring: u32,
        /// The shift.
        cut: u32,
    },
    /// A random element of Z_2^bits with its bits, and the products of its lowest pairs of neighbouring bits.
    ComparisonMask {
        /// The bits of the ring.
        bits: u32,
        /// The number of pairs.
        pairs: u32,
    },
    /// Random elements a, b of `axis` x `inner` each, and their products, summed over the axis. Dealt only.
    DotTriple {
        /// The bits of the ring.
        bits: u32,
        /// The dimension that is summed.
        axis: usize,
        /// The number of sums.
        inner: usize,
    },
    /// Random matrices, m x k and k x n, and their product. Dealt only.
    MatrixTriple {
        /// Bits of the ring.
        bits: u32,
        /// Rows of the left one.
        m: usize,
        /// The dimension that is summed.
        k: usize,
        /// Columns of the right one.
        n: usize,
    },
    /// Random images and filters, and their convolution. Dealt only.
    ConvTriple {
        /// Bits of the ring.
        bits: u32,
        /// The convolution.
        conv: Conv,
    },
    /// A mask for truncation.
    TruncMask {
        /// The bits of the ring.
        bits: u32,
        /// The shift.
        cut: u32,
    },
    /// A random place in a table, as an element of Z_2^max(`place_bits`, `bits`), and keys of function secret sharing
    /// for its digits, in blocks. With `choices`, also that number of random elements, and the one among them that the
    /// upper digit of the place selects. Dealt only.
    Place {
        /// Bits of the place.
        place_bits: u32,
        /// The bits of the ring.
        bits: u32,
        /// The number of random elements.
        choices: usize,
        /// The number of blocks of 128 bits.
        blocks: usize,
    },
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Triple { bits } => write!(f, "triple mod 2^{bits}"),
            Kind::OneSided { left, right, bits } => {
                write!(f, "one-sided triple of parties {left} and {right} mod 2^{bits}")
            }
            Kind::KnownMatrices { left, right, bits, m, k, n } => {
                write!(f, "matrix triple {m} x {k} x {n} of parties {left} and {right} mod 2^{bits}")
            }
            Kind::Owned { owner, bits } => write!(f, "triple of party {owner} mod 2^{bits}"),
            Kind::OwnedMatrices { owner, bits, m, k, n } => {
                write!(f, "matrix triple {m} x {k} x {n} of party {owner} mod 2^{bits}")
            }
            Kind::DotTriple { bits, axis, inner } => write!(f, "triple of sums of {axis} x {inner} mod 2^{bits}"),
            Kind::MatrixTriple { bits, m, k, n } => write!(f, "matrix triple {m} x {k} x {n} mod 2^{bits}"),
            Kind::ConvTriple { bits, conv } => write!(f, "triple of a convolution of {:?} mod 2^{bits}", conv.lens()),
            Kind::Random { bits } => write!(f, "random element mod 2^{bits}"),
            Kind::Mask { owner, bits } => write!(f, "mask of party {owner} mod 2^{bits}"),
            Kind::BitTriple => write!(f, "triple of bits"),
            Kind::BitMask { owner } => write!(f, "mask of party {owner} for a bit"),
            Kind::BitZero => write!(f, "sharing of zero for a bit"),
            Kind::Link => write!(f, "bit as an element mod 2"),
            Kind::DaBit { bits } => write!(f, "daBit mod 2^{bits}"),
            Kind::RandomBit { bits } => write!(f, "random bit mod 2^{bits}"),
            Kind::EdaBit { bits, ring, .. } => write!(f, "edaBit of {bits} bits mod 2^{ring}"),
            Kind::ComparisonMask { bits, pairs } => write!(f, "comparison mask mod 2^{bits}, bit products: {pairs}"),
            Kind::TruncMask { bits, cut } => write!(f, "truncation mask mod 2^{bits} cut at {cut}"),
            Kind::Place { place_bits, bits, .. } => write!(f, "place among 2^{place_bits}, mod 2^{bits}"),
        }
    }
}

impl Kind {
    /// Returns the layout of one correlation.
    pub(crate) fn layout(&self) -> Layout {
        let over = |bits: u32, counts: &[usize]| counts.iter().map(|&count| (Ring::of(bits), count)).collect();
        let (vectors, bits) = match *self {
            Kind::Triple { bits } | Kind::OneSided { bits, .. } | Kind::Owned { bits, .. } => {
                (over(bits, &[1; 3]), vec![])
            }
            Kind::DotTriple { bits, axis, inner } => (over(bits, &[axis * inner, axis * inner, inner]), vec![]),
            Kind::MatrixTriple { bits, m, k, n }
            | Kind::KnownMatrices { bits, m, k, n, .. }
            | Kind::OwnedMatrices { bits, m, k, n, .. } => (over(bits, &[m * k, k * n, m * n]), vec![]),
            Kind::ConvTriple { bits, conv } => {
                let [images, filters] = conv.lens();
                (over(bits, &[images, filters, conv.len_out()]), vec![])
            }
            Kind::BitTriple => (vec![], vec![1; 3]),
            Kind::BitMask { .. } | Kind::BitZero => (vec![], vec![1]),
            Kind::Link => (over(1, &[1]), vec![1]),
            Kind::DaBit { bits } => (over(bits, &[1]), vec![1]),
            Kind::Random { bits } | Kind::Mask { bits, .. } | Kind::RandomBit { bits } => (over(bits, &[1]), vec![]),
            Kind::EdaBit { bits, ring, cut: 0 } => (over(ring, &[1]), vec![bits as usize]),
            Kind::EdaBit { bits, ring, .. } => (over(ring, &[1; 2]), vec![bits as usize]),
            Kind::ComparisonMask { bits, pairs } => (over(bits, &[1]), vec![bits as usize, pairs as usize]),
            Kind::TruncMask { bits, cut } => {
                (vec![(Ring::of(bits), 1), (Ring::of(bits), 1), (Ring::of(cut + 1), 1)], vec![])
            }
            Kind::Place { place_bits, bits, choices, .. } => {
                let mut vectors = over(place_bits.max(bits), &[1]);
                if choices > 0 {
                    vectors.extend(over(bits, &[choices, 1]));
                }
                (vectors, vec![])
            }
        };
        let blocks = if let Kind::Place { blocks, .. } = *self { vec![blocks] } else { vec![] };
        Layout::new(vectors, bits).with_blocks(blocks)
    }
}

/// Correlations of a kind.
pub type Material = quorate_engine::Material<Tagged, SharedBits>;
