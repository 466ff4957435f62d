//! Multiplication triples: [a], [b], [c] with c = a b mod 2^k.
//!
//! **Source**: ours ("T3", docs/security/spdz2k.md), after the triples of Cramer et al. 2018 (ePrint 2018/482), Fig. 8:
//! products by oblivious transfer, factors amplified by random bits, a sacrifice. **Deviation**: the second factor is
//! B = beta + 2^sg' b with a throwaway beta, so that what a cheater learns from whether the sacrifice passes is of beta
//! alone; beta is opened and taken out by a division. **Model**: malicious, all but one. **Notation**: P_i has a^i, P_j
//! has b^j; k, W, V, sg' and L as in [`params`](crate::params); x, xh, y choice bits of OTs, alike towards all peers.
//!
//! | step | rounds, n = 2 | what |
//! |---|---|---|
//! | 1 | 4 | each ordered pair i, j: P_i chooses k bits x, W bits xh, L bits y; shares of their products with B^j |
//! | 2 | 2 | toss r, rh; a^i = sum 2^h x_h + <r, y>, ahat^i from xh and rh alike; c~ = a B, ch~ = ahat B |
//! | 3 | 4 | random bits above W bits of ahat, c~, ch~; authenticate those, a, beta mod 2^V, b mod 2^(V - sg') |
//! | 4 | 13 | toss t in Z_2^(sg'+1); rho = t a - ahat, open and check; t c~ - ch~ - rho B, open and check: 0 mod 2^W |
//! | 5 | 14 | open every beta^j, tell R_ij = -v mod 2^sg'; check, beta^j below 2^sg'; divide; authenticate c |
//! | | | open and check 2^sg' c + beta a - c~: 0 mod 2^W |
//!
//! The division: of a^i B^j the two have w and v. P_j's part is (v + R_ij) / 2^sg', P_i's is that of all pairs at once:
//! the sum over j of w - a^i beta^j - R_ij, which 2^sg' must divide. The sacrifice is about sums over j: of single
//! pairs nothing is known, so nothing may be rounded pair by pair.
//!
//! Bytes to each peer for a triple, k = s = 64: 9.4 kB.

use quorate_engine::{Ctx, Error, Linear, Result};
use quorate_ot::source::Choices;
use quorate_ring::{Bits, Module, Ring, Vector, Wiped};

use crate::authenticate::Own;
use crate::coins::Coins;
use crate::keys::Keys;
use crate::params::TripleForm;
use crate::sacrifice::zero_below;
use crate::shared::{Shared, blank, sum};
use crate::words::{Opened, is_zero};

/// Triples that are made together: what they take on the way is some 20 kB each, 80 MB in all.
const BATCH: usize = 4096;

const REMAINDERS: &str = "the remainders of multiplication triples";
const DIVIDED: &str = "the divided multiplication triples";

/// Elements a, b and their products, over Z_2^(k+s).
pub struct Triples {
    /// One factor.
    pub a: Shared,
    /// The other.
    pub b: Shared,
    /// c = a b mod 2^k.
    pub c: Shared,
}

impl Triples {
    /// What a function makes of all three.
    pub(crate) fn map(&self, function: impl Fn(&Shared) -> Shared) -> Triples {
        Triples { a: function(&self.a), b: function(&self.b), c: function(&self.c) }
    }

    pub(crate) fn concat(parts: &[Triples]) -> Triples {
        let all = |of: fn(&Triples) -> &Shared| Shared::concat(&parts.iter().map(of).collect::<Vec<_>>());
        Triples { a: all(|part| &part.a), b: all(|part| &part.b), c: all(|part| &part.c) }
    }
}

/// The bits of the OTs' rows: of x, of xh, of y.
struct Rows {
    bits: Vec<u32>,
    of_x: usize,
    of_xh: usize,
}

impl Rows {
    fn new(keys: &Keys, ring: Ring) -> Rows {
        let width = keys.params.values(ring).bits();
        let (of_x, of_xh) = (ring.bits() as usize, width as usize);
        let falling = |count: usize| (0..count as u32).map(move |weight| width - weight);
        let bits = falling(of_x).chain(falling(of_xh)).chain(vec![width; keys.params.noise_bits()]);
        Rows { bits: bits.collect(), of_x, of_xh }
    }
}

/// What the rows of one batch weigh: those of y as the coins say, for a and for ahat.
struct Weights<'r> {
    rows: &'r Rows,
    /// r and rh, by row of y: one for each triple.
    noise: [Vec<Vector>; 2],
}

impl Weights<'_> {
    fn toss<'r>(coins: &mut Coins, rows: &'r Rows, (ring, len): (Ring, usize)) -> Weights<'r> {
        let count = rows.bits.len() - rows.of_x - rows.of_xh;
        let noise = [0; 2].map(|_| (0..count).map(|_| coins.draw(ring.bits(), (ring, len))).collect());
        Weights { rows, noise }
    }

    /// What rows add up to in a, and in ahat.
    fn sums(&self, ring: Ring, each: &[Wiped<Vector>]) -> [Wiped<Vector>; 2] {
        let (x, rest) = each.split_at(self.rows.of_x);
        let (xh, y) = rest.split_at(self.rows.of_xh);
        let sum = |bits: &[Wiped<Vector>], noise: &[Vector]| {
            let mut sum = Wiped(Linear::Raise(ring, 0).apply(&bits[0]));
            for (weight, row) in (1..).zip(&bits[1..]) {
                sum.add_assign(&Wiped(Linear::Raise(ring, weight).apply(row)));
            }
            noise.iter().zip(y).for_each(|(factor, row)| sum.add_mul_assign(row, factor));
            sum
        };
        [sum(x, &self.noise[0]), sum(xh, &self.noise[1])]
    }
}

/// What a party has after step 2.
struct Products {
    a: Wiped<Vector>,
    a_hat: Wiped<Vector>,
    c: Wiped<Vector>,
    c_hat: Wiped<Vector>,
    /// By peer: this party's shares of a^i B^j, and of a^j B^i.
    received: Vec<Wiped<Vector>>,
    sent: Vec<Wiped<Vector>>,
}

/// One party's part of the factors B.
struct Factor {
    beta: Wiped<Vector>,
    b: Wiped<Vector>,
}

impl Keys {
    /// Triples over Z_2^k.
    ///
    /// # Errors
    /// [`Error::Cheating`] where a peer does not follow the protocol; whatever ends a run.
    pub async fn triples(&self, ctx: &Ctx, ring: Ring, len: usize) -> Result<Triples> {
        self.params.check_triples(ring)?;
        if len == 0 {
            let none = || Vector::zeros(self.params.shares(ring), 0);
            let [a, b, c] = [0; 3].map(|_| Shared { share: none(), tag: none() });
            return Ok(Triples { a, b, c });
        }
        let mut parts = Vec::new();
        match self.params.triples() {
            TripleForm::Buckets => return self.triples_in_buckets(ctx, ring, len).await,
            TripleForm::TwoKeys => {
                for start in (0..len).step_by(BATCH) {
                    parts.push(self.batch_under_two_keys(ctx, ring, BATCH.min(len - start)).await?);
                }
            }
            TripleForm::T3 => {
                for start in (0..len).step_by(BATCH) {
                    parts.push(self.batch_of_triples(ctx, ring, BATCH.min(len - start)).await?);
                }
            }
        }
        Ok(Triples::concat(&parts))
    }

    async fn batch_of_triples(&self, ctx: &Ctx, ring: Ring, len: usize) -> Result<Triples> {
        let (params, inner) = (self.params, self.params.inner_bits());
        let (values, words) = (params.values(ring), params.words(ring));
        let quotients = Ring::of(words.bits() - inner);
        let beta = Wiped(self.own(ctx, Ring::of(inner), len));
        let factor = Factor { beta: Wiped(beta.convert(words)), b: Wiped(self.own(ctx, quotients, len)) };
        let mut made = self.products(ctx, ring, &factor).await?;

        // Step 3.
        for value in [&mut made.a_hat, &mut made.c, &mut made.c_hat] {
            *value = self.lifted(ctx, value, words);
        }
        let a = Wiped(made.a.convert(words));
        let own: [&Vector; 6] = [&a, &made.a_hat, &made.c, &made.c_hat, &factor.beta, &factor.b];
        let authenticated = self.authenticate(ctx, &own.map(Own::each)).await?;
        let [a, a_hat, c, c_hat, beta, b] = [0, 1, 2, 3, 4, 5].map(|i| sum(&authenticated[i]));
        let factors = beta.clone().plus(&b.raised(words, inner));

        self.sacrifice(ctx, values, [&a, &a_hat, &c, &c_hat, &factors]).await?;
        let (betas, rests) = self.open_betas(ctx, &authenticated[4], &made.sent).await?;
        let own_c = Wiped(self.divided(ctx, &made, &factor, (&betas, &rests), (values, quotients))?);
        let divided = self.authenticate(ctx, &[Own::each(&own_c)]).await?;
        let divided = sum(&divided[0]);
        let mut all_betas = betas[0].value.clone();
        betas[1..].iter().for_each(|beta| all_betas.add_assign(&beta.value));
        let rest = divided.raised(words, inner).plus(&a.times(&all_betas)).minus(&c);
        let opened = self.open_words(ctx, &rest).await?;
        self.check_words(ctx, &[&opened], DIVIDED).await?;
        zero_below(ctx, &opened, values, DIVIDED)?;

        let shares = params.shares(ring);
        Ok(Triples { a: a.reduced(shares), b: b.reduced(shares), c: divided.reduced(shares) })
    }

    /// Uniform elements that this party alone knows.
    pub(crate) fn own(&self, ctx: &Ctx, ring: Ring, len: usize) -> Vector {
        let mut drawn: Vector = ctx.randomness().stream(&self.private).draw((ring, len));
        Module::reduce(&mut drawn);
        drawn
    }

    /// Steps 1 and 2.
    async fn products(&self, ctx: &Ctx, ring: Ring, factor: &Factor) -> Result<Products> {
        let (values, len) = (self.params.values(ring), factor.b.len());
        let (peers, rows) = (self.peers(), Rows::new(self, ring));
        let mut own = Wiped(factor.b.convert(values));
        own.shl(self.params.inner_bits());
        own.add_assign(&Wiped(Linear::Reduce(values).apply(&factor.beta)));
        // With one peer chance chooses: what a party chooses itself takes a bit more.
        let given = peers.len() > 1;
        let count = rows.bits.len() * len;
        let shape = (1, if given { count } else { 0 });
        let chosen: Wiped<Bits> = Wiped(ctx.randomness().stream(&self.private).draw(shape));
        let transfer = async |ctx: Ctx, i: usize| {
            let ot = self.ot(peers[i])?;
            let told = self.told(&own, peers[i]);
            let send = async |ctx: Ctx| ot.send_correlated(&ctx, &told, &rows.bits, given).await;
            let receive = async |ctx: Ctx| {
                let choices = if given { Choices::Given(&chosen) } else { Choices::Random(count) };
                ot.receive_correlated(&ctx, choices, &rows.bits).await
            };
            ot.both(&ctx, send, receive).await
        };
        let mut transfers = Vec::new();
        for (sent, (choices, received)) in self.with_each_peer(ctx, transfer).await? {
            transfers.push((sent, Wiped(choices), received));
        }
        // Nobody commits to its coins before it has all corrections, so nobody knows r before all have.
        let mut coins = Coins::toss(ctx, &self.session).await?;
        let weights = Weights::toss(&mut coins, &rows, (values, len));
        let choices = &transfers[0].1;
        let bits: Vec<Wiped<Vector>> = (0..rows.bits.len())
            .map(|row| {
                let ring = Ring::of(rows.bits[row]);
                Wiped(Wiped(choices.slice_lanes(row * len..(row + 1) * len)).to_vector(ring))
            })
            .collect();
        let [a, a_hat] = weights.sums(values, &bits);
        let [mut c, mut c_hat] = [&a, &a_hat].map(|factor| {
            let mut product = Wiped((**factor).clone());
            product.mul_assign(&own);
            product
        });
        let (mut all_received, mut all_sent) = (Vec::new(), Vec::new());
        for (sent, _, received) in &transfers {
            let [of_a, of_hat] = weights.sums(values, received);
            c.add_assign(&of_a);
            c_hat.add_assign(&of_hat);
            all_received.push(of_a);
            let [of_a, of_hat] = weights.sums(values, sent);
            c.add_assign(&of_a);
            c_hat.add_assign(&of_hat);
            all_sent.push(of_a);
        }
        Ok(Products { a, a_hat, c, c_hat, received: all_received, sent: all_sent })
    }

    /// What goes into the transfers towards a peer: the factors; a cheater in a test adds to them.
    #[cfg_attr(not(feature = "testing"), allow(unused_variables))]
    pub(crate) fn told(&self, own: &Vector, peer: usize) -> Wiped<Vector> {
        #[cfg_attr(not(feature = "testing"), allow(unused_mut))]
        let mut told = Wiped(own.clone());
        #[cfg(feature = "testing")]
        if peer == 0 && !own.is_shape() {
            told.add_assign(&Vector::from_i128s(own.ring(), &vec![self.lie.get(); own.len()]));
        }
        told
    }

    /// The same work with every peer, side by side; a lane for each pair of parties.
    pub(crate) async fn with_each_peer<T>(
        &self,
        ctx: &Ctx,
        work: impl AsyncFn(Ctx, usize) -> Result<T>,
    ) -> Result<Vec<T>> {
        let pairs: Vec<(usize, usize)> = (0..self.parties).flat_map(|i| (0..i).map(move |j| (j, i))).collect();
        let peers = self.peers();
        let lane = async |ctx: Ctx, i: usize| {
            let (low, high) = pairs[i];
            let peer = if low == self.me { high } else { low };
            match peers.iter().position(|&known| known == peer).filter(|_| low == self.me || high == self.me) {
                Some(place) => work(ctx, place).await.map(|done| Some((place, done))),
                None => Ok(None),
            }
        };
        let mut done: Vec<(usize, T)> = ctx.join_all(pairs.len(), lane).await?.into_iter().flatten().collect();
        done.sort_by_key(|(place, _)| *place);
        Ok(done.into_iter().map(|(_, done)| done).collect())
    }

    /// Step 4.
    async fn sacrifice(&self, ctx: &Ctx, values: Ring, [a, a_hat, c, c_hat, b]: [&Shared; 5]) -> Result<()> {
        let challenge = self.challenge(ctx, self.params.inner_bits() + 1, [a, a_hat]).await?;
        self.sacrificed(ctx, (values, 0), &challenge, [c, c_hat, b]).await
    }

    /// Step 5: every party's beta, by party, and what each peer's part leaves, by peer.
    async fn open_betas(
        &self,
        ctx: &Ctx,
        by_owner: &[Shared],
        sent: &[Wiped<Vector>],
    ) -> Result<(Vec<Opened>, Vec<Vector>)> {
        let (peers, ring) = (self.peers(), Ring::of(self.params.inner_bits()));
        let rests: Vec<Wiped<Vector>> = sent.iter().map(|v| Wiped(negated(v).convert(ring))).collect();
        let outgoing: Vec<_> = peers.iter().zip(&rests).map(|(&peer, rest)| (peer, &**rest)).collect();
        let incoming: Vec<_> = outgoing.iter().map(|&(peer, rest)| (peer, (ring, rest.len()))).collect();
        let betas = async |ctx: Ctx| self.open_owned(&ctx, by_owner).await;
        let rests = async |ctx: Ctx| ctx.exchange::<Vector>(&outgoing, &incoming).await;
        let (betas, rests) = ctx.join(betas, rests).await?;
        self.check_words(ctx, &betas.iter().collect::<Vec<_>>(), REMAINDERS).await?;
        let mut fits = true;
        for beta in &betas {
            let mut above = beta.value.clone();
            above.shr_logical(self.params.inner_bits());
            fits &= is_zero(&above);
        }
        match ctx.is_dry() || fits {
            true => Ok((betas, rests)),
            false => Err(Error::Cheating { check: REMAINDERS }),
        }
    }

    /// This party's share of c: its own product, and its parts of those with its peers, divided by 2^sg'.
    fn divided(
        &self,
        ctx: &Ctx,
        made: &Products,
        factor: &Factor,
        (betas, rests): (&[Opened], &[Vector]),
        (values, quotients): (Ring, Ring),
    ) -> Result<Vector> {
        let inner = self.params.inner_bits();
        let mut c = made.a.convert(quotients);
        c.mul_assign(&factor.b);
        let mut all = Wiped(blank(&made.a));
        for (((&peer, received), sent), rest) in self.peers().iter().zip(&made.received).zip(&made.sent).zip(rests) {
            let mut known = Wiped(Linear::Reduce(values).apply(&betas[peer].value));
            known.mul_assign(&made.a);
            known.add_assign(&rest.convert(values));
            all.add_assign(received);
            all.sub_assign(&known);
            let mut part = negated(sent);
            part.shr_logical(inner);
            c.sub_assign(&Wiped(part.convert(quotients)));
        }
        let divides = is_zero(&Wiped(all.convert(Ring::of(inner))));
        if !ctx.is_dry() && !divides {
            return Err(Error::Cheating { check: DIVIDED });
        }
        all.shr_logical(inner);
        c.add_assign(&Wiped(all.convert(quotients)));
        Ok(c)
    }
}

/// -x.
fn negated(x: &Vector) -> Wiped<Vector> {
    let mut negated = Wiped(x.clone());
    negated.neg_assign();
    negated
}
