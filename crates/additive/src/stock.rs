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
    Material::of_vectors((0..count).map(joined).collect())
}

#[cfg(test)]
mod tests {
    use quorate_ring::Ring;

    use super::*;

    #[test]
    fn correlations_are_joined_vector_by_vector() {
        let (narrow, wide) = (Ring::of(3), Ring::of(70));
        let one = |first: &[u64], second: &[u64]| -> Shares {
            let vectors = [(narrow, first), (wide, second)].map(|(ring, words)| Vector::from_u64s(ring, words));
            Material::of_vectors(vectors.map(Share::of).into())
        };
        let words = |joined: Shares| joined.vectors.iter().map(|x| (x.ring(), x.to_u64s())).collect::<Vec<_>>();
        let joined = one_after_the_other(vec![one(&[1, 2], &[30]), one(&[3], &[]), one(&[4], &[50, 60])]);
        assert_eq!(words(joined), [(narrow, vec![1, 2, 3, 4]), (wide, vec![30, 50, 60])]);
        let alone = one_after_the_other(vec![one(&[1], &[2])]);
        assert_eq!(words(alone), [(narrow, vec![1]), (wide, vec![2])]);
        assert!(one_after_the_other::<()>(vec![]).vectors.is_empty());
    }
}
