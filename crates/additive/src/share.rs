//! A party's share of a value, and other vectors that only this party may see.

use std::ops::{Deref, DerefMut, Range};
use std::sync::Arc;

use quorate_engine::{Packed, Result, Stored, unpack_part};
use quorate_ring::{Bits, Module, Vector};
use zeroize::ZeroizeOnDrop;

/// A vector or matrix of bits of this party: its share of a value, or a secret of its own. Wiped when dropped; never
/// printed.
///
/// **Invariant**: `K` is what a party keeps beside its share of one value. It is there only while the value is the one
/// for which the crate of `K` made it: a clone has it, any other result and any change lacks it. A `K`
/// is made and put beside a share by its own crate alone.
pub struct Share<M: Module, K = ()> {
    value: M,
    kept: Option<Arc<K>>,
}

impl<M: Module, K> Share<M, K> {
    /// Returns a share with this value.
    pub fn of(value: M) -> Self {
        Share { value, kept: None }
    }

    /// Returns a shape: all that a party without shares holds of a value.
    pub fn shape(shape: M::Shape) -> Self {
        Share::of(M::phantom(shape))
    }

    /// Returns the share of the same value, with this beside it.
    pub fn keeping(&self, kept: Option<K>) -> Self
    where
        K: ZeroizeOnDrop,
    {
        Share { value: self.value.clone(), kept: kept.map(Arc::new) }
    }

    /// Returns what is kept beside the share.
    pub fn kept(&self) -> Option<&K> {
        self.kept.as_deref()
    }

    /// Drops what is kept beside the share.
    pub fn forget_kept(&mut self) {
        self.kept = None;
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

impl<M: Module, K> Clone for Share<M, K> {
    fn clone(&self) -> Self {
        Share { value: self.value.clone(), kept: self.kept.clone() }
    }
}

impl<M: Module, K> Deref for Share<M, K> {
    type Target = M;

    fn deref(&self) -> &M {
        &self.value
    }
}

impl<M: Module, K> DerefMut for Share<M, K> {
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

impl<K: Send + Sync + 'static> Stored for Share<Vector, K> {
    fn part(&self, range: Range<usize>) -> Self {
        self.map(|vector| vector.slice(range))
    }

    fn write_part(&mut self, start: usize, part: &Self) {
        self.write_at(start, part);
    }
}

impl<K: Send + Sync + 'static> Stored for Share<Bits, K> {
    fn part(&self, range: Range<usize>) -> Self {
        self.map(|bits| bits.slice_lanes(range))
    }

    fn write_part(&mut self, start: usize, part: &Self) {
        self.write_lanes_at(start, part);
    }
}

impl<K: Send + Sync + 'static> Packed for Share<Vector, K> {
    fn pack(&self, out: &mut Vec<u8>) {
        self.value.pack(out);
    }

    fn unpack(&mut self, bytes: &mut &[u8]) -> Result<()> {
        unpack_part(&mut **self, bytes)
    }
}

impl<K: Send + Sync + 'static> Packed for Share<Bits, K> {
    fn pack(&self, out: &mut Vec<u8>) {
        self.value.pack(out);
    }

    fn unpack(&mut self, bytes: &mut &[u8]) -> Result<()> {
        unpack_part(&mut **self, bytes)
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

    /// What is kept in these tests.
    #[derive(Debug, PartialEq)]
    struct Mark;

    impl ZeroizeOnDrop for Mark {}

    fn kept() -> Share<Vector, Mark> {
        Share::of(Vector::from_u64s(Ring::of(8), &[3, 7])).keeping(Some(Mark))
    }

    #[test]
    fn a_clone_keeps_what_its_share_keeps_until_it_changes() {
        let share = kept();
        let mut clone = share.clone();
        assert_eq!((share.kept(), clone.kept()), (Some(&Mark), Some(&Mark)));
        clone.shl(1);
        assert_eq!((share.kept(), clone.kept()), (Some(&Mark), None));
        assert_eq!((share.to_u64s(), clone.to_u64s()), (vec![3, 7], vec![6, 14]));
        assert_eq!(share.keeping(None).kept(), None);
    }

    #[test]
    fn no_result_keeps_what_operands_keep() {
        let share = kept();
        assert_eq!(share.map(Vector::clone).kept(), None);
        assert_eq!(share.zip(&kept(), Vector::add_assign).kept(), None);
        assert_eq!(share.zip(&kept(), |_, _| ()).kept(), None);
    }

    #[test]
    fn any_access_to_change_a_share_drops_what_is_kept() {
        let [mut read, mut changed, mut forgotten] = [kept(), kept(), kept()];
        assert_eq!((read.len(), read.kept()), (2, Some(&Mark)));
        let _: &mut Vector = &mut read;
        changed.add_assign(&Vector::zeros(Ring::of(8), 2));
        forgotten.forget_kept();
        assert_eq!([&read, &changed, &forgotten].map(Share::kept), [None; 3]);
    }

    #[test]
    fn a_share_that_was_stored_keeps_nothing() {
        let share = kept();
        let (part, mut whole) = (share.part(1..2), kept());
        whole.write_part(0, &share);
        assert_eq!((part.kept(), whole.kept()), (None, None));
        assert_eq!((part.to_u64s(), whole.to_u64s()), (vec![7], vec![3, 7]));
        let share = Share::<Bits, Mark>::of(Bits::from_bools(1, 2, &[false, true])).keeping(Some(Mark));
        let (part, mut whole) = (share.part(1..2), share.clone());
        whole.write_part(0, &part);
        assert_eq!((part.kept(), whole.kept()), (None, None));
        assert_eq!((part.to_bools(), whole.to_bools()), (vec![true], vec![true, true]));
    }
}
