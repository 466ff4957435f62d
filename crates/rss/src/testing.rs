//! **Insecure**: parties with seeds that tests choose.

use std::sync::Arc;

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
        if let Some(state) = Arc::get_mut(&mut rss.0) {
            state.seeds = state.maps.held.iter().map(|&set| seed_of(set)).collect();
            state.private = private;
        }
        Ok(rss)
    }
}
