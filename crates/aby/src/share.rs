//! A party's share of a value, and other vectors that only this party may see.

use std::ops::{Deref, DerefMut};

use quorate_ring::Module;

/// A vector or matrix of bits of this party: its share of a value, or a secret of its own. Wiped when dropped; never
/// printed.
#[derive(Clone)]
pub struct Share<M: Module>(pub(crate) M);

impl<M: Module> Share<M> {
    /// Applies a linear map.
    pub(crate) fn map<N: Module>(&self, map: impl FnOnce(&M) -> N) -> Share<N> {
        Share(map(&self.0))
    }

    pub(crate) fn zip(&self, other: &Self, combine: impl FnOnce(&mut M, &M)) -> Self {
        let mut out = self.clone();
        combine(&mut out.0, &other.0);
        out
    }
}

impl<M: Module> Deref for Share<M> {
    type Target = M;

    fn deref(&self) -> &M {
        &self.0
    }
}

impl<M: Module> DerefMut for Share<M> {
    fn deref_mut(&mut self) -> &mut M {
        &mut self.0
    }
}

impl<M: Module> Drop for Share<M> {
    fn drop(&mut self) {
        self.0.wipe();
    }
}

/// Returns zeros, or a shape in a dry run.
pub(crate) fn blank<M: Module>(dry: bool, shape: M::Shape) -> M {
    if dry { M::phantom(shape) } else { M::zeros(shape) }
}
