//! A party's share of a value, and other vectors that only this party may see.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use quorate_ring::Module;

use crate::kept_factor::Factor;

/// A vector or matrix of bits of this party: its share of a value, or a secret of its own. At party 2 a share is a
/// shape. Wiped when dropped; never printed.
#[derive(Clone)]
pub struct Share<M: Module> {
    value: M,
    /// The further parts of a value that stays a factor. They are dropped when anything is changed.
    factor: Option<Arc<Factor>>,
}

impl<M: Module> Share<M> {
    pub(crate) fn of(value: M) -> Self {
        Share { value, factor: None }
    }

    /// Returns the shape of a value: all that party 2 holds of it.
    pub(crate) fn shape(shape: M::Shape) -> Self {
        Share::of(M::phantom(shape))
    }

    /// Returns the same value as a factor.
    pub(crate) fn as_factor(&self, factor: Option<Factor>) -> Self {
        Share { value: self.value.clone(), factor: factor.map(Arc::new) }
    }

    /// Returns the parts of the value as a factor, if it is one.
    pub(crate) fn factor(&self) -> Option<&Arc<Factor>> {
        self.factor.as_ref()
    }

    pub(crate) fn forget_factor(&mut self) {
        self.factor = None;
    }

    /// Applies a linear map.
    pub(crate) fn map<N: Module>(&self, map: impl FnOnce(&M) -> N) -> Share<N> {
        Share::of(map(&self.value))
    }

    pub(crate) fn zip(&self, other: &Self, combine: impl FnOnce(&mut M, &M)) -> Self {
        let mut out = self.map(M::clone);
        combine(&mut out.value, &other.value);
        out
    }
}

impl<M: Module> Deref for Share<M> {
    type Target = M;

    fn deref(&self) -> &M {
        &self.value
    }
}

impl<M: Module> DerefMut for Share<M> {
    fn deref_mut(&mut self) -> &mut M {
        self.forget_factor();
        &mut self.value
    }
}

impl<M: Module> Drop for Share<M> {
    fn drop(&mut self) {
        self.value.wipe();
    }
}

/// Returns zeros, or a shape in a dry run.
pub(crate) fn blank<M: Module>(dry: bool, shape: M::Shape) -> M {
    if dry { M::phantom(shape) } else { M::zeros(shape) }
}
