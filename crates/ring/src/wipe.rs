//! Zeroing of memory that the compiler does not remove.

use crate::Module;

/// Overwrites `bytes` with zeros, even if they are not read afterwards.
pub(crate) fn wipe(bytes: &mut [u8]) {
    bytes.fill(0);
    zeroize::optimization_barrier(bytes);
}

/// Overwrites `words` with zeros, even if they are not read afterwards.
pub fn wipe_words<W: bytemuck::Pod>(words: &mut [W]) {
    wipe(bytemuck::cast_slice_mut(words));
}

/// A secret value that is wiped when dropped, also when a run ends early.
pub struct Wiped<M: Module>(pub M);

impl<M: Module> std::ops::Deref for Wiped<M> {
    type Target = M;

    fn deref(&self) -> &M {
        &self.0
    }
}

impl<M: Module> std::ops::DerefMut for Wiped<M> {
    fn deref_mut(&mut self) -> &mut M {
        &mut self.0
    }
}

impl<M: Module> Drop for Wiped<M> {
    fn drop(&mut self) {
        self.0.wipe();
    }
}

impl<M: Module> Wiped<M> {
    /// Returns the value, which the caller then has to wipe.
    pub fn into_inner(mut self) -> M {
        let shape = self.0.shape_of();
        std::mem::replace(&mut self.0, M::phantom(shape))
    }
}
