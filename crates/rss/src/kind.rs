//! The kinds of correlations.

use quorate_ring::{Bits, Vector};

use crate::share::Shared;

/// A kind of correlation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)] // the fields are described by their kind
pub enum Kind {
    /// Random bits over Z_2^bits.
    RandBit { bits: u32 },
    /// edaBits over Z_2^bits, with the value shifted right by `cut` where that is not 0.
    EdaBit { bits: u32, cut: u32 },
    /// Masks for probabilistic truncation over Z_2^bits by `cut`.
    TruncMask { bits: u32, cut: u32 },
    /// edaBits of `bits` bits whose value is over Z_2^wide.
    WideEdaBit { bits: u32, wide: u32 },
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Kind::RandBit { bits } => write!(f, "random bit mod 2^{bits}"),
            Kind::EdaBit { bits, cut: 0 } => write!(f, "edaBit of {bits} bits"),
            Kind::EdaBit { bits, cut } => write!(f, "edaBit of {bits} bits cut at {cut}"),
            Kind::TruncMask { bits, cut } => write!(f, "truncation mask mod 2^{bits} cut at {cut}"),
            Kind::WideEdaBit { bits, wide } => write!(f, "edaBit of {bits} bits mod 2^{wide}"),
        }
    }
}

pub(crate) type Material = quorate_engine::Material<Shared<Vector>, Shared<Bits>>;
pub(crate) type Stock = quorate_engine::Stock<Kind, Shared<Vector>, Shared<Bits>>;
