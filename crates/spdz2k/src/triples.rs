//! Triples of every form, as the parameters of the session choose.

use quorate_authenticated::Dims;
use quorate_engine::{Ctx, Result};
use quorate_ring::Ring;

use crate::keys::Keys;
use crate::params::TripleForm;
use crate::triple::{BATCH, Triples};
use crate::{bucket_triple, matrix, onesided, provenproduct, triple, two_keys};

impl Keys<'_> {
    /// Makes triples over Z_2^k.
    ///
    /// # Errors
    /// [`Error::Cheating`](quorate_engine::Error::Cheating) where a peer does not follow the protocol; any error that
    /// ends a run.
    pub async fn triples(&self, ctx: &Ctx, ring: Ring, len: usize) -> Result<Triples> {
        self.params.check_triples(ring)?;
        if len == 0 {
            return Ok(Triples::none(self.params.shares(ring)));
        }
        let form = self.params.triples();
        if form == TripleForm::Buckets {
            return bucket_triple::make(*self, ctx, ring, len).await;
        }
        let mut parts = Vec::new();
        for start in (0..len).step_by(BATCH) {
            let count = BATCH.min(len - start);
            parts.push(match form {
                TripleForm::TwoKeys => two_keys::batch(*self, ctx, ring, count).await?,
                _ => triple::batch(*self, ctx, ring, count).await?,
            });
        }
        Ok(Triples::joined(&parts))
    }

    /// Makes one-sided triples over Z_2^k: the first of two parties knows a, the second one knows b.
    ///
    /// # Errors
    /// [`Misuse`](quorate_engine::Misuse) unless these are two parties, and those of [`Keys::triples`].
    pub async fn one_sided_triples(&self, ctx: &Ctx, owners: [usize; 2], ring: Ring, len: usize) -> Result<Triples> {
        onesided::make(*self, ctx, owners, ring, len).await
    }

    /// Makes matrix triples over Z_2^k, one after the other: m x k matrices that the first of two parties knows, k x n
    /// matrices that the second one knows, and their products.
    ///
    /// # Errors
    /// [`Misuse`](quorate_engine::Misuse) unless these are two parties, and matrices have elements; those of
    /// [`Keys::triples`].
    pub async fn matrix_triples(
        &self,
        ctx: &Ctx,
        owners: [usize; 2],
        ring: Ring,
        shape: (Dims, usize),
    ) -> Result<Triples> {
        matrix::make(*self, ctx, owners, ring, shape).await
    }

    /// Makes triples over Z_2^k of which one party knows all: both factors and the product are its share.
    ///
    /// # Errors
    /// Those of [`Keys::triples`].
    pub async fn own_triples(&self, ctx: &Ctx, owner: usize, ring: Ring, len: usize) -> Result<Triples> {
        provenproduct::own_triples(self.voles(), ctx, owner, ring, len).await
    }

    /// Makes matrix triples over Z_2^k of which one party knows all, one after the other.
    ///
    /// # Errors
    /// Those of [`Keys::triples`].
    pub async fn own_matrix_triples(
        &self,
        ctx: &Ctx,
        owner: usize,
        ring: Ring,
        shape: (Dims, usize),
    ) -> Result<Triples> {
        provenproduct::own_matrix_triples(self.voles(), ctx, owner, ring, shape).await
    }
}
