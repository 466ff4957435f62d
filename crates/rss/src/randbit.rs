//! RandBit: a uniform bit as an element of Z_2^k.
//!
//! **Source**: Protocol 6 (Appendix A.2), after Damgard et al. 2019. **Model**: semi-honest, t of n. Rounds: 1. Sent
//! per party: n - 1 elements of Z_2^(k+2). Three parties make them by `inject`, unless this form is selected.
//!
//! **Notation**: `odd` is a = 2u + 1, `square` is e, (c, 1/c) its smallest root and that root's inverse modulo 2^(k+2).
//! d = a/c + 1 is 0 or 2 modulo 2^(k+1). Every share of it is even, because the public 1s are added to one share, T0.

use quorate_engine::{Ctx, Result};
use quorate_ring::{Ring, Vector};

use crate::forms::Made;
use crate::setup::Rss;
use crate::share::Shared;

impl Rss {
    /// Returns random bits of either form.
    pub(crate) async fn make_random_bits(
        &self,
        ctx: &Ctx,
        form: Made,
        ring: Ring,
        len: usize,
    ) -> Result<Shared<Vector>> {
        match form {
            Made::OfSummands => self.inject_random_bits(ctx, ring, len).await,
            Made::OfContributions | Made::OfRandomBits => self.square_roots(ctx, ring, len).await,
        }
    }

    pub(crate) async fn square_roots(&self, ctx: &Ctx, ring: Ring, len: usize) -> Result<Shared<Vector>> {
        let wide = Ring::of(ring.bits() + 2);
        let mut odd: Shared<Vector> = self.prandr(ctx, (wide, len));
        odd.shares.iter_mut().for_each(|u| u.shl(1));
        self.add_public_scalar(&mut odd, 1);
        let square = self.multiply_and_open(ctx, &odd, &odd).await?;
        let (_, inverse) = square.odd_square_roots();
        let mut even = odd;
        even.shares.iter_mut().for_each(|share| share.mul_assign(&inverse));
        self.add_public_scalar(&mut even, 1);
        Ok(even.map(|share| {
            let mut half = share.clone();
            half.shr_logical(1);
            half.convert(ring)
        }))
    }

    /// Adds a public number to every element, in the share T0.
    pub(crate) fn add_public_scalar(&self, x: &mut Shared<Vector>, value: u128) {
        if let Some(own) = self.maps.public_share {
            x.shares[own].add_scalar(value);
        }
    }
}
