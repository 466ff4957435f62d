//! A party's share of a value, and other vectors that only this party may see.

use std::ops::{Deref, DerefMut, Range};

use quorate_engine::Stored;
use quorate_ring::{Bits, Module, Vector};

/// A vector or matrix of bits of this party: its share of a value, or a secret of its own. Wiped when dropped; never
/// printed. `K` is what a party keeps beside its share until the value changes.
#[derive(Clone)]
pub struct Share<M: Module, K = ()> {
    value: M,
    kept: K,
}

impl<M: Module, K: Default> Share<M, K> {
    /// Returns a share with this value.
    pub fn of(value: M) -> Self {
        Share { value, kept: K::default() }
    }

    /// Returns a shape: all that a party without shares holds of a value.
    pub fn shape(shape: M::Shape) -> Self {
        Share::of(M::phantom(shape))
    }

    /// Returns the share of the same value, with this beside it.
    pub fn keeping(&self, kept: K) -> Self {
        Share { value: self.value.clone(), kept }
    }

    /// Returns what is kept beside the share.
    pub fn kept(&self) -> &K {
        &self.kept
    }

    /// Drops what is kept beside the share.
    pub fn forget_kept(&mut self) {
        self.kept = K::default();
    }

    /// Applies a linear map.
    pub fn map<N: Module>(&self, map: impl FnOnce(&M) -> N) -> Share<N, K> {
        Share::of(map(&self.value))
    }

    /// Combines two shares by a function that is linear in both.
    pub fn zip(&self, other: &Self, combine: impl FnOnce(&mut M, &M)) -> Self {
        let mut out = self.map(M::clone);
        combine(&mut out.value, &other.value);
        out
    }
}

impl<M: Module, K> Deref for Share<M, K> {
    type Target = M;

    fn deref(&self) -> &M {
        &self.value
    }
}

impl<M: Module, K: Default> DerefMut for Share<M, K> {
    fn deref_mut(&mut self) -> &mut M {
        self.forget_kept();
        &mut self.value
    }
}

impl<M: Module, K> Drop for Share<M, K> {
    fn drop(&mut self) {
        self.value.wipe();
    }
}

impl<K: Default + Clone> Stored for Share<Vector, K> {
    fn part(&self, range: Range<usize>) -> Self {
        self.map(|vector| vector.slice(range))
    }

    fn write_part(&mut self, start: usize, part: &Self) {
        self.write_at(start, part);
    }
}

impl<K: Default + Clone> Stored for Share<Bits, K> {
    fn part(&self, range: Range<usize>) -> Self {
        self.map(|bits| bits.slice_lanes(range))
    }

    fn write_part(&mut self, start: usize, part: &Self) {
        self.write_lanes_at(start, part);
    }
}

/// Returns zeros, or a shape in a dry run.
pub fn blank<M: Module>(dry: bool, shape: M::Shape) -> M {
    if dry { M::phantom(shape) } else { M::zeros(shape) }
}

#[cfg(test)]
mod tests {
    use quorate_ring::Ring;

    use super::*;

    #[test]
    fn what_is_kept_is_dropped_when_the_value_changes() {
        let share: Share<Vector, Option<u8>> = Share::of(Vector::from_u64s(Ring::of(8), &[3, 7]));
        let mut kept = share.keeping(Some(1));
        assert_eq!((share.kept(), kept.kept(), kept.clone().kept()), (&None, &Some(1), &Some(1)));
        assert!(kept.part(0..1).kept().is_none());
        kept.write_part(0, &share.part(1..2));
        assert!(kept.kept().is_none());
        assert_eq!(kept.to_u64s(), [7, 7]);
    }
}
