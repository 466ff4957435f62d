//! The sacrifice: that products are right, at the price of another product of the same factor.
//!
//! **Source**: Cramer et al. 2018 (ePrint 2018/482), Fig. 8, after Keller, Orsini, Scholl 2016 (MASCOT). **Deviation**:
//! words are opened whole, below random bits, and t is tossed after all that it is for is authenticated. **Model**:
//! malicious, all but one; what passing tells of b depends on what b is, and is argued where it is used. **Notation**:
//! c = a b and ch = ahat b are to be shown modulo 2^w; all are authenticated modulo 2^V, with uniform bits above those
//! that count in ahat and ch.
//!
//! | step | rounds | what |
//! |---|---|---|
//! | 1 | 2 | toss t |
//! | 2 | 5; 6 if n > 2 | open rho = t a - ahat, and check it |
//! | 3 | 6 | commit to t c - ch - rho b and open it, and check it: 0 modulo 2^w, or the run ends |

use quorate_engine::{Ctx, Error, Result};
use quorate_ring::{Ring, Vector};

use crate::coins::Coins;
use crate::factors::DIVIDED;
use crate::keys::Keys;
use crate::shared::Shared;
use crate::twists::Twist;
use crate::words::{Opened, is_zero};

const SACRIFICE: &str = "the sacrifice of multiplication triples";
const REMAINDERS: &str = "the remainders of multiplication triples";

/// What steps 1 and 2 make known.
pub(crate) struct Challenge {
    t: Vector,
    rho: Vector,
}

impl Keys {
    /// All steps, with t of sg' + 1 bits.
    pub(crate) async fn sacrifice(&self, ctx: &Ctx, values: Ring, [a, a_hat, c, c_hat, b]: [&Shared; 5]) -> Result<()> {
        let challenge = self.challenge(ctx, self.params.inner_bits() + 1, [a, a_hat]).await?;
        self.sacrificed(ctx, (values, 0), &challenge, [c, c_hat, b]).await
    }

    /// Steps 1 and 2, with t of so many bits.
    pub(crate) async fn challenge(&self, ctx: &Ctx, bits: u32, [a, a_hat]: [&Shared; 2]) -> Result<Challenge> {
        let (words, len) = (a.share.ring(), a.share.len());
        let mut coins = Coins::toss(ctx, &self.session).await?;
        let t = coins.draw(bits, (words, 1)).broadcast_scalar(len);
        let rho = self.twisted(Twist::Rho, a.times(&t).minus(a_hat));
        let rho = self.open_words(ctx, &rho).await?;
        self.check_words(ctx, &[&rho], SACRIFICE).await?;
        Ok(Challenge { t, rho: rho.value })
    }

    /// Step 3, the first one or the second of one challenge.
    pub(crate) async fn sacrificed(
        &self,
        ctx: &Ctx,
        (ring, number): (Ring, usize),
        challenge: &Challenge,
        [c, c_hat, b]: [&Shared; 3],
    ) -> Result<()> {
        let rest = self.twisted(Twist::Zero(number), rest(challenge, [c, c_hat, b]));
        let rest = self.commit_and_open_words(ctx, &rest).await?;
        self.check_words(ctx, &[&rest], SACRIFICE).await?;
        zero_below(ctx, &rest, ring, SACRIFICE)
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
        let opened = self.open_words(ctx, &self.twisted(Twist::Rest, rest)).await?;
        self.check_words(ctx, &[&opened], DIVIDED).await?;
        zero_below(ctx, &opened, values, DIVIDED)
    }
}

/// t c - ch - rho b.
pub(crate) fn rest(challenge: &Challenge, [c, c_hat, b]: [&Shared; 3]) -> Shared {
    c.times(&challenge.t).minus(c_hat).minus(&b.times(&challenge.rho))
}

/// Refuses words that are not zero modulo the size of a smaller ring.
pub(crate) fn zero_below(ctx: &Ctx, opened: &Opened, ring: Ring, check: &'static str) -> Result<()> {
    match ctx.is_dry() || is_zero(&opened.value.convert(ring)) {
        true => Ok(()),
        false => Err(Error::Cheating { check }),
    }
}
