//! **Insecure**: what tests look at, and short keys.

use quorate_authenticated::shared::Shared;
use quorate_authenticated::{Authenticated, Dims, Params as Online, SharedBits, Tagged};
use quorate_crypto::Seed;
use quorate_engine::{Ctx, Result};
use quorate_ring::Ring;

use crate::dealer::Dealer;
use crate::keys::Keys;
use crate::params::{DIGIT_BITS, Params};
use crate::party::Spdz2k;
use crate::provenproduct::{own_matrix_triples, own_triples};
use crate::triple::Triples;
use crate::{matrix, onesided, triples};

pub use quorate_authenticated::testing::InsecureBits;

impl Params {
    /// Returns parameters with short keys, as [`quorate_authenticated::Params::insecure`] does.
    pub fn insecure(key_bits: u32, inner_bits: u32) -> Params {
        let mut params = Params::of(Online::insecure(key_bits, inner_bits));
        params.digit_bits = DIGIT_BITS.min(key_bits);
        params
    }

    /// Returns these parameters with keys in digits of one bit: the published form of authentication, COPE of Cramer et
    /// al. 2018.
    pub fn with_cope(mut self) -> Params {
        self.digit_bits = 1;
        self
    }

    /// Returns W and L of triples over Z_2^k, for tests that change what is sent of one row.
    pub fn insecure_rows(self, ring: Ring) -> (usize, usize) {
        (self.values(ring).bits() as usize, self.noise_bits())
    }

    /// Returns the number of numbers in a bucket if `count` numbers are made by cut and choose.
    pub fn insecure_bucket(self, count: usize) -> usize {
        crate::privateedabit::Sizes::of(count, self.inner_bits()).map_or(0, |sizes| sizes.bucket)
    }
}

impl Keys<'_> {
    /// Makes triples over Z_2^k, in the form that the parameters choose.
    ///
    /// # Errors
    /// [`Error::Cheating`](quorate_engine::Error::Cheating) where a peer does not follow the protocol; any error that
    /// ends a run.
    pub async fn triples(&self, ctx: &Ctx, ring: Ring, len: usize) -> Result<Triples> {
        triples::make(*self, ctx, ring, len).await
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
        own_triples(self.voles(), ctx, owner, ring, len).await
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
        own_matrix_triples(self.voles(), ctx, owner, ring, shape).await
    }
}

impl Spdz2k {
    /// Sets up a party whose correlations come from a dealer whose seed all parties know. One round.
    ///
    /// # Errors
    /// Any error that ends a run.
    pub async fn insecure_set_up(ctx: &Ctx, params: Params, coins: Option<&Seed>) -> Result<Spdz2k> {
        Dealer.set_up(ctx, params, coins).await
    }

    /// Returns a party with this dealer for dry runs.
    ///
    /// # Errors
    /// Those of [`Spdz2k::new_dry`].
    pub fn insecure_dry(parties: usize, me: usize, params: Params) -> Result<Spdz2k> {
        Dealer.dry(parties, me, params)
    }

    /// Returns its keys, and what it makes correlations from.
    pub fn keys(&self) -> Keys<'_> {
        self.protocols.transfers.under(self.online.keys()).expect("keys and transfers of one session")
    }

    /// Returns this party's share and tag, for tests that put shares together.
    pub fn insecure_shared(x: &Tagged) -> Shared {
        Authenticated::insecure_shared(x)
    }

    /// Returns this party's part of bits, row after row, for tests that put parts together.
    pub fn insecure_bits(x: &SharedBits) -> InsecureBits {
        Authenticated::insecure_bits(x)
    }

    /// Returns the difference between this party's keys of a 0 bit and of a 1 bit.
    pub fn insecure_delta(&self) -> u128 {
        self.online.insecure_delta()
    }

    /// Returns this party's share of alpha, for tests that look at tags.
    pub fn insecure_alpha(&self) -> u64 {
        self.online.insecure_alpha()
    }
}
