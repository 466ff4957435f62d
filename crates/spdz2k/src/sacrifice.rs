//! The sacrifice: it shows that products are right, at the price of another product of the same factor.
//!
//! **Source**: Cramer et al. 2018 (ePrint 2018/482), Fig. 8, after Keller, Orsini, Scholl 2016 (MASCOT). **Deviation**:
//! words are opened whole, below random bits, and t is tossed after everything that it is for is authenticated.
//! **Model**: malicious, all but one. What a cheater learns of b from a passed sacrifice depends on b. The modules that
//! use the sacrifice argue this. **Notation**: c = a b and ch = ahat b are to be shown modulo 2^w. All are
//! authenticated modulo 2^V, with uniform bits above those that count in ahat and ch.
//!
//! | step | rounds | what |
//! |---|---|---|
//! | 1 | 2 | toss t |
//! | 2 | 5; 6 if n > 2 | open rho = t a - ahat, and check it |
//! | 3 | 6 | commit to t c - ch - rho b and open it, and check it: 0 modulo 2^w, or the run ends |

use quorate_adversary::Twist;
use quorate_authenticated::messages::is_zero;
use quorate_authenticated::shared::Shared;
use quorate_engine::{Ctx, Error, Result};
use quorate_ring::{Ring, Vector};

use crate::coins::Coins;
use crate::factors::DIVIDED;
use crate::keys::Keys;
use crate::word_openings::Opened;

const SACRIFICE: &str = "the sacrifice of multiplication triples";
const REMAINDERS: &str = "the remainders of multiplication triples";

/// The claim that c = a b and ch = ahat b.
pub(crate) struct Claim<'s> {
    pub a: &'s Shared,
    pub a_hat: &'s Shared,
    pub c: &'s Shared,
    pub c_hat: &'s Shared,
    pub b: &'s Shared,
}

/// The public values of steps 1 and 2.
pub(crate) struct Challenge {
    t: Vector,
    rho: Vector,
}

impl Keys<'_> {
    /// Runs all steps, with t of sg' + 1 bits.
    pub(crate) async fn sacrifice(&self, ctx: &Ctx, values: Ring, claim: &Claim<'_>) -> Result<()> {
        let challenge = self.challenge(ctx, self.params.inner_bits() + 1, [claim.a, claim.a_hat]).await?;
        self.sacrificed(ctx, (values, 0), &challenge, [claim.c, claim.c_hat, claim.b]).await
    }

    /// Runs steps 1 and 2, with t of `bits` bits.
    pub(crate) async fn challenge(&self, ctx: &Ctx, bits: u32, [a, a_hat]: [&Shared; 2]) -> Result<Challenge> {
        let (words, len) = (a.share.ring(), a.share.len());
        let mut coins = Coins::toss(ctx, &self.session).await?;
        let t = coins.draw(bits, (words, 1)).broadcast_scalar(len);
        let rho = self.twisted_share(Twist::Rho, a.times(&t).minus(a_hat));
        let rho = self.open_words(ctx, &rho).await?;
        self.check_words(ctx, &[&rho], SACRIFICE).await?;
        Ok(Challenge { t, rho: rho.value })
    }

    /// Runs step 3, the first or the second of one challenge.
    pub(crate) async fn sacrificed(
        &self,
        ctx: &Ctx,
        (ring, number): (Ring, usize),
        challenge: &Challenge,
        [c, c_hat, b]: [&Shared; 3],
    ) -> Result<()> {
        let rest = self.twisted_share(Twist::Zero(number), rest(challenge, [c, c_hat, b]));
        let rest = self.commit_and_open_words(ctx, &rest).await?;
        self.check_words(ctx, &[&rest], SACRIFICE).await?;
        zero_below(ctx, &rest, ring, SACRIFICE)
    }

    /// Checks opened betas: each belongs to one party and must be below 2^sg'.
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

    /// Runs the last check: 2^sg' c + beta a - c~ is 0 modulo 2^W.
    pub(crate) async fn check_divided(
        &self,
        ctx: &Ctx,
        values: Ring,
        [a, c, divided]: [&Shared; 3],
        betas: &Vector,
    ) -> Result<()> {
        let rest = divided.raised(a.share.ring(), self.params.inner_bits()).plus(&a.times(betas)).minus(c);
        let opened = self.open_words(ctx, &self.twisted_share(Twist::Rest, rest)).await?;
        self.check_words(ctx, &[&opened], DIVIDED).await?;
        zero_below(ctx, &opened, values, DIVIDED)
    }
}

/// Returns t c - ch - rho b.
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

#[cfg(test)]
mod tests {
    use quorate_engine::Phase;
    use quorate_engine::testing::parties;
    use quorate_ring::Wiped;

    use super::*;
    use crate::authenticate::Own;
    use crate::params::Params;
    use crate::party::Spdz2k;
    use quorate_adversary::By;
    use quorate_authenticated::shared::sum;

    /// How two parties end that run `work` on authenticated words, by owner: each party's vector is its word twice.
    fn ends(
        word: impl Fn(Params) -> u128 + Sync,
        twist: Option<(Twist, By)>,
        work: impl AsyncFn(&Ctx, &Keys, Vec<Shared>) -> Result<()> + Sync,
    ) -> Vec<Result<()>> {
        parties(2, |mut party| {
            let mut run = party.begin_alone().unwrap();
            let done = run.phase(Phase::Offline, async |ctx| {
                let params = Params::new(32, true).unwrap();
                let s = Spdz2k::set_up(ctx, params, None).await?;
                let keys = s.keys();
                if let Some((twist, by)) = twist.filter(|_| ctx.me() == 1) {
                    keys.adversary().twist(twist, by);
                }
                let own = Vector::from_u128s(params.words(Ring::of(4)), &[word(params); 2]);
                let by_owner = keys.authenticate(ctx, &[Own::each(&own)]).await?.swap_remove(0);
                work(ctx, &keys, by_owner).await
            });
            run.finish();
            done
        })
    }

    fn is_found(ends: &[Result<()>], by: &str) {
        let found = |end: &Result<()>| matches!(end, Err(Error::Cheating { check }) if *check == by);
        assert!(ends.iter().all(Result::is_err) && ends.iter().any(found), "{ends:?}");
    }

    /// A lie about rho alone is found when rho is opened, whatever comes after it: the sacrifice depends on rho.
    #[test]
    fn what_a_challenge_opens_is_checked_there() {
        let challenge = async |ctx: &Ctx, keys: &Keys, word: Vec<Shared>| {
            let word = sum(&word);
            keys.challenge(ctx, 8, [&word, &word]).await.map(drop)
        };
        assert!(ends(|_| 3, None, challenge).iter().all(Result::is_ok));
        for bit in [0, 20, 40] {
            is_found(&ends(|_| 3, Some((Twist::Rho, By::Plus(bit))), challenge), SACRIFICE);
            // Each word has a coin of its own.
            is_found(&ends(|_| 3, Some((Twist::Rho, By::Pair(bit))), challenge), SACRIFICE);
        }
    }

    /// A part beta of 2^sg' is too large, though its tag is right; one of 2^sg' - 1 is not.
    #[test]
    fn parts_of_factors_are_as_short_as_they_have_to_be() {
        let betas = async |ctx: &Ctx, keys: &Keys, words: Vec<Shared>| {
            let opened = keys.open_owned(ctx, &words).await?;
            keys.check_betas(ctx, &opened.iter().collect::<Vec<_>>()).await
        };
        let size = |params: Params| 1 << params.inner_bits();
        assert!(ends(|params| size(params) - 1, None, betas).iter().all(Result::is_ok));
        is_found(&ends(size, None, betas), REMAINDERS);
    }

    /// The run ends unless what is left of a product is a multiple of 2^sg': nothing is rounded.
    #[test]
    fn only_multiples_are_divided() {
        let divide = |rest: u128| {
            async move |ctx: &Ctx, keys: &Keys, _: Vec<Shared>| {
                let part =
                    Vector::from_u128s(keys.params.values(Ring::of(4)), &[(5 << keys.params.inner_bits()) + rest]);
                let quotient = keys.exactly_divided(ctx, Wiped(part), Ring::of(31))?;
                assert_eq!(quotient.to_u64s(), [5]);
                Ok(())
            }
        };
        assert!(ends(|_| 3, None, divide(0)).iter().all(Result::is_ok));
        for rest in [1, 1 << 26] {
            is_found(&ends(|_| 3, None, divide(rest)), DIVIDED);
        }
    }
}
