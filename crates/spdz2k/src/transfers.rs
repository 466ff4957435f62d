//! Oblivious transfers with every peer: shares of the products of every party's bits with the others' factors.
//!
//! **Source**: Cramer et al. 2018 (ePrint 2018/482), Fig. 8, "Multiply", over [`quorate_ot::correlated`]. **Model**:
//! malicious; a cheater may use another factor in every OT, and other bits towards every peer. Protocols that rely on
//! the products have to check them. **Notation**: x_h the bits of P_i, alike towards all peers; f a factor of P_j.
//!
//! | step | rounds | what |
//! |---|---|---|
//! | 1 | 4 | for each ordered pair i, j and each row h: an OT with P_i's bit x_h, by which both share x_h f |
//!
//! If there are several factors, one OT serves all of them: so a party cannot use different bits for different factors.

use std::borrow::Cow;

use quorate_adversary::Twist;
use quorate_authenticated::keys::Keys;
use quorate_authenticated::shared::blank;
use quorate_engine::{Ctx, Error, Result};
use quorate_ot::Ot;
use quorate_ot::correlated::Row;
use quorate_ot::source::Choices;
use quorate_ring::{Bits, Ring, Vector, Wiped};

pub(crate) const NO_PEER: Error = Error::Bug { what: "a party is no peer of its own" };

/// A factor of this party for the bits of others, and the number of bits that the product with each row needs. The last
/// rows may be left out.
pub(crate) struct Multiplier<'v> {
    pub value: &'v Vector,
    pub bits: Vec<u32>,
}

/// The results of the OTs of all pairs.
pub(crate) struct Transferred {
    pub choices: Wiped<Bits>,
    len: usize,
    /// By factor and row: the sum over all peers of this party's shares of the products of its bits with their factors,
    /// and of their bits with its own factors.
    pub products: Vec<Vec<Wiped<Vector>>>,
}

impl Transferred {
    /// Returns this party's bits of a row.
    pub fn bits(&self, row: usize, ring: Ring) -> Wiped<Vector> {
        Wiped(Wiped(self.choices.slice_lanes(row * self.len..(row + 1) * self.len)).to_vector(ring))
    }
}

/// The oblivious transfers of a party with its peers.
#[derive(Clone, Copy)]
pub(crate) struct Ots<'k> {
    pub keys: &'k Keys,
    /// By party; `None` for this one.
    pub ots: &'k [Option<Ot>],
}

impl<'k> Ots<'k> {
    /// Returns the transfers with a peer.
    pub fn with(self, peer: usize) -> Result<&'k Ot> {
        self.keys.in_use()?;
        self.ots.get(peer).and_then(Option::as_ref).ok_or(NO_PEER)
    }

    /// Runs the work with every peer, side by side, in a lane for each pair of parties.
    pub async fn with_each_peer<T>(&self, ctx: &Ctx, work: impl AsyncFn(Ctx, usize) -> Result<T>) -> Result<Vec<T>> {
        let pairs: Vec<(usize, usize)> = (0..self.keys.parties).flat_map(|i| (0..i).map(move |j| (j, i))).collect();
        let peers = self.keys.peers();
        let lane = async |ctx: Ctx, i: usize| {
            let (low, high) = pairs[i];
            let peer = if low == self.keys.me { high } else { low };
            match peers.iter().position(|&known| known == peer).filter(|_| low == self.keys.me || high == self.keys.me)
            {
                Some(place) => work(ctx, place).await.map(|done| Some((place, done))),
                None => Ok(None),
            }
        };
        let mut done: Vec<(usize, T)> = ctx.join_all(pairs.len(), lane).await?.into_iter().flatten().collect();
        done.sort_by_key(|(place, _)| *place);
        Ok(done.into_iter().map(|(_, done)| done).collect())
    }

    /// Runs step 1 for `count` rows of OTs for `len` elements. Returns once this party has its own corrections; other
    /// parties may still lack theirs. Coins that weigh the products have to be tossed after it.
    pub async fn products(
        &self,
        ctx: &Ctx,
        (count, len): (usize, usize),
        factors: &[Multiplier<'_>],
    ) -> Result<Transferred> {
        let peers = self.keys.peers();
        // With one peer the choice bits are random: chosen ones take one more bit each.
        let given = peers.len() > 1;
        let shape = (1, if given { count * len } else { 0 });
        let chosen: Wiped<Bits> = Wiped(ctx.randomness().stream(&self.keys.private).draw(shape));
        let widths: Vec<&[u32]> = factors.iter().map(|factor| &factor.bits[..]).collect();
        let transfer = async |ctx: Ctx, i: usize| {
            let ot = self.with(peers[i])?;
            let element = |factor: usize, row: usize| {
                let own = self.keys.twisted(Twist::Factors { peer: peers[i] }, Cow::Borrowed(factors[factor].value));
                self.keys.twisted(Twist::Transfer { peer: peers[i], factor, row }, own)
            };
            let elements: Vec<Vec<_>> =
                (0..factors.len()).map(|factor| (0..count).map(|row| element(factor, row)).collect()).collect();
            let rows = elements.iter().zip(factors).map(|(elements, factor)| {
                elements.iter().zip(&factor.bits).map(|(element, &bits)| Row { element, bits }).collect()
            });
            let rows: Vec<Vec<Row<'_>>> = rows.collect();
            let rows: Vec<&[Row<'_>]> = rows.iter().map(|rows| &rows[..]).collect();
            let none = || -> Vec<Vec<Wiped<Vector>>> { widths.iter().map(|_| vec![]).collect() };
            let send = async |ctx: Ctx| {
                let mut shares = none();
                let sink = |[factor, _]: [usize; 2], share| shares[factor].push(share);
                ot.send_products_of_bits(&ctx, (count, len), &rows, given, sink).await?;
                Ok(shares)
            };
            let receive = async |ctx: Ctx| {
                let choices = if given { Choices::Given(&chosen) } else { Choices::Random(count * len) };
                let mut shares = none();
                let sink = |[factor, _]: [usize; 2], share| shares[factor].push(share);
                Ok((ot.receive_products_of_bits(&ctx, choices, count, &widths, sink).await?, shares))
            };
            ot.both(&ctx, send, receive).await
        };
        let mut choices = None;
        let mut products: Vec<Vec<Wiped<Vector>>> = Vec::new();
        for (sent, (bits, received)) in self.with_each_peer(ctx, transfer).await? {
            choices.get_or_insert(Wiped(bits));
            for shares in [sent, received] {
                match products.is_empty() {
                    true => products = shares,
                    false => add_all(&mut products, &shares),
                }
            }
        }
        Ok(Transferred { choices: choices.unwrap_or(chosen), len, products })
    }
}

fn add_all(sums: &mut [Vec<Wiped<Vector>>], shares: &[Vec<Wiped<Vector>>]) {
    let rows = sums.iter_mut().flatten().zip(shares.iter().flatten());
    rows.for_each(|(sum, share)| sum.add_assign(share));
}

/// Returns two sums that start from zero, with the ring and length of a vector.
pub(crate) fn sums_like(like: &Vector) -> [Wiped<Vector>; 2] {
    [0; 2].map(|_| Wiped(blank(like)))
}
