//! Multiplication triples: [a], [b], [c] with c = a b mod 2^k.
//!
//! **Source**: ours ("T3", docs/security/spdz2k.md), after the triples of Cramer et al. 2018 (ePrint 2018/482), Fig. 8:
//! products by oblivious transfer, factors amplified by random bits, a sacrifice. **Deviation**: the second factor is B
//! = beta + 2^sg' b with a throwaway beta. So what a cheater learns from whether the sacrifice passes concerns beta
//! alone; beta is opened and removed by a division. **Model**: malicious, all but one. **Notation**: P_i has a^i, P_j
//! has b^j; k, W, V, sg' and L as in [`params`](crate::params); x, xh, y choice bits of OTs, alike towards all peers.
//!
//! | step | rounds, n = 2 | what |
//! |---|---|---|
//! | 1 | 4 | each ordered pair i, j: P_i chooses k bits x, L bits y, W bits xh; shares of their products with B^j |
//! | 2 | 2 | toss r, rh; a^i = sum 2^h x_h + <r, y>, ahat^i from xh and rh alike; c~ = a B, ch~ = ahat B |
//! | 3 | 4 | random bits above W bits of ahat, c~, ch~; authenticate those, a, beta mod 2^V, b mod 2^(V - sg') |
//! | 4 | 13 | toss t in Z_2^(sg'+1); rho = t a - ahat, open and check; t c~ - ch~ - rho B, open and check: 0 mod 2^W |
//! | 5 | 14 | open every beta^j, send R_ij = -v mod 2^sg'; check, beta^j below 2^sg'; divide; authenticate c |
//! | | | open and check 2^sg' c + beta a - c~: 0 mod 2^W |
//!
//! The division: w and v are the two shares of a^i B^j. P_j's part is (v + R_ij) / 2^sg'. P_i's part is that of all
//! pairs at once: the sum over j of w - a^i beta^j - R_ij, which 2^sg' must divide. The sacrifice is about sums over j
//! and shows nothing of single pairs, so nothing may be rounded pair by pair.
//!
//! Bytes to each peer for a triple, k = s = 64: 9.4 kB.

use std::borrow::Cow;

use quorate_adversary::Twist;
use quorate_authenticated::shared::{Shared, blank, joined, sum};
use quorate_engine::{Ctx, Error, Result};
use quorate_ot::source::Choices;
use quorate_ring::{Bits, Ring, Vector, Wiped};

use crate::authenticate::Own;
use crate::coins::Coins;
use crate::division::before_division;
use crate::draws::lifted;
use crate::factors::{self, Factor, Rows, weigh};
use crate::keys::Keys;
use crate::sacrifice::TriplesClaim;
use crate::word_openings::Opened;

/// The number of triples that are made together.
pub(crate) const BATCH: usize = 4096;
/// The largest number of bytes that each takes with every peer while it is made: the blocks of its OTs, then its rows
/// of y.
pub(crate) const BYTES: usize = 20_000;

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
    /// Applies a function to all three.
    pub(crate) fn map(&self, function: impl Fn(&Shared) -> Shared) -> Triples {
        Triples { a: function(&self.a), b: function(&self.b), c: function(&self.c) }
    }

    /// Returns no triples.
    pub(crate) fn none(shares: Ring) -> Triples {
        let none = || Vector::zeros(shares, 0);
        let [a, b, c] = [0; 3].map(|_| Shared { share: none(), tag: none() });
        Triples { a, b, c }
    }

    /// Joins triples, one after the other.
    pub(crate) fn joined(parts: &[&Triples]) -> Triples {
        let all = |of: fn(&Triples) -> &Shared| joined(&parts.iter().copied().map(of).collect::<Vec<_>>());
        Triples { a: all(|part| &part.a), b: all(|part| &part.b), c: all(|part| &part.c) }
    }
}

/// What a party has after step 2.
struct Products {
    a: Wiped<Vector>,
    a_hat: Wiped<Vector>,
    c: Wiped<Vector>,
    c_hat: Wiped<Vector>,
    /// This party's shares of a^i B^j, by peer. `sent` has its shares of a^j B^i.
    received: Vec<Wiped<Vector>>,
    sent: Vec<Wiped<Vector>>,
}

const NOTHING: Error = Error::Bug { what: "a party of a triple without values of its own" };

/// Makes a batch of triples over Z_2^k.
pub(crate) async fn batch(keys: Keys<'_>, ctx: &Ctx, ring: Ring, len: usize) -> Result<Triples> {
    let (params, inner) = (keys.params, keys.params.inner_bits());
    let (values, words) = (params.values(ring), params.words(ring));
    let factor = Factor::own(ctx, keys, true, (ring, len)).ok_or(NOTHING)?;
    let mut made = products(keys, ctx, ring, &factor).await?;

    // Step 3.
    for value in [&mut made.a_hat, &mut made.c, &mut made.c_hat] {
        *value = lifted(ctx, &keys, value, words);
    }
    let a = Wiped(made.a.convert(words));
    let own: [&Vector; 6] = [&a, &made.a_hat, &made.c, &made.c_hat, &factor.beta, &factor.b];
    let own = [0, 1, 2, 3, 4, 5].map(|i| keys.twisted(Twist::Authenticated(i), Cow::Borrowed(own[i])));
    let authenticated = keys.voles().authenticate(ctx, &own.each_ref().map(|value| Own::each(value))).await?;
    let [a, a_hat, c, c_hat, beta, b] = [0, 1, 2, 3, 4, 5].map(|i| sum(&authenticated[i]));
    let factors = beta.plus(&b.raised(words, inner));

    let claim = TriplesClaim { a: &a, a_hat: &a_hat, c: &c, c_hat: &c_hat, b: &factors };
    keys.sacrifice().run(ctx, values, &claim).await?;
    let (betas, remainders) = open_betas(keys, ctx, &authenticated[4], &made.sent).await?;
    let own_c = keys.twisted(Twist::Quotient, divided(keys, ctx, &made, &factor, (&betas, &remainders))?);
    let divided = keys.voles().authenticate(ctx, &[Own::each(&own_c)]).await?;
    let divided = sum(&divided[0]);
    let mut all_betas = betas[0].value.clone();
    betas[1..].iter().for_each(|beta| all_betas.add_assign(&beta.value));
    keys.division().check(ctx, values, [&a, &c, &divided], &all_betas).await?;

    let shares = params.shares(ring);
    Ok(Triples { a: a.reduced(shares), b: b.reduced(shares), c: divided.reduced(shares) })
}

/// Runs steps 1 and 2.
async fn products(keys: Keys<'_>, ctx: &Ctx, ring: Ring, factor: &Factor) -> Result<Products> {
    let (values, len) = (keys.params.values(ring), factor.b.len());
    let (peers, rows) = (keys.peers(), Rows::new(keys.params, ring));
    let own = factor.whole(keys.params, values);
    // With one peer the choice bits are random: chosen ones take one more bit each.
    let given = peers.len() > 1;
    let count = rows.count() * len;
    let shape = (1, if given { count } else { 0 });
    let chosen: Wiped<Bits> = Wiped(ctx.randomness().stream(&keys.private).draw(shape));
    let transfer = async |ctx: Ctx, i: usize| {
        let send = async |ctx: Ctx| factors::send(keys.ots(), &ctx, peers[i], &own, (rows, given)).await;
        let receive = async |ctx: Ctx| {
            let choices = if given { Choices::Given(&chosen) } else { Choices::Random(count) };
            factors::receive(keys.ots(), &ctx, peers[i], choices, (rows, (values, len))).await
        };
        keys.ots().with(peers[i])?.both(&ctx, send, receive).await
    };
    let mut transfers = keys.ots().with_each_peer(ctx, transfer).await?;
    let (_, (choices, _)) = &transfers[0];
    let mut bits = rows.chosen(choices, (values, len));
    // No party commits to its coins before it has all corrections, so r is unknown until all have them.
    let mut coins = Coins::toss(ctx, &keys.session).await?;
    let shares = transfers.iter_mut().flat_map(|(sent, (_, received))| [sent, received]).collect();
    weigh(&mut coins, rows, (values, len), Some(&mut bits), shares);
    let [a, a_hat] = bits.both;
    let a = keys.twisted(Twist::Factor, a);
    let [mut c, mut c_hat] = [&a, &a_hat].map(|factor| {
        let mut product = Wiped((**factor).clone());
        product.mul_assign(&own);
        product
    });
    let (mut all_received, mut all_sent) = (Vec::new(), Vec::new());
    for (sent, (_, received)) in transfers {
        for (shares, all) in [(received, &mut all_received), (sent, &mut all_sent)] {
            let [of_a, of_hat] = shares.both;
            c.add_assign(&of_a);
            c_hat.add_assign(&of_hat);
            all.push(of_a);
        }
    }
    Ok(Products { a, a_hat, c, c_hat, received: all_received, sent: all_sent })
}

/// Step 5: returns every party's beta, by party, and the remainders that the peers sent, by peer.
async fn open_betas(
    keys: Keys<'_>,
    ctx: &Ctx,
    by_owner: &[Shared],
    sent: &[Wiped<Vector>],
) -> Result<(Vec<Opened>, Vec<Vector>)> {
    let (peers, ring) = (keys.peers(), Ring::of(keys.params.inner_bits()));
    let own: Vec<Wiped<Vector>> = sent.iter().map(|v| keys.division().remainder(v)).collect();
    let outgoing: Vec<_> = peers.iter().zip(&own).map(|(&peer, remainder)| (peer, &**remainder)).collect();
    let incoming: Vec<_> = outgoing.iter().map(|&(peer, remainder)| (peer, (ring, remainder.len()))).collect();
    let betas = async |ctx: Ctx| keys.words().open_owned(&ctx, by_owner).await;
    let remainders = async |ctx: Ctx| ctx.exchange::<Vector>(&outgoing, &incoming).await;
    let (betas, remainders) = ctx.join(betas, remainders).await?;
    keys.division().check_betas(ctx, &betas.iter().collect::<Vec<_>>()).await?;
    Ok((betas, remainders))
}

/// Returns this party's share of c: its own product, and its parts of the products with its peers, divided by
/// 2^sg'.
fn divided(
    keys: Keys<'_>,
    ctx: &Ctx,
    made: &Products,
    factor: &Factor,
    (betas, remainders): (&[Opened], &[Vector]),
) -> Result<Wiped<Vector>> {
    let quotients = factor.b.ring();
    let mut c = Wiped(made.a.convert(quotients));
    c.mul_assign(&factor.b);
    let mut all = Wiped(blank(&made.a));
    for (((&peer, received), sent), remainder) in
        keys.peers().iter().zip(&made.received).zip(&made.sent).zip(remainders)
    {
        all.add_assign(&before_division(received, &made.a, (&betas[peer].value, remainder)));
        c.sub_assign(&keys.division().quotient(sent, quotients));
    }
    let exact = keys.division().exact_quotient(ctx, all, quotients)?;
    c.add_assign(&exact);
    Ok(c)
}
