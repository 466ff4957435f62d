//! Triples without a division: a throwaway factor shows that the bits of a were used correctly.
//!
//! **Source**: ours (docs/security/spdz2k.md), after the triples of Cramer et al. 2018 (ePrint 2018/482), Fig. 8.
//! **Deviation**: the OTs that multiply with b multiply with a throwaway kappa, too, and kappa is sacrificed first.
//! What a cheater learns from whether that passes concerns kappa alone, and after it the cheater cannot learn anything
//! of b. **Model**: malicious, all but one. **Notation**: P_i has a^i, P_j has b^j and kappa^j; k, W, V, sg' and L as
//! in [`params`](crate::params); x, y, xh choice bits of OTs, alike towards all peers.
//!
//! | what | ring |
//! |---|---|
//! | a, ahat, kappa, u = a kappa, uh = ahat kappa | Z_2^W, W = k + 2 sg' |
//! | b in the OTs, c = a b, ch = ahat b | Z_2^(k+sg') |
//! | authenticated values, and openings; b | Z_2^V, V = k + 2 s |
//! | t | Z_2^(sg'+1) |
//!
//! | step | rounds, n = 2 | what |
//! |---|---|---|
//! | 1 | 4 | each ordered pair i, j: P_i chooses k bits x, L bits y, W bits xh; shares of them times kappa^j and b^j |
//! | 2 | 2 | toss r, rh; a^i = sum 2^h x_h + <r, y>, ahat^i from xh and rh alike; u, uh, c, ch |
//! | 3 | 4 | random bits above ahat, uh and ch; authenticate all |
//! | 4 | 7 | toss t; rho = t a - ahat, open and check |
//! | 5 | 6 | t u - uh - rho kappa, open and check: 0 mod 2^W |
//! | 6 | 6 | t c - ch - rho b, open and check: 0 mod 2^(k+sg') |
//!
//! Bytes to each peer for a triple, k = s = 64: 13.5 kB.

use quorate_authenticated::shared::Shared;
use quorate_engine::{Ctx, Result};
use quorate_ring::{Ring, Vector, Wiped};

use crate::coins::Coins;
use crate::draws::{lifted, own};
use crate::factors::{Rows, weigh};
use crate::keys::Keys;
use crate::params::Params;
use crate::sacrifice::TriplesClaim;
use crate::transfers::Multiplier;
use crate::triple::Triples;

/// Returns Z_2^(k+sg').
fn products_with_b(params: Params, ring: Ring) -> Ring {
    Ring::of(ring.bits() + params.inner_bits())
}

/// What a party has after step 2: of a and of ahat.
struct Products {
    factors: [Wiped<Vector>; 2],
    of_kappa: [Wiped<Vector>; 2],
    of_b: [Wiped<Vector>; 2],
}

/// a, ahat, kappa, u, uh, b, c, ch.
type SharedParts = [Shared; 8];

/// Makes a batch of triples over Z_2^k.
pub(crate) async fn batch(keys: Keys<'_>, ctx: &Ctx, ring: Ring, len: usize) -> Result<Triples> {
    let params = keys.params;
    let [a, a_hat, kappa, u, u_hat, b, c, c_hat] = multiplied_by_two(keys, ctx, ring, len).await?;
    let of_kappa = TriplesClaim { a: &a, a_hat: &a_hat, c: &u, c_hat: &u_hat, b: &kappa };
    let of_b = TriplesClaim { c: &c, c_hat: &c_hat, b: &b, ..of_kappa };
    let challenge = keys.sacrifice().challenge(ctx, params.inner_bits() + 1, &of_kappa).await?;
    // Until this has passed, no opening depends on b.
    keys.sacrifice().answer(ctx, (params.values(ring), 0), &challenge, &of_kappa).await?;
    keys.sacrifice().answer(ctx, (products_with_b(params, ring), 1), &challenge, &of_b).await?;
    let shares = params.shares(ring);
    Ok(Triples { a: a.reduced(shares), b: b.reduced(shares), c: c.reduced(shares) })
}

/// Runs steps 1 to 3.
async fn multiplied_by_two(keys: Keys<'_>, ctx: &Ctx, ring: Ring, len: usize) -> Result<SharedParts> {
    let (values, words) = (keys.params.values(ring), keys.params.words(ring));
    let [kappa, b] = [values, words].map(|ring| own(ctx, &keys, (ring, len)));
    let short_b = Wiped(b.convert(products_with_b(keys.params, ring)));
    let made = products_of_two(keys, ctx, ring, [&kappa, &short_b]).await?;
    let [[a, a_hat], [u, u_hat], [c, c_hat]] = [&made.factors, &made.of_kappa, &made.of_b]
        .map(|both| [Wiped(both[0].convert(words)), lifted(ctx, &keys, &both[1], words)]);
    let kappa = Wiped(kappa.convert(words));
    keys.voles().authenticate_sums(ctx, [a, a_hat, kappa, u, u_hat, b, c, c_hat]).await
}

/// Runs steps 1 and 2.
async fn products_of_two(keys: Keys<'_>, ctx: &Ctx, ring: Ring, factors: [&Vector; 2]) -> Result<Products> {
    let (rows, values, len) = (Rows::new(keys.params, ring), keys.params.values(ring), factors[0].len());
    let wanted = factors.map(|factor| Multiplier { value: factor, bits: rows.bits(factor.ring()) });
    let made = keys.ots().products(ctx, (rows.count(), len), &wanted).await?;
    // No party commits to its coins before it has all corrections, so r is unknown until all have them.
    let mut coins = Coins::toss(ctx, &keys.session).await?;
    let mut bits = rows.chosen(&made.choices, (values, len));
    let mut shares = factors.map(|factor| rows.none(ctx.is_dry(), (factor.ring(), len)));
    for (shares, products) in shares.iter_mut().zip(made.products) {
        products.into_iter().enumerate().for_each(|(row, share)| shares.add(rows, row, share));
    }
    weigh(&mut coins, rows, (values, len), Some(&mut bits), shares.iter_mut().collect());
    let (a, [mut of_kappa, mut of_b]) = (bits.both, shares.map(|shares| shares.both));
    for (product, factor) in [&mut of_kappa, &mut of_b].into_iter().zip(factors) {
        for (product, a) in product.iter_mut().zip(&a) {
            product.add_mul_assign(&Wiped(a.convert(factor.ring())), factor);
        }
    }
    Ok(Products { factors: a, of_kappa, of_b })
}

#[cfg(test)]
mod tests {
    use quorate_engine::testing::parties;
    use quorate_engine::{Error, Phase};
    use quorate_gadgets::testing::may_be_chance;

    use super::*;
    use crate::party::Spdz2k;
    use crate::sacrifice::zero_of;
    use quorate_adversary::{By, Twist};

    const K: u32 = 4;
    const LEN: usize = 1600;

    /// For each triple: whether the test with kappa passes, whether the test with b passes, kappa, and b.
    fn passing(twist: Twist, by: i128) -> Vec<(bool, bool, u64, u64)> {
        let (params, ring) = (Params::new(32, true).unwrap(), Ring::of(K));
        let ends = parties(2, |mut party| {
            let mut run = party.begin_alone().unwrap();
            let done = run.phase(Phase::Offline, async |ctx| {
                let s = Spdz2k::set_up(ctx, params, None).await?;
                let keys = s.keys();
                if ctx.me() == 1 {
                    keys.adversary().twist(twist, By::All(by));
                }
                let [a, a_hat, kappa, u, u_hat, b, c, c_hat] = multiplied_by_two(keys, ctx, ring, LEN).await?;
                let of_kappa = TriplesClaim { a: &a, a_hat: &a_hat, c: &u, c_hat: &u_hat, b: &kappa };
                let of_b = TriplesClaim { c: &c, c_hat: &c_hat, b: &b, ..of_kappa };
                let challenge = keys.sacrifice().challenge(ctx, params.inner_bits() + 1, &of_kappa).await?;
                let mut zeros = Vec::new();
                for (ring, claim) in [(params.values(ring), &of_kappa), (products_with_b(params, ring), &of_b)] {
                    let zero = keys.words().commit_and_open(ctx, &zero_of(&challenge, claim)).await?;
                    zeros.push(zero.value.convert(ring).to_limbs().iter().map(|limbs| *limbs == [0; 4]).collect());
                }
                Ok::<_, Error>((zeros, [kappa, b].map(|x| x.share.convert(Ring::of(K)))))
            });
            run.finish();
            done.unwrap()
        });
        let total = |i: usize| {
            let mut sum = ends[0].1[i].clone();
            sum.add_assign(&ends[1].1[i]);
            sum.to_u64s()
        };
        let zeros: &Vec<Vec<bool>> = &ends[0].0;
        let all = zeros[0].iter().zip(&zeros[1]).zip(total(0).into_iter().zip(total(1)));
        all.map(|((first, second), (kappa, b))| (*first, *second, kappa, b)).collect()
    }

    fn near(count: usize, all: usize, probability: f64) {
        assert!(may_be_chance(count, all, probability), "{count} of {all}");
    }

    /// ahat is off from what the bits say by 2^(W-1): the test with kappa shows its lowest bit, the test with b shows
    /// nothing, and b is even half of the time.
    #[test]
    fn what_passing_tells_is_of_the_throwaway_factor_alone() {
        let values = Params::new(32, true).unwrap().values(Ring::of(K)).bits();
        let all = passing(Twist::Authenticated(1), 1 << (values - 1));
        assert!(all.iter().all(|&(first, second, kappa, _)| first == (kappa % 2 == 0) && second));
        let passed: Vec<u64> = all.iter().filter(|each| each.0).map(|each| each.3).collect();
        near(passed.len(), LEN, 0.5);
        for bit in 0..K {
            near(passed.iter().filter(|&b| b >> bit & 1 == 0).count(), passed.len(), 0.5);
        }
    }

    /// A lie of 2^(k+sg'-1), the largest with which the other test would show a bit of b: one of 2^28 passes.
    #[test]
    fn a_lie_that_would_tell_a_bit_of_b_fails_before() {
        let products = products_with_b(Params::new(32, true).unwrap(), Ring::of(K)).bits();
        let all = passing(Twist::Authenticated(1), 1 << (products - 1));
        assert!(all.iter().all(|&(_, second, _, b)| second == (b % 2 == 0)));
        assert!(all.iter().filter(|each| each.0).count() < 3);
    }

    /// Another factor in an OT of x, for kappa and for b.
    #[test]
    fn other_factors_are_found_half_of_the_time() {
        for factor in [0, 1] {
            let all = passing(Twist::Transfer { peer: 0, factor, row: 1 }, 1);
            let [first, second] = [|each: &(bool, bool, u64, u64)| each.0, |each: &(bool, bool, u64, u64)| each.1]
                .map(|passes| all.iter().filter(|each| passes(each)).count());
            let (lied, other) = if factor == 0 { (first, second) } else { (second, first) };
            near(lied, LEN, 0.5);
            assert_eq!(other, LEN, "the other factor was right");
        }
    }
}
