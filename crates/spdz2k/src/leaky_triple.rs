//! Triples as they are published, of which a cheater may learn low bits of b: each bit at the price of one half.
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
//! | the same with tags, and what is opened | Z_2^(k+2s) |
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
//! Of x, with its s random bits r above, x + 2^(k+s) r is opened, all of it: r is authenticated with ahat and with ch.
//!
//! Bytes to each peer for a triple, k = s = 64: 9.3 kB.

use quorate_engine::{Ctx, Result};
use quorate_ring::{Ring, Vector, Wiped};

use crate::authenticate::Own;
use crate::coins::Coins;
use crate::deviate::Step;
use crate::keys::Keys;
use crate::params::Params;
use crate::shared::{Shared, sum};
use crate::transfers::{Multiplier, sums_like};
use crate::triple::Triples;

/// Bits that go into each factor beyond the published ones, which are enough for one triple: with so many more, a
/// session of 2^28 triples is as close to uniform as its other steps are safe.
const SPARE: usize = 16;

/// What a party has after step 2.
struct Amplified {
    a: [Wiped<Vector>; 2],
    c: [Wiped<Vector>; 2],
}

/// a, b, c, ahat, ch.
type Authenticated = [Shared; 5];

impl Params {
    /// tau.
    fn choice_bits(self, ring: Ring) -> usize {
        (2 * ring.bits() + 4 * self.key_bits()) as usize + SPARE
    }
}

impl Keys {
    /// Triples over Z_2^k of which b may leak.
    pub(crate) async fn leaky_triples(&self, ctx: &Ctx, ring: Ring, len: usize) -> Result<Triples> {
        let shares = self.params.shares(ring);
        let b = Wiped(self.own(ctx, shares, len));
        let made = self.amplified(ctx, ring, &b).await?;
        let [a, b, c, a_hat, c_hat] = self.authenticated(ctx, self.params.words(ring), &made, &b).await?;
        let challenge = self.challenge(ctx, self.params.key_bits(), [&a, &a_hat]).await?;
        self.sacrificed(ctx, (shares, 0), &challenge, [&c, &c_hat, &b]).await?;
        Ok(Triples { a: a.reduced(shares), b: b.reduced(shares), c: c.reduced(shares) })
    }

    /// Steps 1 and 2.
    async fn amplified(&self, ctx: &Ctx, ring: Ring, b: &Vector) -> Result<Amplified> {
        let (values, len, count) = (b.ring(), b.len(), self.params.choice_bits(ring));
        let factor = Multiplier { value: b, bits: vec![values.bits(); count] };
        let made = self.transfers(ctx, (count, len), &[factor]).await?;
        // Nobody commits to its coins before it has all corrections, so nobody knows r before all have.
        let mut coins = Coins::toss(ctx, &self.session).await?;
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

    /// Step 3.
    async fn authenticated(&self, ctx: &Ctx, words: Ring, made: &Amplified, b: &Vector) -> Result<Authenticated> {
        let [a, a_hat] = &made.a;
        let [c, c_hat] = &made.c;
        let [a, b, c] = [&**a, b, &**c].map(|value| Wiped(value.convert(words)));
        let [a_hat, c_hat] = [a_hat, c_hat].map(|value| self.lifted(ctx, value, words));
        self.authenticate_sums(ctx, [a, b, c, a_hat, c_hat]).await
    }

    /// Of every party's vectors, their sums.
    pub(crate) async fn authenticate_sums<const COUNT: usize>(
        &self,
        ctx: &Ctx,
        mut own: [Wiped<Vector>; COUNT],
    ) -> Result<[Shared; COUNT]> {
        for (i, value) in own.iter_mut().enumerate() {
            if let Some(other) = self.other(Step::Authenticated(i), value) {
                *value = other;
            }
        }
        let authenticated = self.authenticate(ctx, &own.each_ref().map(|value| Own::each(value))).await?;
        Ok(std::array::from_fn(|i| sum(&authenticated[i])))
    }
}
