//! **Insecure**: what tests look at, and values that they choose.

use std::collections::BTreeMap;

use quorate_engine::{Ctx, Demand, Result};
use quorate_gadgets::testing::Tested;
use quorate_ring::{Bits, Vector};

use crate::Share;
use crate::kind::{Kind, Material};
use crate::setup::Aby;

impl Tested for Aby {
    async fn set_up(ctx: &Ctx) -> Result<Self> {
        Self::setup(ctx).await
    }
}

impl Aby {
    /// Serves the draws of a dry run from these vectors and matrices of bits, for tests that enumerate all
    /// correlations.
    pub fn insecure_stock(&self, demand: Demand<Kind>, made: BTreeMap<Kind, (Vec<Vector>, Vec<Bits>)>) {
        let stock = made.into_iter().map(|(kind, (vectors, bits))| {
            let (vectors, bits) =
                (vectors.into_iter().map(Share::of).collect(), bits.into_iter().map(Share::of).collect());
            (kind, Material::new(vectors, bits))
        });
        self.stock.fill(demand, stock.collect());
    }
}
