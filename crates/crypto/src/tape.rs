//! Tapes, which replace the randomness of a seed in tests that enumerate it: there are none. Tests compile
//! `testing/tape.rs` in place of this file.

use crate::prg::Ctr;
use crate::{Prg, Seed};

/// A place at which a generator reads a tape. No value of it exists, so that seeds and generators with it are as large
/// as without it, and have no branch for it.
#[derive(Clone)]
pub(crate) enum Reader {}

impl Reader {
    #[inline(always)]
    pub fn prg(&self) -> Prg {
        match *self {}
    }

    #[inline(always)]
    pub fn read(&self, _: &mut [u8]) {
        match *self {}
    }
}

const _: () = assert!(size_of::<Seed>() == size_of::<[u8; 32]>());
const _: () = assert!(size_of::<Prg>() == size_of::<Ctr>());
