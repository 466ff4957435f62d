//! PRandR: a shared uniform value, without communication.
//!
//! **Source**: section 4.1. **Model**: semi-honest, t of n. Rounds 0, bytes 0. Each holder of T draws the same x_T from
//! k_T.

use quorate_engine::{Ctx, Stream};
use quorate_ring::Module;

use crate::setup::Rss;
use crate::share::Shared;

impl Rss {
    /// Returns one stream for each share held, for one step of a protocol.
    pub(crate) fn streams(&self, ctx: &Ctx) -> Vec<Stream> {
        let randomness = ctx.randomness();
        if ctx.is_dry() {
            return self.maps.held.iter().map(|_| randomness.stream(&self.private)).collect();
        }
        self.seeds.iter().map(|seed| randomness.stream(seed)).collect()
    }

    /// Returns a uniform value of this shape that no coalition of t parties knows.
    pub fn prandr<M: Module>(&self, ctx: &Ctx, shape: M::Shape) -> Shared<M> {
        Shared::new(shape, self.streams(ctx).iter_mut().map(|stream| stream.draw(shape)).collect())
    }
}
