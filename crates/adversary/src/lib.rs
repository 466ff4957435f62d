//! The adversary that ships: none. Protocols against active adversaries ask [`Adversary`] for each value that a cheater
//! might have wrong, and it returns the right one.
//!
//! Tests of attacks compile the sources of these protocols once more, with `quorate-cheats` under this crate's name
//! (`crates/attacked-spdz2k`, `crates/attacked-pika`). What ships has no code of a cheater, no field and no branch for
//! one: [`Adversary`] has no size, and its methods vanish.
#![forbid(unsafe_code)]

mod dealer;

pub use dealer::{BatchAdversary, DealerAdversary, Told};

/// A value of a party: one that an adversary would have wrong, and continue with.
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
    /// The factor a of triples: another one is authenticated than went into the transfers. The cheater corrects the
    /// products by the product with its own B.
    Factor,
    /// What it authenticates of triples; the number is the place among all vectors of the step.
    Authenticated(usize),
    /// The product of two factors that it alone knows.
    Product,
    /// Its share of rho, or of sigma.
    Rho,
    /// Its share of what a sacrifice has to leave zero: the first opening of a challenge, or the second.
    Zero(usize),
    /// Its share of the differences within buckets, or of delta in matrix triples.
    Difference,
    /// Its part beta of B.
    Beta,
    /// Its share of c after the division.
    Quotient,
    /// Its share of what the division has to leave zero.
    Rest,
    /// Its part of the tags of whole words.
    WordTag,
    /// What it sends of its share to open an element.
    Low,
    /// What it alone sends of a value that it knows.
    Known,
    /// What it sends of its bits to open them.
    OpenedBit,
    /// What it sends one peer of its inputs, and of its share in every opening.
    Apart {
        /// The peer.
        peer: usize,
    },
    /// Its share of an element whose lowest bit is opened below a bit that has both forms.
    Lowest,
    /// What it sends of upper bits in a row check.
    Row,
    /// Its part of the tags in a row check.
    RowTag,
    /// A switch of a shuffle.
    Switch,
    /// The bits that it chooses for MACs, which are its elements.
    MacBit,
    /// Its part of sharings of zero, as bits.
    BitZero,
    /// What it sends of the lowest bits of sums when leaky ANDs are made.
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
    /// Its authenticated numbers: what it sends of them later.
    ToldNumber,
    /// What it sends of the sum of two numbers.
    Sum,
    /// A0 of its proof of such sums.
    Proof,
    /// The bits of numbers that it sends in order to take them off.
    ToldBit,
}

/// Values that an adversary could have wrong.
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

    /// Whether the party continues after a check that fails.
    #[inline(always)]
    pub fn goes_on(&self) -> bool {
        false
    }

    /// Whether the party's keys stay in use after a check that fails.
    #[inline(always)]
    pub fn endures(&self) -> bool {
        false
    }

    /// Notes what all parties sent of one value.
    #[inline(always)]
    pub fn hears<M>(&self, _: &[M]) {}
}
