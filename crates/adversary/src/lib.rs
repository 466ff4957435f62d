//! The adversary of a release: none. Protocols against active adversaries ask [`Adversary`] for each value that a
//! cheater might change. It returns the value unchanged.
//!
//! Tests of attacks compile the sources of these protocols once more, with `quorate-cheats` under this crate's name
//! (`crates/attacked-spdz2k`, `crates/attacked-pika`). A release has no code of a cheater, and no field or branch for
//! one: [`Adversary`] has no size, and its methods are optimised away.
#![forbid(unsafe_code)]

mod dealer;

pub use dealer::{BatchAdversary, DealerAdversary, Told};

/// A value of a party that an adversary may change. It then continues with the changed value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Twist {
    /// Its Delta towards a peer.
    Delta {
        /// The peer.
        peer: usize,
    },
    /// Its factors in the transfers towards a peer.
    Factors {
        /// The peer.
        peer: usize,
    },
    /// Its factors in one row of OTs.
    Transfer {
        /// The peer.
        peer: usize,
        /// The place among all factors of the step.
        factor: usize,
        /// The row.
        row: usize,
    },
    /// Its factor a of triples: it authenticates another one than it used in the transfers. The cheater corrects the
    /// products by the product with its own B.
    Factor,
    /// The vector of triples that it authenticates, by its place among all vectors of the step.
    Authenticated(usize),
    /// The product of two factors that it alone knows.
    Product,
    /// Its share of rho, or of sigma.
    Rho,
    /// Its share of the value that a sacrifice opens as zero: the first opening of a challenge, or the second.
    Zero(usize),
    /// Its share of the differences within buckets, or of delta in matrix triples.
    Difference,
    /// Its part beta of B.
    Beta,
    /// Its share of c after the division.
    Quotient,
    /// Its share of the remainder of the division, which must be zero.
    Rest,
    /// Its part of the tags of whole words.
    WordTag,
    /// The part of its share that it sends to open an element.
    Low,
    /// Its message about a value that it alone knows.
    Known,
    /// Its bits as it sends them in an opening.
    OpenedBit,
    /// Its messages to one peer about its inputs, and about its share in every opening.
    Apart {
        /// The peer.
        peer: usize,
    },
    /// Its share of an element whose lowest bit is opened below a bit that has both forms.
    Lowest,
    /// The upper bits that it sends in a row check.
    Row,
    /// Its part of the tags in a row check.
    RowTag,
    /// A switch of a shuffle.
    Switch,
    /// The bits that it chooses for MACs, which are its elements.
    MacBit,
    /// Its part of sharings of zero, as bits.
    BitZero,
    /// The lowest bits of sums that it sends when leaky ANDs are made.
    Flip,
    /// Its bits in the transfers towards a peer.
    Bits {
        /// The peer.
        peer: usize,
    },
    /// The bits that it proves to be bits.
    ProvenBit,
    /// Its numbers when they are authenticated.
    Number,
    /// Its authenticated numbers, as it sends them later.
    ToldNumber,
    /// The sum of two numbers, as it sends it.
    Sum,
    /// A0 of its proof of such sums.
    Proof,
    /// The bits of numbers that it sends for their subtraction.
    ToldBit,
}

/// Values that an adversary could change.
pub trait Twisted {}

impl<T> Twisted for T {}

/// The adversary of a party that follows the protocol.
#[derive(Debug)]
pub struct Adversary;

impl Adversary {
    /// Returns the adversary of a party that follows the protocol.
    #[inline(always)]
    pub fn none() -> Adversary {
        Adversary
    }

    /// Returns the value of the party at a place, unchanged.
    #[inline(always)]
    pub fn at<T: Twisted>(&self, _: Twist, value: T) -> T {
        value
    }

    /// Returns whether the party continues after a check that fails.
    #[inline(always)]
    pub fn goes_on(&self) -> bool {
        false
    }

    /// Returns whether the party's keys stay in use after a check that fails.
    #[inline(always)]
    pub fn endures(&self) -> bool {
        false
    }

    /// Notes what all parties sent of one value.
    #[inline(always)]
    pub fn hears<M>(&self, _: &[M]) {}
}
