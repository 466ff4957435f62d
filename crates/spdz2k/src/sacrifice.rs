//! What makes sure that triples are products: the sacrifice, the betas, and what is divided.
//!
//! **Source** and notation as [`crate::triple`], whose steps 4 and 5 these are parts of.

use quorate_engine::{Ctx, Error, Result};
use quorate_ring::{Ring, Vector};

use crate::coins::Coins;
use crate::factors::DIVIDED;
use crate::keys::Keys;
use crate::shared::Shared;
use crate::words::{Opened, is_zero};

const SACRIFICE: &str = "the sacrifice of multiplication triples";
const REMAINDERS: &str = "the remainders of multiplication triples";

impl Keys {
    /// Step 4: tosses t, and opens t a - ahat and what that leaves of t c~ - ch~.
    pub(crate) async fn sacrifice(&self, ctx: &Ctx, values: Ring, [a, a_hat, c, c_hat, b]: [&Shared; 5]) -> Result<()> {
        let (words, len) = (a.share.ring(), a.share.len());
        let mut coins = Coins::toss(ctx, &self.session).await?;
        let t = coins.draw(self.params.inner_bits() + 1, (words, 1)).broadcast_scalar(len);
        let rho = self.open_words(ctx, &a.times(&t).minus(a_hat)).await?;
        self.check_words(ctx, &[&rho], SACRIFICE).await?;
        let rest = c.times(&t).minus(c_hat).minus(&b.times(&rho.value));
        let rest = self.commit_and_open_words(ctx, &rest).await?;
        self.check_words(ctx, &[&rest], SACRIFICE).await?;
        zero_below(ctx, &rest, values, SACRIFICE)
    }

    /// Checks opened betas, each of which is one party's and below 2^sg'.
    pub(crate) async fn check_betas(&self, ctx: &Ctx, betas: &[&Opened]) -> Result<()> {
        self.check_words(ctx, betas, REMAINDERS).await?;
        let mut fits = true;
        for beta in betas {
            let mut above = beta.value.clone();
            above.shr_logical(self.params.inner_bits());
            fits &= is_zero(&above);
        }
        match ctx.is_dry() || fits {
            true => Ok(()),
            false => Err(Error::Cheating { check: REMAINDERS }),
        }
    }

    /// The last check: 2^sg' c + beta a - c~ is 0 modulo 2^W.
    pub(crate) async fn check_divided(
        &self,
        ctx: &Ctx,
        values: Ring,
        [a, c, divided]: [&Shared; 3],
        betas: &Vector,
    ) -> Result<()> {
        let rest = divided.raised(a.share.ring(), self.params.inner_bits()).plus(&a.times(betas)).minus(c);
        let opened = self.open_words(ctx, &rest).await?;
        self.check_words(ctx, &[&opened], DIVIDED).await?;
        zero_below(ctx, &opened, values, DIVIDED)
    }
}

/// Refuses words that are not zero modulo the size of a smaller ring.
fn zero_below(ctx: &Ctx, opened: &Opened, ring: Ring, check: &'static str) -> Result<()> {
    match ctx.is_dry() || is_zero(&opened.value.convert(ring)) {
        true => Ok(()),
        false => Err(Error::Cheating { check }),
    }
}
