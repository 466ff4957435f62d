//! Parts of stocks of correlations.

use quorate_engine::{Error, Material};
use quorate_ring::{Bits, Vector};

use crate::local::merged;
use crate::share::Share;

/// The error of a correlation without a part that its kind has.
pub const MISSING: Error = Error::Bug { what: "a stock lacks a part of its correlations" };

/// A party's shares of correlations of one kind.
pub type Shares<K = ()> = Material<Share<Vector, K>, Share<Bits, K>>;

/// Joins correlations of one kind, one after the other.
pub fn one_after_the_other<K>(made: &[&Shares<K>]) -> Shares<K> {
    Material::joined(made, |all| merged(all, Vector::concat), |all| merged(all, Bits::concat_lanes))
}
