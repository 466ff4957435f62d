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
use quorate_authenticated::shared::Shared;
use quorate_engine::{Ctx, Result};
use quorate_ring::{Ring, Vector};

use crate::coins::Coins;
use crate::word_openings::{Words, zero_below};

const SACRIFICE: &str = "the sacrifice of multiplication triples";

/// The claim that c = a b and ch = ahat b.
pub(crate) struct TriplesClaim<'s> {
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

/// The sacrifice, with words that are opened under the keys of a party.
pub(crate) struct Sacrifice<'k> {
    pub words: Words<'k>,
}

impl Sacrifice<'_> {
    /// Runs all steps, with t of sg' + 1 bits.
    pub async fn run(&self, ctx: &Ctx, values: Ring, claim: &TriplesClaim<'_>) -> Result<()> {
        let challenge = self.challenge(ctx, self.words.keys.params.inner_bits() + 1, claim).await?;
        self.answer(ctx, (values, 0), &challenge, claim).await
    }

    /// Runs steps 1 and 2, with t of `bits` bits, for all claims about this a and ahat.
    pub async fn challenge(&self, ctx: &Ctx, bits: u32, claim: &TriplesClaim<'_>) -> Result<Challenge> {
        let TriplesClaim { a, a_hat, .. } = claim;
        let (words, len) = (a.share.ring(), a.share.len());
        let mut coins = Coins::toss(ctx, &self.words.keys.session).await?;
        let t = coins.draw(bits, (words, 1)).broadcast_scalar(len);
        let rho = self.words.keys.twisted_share(Twist::Rho, a.times(&t).minus(a_hat));
        let rho = self.words.open(ctx, &rho).await?;
        self.words.check(ctx, &[&rho], SACRIFICE).await?;
        Ok(Challenge { t, rho: rho.value })
    }

    /// Runs step 3, the first or the second of one challenge.
    pub async fn answer(
        &self,
        ctx: &Ctx,
        (ring, number): (Ring, usize),
        challenge: &Challenge,
        claim: &TriplesClaim<'_>,
    ) -> Result<()> {
        let zero = self.words.keys.twisted_share(Twist::Zero(number), zero_of(challenge, claim));
        let zero = self.words.commit_and_open(ctx, &zero).await?;
        self.words.check(ctx, &[&zero], SACRIFICE).await?;
        zero_below(ctx, &zero, ring, SACRIFICE)
    }
}

/// Returns t c - ch - rho b, which is zero if the claim holds.
pub(crate) fn zero_of(challenge: &Challenge, claim: &TriplesClaim<'_>) -> Shared {
    let TriplesClaim { c, c_hat, b, .. } = claim;
    c.times(&challenge.t).minus(c_hat).minus(&b.times(&challenge.rho))
}

#[cfg(test)]
pub(crate) mod tests {
    use quorate_engine::testing::parties;
    use quorate_engine::{Error, Phase};

    use super::*;
    use crate::authenticate::Own;
    use crate::keys::Keys;
    use crate::params::Params;
    use crate::party::Spdz2k;
    use quorate_adversary::By;
    use quorate_authenticated::shared::sum;

    /// How two parties end that run `work` on authenticated words, by owner: each party's vector is its word twice.
    pub(crate) fn ends(
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
                let by_owner = keys.voles().authenticate(ctx, &[Own::each(&own)]).await?.swap_remove(0);
                work(ctx, &keys, by_owner).await
            });
            run.finish();
            done
        })
    }

    pub(crate) fn is_found(ends: &[Result<()>], by: &str) {
        let found = |end: &Result<()>| matches!(end, Err(Error::Cheating { check }) if *check == by);
        assert!(ends.iter().all(Result::is_err) && ends.iter().any(found), "{ends:?}");
    }

    /// A lie about rho alone is found when rho is opened, whatever comes after it: the sacrifice depends on rho.
    #[test]
    fn what_a_challenge_opens_is_checked_there() {
        let challenge = async |ctx: &Ctx, keys: &Keys, word: Vec<Shared>| {
            let word = sum(&word);
            let claim = TriplesClaim { a: &word, a_hat: &word, c: &word, c_hat: &word, b: &word };
            keys.sacrifice().challenge(ctx, 8, &claim).await.map(drop)
        };
        assert!(ends(|_| 3, None, challenge).iter().all(Result::is_ok));
        for bit in [0, 20, 40] {
            is_found(&ends(|_| 3, Some((Twist::Rho, By::Plus(bit))), challenge), SACRIFICE);
            // Each word has a coin of its own.
            is_found(&ends(|_| 3, Some((Twist::Rho, By::Pair(bit))), challenge), SACRIFICE);
        }
    }
}
