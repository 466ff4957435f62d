//! The division of products by 2^sg', which ends triples with throwaway parts of factors.
//!
//! **Source**: that of [`crate::triple`], whose step 5 this is a part of. **Notation** as there: w and v modulo 2^W are
//! the two shares of a product a B at P_i and P_j, B = beta + 2^sg' b.

use quorate_adversary::Twist;
use quorate_authenticated::messages::is_zero;
use quorate_authenticated::shared::Shared;
use quorate_engine::{Ctx, Error, Linear, Result};
use quorate_ring::{Ring, Vector, Wiped};

use crate::word_openings::{Opened, Words, zero_below};

const REMAINDERS: &str = "the remainders of multiplication triples";
const DIVIDED: &str = "the divided multiplication triples";

/// The division and its checks.
pub(crate) struct Division<'k> {
    pub words: Words<'k>,
}

impl Division<'_> {
    /// Returns sg'.
    fn inner_bits(&self) -> u32 {
        self.words.keys.params.inner_bits()
    }

    /// Returns the remainder of -v modulo 2^sg', which P_j sends P_i.
    pub fn remainder(&self, v: &Vector) -> Wiped<Vector> {
        Wiped(negated(v).convert(Ring::of(self.inner_bits())))
    }

    /// Returns -v modulo 2^W, divided by 2^sg' and rounded down; the part of P_j is its negative.
    pub fn quotient(&self, v: &Vector, quotients: Ring) -> Wiped<Vector> {
        let mut quotient = negated(v);
        quotient.shr_logical(self.inner_bits());
        Wiped(quotient.convert(quotients))
    }

    /// Returns the part of P_i, of all peers together, divided by 2^sg'. The run ends if 2^sg' does not divide it.
    pub fn exact_quotient(&self, ctx: &Ctx, mut part: Wiped<Vector>, quotients: Ring) -> Result<Wiped<Vector>> {
        let inner = self.inner_bits();
        let divides = is_zero(&Wiped(part.convert(Ring::of(inner))));
        if !ctx.is_dry() && !divides {
            return Err(Error::Cheating { check: DIVIDED });
        }
        part.shr_logical(inner);
        Ok(Wiped(part.convert(quotients)))
    }

    /// Checks opened betas: each belongs to one party and must be below 2^sg'.
    pub async fn check_betas(&self, ctx: &Ctx, betas: &[&Opened]) -> Result<()> {
        self.words.check(ctx, betas, REMAINDERS).await?;
        let mut fits = true;
        for beta in betas {
            let mut above = beta.value.clone();
            above.shr_logical(self.inner_bits());
            fits &= is_zero(&above);
        }
        match ctx.is_dry() || fits {
            true => Ok(()),
            false => Err(Error::Cheating { check: REMAINDERS }),
        }
    }

    /// Runs the last check: 2^sg' c + beta a - c~ is 0 modulo 2^W.
    pub async fn check(&self, ctx: &Ctx, values: Ring, [a, c, divided]: [&Shared; 3], betas: &Vector) -> Result<()> {
        let zero = divided.raised(a.share.ring(), self.inner_bits()).plus(&a.times(betas)).minus(c);
        let opened = self.words.open(ctx, &self.words.keys.twisted_share(Twist::Rest, zero)).await?;
        self.words.check(ctx, &[&opened], DIVIDED).await?;
        zero_below(ctx, &opened, values, DIVIDED)
    }
}

/// Returns w - a beta - R: the part of P_i towards one peer before the division.
pub(crate) fn before_division(w: &Vector, a: &Vector, (beta, remainder): (&Vector, &Vector)) -> Wiped<Vector> {
    let values = w.ring();
    let mut known = Wiped(Linear::Reduce(values).apply(beta));
    known.mul_assign(a);
    known.add_assign(&remainder.convert(values));
    known.rsub_assign(w);
    known
}

/// Returns -x.
fn negated(x: &Vector) -> Wiped<Vector> {
    let mut negated = Wiped(x.clone());
    negated.neg_assign();
    negated
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Keys;
    use crate::params::Params;
    use crate::sacrifice::tests::{ends, is_found};

    /// A part beta of 2^sg' is too large, though its tag is right; one of 2^sg' - 1 is not.
    #[test]
    fn parts_of_factors_are_as_short_as_they_have_to_be() {
        let betas = async |ctx: &Ctx, keys: &Keys, words: Vec<Shared>| {
            let opened = keys.words().open_owned(ctx, &words).await?;
            keys.division().check_betas(ctx, &opened.iter().collect::<Vec<_>>()).await
        };
        let size = |params: Params| 1 << params.inner_bits();
        assert!(ends(|params| size(params) - 1, None, betas).iter().all(Result::is_ok));
        is_found(&ends(size, None, betas), REMAINDERS);
    }

    /// The run ends unless what is left of a product is a multiple of 2^sg': nothing is rounded.
    #[test]
    fn only_multiples_are_divided() {
        let divide = |remainder: u128| {
            async move |ctx: &Ctx, keys: &Keys, _: Vec<Shared>| {
                let part =
                    Vector::from_u128s(keys.params.values(Ring::of(4)), &[(5 << keys.params.inner_bits()) + remainder]);
                let quotient = keys.division().exact_quotient(ctx, Wiped(part), Ring::of(31))?;
                assert_eq!(quotient.to_u64s(), [5]);
                Ok(())
            }
        };
        assert!(ends(|_| 3, None, divide(0)).iter().all(Result::is_ok));
        for remainder in [1, 1 << 26] {
            is_found(&ends(|_| 3, None, divide(remainder)), DIVIDED);
        }
    }
}
