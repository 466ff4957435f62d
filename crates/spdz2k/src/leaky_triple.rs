//! The published triples, of which a cheater may learn low bits of b: it is caught with probability one half for each
//! bit.
//!
//! **Source**: Cramer et al. 2018 (ePrint 2018/482), Fig. 8. **Deviation**: t is tossed anew, after all that it is for
//! is authenticated; rho and the zero are opened below random bits; [`SPARE`] more bits go into each factor, for
//! sessions of many triples. **Model**: malicious, all but one: c is right modulo 2^k, a is uniform, but b mod 2^i may
//! be known, with probability 2^-i, where the run goes on (docs/security/spdz2k.md). [`crate::bucket_triple`] makes
//! triples without that leak. **Notation**: P_i has a^i and b^i; k and s as in [`params`](crate::params); tau = 2 k + 4
//! s + 16.
//!
//! | what | ring |
//! |---|---|
//! | b^i, what OTs give, r, rh, a, ahat and all products | Z_2^(k+s) |
//! | authenticated values, and openings | Z_2^(k+2s) |
//! | t, chi of every check | Z_2^s |
//! | what is handed on | shares and tags in Z_2^(k+s) |
//!
//! | step | rounds, n = 2 | what |
//! |---|---|---|
//! | 1 | 4 | each ordered pair i, j: P_i chooses tau bits x; shares of their products with b^j |
//! | 2 | 2 | toss r, rh, tau elements of each; a^i = <r, x>, ahat^i = <rh, x>; c = a b, ch = ahat b |
//! | 3 | 4 | s random bits above ahat and ch; authenticate a, b, c, ahat, ch |
//! | 4 | 13 | toss t; rho = t a - ahat, open and check; t c - ch - rho b, open and check: 0 mod 2^(k+s) |
//!
//! A value x is opened below s random bits r: x + 2^(k+s) r is opened whole. r is authenticated with ahat and with ch.
//!
//! Bytes to each peer for a triple, k = s = 64: 9.3 kB.

use quorate_authenticated::shared::Shared;
use quorate_engine::{Ctx, Result};
use quorate_ring::{Ring, Vector, Wiped};

use crate::coins::Coins;
use crate::draws::{lifted, own};
use crate::keys::Keys;
use crate::params::Params;
use crate::sacrifice::TriplesClaim;
use crate::transfers::{Multiplier, sums_like};
use crate::triple::Triples;

/// Bits that go into each factor beyond the published number, which suffices for one triple. With them, the distance of
/// 2^28 triples of a session from uniform ones is within the bounds of the other steps.
const SPARE: usize = 16;

/// What a party has after step 2.
struct Amplified {
    a: [Wiped<Vector>; 2],
    c: [Wiped<Vector>; 2],
}

/// a, b, c, ahat, ch.
type SharedParts = [Shared; 5];

impl Params {
    /// Returns tau.
    fn choice_bits(self, ring: Ring) -> usize {
        (2 * ring.bits() + 4 * self.key_bits()) as usize + SPARE
    }
}

/// Makes triples over Z_2^k of which b may leak.
pub(crate) async fn make(keys: Keys<'_>, ctx: &Ctx, ring: Ring, len: usize) -> Result<Triples> {
    let shares = keys.params.shares(ring);
    let b = own(ctx, &keys, (shares, len));
    let made = amplified(keys, ctx, ring, &b).await?;
    let [a, b, c, a_hat, c_hat] = authenticated(keys, ctx, keys.params.words(ring), &made, &b).await?;
    let claim = TriplesClaim { a: &a, a_hat: &a_hat, c: &c, c_hat: &c_hat, b: &b };
    let challenge = keys.sacrifice().challenge(ctx, keys.params.key_bits(), &claim).await?;
    keys.sacrifice().answer(ctx, (shares, 0), &challenge, &claim).await?;
    Ok(Triples { a: a.reduced(shares), b: b.reduced(shares), c: c.reduced(shares) })
}

/// Runs steps 1 and 2.
async fn amplified(keys: Keys<'_>, ctx: &Ctx, ring: Ring, b: &Vector) -> Result<Amplified> {
    let (values, len, count) = (b.ring(), b.len(), keys.params.choice_bits(ring));
    let factor = Multiplier { value: b, bits: vec![values.bits(); count] };
    let made = keys.ots().products(ctx, (count, len), &[factor]).await?;
    // No party commits to its coins before it has all corrections, so r is unknown until all have them.
    let mut coins = Coins::toss(ctx, &keys.session).await?;
    let (mut a, mut c) = (sums_like(b), sums_like(b));
    for row in 0..count {
        let bits = made.bits(row, values);
        for (a, c) in a.iter_mut().zip(&mut c) {
            let weight = coins.draw(values.bits(), (values, len));
            a.add_mul_assign(&bits, &weight);
            c.add_mul_assign(&made.products[0][row], &weight);
        }
    }
    for (a, c) in a.iter().zip(&mut c) {
        c.add_mul_assign(a, b);
    }
    Ok(Amplified { a, c })
}

/// Runs step 3.
async fn authenticated(keys: Keys<'_>, ctx: &Ctx, words: Ring, made: &Amplified, b: &Vector) -> Result<SharedParts> {
    let [a, a_hat] = &made.a;
    let [c, c_hat] = &made.c;
    let [a, b, c] = [&**a, b, &**c].map(|value| Wiped(value.convert(words)));
    let [a_hat, c_hat] = [a_hat, c_hat].map(|value| lifted(ctx, &keys, value, words));
    keys.voles().authenticate_sums(ctx, [a, b, c, a_hat, c_hat]).await
}

#[cfg(test)]
mod tests {
    use quorate_engine::testing::parties;
    use quorate_engine::{Error, Phase};
    use quorate_gadgets::testing::may_be_chance;

    use super::*;
    use crate::bucket_triple::combined;
    use crate::party::Spdz2k;
    use crate::sacrifice::zero_of;
    use quorate_adversary::{By, Twist};

    const K: u32 = 4;
    const S: u32 = 8;

    /// A change that a cheater makes to what it has before it authenticates it.
    type Change = fn(&mut Amplified);

    /// What both parties have of all triples: whether each passes by itself; and a, b and c, put together.
    struct Seen {
        passes: Vec<bool>,
        a: Vec<u64>,
        b: Vec<u64>,
        c: Vec<u64>,
        /// The random bits above zeros where they are opened.
        above: Vec<u64>,
        /// a, b and c of buckets of the triples that passed.
        buckets: [Vec<u64>; 3],
    }

    /// What one party has: what passes, what is opened, shares of triples, and of those in buckets.
    type End = (Vec<bool>, Vec<u64>, [Vector; 3], [Vector; 3]);

    fn total(parts: &[Vector]) -> Vec<u64> {
        let mut sum = parts[0].clone();
        parts[1..].iter().for_each(|part| sum.add_assign(part));
        sum.to_u64s()
    }

    /// Runs steps 1 to 4 with a party 1 that cheats. Triples that do not pass are left out instead of ending the run;
    /// the others go into buckets.
    fn seen(len: usize, size: usize, lie: impl Fn(Keys<'_>) + Sync, change: Change) -> Seen {
        let (params, ring) = (Params::insecure(S, S / 2), Ring::of(K));
        let ends = parties(2, |mut party| {
            let mut run = party.begin_alone().unwrap();
            let done = run.phase(Phase::Offline, async |ctx| {
                let s = Spdz2k::set_up(ctx, params, None).await?;
                let keys = s.keys();
                let b = own(ctx, &keys, (params.shares(ring), len));
                if ctx.me() == 1 {
                    lie(keys);
                }
                let mut made = amplified(keys, ctx, ring, &b).await?;
                if ctx.me() == 1 {
                    change(&mut made);
                }
                let [a, b, c, a_hat, c_hat] = authenticated(keys, ctx, params.words(ring), &made, &b).await?;
                let claim = TriplesClaim { a: &a, a_hat: &a_hat, c: &c, c_hat: &c_hat, b: &b };
                let challenge = keys.sacrifice().challenge(ctx, S, &claim).await?;
                let zero = keys.words().commit_and_open(ctx, &zero_of(&challenge, &claim)).await?;
                keys.words().check(ctx, &[&zero], "a test").await?;
                let shares = params.shares(ring);
                let passes: Vec<bool> = zero.value.convert(shares).to_u64s().iter().map(|&zero| zero == 0).collect();
                let kept: Vec<u32> = (0..).zip(&passes).filter(|(_, passes)| **passes).map(|(i, _)| i).collect();
                let triples = Triples { a: a.reduced(shares), b: b.reduced(shares), c: c.reduced(shares) };
                let kept = triples.map(|shared| shared.map(|vector| vector.gather(&kept)));
                let made = match size {
                    1 => kept,
                    _ => combined(keys.words(), ctx, ring, &kept, (kept.a.share.len() / size, size)).await?,
                };
                let share = |triples: &Triples| [&triples.a, &triples.b, &triples.c].map(|part| part.share.clone());
                let mut above = lifted(ctx, &keys, &Vector::zeros(shares, len), params.words(ring));
                assert!(above.convert(shares).to_u64s().iter().all(|&low| low == 0));
                above.shr_logical(shares.bits());
                Ok::<_, Error>((passes, above.to_u64s(), share(&triples), share(&made)))
            });
            run.finish();
            done.unwrap()
        });
        let of = |part: fn(&End) -> &[Vector; 3], i: usize| {
            total(&ends.iter().map(|end| part(end)[i].convert(Ring::of(K))).collect::<Vec<_>>())
        };
        let [a, b, c] = [0, 1, 2].map(|i| of(|end| &end.2, i));
        let buckets = [0, 1, 2].map(|i| of(|end| &end.3, i));
        Seen { passes: ends[0].0.clone(), a, b, c, above: ends[0].1.clone(), buckets }
    }

    fn assert_products([a, b, c]: [&[u64]; 3]) {
        let product = |i: usize| a[i] * b[i] % (1 << K);
        assert!((0..a.len()).all(|i| product(i) == c[i]), "a wrong product");
    }

    fn among(count: usize, all: usize, probability: f64) {
        assert!(may_be_chance(count, all, probability), "{count} of {all}, {probability} expected");
    }

    /// Asserts that the counts of numbers modulo 2^bits are as even as chance allows.
    fn assert_uniform(values: impl Iterator<Item = u64>, bits: u32) {
        let mut counts = vec![0.0; 1 << bits];
        values.for_each(|value| counts[(value % (1 << bits)) as usize] += 1.0);
        let expected = counts.iter().sum::<f64>() / counts.len() as f64;
        let chi_square: f64 = counts.iter().map(|count| (count - expected).powi(2) / expected).sum();
        // Exceeded by chance once in 10^10 times.
        assert!(expected > 30.0 && chi_square < 36.0 + 4.0 * counts.len() as f64, "{counts:?}");
    }

    const NOTHING: fn(Keys<'_>) = |_| ();

    #[test]
    fn who_follows_the_protocol_passes() {
        let seen = seen(600, 3, NOTHING, |_| ());
        assert!(seen.passes.iter().all(|passes| *passes));
        assert_products([&seen.a, &seen.b, &seen.c]);
        assert_products(seen.buckets.each_ref().map(|part| &part[..]));
        assert_uniform(seen.b.iter().copied(), 2);
        assert_uniform(seen.above.iter().copied(), 2);
        assert_uniform(seen.above.iter().map(|above| above >> (S - 2)), 2);
        // Every triple is in one bucket, and buckets do not follow places.
        let sum = |values: &[u64]| values.iter().sum::<u64>() % (1 << K);
        assert_eq!(sum(&seen.buckets[1]), sum(&seen.b));
        assert_ne!(seen.buckets[0], seen.a[..200]);
    }

    /// ahat is off from what the bits say by 2^(k+s-i), so what has to be zero is that times b. Passing, with
    /// probability 2^-i, shows b mod 2^i: this is the leak that buckets remove, and no more than that.
    #[test]
    fn low_bits_of_b_show_as_often_as_the_model_says() {
        for (bits, change) in [
            (1, (|made| made.a[1].add_scalar(1 << (K + S - 1))) as Change),
            (2, |made| made.a[1].add_scalar(1 << (K + S - 2))),
        ] {
            let seen = seen(1600, 3, NOTHING, change);
            for (passes, b) in seen.passes.iter().zip(&seen.b) {
                assert_eq!(*passes, b % (1 << bits) == 0, "b mod 2^{bits}");
            }
            let passed = seen.passes.iter().filter(|passes| **passes).count();
            among(passed, 1600, f64::from(1 << bits).recip());
            assert_products([&seen.a, &seen.b, &seen.c]);
        }
    }

    /// Some triples leak the lowest bit of b, and those that do not pass are left out, which no honest party does. The
    /// lowest bit of a bucket's b is known only where all of its triples leak.
    #[test]
    fn b_of_buckets_is_balanced_though_all_passed() {
        // Every fifth triple: 1 of 9 of those that pass leaks, and 1 of 6561 buckets would be known.
        let some: Change = |made| lie_in(made, 5);
        let seen_ = seen(4500, 4, NOTHING, some);
        let leaky = || seen_.passes.iter().zip(&seen_.b).step_by(5);
        assert!(leaky().all(|(passes, b)| *passes == (b % 2 == 0)));
        assert!(seen_.passes.iter().enumerate().all(|(i, passes)| *passes || i % 5 == 0));
        let [a, b, c] = seen_.buckets.each_ref();
        assert_products([a, b, c]);
        assert_uniform(b.iter().copied(), 1);
        assert_uniform(b.iter().copied(), 2);
        assert_uniform(a.iter().copied(), 2);
        // If all triples leak, every b is even, in buckets, too. So this test can detect a leak.
        let all = seen(900, 4, NOTHING, |made| lie_in(made, 1));
        assert!(all.buckets[1].iter().all(|b| b % 2 == 0));
    }

    fn lie_in(made: &mut Amplified, every: usize) {
        let values = made.a[1].ring();
        let lies = (0..made.a[1].len()).map(|i| u64::from(i % every == 0) << (K + S - 1));
        made.a[1].add_assign(&Vector::from_u64s(values, &lies.collect::<Vec<_>>()));
    }

    /// Another factor in one OT is found where the other party's bit is 1; where it is 0, nothing is wrong. Triples
    /// that pass have uniform factors.
    #[test]
    fn another_factor_in_one_ot_is_found_half_of_the_time() {
        let other = Twist::Transfer { peer: 0, factor: 0, row: 3 };
        for (by, rate) in [(1, 0.5), (1 << (K + S - 1), 0.75)] {
            let seen = seen(1600, 3, |keys| keys.adversary().twist(other, By::All(by)), |_| ());
            let passed: Vec<usize> = (0..1600).filter(|&i| seen.passes[i]).collect();
            among(passed.len(), 1600, rate);
            let kept = |of: &[u64]| passed.iter().map(|&i| of[i]).collect::<Vec<_>>();
            // One of 2^(k+s) of those with a 1 passes by chance.
            let wrong = passed.iter().filter(|&&i| seen.a[i] * seen.b[i] % (1 << K) != seen.c[i]).count();
            assert!(wrong <= 8, "{wrong} wrong products passed");
            assert_uniform(kept(&seen.a).into_iter(), 2);
            assert_uniform(kept(&seen.b).into_iter(), 2);
        }
    }

    /// A wrong top bit of c, with each guess of t for another triple: one of 2^s passes.
    #[test]
    fn a_wrong_product_passes_for_one_t_of_all() {
        let guesses: Change = |made| {
            let values = made.c[0].ring();
            made.c[0].add_scalar(1 << (K - 1));
            let guesses: Vec<u64> = (0..1 << S).map(|guess| guess << (K - 1)).collect();
            made.c[1].add_assign(&Vector::from_u64s(values, &guesses));
        };
        let seen = seen(1 << S, 1, NOTHING, guesses);
        assert_eq!(seen.passes.iter().filter(|passes| **passes).count(), 1);
        assert!((0..1 << S).all(|i| seen.a[i] * seen.b[i] % (1 << K) == seen.c[i] ^ 1 << (K - 1)));
    }
}
