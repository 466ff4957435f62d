//! Parts of stocks of correlations.

use quorate_engine::{Error, Material};
use quorate_ring::{Bits, Vector};

use crate::share::Share;

/// The error of a correlation without a part that its kind has.
pub const MISSING: Error = Error::Bug { what: "a stock lacks a part of its correlations" };

/// A party's shares of correlations of one kind.
pub type Shares<K = ()> = Material<Share<Vector, K>, Share<Bits, K>>;

/// Joins correlations of one kind that consist of vectors, one after the other.
pub fn one_after_the_other<K>(mut made: Vec<Shares<K>>) -> Shares<K> {
    if made.len() == 1 {
        return made.remove(0);
    }
    let count = made.first().map_or(0, |first| first.vectors.len());
    let joined = |i: usize| Share::of(Vector::concat(&made.iter().map(|one| &*one.vectors[i]).collect::<Vec<_>>()));
    Material { vectors: (0..count).map(joined).collect(), bits: vec![] }
}
