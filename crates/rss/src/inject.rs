//! Bits shared over Z_2 as elements of Z_2^k, and random bits made from them, for three parties.
//!
//! **Source**: ours, on the summands of [`crate::split`]. **Model**: semi-honest, 1 of 3. **Notation**: x = a xor b, a
//! known to one party and b to the others.
//!
//! | operation | rounds | sent by all parties, per bit |
//! |---|---|---|
//! | [`Rss::inject`]: a xor b = b + (1 - 2b) a | 2 | a: 1 element; the product: 2 |
//! | [`Rss::inject_random_bits`]: of bits that all keys give | 2 | as above; nothing over Z_2 |
//!
//! So a party sends one element for each bit. RandBit (`randbit`) sends two of Z_2^(k+2), in one round less.

use quorate_engine::{Ctx, Result};
use quorate_gadgets::convert;
use quorate_ring::{Bits, Ring, Vector};

use crate::setup::Rss;
use crate::share::{Shared, Wiped};

impl Rss {
    /// Returns one row of bits as 0 and 1 of the ring. Three parties only.
    pub(crate) async fn inject(&self, ctx: &Ctx, x: &Shared<Bits>, ring: Ring) -> Result<Shared<Vector>> {
        let len = x.shape.1;
        let halves = self.halves(x, len);
        let a = self.owned(ctx, &*Wiped(halves.mine.to_vector(ring)), len).await?;
        let signs = [0, 1].map(|i| Wiped(convert::signs(&halves.theirs[i], ring)));
        let mut sum = self.paired(ctx, &a, &signs, len).await?;
        let theirs = [0, 1].map(|i| Wiped(halves.theirs[i].to_vector(ring)));
        self.add_placed(&mut sum, &theirs);
        Ok(sum)
    }

    /// Returns uniform bits as elements of Z_2^k: PRandR over Z_2, injected. Three parties only.
    pub(crate) async fn inject_random_bits(&self, ctx: &Ctx, ring: Ring, len: usize) -> Result<Shared<Vector>> {
        let bits: Shared<Bits> = self.prandr(ctx, (1, len));
        match ring.bits() {
            1 => Ok(self.as_top_bit(&bits, ring)),
            _ => self.inject(ctx, &bits, ring).await,
        }
    }
}
