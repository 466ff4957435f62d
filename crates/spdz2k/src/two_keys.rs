//! Triples without a division: a throwaway factor shows that the bits of a were used as they should be.
//!
//! **Source**: ours (docs/security/spdz2k.md), after the triples of Cramer et al. 2018 (ePrint 2018/482), Fig. 8.
//! **Deviation**: the OTs that multiply with b multiply with a throwaway kappa, too, and kappa is sacrificed first: what
//! a cheater learns from whether that passes is of kappa alone, and then it cannot learn anything of b. **Model**:
//! malicious, all but one. **Notation**: P_i has a^i, P_j has b^j and kappa^j; k, W, V, sg' and L as in
//! [`params`](crate::params); x, y, xh choice bits of OTs, alike towards all peers.
//!
//! | what | ring |
//! |---|---|
//! | a, ahat, kappa, u = a kappa, uh = ahat kappa | Z_2^W, W = k + 2 sg' |
//! | b in the OTs, c = a b, ch = ahat b | Z_2^(k+sg') |
//! | the same with tags, and what is opened; b | Z_2^V, V = k + 2 s |
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

use quorate_engine::{Ctx, Linear, Result};
use quorate_ring::{Ring, Vector, Wiped};

use crate::coins::Coins;
use crate::keys::Keys;
use crate::params::Params;
use crate::shared::blank;
use crate::transfers::{Multiplier, Transferred};
use crate::triple::Triples;

/// The rows of the OTs: of x, of y, of xh.
#[derive(Clone, Copy)]
struct Rows {
    of_x: usize,
    of_y: usize,
    of_xh: usize,
}

impl Rows {
    fn new(params: Params, ring: Ring) -> Rows {
        let (of_x, of_xh) = (ring.bits() as usize, params.values(ring).bits() as usize);
        Rows { of_x, of_y: params.noise_bits(), of_xh }
    }

    fn count(self) -> usize {
        self.of_x + self.of_y + self.of_xh
    }

    /// What products with each row are wanted to, where the sum is over a ring: of xh those that count there.
    fn bits(self, ring: Ring) -> Vec<u32> {
        let falling = |count: usize| (0..ring.bits().min(count as u32)).map(move |weight| ring.bits() - weight);
        falling(self.of_x).chain(vec![ring.bits(); self.of_y]).chain(falling(self.of_xh)).collect()
    }
}

/// What rows add up to in a, and in ahat, over one ring.
struct Sums {
    ring: Ring,
    both: [Wiped<Vector>; 2],
}

impl Sums {
    /// Of the rows of x and xh, which have their weights.
    fn start(rows: Rows, ring: Ring, each: &[Wiped<Vector>]) -> Sums {
        let (x, xh) = (&each[..rows.of_x], &each[rows.of_x + rows.of_y..]);
        let weighed = |rows: &[Wiped<Vector>]| {
            let mut sum = Wiped(blank(&rows[0]));
            for (weight, row) in (0..).zip(rows) {
                sum.add_assign(&Wiped(Linear::Raise(ring, weight).apply(row)));
            }
            sum
        };
        Sums { ring, both: [weighed(x), weighed(xh)] }
    }

    /// A row of y, times its coins.
    fn add(&mut self, row: &Vector, coins: &[Vector; 2]) {
        for (sum, factor) in self.both.iter_mut().zip(coins) {
            sum.add_mul_assign(row, &factor.convert(self.ring));
        }
    }
}

/// What a party has after step 2: of a and of ahat.
struct Products {
    factors: [Wiped<Vector>; 2],
    of_kappa: [Wiped<Vector>; 2],
    of_b: [Wiped<Vector>; 2],
}

impl Keys {
    /// Triples over Z_2^k.
    pub(crate) async fn batch_under_two_keys(&self, ctx: &Ctx, ring: Ring, len: usize) -> Result<Triples> {
        let params = self.params;
        let (values, words) = (params.values(ring), params.words(ring));
        let products = Ring::of(ring.bits() + params.inner_bits());
        let [kappa, b] = [values, words].map(|ring| Wiped(self.own(ctx, ring, len)));
        let made = self.products_of_two(ctx, ring, [&kappa, &Wiped(b.convert(products))]).await?;
        let [[a, a_hat], [u, u_hat], [c, c_hat]] = [&made.factors, &made.of_kappa, &made.of_b]
            .map(|both| [Wiped(both[0].convert(words)), self.lifted(ctx, &both[1], words)]);
        let kappa = Wiped(kappa.convert(words));
        let own = [a, a_hat, kappa, u, u_hat, b, c, c_hat];
        let [a, a_hat, kappa, u, u_hat, b, c, c_hat] = self.authenticate_sums(ctx, own).await?;
        let challenge = self.challenge(ctx, params.inner_bits() + 1, [&a, &a_hat]).await?;
        // Before this has passed nothing is opened that depends on b.
        self.sacrificed(ctx, (values, 0), &challenge, [&u, &u_hat, &kappa]).await?;
        self.sacrificed(ctx, (products, 1), &challenge, [&c, &c_hat, &b]).await?;
        let shares = params.shares(ring);
        Ok(Triples { a: a.reduced(shares), b: b.reduced(shares), c: c.reduced(shares) })
    }

    /// Steps 1 and 2.
    async fn products_of_two(&self, ctx: &Ctx, ring: Ring, factors: [&Vector; 2]) -> Result<Products> {
        let (rows, values, len) = (Rows::new(self.params, ring), self.params.values(ring), factors[0].len());
        let wanted = factors.map(|factor| Multiplier { value: factor, bits: rows.bits(factor.ring()) });
        let made = self.transfers(ctx, (rows.count(), len), &wanted).await?;
        // Nobody commits to its coins before it has all corrections, so nobody knows r before all have.
        let mut coins = Coins::toss(ctx, &self.session).await?;
        let bits: Vec<_> = (0..rows.count()).map(|row| made.bits(row, values)).collect();
        let Transferred { products, .. } = &made;
        let each = [&bits, &products[0], &products[1]];
        let rings = [values, values, factors[1].ring()];
        let mut sums = [0, 1, 2].map(|i| Sums::start(rows, rings[i], each[i]));
        for row in rows.of_x..rows.of_x + rows.of_y {
            let drawn = [0; 2].map(|_| coins.draw(values.bits(), (values, len)));
            sums.iter_mut().zip(each).for_each(|(sum, each)| sum.add(&each[row], &drawn));
        }
        let [a, mut of_kappa, mut of_b] = sums.map(|sums| sums.both);
        for (product, factor) in [&mut of_kappa, &mut of_b].into_iter().zip(factors) {
            for (product, a) in product.iter_mut().zip(&a) {
                product.add_mul_assign(&Wiped(a.convert(factor.ring())), factor);
            }
        }
        Ok(Products { factors: a, of_kappa, of_b })
    }
}
