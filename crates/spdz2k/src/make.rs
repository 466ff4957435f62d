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
//! | bit with MACs that is an element, daBit | `bits_as_elements` | sg' bits; 1 more for a daBit |
//! | edaBit, truncation mask | parties' own numbers, added up with bit triples (`edabit`) | 2 bits an AND |
//! | parties' own numbers | cut and choose (`privateedabit`, `short_numbers`), or bits `proved` | B - 1 for one |
//! | comparison mask | an edaBit; products of its bits with bit triples | 2 bits an AND |
//!
//! Batches are made one after the other. This bounds memory, and no two checks are under way at once.

use std::cell::RefCell;
use std::ops::Deref;
use std::rc::Rc;

use quorate_authenticated::Tagged;
use quorate_authenticated::shared::{Shared, sum};
use quorate_authenticated::{Authenticated, Dims, Source};
use quorate_authenticated::{Kind, Material};
use quorate_engine::{Ctx, Error, Result};
use quorate_gadgets::here::Local;
use quorate_ring::Ring;

use crate::authenticate::Own;
use crate::bittriple::Ahead;
use crate::keys::{Keys, Transfers};

/// The number of elements that are authenticated together.
const BATCH: usize = 1 << 14;

/// The protocols that make correlations among all parties, at one party.
pub struct Protocols {
    pub(crate) transfers: Transfers,
    pub(crate) ahead: RefCell<Ahead>,
}

impl Protocols {
    /// Returns the protocols over these transfers.
    pub fn new(transfers: Transfers) -> Rc<Protocols> {
        Rc::new(Protocols { transfers, ahead: RefCell::default() })
    }
}

/// A party that makes correlations: it computes as it does online, and has transfers with its peers.
pub(crate) struct Maker<'m> {
    pub online: &'m Authenticated,
    pub keys: Keys<'m>,
    pub ahead: &'m RefCell<Ahead>,
}

impl Deref for Maker<'_> {
    type Target = Authenticated;

    fn deref(&self) -> &Authenticated {
        self.online
    }
}

impl<'m> Maker<'m> {
    pub fn new(online: &'m Authenticated, protocols: &'m Protocols) -> Maker<'m> {
        Maker { online, keys: protocols.transfers.under(online.keys()), ahead: &protocols.ahead }
    }
}

/// [`Protocols`], as the source of one party.
pub(crate) struct All(pub Rc<Protocols>);

impl Source for All {
    fn make_all<'a>(
        &'a self,
        party: &'a Authenticated,
        ctx: &'a Ctx,
        kinds: &'a [(Kind, usize)],
    ) -> Local<'a, Vec<Material>> {
        Box::pin(async move { Maker::new(party, &self.0).make_each(ctx, kinds).await })
    }

    fn make<'a>(&'a self, party: &'a Authenticated, ctx: &'a Ctx, kind: &'a Kind, len: usize) -> Local<'a, Material> {
        Box::pin(async move { Maker::new(party, &self.0).make_together(ctx, kind, len).await })
    }

    fn bytes_of_matrices(&self, ring: Ring, dims: Dims) -> Option<[usize; 2]> {
        let Transfers { params, digits, .. } = self.0.transfers;
        params.has_matrix_triples().then(|| params.bytes_of_matrices(digits, ring, dims))
    }
}

impl Maker<'_> {
    /// Makes one kind after the other: at most one check is under way at a time.
    async fn make_each(&self, ctx: &Ctx, kinds: &[(Kind, usize)]) -> Result<Vec<Material>> {
        let make = async || {
            let mut made = Vec::new();
            for (kind, len) in kinds {
                made.push(self.make_together(ctx, kind, *len).await?);
            }
            Ok(made)
        };
        let triples = match self.has_macs() {
            true => kinds.iter().map(|(kind, len)| len * self.bit_triples_of(kind)).sum(),
            false => 0,
        };
        self.with_triples_ahead(triples, make).await
    }

    /// Makes correlations of one kind together with the other parties.
    pub(crate) async fn make_together(&self, ctx: &Ctx, kind: &Kind, len: usize) -> Result<Material> {
        let make = async || {
            let made = self.make_kind(ctx, kind, len).await?;
            self.check_rest(ctx).await?;
            Ok(made)
        };
        self.keys.one_making(make).await
    }

    /// Checks all that was opened in the offline phase, with masks that are made for this check.
    pub(crate) async fn check_made(&self, ctx: &Ctx) -> Result<()> {
        let masks = self.random_elements(ctx, None, self.masks_of_a_check()).await?;
        self.check_with(ctx, &masks).await
    }

    /// Checks as [`Maker::check_made`] does if anything was opened since the last check.
    async fn check_rest(&self, ctx: &Ctx) -> Result<()> {
        if self.is_all_checked(ctx) { Ok(()) } else { self.check_made(ctx).await }
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
