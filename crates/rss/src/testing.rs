//! **Insecure**: parties with seeds that tests choose.

use quorate_crypto::Seed;
use quorate_engine::{Ctx, Result};
use quorate_gadgets::testing::Tested;

use crate::setup::Rss;

impl Tested for Rss {
    async fn set_up(ctx: &Ctx) -> Result<Self> {
        Self::setup(ctx).await
    }
}

impl Rss {
    /// Returns a party with these seeds, for tests that enumerate all randomness.
    pub fn insecure_with_seeds(parties: usize, me: usize, seed_of: impl Fn(u8) -> Seed, private: Seed) -> Result<Rss> {
        let mut rss = Self::dry(parties, me)?;
        rss.seeds = rss.maps.held.iter().map(|&set| seed_of(set)).collect();
        rss.private = private;
        Ok(rss)
    }
}
