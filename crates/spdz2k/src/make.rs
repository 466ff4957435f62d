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

use std::sync::Arc;

use quorate_authenticated::{Authenticated, Dims, Kind, LACKING, Material, SharedBits, Source, Tagged};
use quorate_engine::{Ctx, Error, Held, Result};
use quorate_gadgets::here::Local;
use quorate_ring::Ring;

use crate::bits_as_elements::links;
use crate::bittriple::{self, Ahead, BitTriples};
use crate::edabit::Adder;
use crate::keys::Transfers;
use crate::maker::Maker;
use crate::matrix;
use crate::numbers::bit_triples_of;
use crate::provenproduct::{own_matrix_triples, own_triples};
use crate::random_bits;

/// The protocols that make correlations among all parties, at one party.
pub struct Protocols {
    pub(crate) transfers: Transfers,
    pub(crate) ahead: Held<Ahead>,
}

impl Protocols {
    /// Returns the protocols over these transfers.
    pub fn new(transfers: Transfers) -> Arc<Protocols> {
        Arc::new(Protocols { transfers, ahead: Held::default() })
    }
}

impl Transfers {
    /// Returns the bytes of a matrix triple of two parties, and of the same products with triples of elements.
    fn bytes_of_matrices(&self, ring: Ring, dims: Dims) -> Option<[usize; 2]> {
        let Transfers { params, digits, .. } = *self;
        params.has_matrix_triples().then(|| params.bytes_of_matrices(digits, ring, dims))
    }
}

/// [`Protocols`], as the source of one party.
pub(crate) struct All(pub Arc<Protocols>);

impl Source for All {
    fn make_all<'a>(
        &'a self,
        party: &'a Authenticated,
        ctx: &'a Ctx,
        kinds: &'a [(Kind, usize)],
    ) -> Local<'a, Vec<Material>> {
        Box::pin(async move { Making::new(party, &self.0)?.make_each(ctx, kinds).await })
    }

    fn make<'a>(&'a self, party: &'a Authenticated, ctx: &'a Ctx, kind: &'a Kind, len: usize) -> Local<'a, Material> {
        Box::pin(async move { Making::new(party, &self.0)?.make_together(ctx, kind, len).await })
    }

    fn bytes_of_matrices(&self, ring: Ring, dims: Dims) -> Option<[usize; 2]> {
        self.0.transfers.bytes_of_matrices(ring, dims)
    }
}

/// The source of a session that takes its correlations from a pool: it makes nothing, and chooses between protocols as
/// the session did that made them.
pub(crate) struct FromPool(pub Arc<Protocols>);

impl Source for FromPool {
    fn make_all<'a>(&'a self, _: &'a Authenticated, _: &'a Ctx, _: &'a [(Kind, usize)]) -> Local<'a, Vec<Material>> {
        Box::pin(async { Err(LACKING) })
    }

    fn bytes_of_matrices(&self, ring: Ring, dims: Dims) -> Option<[usize; 2]> {
        self.0.transfers.bytes_of_matrices(ring, dims)
    }
}

/// The making of all kinds at one party.
struct Making<'m> {
    maker: Maker<'m>,
    triples: BitTriples<'m>,
}

impl<'m> Making<'m> {
    fn new(online: &'m Authenticated, protocols: &'m Protocols) -> Result<Making<'m>> {
        let maker = Maker::new(online, &protocols.transfers)?;
        Ok(Making { maker, triples: BitTriples { maker, ahead: &protocols.ahead } })
    }

    /// Makes one kind after the other: at most one check is under way at a time.
    async fn make_each(&self, ctx: &Ctx, kinds: &[(Kind, usize)]) -> Result<Vec<Material>> {
        let make = async || {
            let mut made = Vec::new();
            for (kind, len) in kinds {
                made.push(self.make_together(ctx, kind, *len).await?);
            }
            Ok(made)
        };
        let (maker, parties) = (self.maker, self.maker.keys.parties);
        let triples = match maker.has_macs() {
            true => kinds.iter().map(|(kind, len)| len * bit_triples_of(kind, parties)).sum(),
            false => 0,
        };
        self.triples.with_ahead(ctx, triples, make).await
    }

    /// Makes correlations of one kind together with the other parties.
    async fn make_together(&self, ctx: &Ctx, kind: &Kind, len: usize) -> Result<Material> {
        let make = async || {
            let made = self.make_kind(ctx, kind, len).await?;
            self.check_rest(ctx).await?;
            Ok(made)
        };
        self.maker.keys.one_making(make).await
    }

    /// Checks as [`Maker::check_made`] does if anything was opened since the last check.
    async fn check_rest(&self, ctx: &Ctx) -> Result<()> {
        if self.maker.is_all_checked(ctx) { Ok(()) } else { self.maker.check_made(ctx).await }
    }

    async fn make_kind(&self, ctx: &Ctx, kind: &Kind, len: usize) -> Result<Material> {
        let Making { maker, triples } = *self;
        let adder = Adder { maker, triples };
        Ok(match *kind {
            Kind::DotTriple { .. } | Kind::MatrixTriple { .. } | Kind::ConvTriple { .. } | Kind::Place { .. } => {
                return Err(Error::Bug { what: "triples of sums and places are dealt only" });
            }
            Kind::Triple { bits: 1 } => Material::of_vectors(bittriple::as_elements(maker, ctx, len).await?.into()),
            Kind::Triple { bits } => Material::of_vectors(maker.triples(ctx, Ring::of(bits), len).await?.into()),
            Kind::OneSided { left, right, bits } => {
                Material::of_vectors(maker.one_sided_triples(ctx, [left, right], (Ring::of(bits), len)).await?.into())
            }
            Kind::KnownMatrices { left, right, bits, m, k, n } => {
                let made = matrix::make(maker.keys, ctx, [left, right], Ring::of(bits), ((m, k, n), len)).await?;
                Material::of_vectors([made.a, made.b, made.c].map(|shared| Tagged::of(Ring::of(bits), &shared)).into())
            }
            Kind::OwnedMatrices { owner, bits, m, k, n } => {
                let made = own_matrix_triples(maker.keys.voles(), ctx, owner, Ring::of(bits), ((m, k, n), len)).await?;
                Material::of_vectors([made.a, made.b, made.c].map(|shared| Tagged::of(Ring::of(bits), &shared)).into())
            }
            Kind::Owned { owner, bits } => {
                let made = own_triples(maker.keys.voles(), ctx, owner, Ring::of(bits), len).await?;
                Material::of_vectors([made.a, made.b, made.c].map(|shared| Tagged::of(Ring::of(bits), &shared)).into())
            }
            Kind::Random { bits } => {
                Material::of_vectors(vec![maker.random_elements(ctx, None, (Ring::of(bits), len)).await?])
            }
            Kind::Mask { owner, bits } => {
                Material::of_vectors(vec![maker.random_elements(ctx, Some(owner), (Ring::of(bits), len)).await?])
            }
            Kind::BitTriple => Material::of_bits(triples.make(ctx, len).await?.into()),
            Kind::BitMask { owner } => {
                Material::of_bits(vec![SharedBits::macs(maker.tinyot()?.random_of(ctx, owner, len).await?)])
            }
            Kind::BitZero => Material::of_bits(vec![SharedBits::macs(maker.tinyot()?.zeros(ctx, len).await?)]),
            Kind::Link => {
                let (elements, bits) = links(maker, ctx, len).await?;
                Material::new(vec![elements], vec![bits])
            }
            Kind::DaBit { bits } => {
                let (elements, bits) = random_bits::dabits(maker, ctx, Ring::of(bits), len).await?;
                Material::new(vec![elements], vec![bits])
            }
            Kind::RandomBit { bits } => {
                Material::of_vectors(vec![random_bits::elements(maker, ctx, Ring::of(bits), len).await?])
            }
            Kind::EdaBit { bits, ring, cut } => adder.edabits(ctx, (bits, Ring::of(ring)), cut, len).await?,
            Kind::ComparisonMask { bits, pairs } => {
                adder.comparison_masks(ctx, Ring::of(bits), pairs as usize, len).await?
            }
            Kind::TruncMask { bits, cut } => adder.trunc_masks(ctx, Ring::of(bits), cut, len).await?,
        })
    }
}

#[cfg(test)]
mod tests {
    use quorate_engine::{Costs, Phase, dry};
    use quorate_ring::meter::{Effort, Kernel, charged};

    use super::*;
    use crate::params::Params;
    use crate::party::Spdz2k;

    /// Returns the costs of making correlations, by party, and the work of all. Party i starts after `rounds[i]`.
    fn made(rounds: &[u32], params: Params, kinds: &[(Kind, usize)], figures: bool) -> (Vec<Costs>, Effort) {
        let before = charged();
        let make = async |ctx: &Ctx| {
            if figures {
                ctx.count_alike();
            }
            let s = Spdz2k::new_dry(rounds.len(), ctx.me(), params)?;
            let made = Making::new(&s.online, &s.protocols)?.make_each(ctx, kinds).await?;
            assert_eq!(made.len(), kinds.len());
            Ok(())
        };
        let done = dry::together(rounds, Phase::Offline, make).unwrap();
        (done.into_iter().map(|(_, costs)| costs).collect(), charged() - before)
    }

    /// Checks that batches that are counted once cost what all of them cost one by one. Copies and drops of batches
    /// that do not run are not charged.
    fn check_figures(rounds: &[u32], params: Params, kinds: &[(Kind, usize)]) {
        let [(all, work), (once, counted)] = [false, true].map(|figures| made(rounds, params, kinds, figures));
        assert_eq!(once, all, "{kinds:?} after {rounds:?}");
        for kernel in Kernel::ALL {
            let [all, once] = [work, counted].map(|effort| effort.of(kernel));
            assert!(once.abs_diff(all) <= all / 20, "{once} of {all} {kernel:?}, {kinds:?} after {rounds:?}");
        }
    }

    #[test]
    fn figures_are_those_of_all_batches() {
        let (bits, owner, [left, right], [m, k, n]) = (64, 1, [0, 1], [60, 50, 70]);
        let kinds = [
            (Kind::Triple { bits }, 22_000),
            (Kind::OneSided { left, right, bits }, 22_000),
            (Kind::KnownMatrices { left, right, bits, m, k, n }, 30),
            (Kind::OwnedMatrices { owner, bits, m, k, n }, 6),
            (Kind::Owned { owner, bits }, 70_000),
            (Kind::Random { bits }, 90_000),
            (Kind::Mask { owner, bits }, 90_000),
            (Kind::Link, 400_000),
            (Kind::DaBit { bits }, 70_000),
            (Kind::RandomBit { bits }, 70_000),
            (Kind::EdaBit { bits: 20, ring: 64, cut: 3 }, 33_000),
            (Kind::ComparisonMask { bits: 32, pairs: 16 }, 25_000),
            (Kind::TruncMask { bits, cut: 16 }, 13_000),
        ];
        for kind in kinds {
            check_figures(&[0, 0], Params::default(), std::slice::from_ref(&kind));
            check_figures(&[0, 7, 100], Params::default(), &[kind]);
        }
        check_figures(&[0, 0], Params::default(), &[(Kind::BitTriple, 1_100_000)]);
        check_figures(&[5, 0], Params::default(), &[(Kind::Triple { bits: 1 }, 1_100_000)]);
    }

    /// Kinds that some parties make come before those that take ANDs of all.
    #[test]
    fn figures_of_several_kinds_are_those_of_all_batches() {
        let bits = 64;
        let kinds = [
            (Kind::Owned { owner: 1, bits }, 70_000),
            (Kind::OneSided { left: 0, right: 1, bits }, 22_000),
            (Kind::BitTriple, 300_000),
            (Kind::EdaBit { bits, ring: 64, cut: 0 }, 20_000),
            (Kind::Mask { owner: 0, bits }, 90_000),
        ];
        for rounds in [&[0, 100][..], &[0, 7, 100]] {
            check_figures(rounds, Params::default(), &kinds);
        }
    }

    #[test]
    fn figures_are_those_of_all_batches_under_every_option() {
        let bits = 32;
        let kinds = [
            (Kind::Triple { bits }, 22_000),
            (Kind::RandomBit { bits }, 70_000),
            (Kind::EdaBit { bits, ring: 32, cut: 0 }, 25_000),
        ];
        let default = Params::default();
        let options = [
            default.with_cut_and_choose(),
            default.with_triples_in_buckets(),
            default.with_triples_under_two_keys(),
            default.with_bits_by_roots(),
        ];
        for params in options {
            kinds.iter().for_each(|kind| check_figures(&[0, 9], params, std::slice::from_ref(kind)));
        }
    }
}
