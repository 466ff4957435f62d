//! A party that makes correlations: the state and operations that its protocols share.

use std::ops::Deref;
use std::ops::Range;

use quorate_authenticated::shared::{Shared, sum};
use quorate_authenticated::{Authenticated, SharedBits, Tagged};
use quorate_engine::{Ctx, InTurn, Result, Stocks};
use quorate_ring::Ring;

use crate::authenticate::Own;
use crate::keys::{Keys, Transfers};
use crate::tinyot::TinyOt;
use crate::{onesided, triples};

/// The number of elements that are authenticated together.
const BATCH: usize = 1 << 14;

/// A party that makes correlations: it computes as it does online, and has transfers with its peers.
#[derive(Clone, Copy)]
pub(crate) struct Maker<'m> {
    pub online: &'m Authenticated,
    pub keys: Keys<'m>,
}

impl Deref for Maker<'_> {
    type Target = Authenticated;

    fn deref(&self) -> &Authenticated {
        self.online
    }
}

impl<'m> Maker<'m> {
    pub fn new(online: &'m Authenticated, transfers: &'m Transfers) -> Result<Maker<'m>> {
        Ok(Maker { online, keys: transfers.under(online.keys())? })
    }

    /// Returns this party's end of bits with MACs.
    pub fn tinyot(&self) -> Result<TinyOt<'m>> {
        TinyOt::new(self.keys.ots())
    }

    /// Checks all that was opened in the offline phase, with masks that are made for this check.
    pub async fn check_made(&self, ctx: &Ctx) -> Result<()> {
        let masks = self.random_elements(ctx, None, self.masks_of_a_check()).await?;
        self.check_with(ctx, &masks).await
    }

    /// Makes triples, as shares of values.
    pub async fn triples(&self, ctx: &Ctx, ring: Ring, len: usize) -> Result<[Tagged; 3]> {
        let made = triples::make(self.keys, ctx, ring, len).await?;
        Ok([made.a, made.b, made.c].map(|shared| Tagged::of(ring, &shared)))
    }

    /// Makes one-sided triples, as shares of values.
    pub async fn one_sided_triples(
        &self,
        ctx: &Ctx,
        [left, right]: [usize; 2],
        (ring, len): (Ring, usize),
    ) -> Result<[Tagged; 3]> {
        let made = onesided::make(self.keys, ctx, [left, right], ring, len).await?;
        let [a, b, c] = [made.a, made.b, made.c].map(|shared| Tagged::of(ring, &shared));
        Ok([a.known_to(Some(left)), b.known_to(Some(right)), c])
    }

    /// Makes random elements that no party knows, or that one party knows: its share is the element, the others' are 0.
    pub async fn random_elements(&self, ctx: &Ctx, owner: Option<usize>, (ring, len): (Ring, usize)) -> Result<Tagged> {
        let shares = self.keys.params.shares(ring);
        let batch = async |range: Range<usize>| {
            let own = Own::random(owner, (shares, range.len()));
            let made: Vec<Vec<Shared>> = self.keys.voles().authenticate(ctx, &[own]).await?;
            Ok(Tagged::of(ring, &sum(&made[0])))
        };
        Ok(self.joined(ctx, ring, &ctx.in_turn(len, BATCH, batch).await?))
    }

    /// Joins elements of batches, one after the other.
    pub fn joined(&self, ctx: &Ctx, ring: Ring, batches: &InTurn<Tagged>) -> Tagged {
        let nothing = self.nothing(ctx, ring);
        Tagged::concat(&[&[&nothing], &batches.all()[..]].concat())
    }

    /// Joins elements and bits of batches, one after the other.
    pub fn joined_pairs(&self, ctx: &Ctx, ring: Ring, batches: &InTurn<(Tagged, SharedBits)>) -> (Tagged, SharedBits) {
        let (no_elements, no_bits) = (self.nothing(ctx, ring), self.blank_bits(ctx.is_dry(), (1, 0)));
        let (elements, bits): (Vec<&Tagged>, Vec<&SharedBits>) =
            batches.all().into_iter().map(|(elements, bits)| (elements, bits)).unzip();
        (
            Tagged::concat(&[&[&no_elements], &elements[..]].concat()),
            SharedBits::concat_lanes(&[&[&no_bits], &bits[..]].concat()),
        )
    }
}
