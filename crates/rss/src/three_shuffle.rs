//! Shuffle of three parties: rows in a random order that no party knows, in two rounds.
//!
//! **Source**: ours; a pair permutes summands that it masks, after the idea of Laur, Willemson, Zhang 2011.
//! **Model**: semi-honest, 1 of 3. Rounds: 2. Sent: 4 elements for each element, by parties 0, 1, 2: one, two, one.
//!
//! Each pair of parties i, j draws a permutation pi_ij from its key, and parties 0 and 1, 0 and 2 draw masks z_0j and
//! y_0j for each column. Party 0 knows a, parties 1 and 2 know c, and x = a + c.
//!
//! | round | party 0 | party 1 | party 2 |
//! |---|---|---|---|
//! | 1 | sends 1: pi_02(pi_01(a + z_01) + z_02) | sends 2: w = pi_01(c - z_01) | |
//! | | | u = pi_12(what came) | v = pi_12(pi_02(w - z_02)) |
//! | 2 | | sends 2: u - y_01 | sends 1: v - y_02 |
//!
//! u + v is x in the order pi_12 pi_02 pi_01. Its new shares are y_01, y_02 and the sum of the two messages of round 2.
//! What party 1 receives is masked by z_02 and y_02, which it lacks, and what party 2 receives by z_01 and y_01. Each
//! party lacks one of the permutations. The argument is in docs/security/rss-arguments.md.

use std::ops::Range;

use quorate_engine::{Chunks, Ctx, Result};
use quorate_ring::Vector;
use zeroize::Zeroizing;

use crate::setup::Rss;
use crate::share::{Shared, Wiped};

/// The order of rows: row i of the result is row order[i].
type Order = Zeroizing<Vec<u32>>;

/// The masks of a column that two parties draw: z, for a message of the first round, and y, a share of the result.
struct Masks {
    z: Wiped<Vector>,
    y: Wiped<Vector>,
}

impl Rss {
    /// Puts the rows of all columns into one uniformly random order, among three parties.
    pub(crate) async fn shuffle_of_three(
        &self,
        ctx: &Ctx,
        columns: &[&Shared<Vector>],
        rows: usize,
    ) -> Result<Vec<Shared<Vector>>> {
        let randomness = ctx.randomness();
        let draw = |own: usize| (!ctx.is_dry()).then(|| randomness.stream(&self.seeds[own]).permutation(rows));
        let orders: Vec<Option<Order>> = (0..self.share_count()).map(draw).collect();
        ctx.join_all(columns.len(), async |ctx: Ctx, i: usize| self.shuffle_column(&ctx, columns[i], &orders).await)
            .await
    }

    /// Shuffles a column by the orders of the keys that this party holds.
    async fn shuffle_column(&self, ctx: &Ctx, x: &Shared<Vector>, orders: &[Option<Order>]) -> Result<Shared<Vector>> {
        let (ring, len) = x.shape;
        let mut streams = self.streams(ctx);
        // A key is named by the party that lacks it.
        let key = |lacks: usize| self.maps.index(1 << lacks).unwrap_or_default();
        let mut masks = |lacks: usize| {
            let stream = &mut streams[key(lacks)];
            Masks { z: Wiped(stream.draw((ring, len))), y: Wiped(stream.draw((ring, len))) }
        };
        let moved = |rows: Wiped<Vector>, lacks: usize| Wiped(in_order(&rows, orders[key(lacks)].as_ref()));
        let mut shares = [Vector::shape(ring, 0), Vector::shape(ring, 0)];
        match self.maps.me {
            0 => {
                let (by_01, by_02) = (masks(2), masks(1));
                let mut sum = Wiped(x.shares[0].clone());
                sum.add_assign(&x.shares[1]);
                sum.add_assign(&by_01.z);
                let mut sum = moved(sum, 2);
                sum.add_assign(&by_02.z);
                self.pass_on(ctx, (ring, len), Some((1, moved(sum, 1))), None).await?;
                self.pass_on(ctx, (ring, len), None, None).await?;
                shares[key(2)] = by_01.y.into_inner();
                shares[key(1)] = by_02.y.into_inner();
            }
            1 => {
                let by_01 = masks(2);
                let mut w = Wiped(x.shares[key(0)].clone());
                w.sub_assign(&by_01.z);
                let came = self.pass_on(ctx, (ring, len), Some((2, moved(w, 2))), Some(0)).await?;
                let mut own = moved(came, 0);
                own.sub_assign(&by_01.y);
                shares[key(0)] = self.sum_of_both(ctx, own, 2).await?;
                shares[key(2)] = by_01.y.into_inner();
            }
            _ => {
                let by_02 = masks(1);
                let mut w = self.pass_on(ctx, (ring, len), None, Some(1)).await?;
                w.sub_assign(&by_02.z);
                let mut own = moved(moved(w, 1), 0);
                own.sub_assign(&by_02.y);
                shares[key(0)] = self.sum_of_both(ctx, own, 1).await?;
                shares[key(1)] = by_02.y.into_inner();
            }
        }
        Ok(Shared::new(x.shape, shares.into()))
    }

    /// Exchanges a summand with another party, and returns the sum of both.
    async fn sum_of_both(&self, ctx: &Ctx, own: Wiped<Vector>, other: usize) -> Result<Vector> {
        let shape = (own.ring(), own.len());
        let mut sum = self.pass_on(ctx, shape, Some((other, Wiped(own.clone()))), Some(other)).await?;
        sum.add_assign(&own);
        Ok(sum.into_inner())
    }

    /// Sends a vector and receives one of the same shape, in one round; long ones in chunks. Returns what came, or an
    /// empty vector.
    async fn pass_on(
        &self,
        ctx: &Ctx,
        (ring, len): (quorate_ring::Ring, usize),
        outgoing: Option<(usize, Wiped<Vector>)>,
        from: Option<usize>,
    ) -> Result<Wiped<Vector>> {
        let to = outgoing.as_ref().map(|(to, _)| *to);
        let work = async move |ctx: Ctx, (len, part): (usize, Option<Wiped<Vector>>)| {
            let outgoing: Vec<(usize, &Vector)> = to.into_iter().zip(part.as_deref()).collect();
            let incoming: Vec<_> = from.into_iter().map(|from| (from, (ring, len))).collect();
            Ok(ctx.exchange(&outgoing, &incoming).await?.pop().map(Wiped))
        };
        let part = |range: Range<usize>| {
            let part = outgoing.as_ref().map(|(_, vector)| Wiped(vector.slice(range.clone())));
            (range.len(), part)
        };
        let mut came = Wiped(self.blank::<Vector>(ctx, (ring, from.map_or(0, |_| len))));
        let chunks = Chunks::of_bytes(len, ring.carrier().bytes() * 2);
        ctx.spread(chunks, part, work, |range, part| {
            if let Some(part) = part {
                came.write_at(range.start, &part);
            }
        })
        .await?;
        Ok(came)
    }
}

/// Returns the rows in this order; a column holds as many elements for each row.
fn in_order(rows: &Vector, order: Option<&Order>) -> Vector {
    let Some(order) = order else { return rows.gathered_shape(rows.len()) };
    let width = rows.len() / order.len().max(1);
    if width == 1 {
        return rows.gather(order);
    }
    let mut places = Zeroizing::new(Vec::with_capacity(rows.len())); // it never grows, which would leave copies
    order.iter().for_each(|&row| places.extend((0..width as u32).map(|i| row * width as u32 + i)));
    rows.gather(&places)
}
