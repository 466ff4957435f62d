//! One-sided triples: a that one party knows, b that another one knows, and shares of c = a b mod 2^k.
//!
//! **Source**: ours (docs/security/spdz2k.md): the triples of [`crate::triple`] with one ordered pair of parties
//! instead of all pairs. a is a^i, B is B^j, and no party has a product of its own. **Model**: malicious, all but one;
//! of more than two parties the others take part in all that is authenticated, tossed, opened and checked. **Notation**
//! as there.
//!
//! | step | rounds, n = 2 | what |
//! |---|---|---|
//! | 1 | 4 | P_i chooses k bits x, W bits xh, L bits y; shares w, v of their products with B^j at P_i and P_j |
//! | 2 | 2 | toss r, rh; a = sum 2^h x_h + <r, y>, ahat from xh and rh alike |
//! | 3 | 4 | lift ahat, shares of c~ = a B, ch~ = ahat B; authenticate P_i's a, ahat, shares, P_j's beta, b, shares |
//! | 4 | 13 | the sacrifice, as for other triples |
//! | 5 | 14 | open beta, send R = -v mod 2^sg'; divide; authenticate both parts of c; the last check |
//!
//! To lift a number is to put random bits above the bits of its ring. Transfers cost P_j four times as much as P_i. So
//! one party chooses bits in one half of a batch, and the other one in the other half, at the same time.
//!
//! Bytes to the peer for a triple, k = s = 64: 5.2 kB.

use std::ops::Range;

use quorate_adversary::Twist;
use quorate_authenticated::shared::{Shared, joined, sum};
use quorate_engine::{Ctx, Error, Misuse, Result};
use quorate_ot::source::Choices;
use quorate_ring::{Bits, Ring, Vector, Wiped};

use crate::authenticate::Own;
use crate::coins::Coins;
use crate::division::before_division;
use crate::draws::lifted_if;
use crate::factors::{self, Factor, Rows, Shares, weigh};
use crate::keys::Keys;
use crate::params::Params;
use crate::sacrifice::TriplesClaim;
use crate::triple::{BATCH, Triples};

/// Triples of which one party has a and another one has B.
#[derive(Clone, Copy)]
struct Half {
    /// P_i.
    chooses: usize,
    /// P_j.
    sends: usize,
    len: usize,
}

/// What this party has of a half: a and ahat if it chooses bits, the factor if it sends, and its shares in both cases.
struct End {
    half: Half,
    a: Option<Wiped<Vector>>,
    a_hat: Option<Wiped<Vector>>,
    factor: Option<Factor>,
    /// w or v.
    product: Option<Wiped<Vector>>,
    c: Option<Wiped<Vector>>,
    c_hat: Option<Wiped<Vector>>,
}

/// The vectors of a half at all parties, as shares with tags.
struct SharedHalf {
    a: Shared,
    a_hat: Shared,
    c: Shared,
    c_hat: Shared,
    beta: Shared,
    b: Shared,
}

/// The results of the transfers at one party: shares of what it sent, and its bits with shares of their products.
type Transferred = (Option<Shares>, Option<(Wiped<Bits>, Shares)>);

const MISSING: Error = Error::Bug { what: "a one-sided triple without a part of it" };

/// Makes one-sided triples over Z_2^k: the first of two parties knows a, the second one knows b.
///
/// # Errors
/// [`Misuse`] unless these are two parties; [`Error::Cheating`] where a peer does not follow the protocol; whatever
/// ends a run.
pub(crate) async fn make(
    keys: Keys<'_>,
    ctx: &Ctx,
    [left, right]: [usize; 2],
    ring: Ring,
    len: usize,
) -> Result<Triples> {
    keys.params.check_triples(ring)?;
    for party in [left, right] {
        if party >= keys.parties {
            return Err(Misuse::NoSuchParty { party, parties: keys.parties }.into());
        }
    }
    if left == right {
        return Err(Misuse::Other { what: "a one-sided triple of one party" }.into());
    }
    if len == 0 {
        return Ok(Triples::none(keys.params.shares(ring)));
    }
    let batch = async |range: Range<usize>| {
        let count = range.len();
        let half = |chooses, sends, len| Half { chooses, sends, len };
        let halves = [half(left, right, count.div_ceil(2)), half(right, left, count / 2)];
        batch_of_halves(keys, ctx, ring, &halves[..count.min(2)]).await
    };
    Ok(Triples::joined(&ctx.in_turn(len, BATCH, batch).await?.all()))
}

async fn batch_of_halves(keys: Keys<'_>, ctx: &Ctx, ring: Ring, halves: &[Half]) -> Result<Triples> {
    let (params, inner) = (keys.params, keys.params.inner_bits());
    let (values, words, shares) = (params.values(ring), params.words(ring), params.shares(ring));
    let mut ends = products_of_halves(keys, ctx, ring, halves).await?;

    // Step 3.
    for end in &mut ends {
        for value in [&mut end.a_hat, &mut end.c, &mut end.c_hat] {
            *value = lifted_if(ctx, &keys, value.as_deref(), words);
        }
        let (beta, b) = end.factor.as_mut().map(|factor| (&mut factor.beta, &mut factor.b)).unzip();
        let values = [end.a.as_mut(), end.a_hat.as_mut(), end.c.as_mut(), end.c_hat.as_mut(), beta, b];
        for (i, value) in values.into_iter().enumerate() {
            keys.twisted(Twist::Authenticated(i), value);
        }
    }
    let own: Vec<Own<'_>> = ends.iter().flat_map(|end| end.to_authenticate(keys.params, ring)).collect();
    let each: Vec<Shared> = keys.voles().authenticate(ctx, &own).await?.into_iter().flatten().collect();
    let parts: Vec<SharedHalf> = each.chunks(VALUES).map(SharedHalf::of).collect::<Result<_>>()?;
    let all = |of: fn(&SharedHalf) -> &Shared| joined(&parts.iter().map(of).collect::<Vec<_>>());
    let [a, a_hat, c, c_hat] = [all(|x| &x.a), all(|x| &x.a_hat), all(|x| &x.c), all(|x| &x.c_hat)];
    let (beta, b) = (all(|x| &x.beta), all(|x| &x.b));
    let factors = beta.clone().plus(&b.raised(words, inner));

    let claim = TriplesClaim { a: &a, a_hat: &a_hat, c: &c, c_hat: &c_hat, b: &factors };
    keys.sacrifice().run(ctx, values, &claim).await?;
    let (betas, own_c) = quotients(keys, ctx, &ends, &beta).await?;
    let divided = authenticate_quotients(keys, ctx, ring, &ends, &own_c).await?;
    keys.division().check(ctx, values, [&a, &c, &divided], &betas).await?;

    // In the second half the party of the first factor sends.
    let (mut a_parts, mut b_parts) = (Vec::new(), Vec::new());
    for (part, half) in parts.iter().zip(halves) {
        let known = [part.a.reduced(shares), part.b.reduced(shares)];
        let [of_a, of_b] = if half.chooses == halves[0].chooses { known } else { swapped(known) };
        a_parts.push(of_a);
        b_parts.push(of_b);
    }
    let [a, b] = [a_parts, b_parts].map(|parts| joined(&parts.iter().collect::<Vec<_>>()));
    Ok(Triples { a, b, c: divided.reduced(shares) })
}

/// Runs steps 1 and 2.
async fn products_of_halves(keys: Keys<'_>, ctx: &Ctx, ring: Ring, halves: &[Half]) -> Result<Vec<End>> {
    let (values, rows) = (keys.params.values(ring), Rows::new(keys.params, ring));
    let factor = |half: &Half| Factor::own(ctx, keys, half.sends == keys.me, (ring, half.len));
    let factors: Vec<Option<Factor>> = halves.iter().map(factor).collect();
    let whole = factors.iter().flatten().next().map(|factor| factor.whole(keys.params, values));
    let (mut sent, mut received) = transfer(keys, ctx, (rows, ring), halves, whole.as_deref()).await?;
    // No party commits to its coins before it has all corrections, so r is unknown until all have them.
    let mut coins = Coins::toss(ctx, &keys.session).await?;
    let mut ends = Vec::new();
    for (&half, factor) in halves.iter().zip(factors) {
        let shape = (values, half.len);
        let (mut bits, mut shares) = (None, None);
        if half.chooses == keys.me {
            let (choices, of_choices) = received.take().ok_or(MISSING)?;
            (bits, shares) = (Some(rows.chosen(&choices, shape)), Some(of_choices));
        } else if half.sends == keys.me {
            shares = Some(sent.take().ok_or(MISSING)?);
        }
        weigh(&mut coins, rows, shape, bits.as_mut(), shares.as_mut().into_iter().collect());
        let both = |both: Option<[Wiped<Vector>; 2]>| both.map(<(_, _)>::from).unzip();
        let (a, a_hat) = both(bits.map(|bits| bits.both));
        let (product, c_hat) = both(shares.map(|shares| shares.both));
        let a = a.map(|a| Wiped(a.convert(keys.params.words(ring))));
        let c = product.as_ref().map(|product| Wiped((**product).clone()));
        ends.push(End { half, a, a_hat, factor, product, c, c_hat });
    }
    Ok(ends)
}

/// Runs step 1 between the two parties, in both directions at once.
async fn transfer(
    keys: Keys<'_>,
    ctx: &Ctx,
    (rows, ring): (Rows, Ring),
    halves: &[Half],
    own: Option<&Vector>,
) -> Result<Transferred> {
    let of = |is: fn(&Half) -> usize| halves.iter().find(|half| is(half) == keys.me);
    let (sends, chooses) = (of(|half| half.sends), of(|half| half.chooses));
    let Half { chooses: one, sends: other, .. } = halves[0];
    let between = async |ctx: Ctx| {
        let peer = if keys.me == one { other } else { one };
        let send = async |ctx: Ctx| match (sends, own) {
            (Some(_), Some(own)) => factors::send(keys.ots(), &ctx, peer, own, (rows, false)).await.map(Some),
            _ => Ok(None),
        };
        let receive = async |ctx: Ctx| match chooses {
            Some(half) => {
                let choices = Choices::Random(rows.count() * half.len);
                let shape = (keys.params.values(ring), half.len);
                factors::receive(keys.ots(), &ctx, peer, choices, (rows, shape)).await.map(Some)
            }
            None => Ok(None),
        };
        keys.ots().with(peer)?.both(&ctx, send, receive).await
    };
    let transferred = ctx.among(&[one.min(other), one.max(other)], between).await?;
    Ok(transferred.unwrap_or((None, None)))
}

/// Runs step 5 up to the division: returns the betas, and this party's parts of c.
async fn quotients(
    keys: Keys<'_>,
    ctx: &Ctx,
    ends: &[End],
    beta: &Shared,
) -> Result<(Vector, Vec<Option<Wiped<Vector>>>)> {
    let ring = Ring::of(keys.params.inner_bits());
    let (mut remainders, mut incoming) = (Vec::new(), Vec::new());
    for End { half, product, .. } in ends {
        match (half.sends == keys.me, half.chooses == keys.me, product) {
            (true, _, Some(v)) => remainders.push((half.chooses, keys.division().remainder(v))),
            (_, true, _) => incoming.push((half.sends, (ring, half.len))),
            _ => (),
        }
    }
    let outgoing: Vec<(usize, &Vector)> = remainders.iter().map(|(peer, own)| (*peer, &**own)).collect();
    let open = async |ctx: Ctx| keys.words().open(&ctx, beta).await;
    let tell = async |ctx: Ctx| ctx.exchange::<Vector>(&outgoing, &incoming).await;
    let (betas, told) = ctx.join(open, tell).await?;
    keys.division().check_betas(ctx, &[&betas]).await?;
    let (mut parts, mut start) = (Vec::new(), 0);
    for end in ends {
        let of_half = betas.value.slice(start..start + end.half.len);
        start += end.half.len;
        parts.push(keys.twisted(Twist::Quotient, quotient(keys, ctx, end, (&of_half, told.first()))?));
    }
    Ok((betas.value, parts))
}

/// Returns this party's part of c in a half: w - a beta - R or v + R, divided by 2^sg'.
fn quotient(
    keys: Keys<'_>,
    ctx: &Ctx,
    end: &End,
    (beta, remainder): (&Vector, Option<&Vector>),
) -> Result<Option<Wiped<Vector>>> {
    let Some(product) = &end.product else { return Ok(None) };
    let words = beta.ring();
    let quotients = Ring::of(words.bits() - keys.params.inner_bits());
    if end.half.sends == keys.me {
        let mut part = keys.division().quotient(product, quotients);
        part.neg_assign();
        return Ok(Some(part));
    }
    let a = Wiped(end.a.as_ref().ok_or(MISSING)?.convert(product.ring()));
    let part = before_division(product, &a, (beta, remainder.ok_or(MISSING)?));
    keys.division().exact_quotient(ctx, part, quotients).map(Some)
}

/// Authenticates c of all halves, from the parts of both parties.
async fn authenticate_quotients(
    keys: Keys<'_>,
    ctx: &Ctx,
    ring: Ring,
    ends: &[End],
    own: &[Option<Wiped<Vector>>],
) -> Result<Shared> {
    let quotients = Ring::of(keys.params.words(ring).bits() - keys.params.inner_bits());
    let mut all = Vec::new();
    for (End { half, .. }, own) in ends.iter().zip(own) {
        let of = |owner| Own::of(owner, (quotients, half.len), own.as_deref());
        all.extend([of(half.chooses), of(half.sends)]);
    }
    let each: Vec<Shared> = keys.voles().authenticate(ctx, &all).await?.into_iter().flatten().collect();
    let sums: Vec<Shared> = each.chunks(2).map(sum).collect();
    Ok(joined(&sums.iter().collect::<Vec<_>>()))
}

/// The number of vectors of a half that are authenticated.
const VALUES: usize = 8;

impl End {
    /// Returns a, ahat and the shares of P_i; and the shares, beta and b of P_j.
    fn to_authenticate(&self, params: Params, ring: Ring) -> [Own<'_>; VALUES] {
        let Half { chooses, sends, len } = self.half;
        let words = params.words(ring);
        let quotients = Ring::of(words.bits() - params.inner_bits());
        let (beta, b) = self.factor.as_ref().map(|factor| (&*factor.beta, &*factor.b)).unzip();
        let (a, a_hat) = (self.a.as_deref(), self.a_hat.as_deref());
        let (c, c_hat) = (self.c.as_deref(), self.c_hat.as_deref());
        let word = |(owner, value)| Own::of(owner, (words, len), value);
        let [a, a_hat, c_i, c_hat_i] = [a, a_hat, c, c_hat].map(|value| word((chooses, value)));
        let [c_j, c_hat_j, beta] = [c, c_hat, beta].map(|value| word((sends, value)));
        [a, a_hat, c_i, c_hat_i, c_j, c_hat_j, beta, Own::of(sends, (quotients, len), b)]
    }
}

impl SharedHalf {
    fn of(each: &[Shared]) -> Result<SharedHalf> {
        let [a, a_hat, c, c_hat, other_c, other_c_hat, beta, b] = each else { return Err(MISSING) };
        Ok(SharedHalf {
            a: a.clone(),
            a_hat: a_hat.clone(),
            c: c.clone().plus(other_c),
            c_hat: c_hat.clone().plus(other_c_hat),
            beta: beta.clone(),
            b: b.clone(),
        })
    }
}

fn swapped<T>([first, second]: [T; 2]) -> [T; 2] {
    [second, first]
}
