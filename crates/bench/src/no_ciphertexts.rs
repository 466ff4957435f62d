//! The stand-in for `ciphertexts` in builds without the feature `he`.

use quorate_engine::{Ctx, Party, Result};
use quorate_ot::Triples;
use quorate_ring::Ring;

use crate::cell::Workload;

/// Whether this build can measure workloads of homomorphic encryption.
pub(crate) const HERE: bool = false;

/// No keys.
#[derive(Default)]
pub(crate) struct Keys;

impl Keys {
    /// Makes no keys: no workload that is selected needs any.
    pub fn make(&mut self, _: &mut Party, _: Workload) -> Result<()> {
        Ok(())
    }

    /// Refuses to make triples.
    pub async fn triples(&self, _: &Ctx, _: Ring, _: usize) -> Result<Triples> {
        Err(crate::error::NO_TASK)
    }
}
