//! The offline phase: all kinds of correlations, made from triples and authentication.
//!
//! | kind | from | openings |
//! |---|---|---|
//! | random element, mask | authentication of what is random | |
//! | triple | `triple` | |
//! | one-sided triple | `onesided` | |
//! | matrix triple of two parties | `matrix` | |
//! | triple, matrix triple that one party knows | `provenproduct` | |
//! | random bit over Z_2^k, two parties | proven bits and a one-sided triple (`provenbit`) | 2 over Z_2^(k-1) |
//! | random bit over Z_2^k, others | a random element and a triple over Z_2^(k+2) (`randbit`) | 3 over Z_2^(k+2) |
//! | bits with MACs: triples, masks, sharings of zero | `bittriple`, `tinyot` | |
//! | bit with MACs that is an element, daBit | `link` | sg' bits; 1 more for a daBit |
//! | edaBit, truncation mask | parties' own numbers, added up with bit triples (`edabit`) | 2 bits an AND |
//! | parties' own numbers | cut and choose (`privateedabit`, `shorter`), or proven bits (`proved`) | B - 1 for one |
//! | comparison mask | an edaBit; products of its bits with bit triples | 2 bits an AND |
//!
//! Batches are made one after the other. This bounds memory, and no two checks are under way at once.

use quorate_engine::{Ctx, Error, Result};
use quorate_ring::Ring;

use crate::authenticate::Own;
use crate::party::Spdz2k;
use crate::shared::{Shared, sum};
use crate::stock::{Kind, Material};
use crate::tagged::Tagged;

/// The number of elements that are authenticated together.
const BATCH: usize = 1 << 14;

impl Spdz2k {
    /// Makes correlations of one kind together with the other parties.
    pub(crate) async fn make_together(&self, ctx: &Ctx, kind: &Kind, len: usize) -> Result<Material> {
        let make = async || {
            let made = self.make_kind(ctx, kind, len).await?;
            self.check_rest(ctx).await?;
            Ok(made)
        };
        self.keys.one_making(make).await
    }

    async fn make_kind(&self, ctx: &Ctx, kind: &Kind, len: usize) -> Result<Material> {
        let vectors = |vectors: Vec<Tagged>| Material { vectors, bits: vec![] };
        Ok(match *kind {
            Kind::DotTriple { .. } | Kind::MatrixTriple { .. } | Kind::ConvTriple { .. } | Kind::Place { .. } => {
                return Err(Error::Bug { what: "triples of sums and places are dealt only" });
            }
            Kind::Triple { bits: 1 } => vectors(self.bit_triples_as_elements(ctx, len).await?.into()),
            Kind::Triple { bits } => vectors(self.triples(ctx, Ring::of(bits), len).await?.into()),
            Kind::OneSided { left, right, bits } => {
                vectors(self.one_sided_triples(ctx, [left, right], (Ring::of(bits), len)).await?.into())
            }
            Kind::KnownMatrices { left, right, bits, m, k, n } => {
                let made = self.keys.matrix_triples(ctx, [left, right], Ring::of(bits), ((m, k, n), len)).await?;
                vectors([made.a, made.b, made.c].map(|shared| Tagged::of(Ring::of(bits), &shared)).into())
            }
            Kind::OwnedMatrices { owner, bits, m, k, n } => {
                let made = self.keys.own_matrix_triples(ctx, owner, Ring::of(bits), ((m, k, n), len)).await?;
                vectors([made.a, made.b, made.c].map(|shared| Tagged::of(Ring::of(bits), &shared)).into())
            }
            Kind::Owned { owner, bits } => {
                let made = self.keys.own_triples(ctx, owner, Ring::of(bits), len).await?;
                vectors([made.a, made.b, made.c].map(|shared| Tagged::of(Ring::of(bits), &shared)).into())
            }
            Kind::Random { bits } => vectors(vec![self.random_elements(ctx, None, (Ring::of(bits), len)).await?]),
            Kind::Mask { owner, bits } => {
                vectors(vec![self.random_elements(ctx, Some(owner), (Ring::of(bits), len)).await?])
            }
            Kind::BitTriple => Material { vectors: vec![], bits: self.bit_triples(ctx, len).await?.into() },
            Kind::BitMask { owner } => {
                Material { vectors: vec![], bits: vec![self.random_bits_of(ctx, owner, len).await?] }
            }
            Kind::BitZero => Material { vectors: vec![], bits: vec![self.zero_bits(ctx, len).await?] },
            Kind::Link => {
                let (elements, bits) = self.links(ctx, len).await?;
                Material { vectors: vec![elements], bits: vec![bits] }
            }
            Kind::DaBit { bits } => {
                let (elements, bits) = self.make_dabits(ctx, Ring::of(bits), len).await?;
                Material { vectors: vec![elements], bits: vec![bits] }
            }
            Kind::RandomBit { bits } => vectors(vec![self.make_random_bits(ctx, Ring::of(bits), len).await?]),
            Kind::EdaBit { bits, ring, cut } => self.make_edabits(ctx, (bits, Ring::of(ring)), cut, len).await?,
            Kind::ComparisonMask { bits, pairs } => {
                self.make_comparison_masks(ctx, Ring::of(bits), pairs as usize, len).await?
            }
            Kind::TruncMask { bits, cut } => self.make_trunc_masks(ctx, Ring::of(bits), cut, len).await?,
        })
    }

    /// Makes random bits as elements, and checks them.
    async fn make_random_bits(&self, ctx: &Ctx, ring: Ring, len: usize) -> Result<Tagged> {
        match self.keys.params.bits_from_proofs(self.keys.parties) {
            true => self.bits_by_proofs(ctx, ring, len).await,
            false => self.bits_by_roots(ctx, ring, len).await,
        }
    }

    /// Makes triples, as shares of values.
    pub(crate) async fn triples(&self, ctx: &Ctx, ring: Ring, len: usize) -> Result<[Tagged; 3]> {
        let made = self.keys.triples(ctx, ring, len).await?;
        Ok([made.a, made.b, made.c].map(|shared| Tagged::of(ring, &shared)))
    }

    /// Makes one-sided triples, as shares of values.
    pub(crate) async fn one_sided_triples(
        &self,
        ctx: &Ctx,
        [left, right]: [usize; 2],
        (ring, len): (Ring, usize),
    ) -> Result<[Tagged; 3]> {
        let made = self.keys.one_sided_triples(ctx, [left, right], ring, len).await?;
        let [a, b, c] = [made.a, made.b, made.c].map(|shared| Tagged::of(ring, &shared));
        Ok([a.known_to(Some(left)), b.known_to(Some(right)), c])
    }

    /// Makes random elements that no party knows, or that one party knows: its share is the element, the others' are 0.
    pub(crate) async fn random_elements(
        &self,
        ctx: &Ctx,
        owner: Option<usize>,
        (ring, len): (Ring, usize),
    ) -> Result<Tagged> {
        let shares = self.keys.params.shares(ring);
        let mut parts = vec![self.nothing(ctx, ring)];
        for start in (0..len).step_by(BATCH) {
            let own = Own::random(owner, (shares, BATCH.min(len - start)));
            let made: Vec<Vec<Shared>> = self.keys.authenticate(ctx, &[own]).await?;
            parts.push(Tagged::of(ring, &sum(&made[0])));
        }
        Ok(Tagged::concat(&parts.iter().collect::<Vec<_>>()))
    }
}
