//! **Insecure**: what tests look at, and values that they choose.

use std::collections::BTreeMap;

use quorate_authenticated::{Authenticated, Params};
use quorate_crypto::Seed;
use quorate_engine::{Ctx, Demand, Result};
use quorate_gadgets::testing::Tested;
use quorate_ring::{Bits, Vector};

use crate::forms::Comparisons;
use crate::kind::{Kind, Material};
use crate::malicious::PikaMalicious;
use crate::malicious::digits::{self, Digits};
use crate::setup::{PARTIES, Pika};
use crate::share::Share;

impl Tested for Pika {
    /// Chooses edaBits for any number of numbers: tests of keys ask for keys.
    async fn set_up(ctx: &Ctx) -> Result<Self> {
        let pika = Self::setup(ctx).await?;
        pika.set_comparisons(Comparisons::EdaBits);
        Ok(pika)
    }
}

impl Tested for PikaMalicious {
    const ALL_SEE_OPENINGS: bool = false;

    async fn set_up(ctx: &Ctx) -> Result<Self> {
        Self::set_up(ctx, Params::default(), None).await
    }
}

impl Pika {
    /// Returns a party with these seeds, by party, for tests that enumerate all randomness.
    pub fn insecure_with_seeds(me: usize, seed_of: impl Fn(usize) -> Seed) -> Result<Pika> {
        Ok(Self::with(me, std::array::from_fn(seed_of), *Self::dry(PARTIES, me)?.session()))
    }

    /// Serves the draws of a dry run from these vectors and matrices of bits.
    pub fn insecure_stock(&self, demand: Demand<Kind>, made: BTreeMap<Kind, (Vec<Vector>, Vec<Bits>)>) {
        let stock = made.into_iter().map(|(kind, (vectors, bits))| {
            let (vectors, bits) =
                (vectors.into_iter().map(Share::of).collect(), bits.into_iter().map(Share::of).collect());
            (kind, Material::new(vectors, bits))
        });
        self.stock.fill(demand, stock.collect());
    }

    /// Returns the names of the masks of factors that exist.
    pub fn insecure_masks(&self) -> Vec<u32> {
        self.masks.kept.lock().keys().chain(self.masks.new.lock().keys()).copied().collect()
    }
}

impl PikaMalicious {
    /// Returns the malicious form of a party, with the keys that grow from its seeds of pairs.
    pub fn insecure_with(pairs: Pika, params: Params) -> Result<PikaMalicious> {
        Self::with(pairs, params)
    }

    /// Returns this party's first and second values of all leaves of dealt places, by digit.
    pub fn insecure_leaves(&self, digits: Digits, blocks: &Vector, len: usize) -> Vec<[Vector; 2]> {
        let keys = digits::keys_of(digits, self.third.pairs.me, blocks, len).unwrap_or_default();
        let each = |keys| digits::values(&self.third.pairs.hash, keys).map(|values| (*values).clone());
        keys.iter().map(each).collect()
    }

    /// Returns the protocol for two parties, for tests in which one of them deviates.
    pub fn insecure_online(&self) -> &Authenticated {
        &self.online
    }
}
