//! Shuffle: rows in a random order that no coalition knows.
//!
//! **Source**: the resharing of Protocol 1 used as in Laur, Willemson, Zhang 2011. **Model**: semi-honest, t of n.
//! Rounds and passes: one for each set T of t parties (10, 35). Sent per party and pass: t elements for each element.
//! Three parties have a shuffle of their own ([`crate::three_shuffle`]).
//!
//! In the pass of T, the t + 1 parties outside T together hold all shares, and each of them holds k_T. They apply a
//! uniform permutation drawn from k_T to their shares, and the value is shared afresh. A coalition misses the
//! permutation of the pass of T exactly when it is T itself, so there is a pass for every T. The composition is uniform
//! for every coalition, and the fresh shares of each pass are independent of those before. No set can be left out.

use quorate_engine::{Chunks, Ctx, Result, check_rows};
use quorate_ring::Vector;
use zeroize::Zeroizing;

use crate::maps::{Set, all_sets};
use crate::setup::Rss;
use crate::share::{Shared, Wiped};

/// The order of rows: row i of the result is row order[i].
type Order = Zeroizing<Vec<u32>>;

impl Rss {
    /// Puts the rows of all columns into one uniformly random order; a column of `rows` rows may hold several elements
    /// a row.
    pub(crate) async fn shuffle_rows(
        &self,
        ctx: &Ctx,
        columns: &[&Shared<Vector>],
        rows: usize,
    ) -> Result<Vec<Shared<Vector>>> {
        check_rows(columns.iter().map(|column| column.shape.1), rows)?;
        if self.maps.parties == 3 {
            return self.shuffle_of_three(ctx, columns, rows).await;
        }
        let mut shuffled: Vec<Shared<Vector>> = columns.iter().map(|&column| column.clone()).collect();
        for set in all_sets(self.maps.parties, self.maps.threshold) {
            let order = self.permutation(ctx, set, rows);
            let order = order.as_ref().map(|order| order.as_slice());
            let pass = async |ctx: Ctx, i: usize| self.shuffle_pass(&ctx, &shuffled[i], set, order).await;
            shuffled = ctx.join_all(columns.len(), pass).await?;
        }
        Ok(shuffled)
    }

    /// Returns a permutation that the parties outside `set` know; `None` at the others and in a dry run.
    fn permutation(&self, ctx: &Ctx, set: Set, rows: usize) -> Option<Order> {
        let randomness = ctx.randomness();
        let own = self.maps.index(set).filter(|_| !ctx.is_dry())?;
        Some(randomness.stream(&self.seeds[own]).permutation(rows))
    }

    /// Runs one pass: the holders of `set`'s key add up what they hold, each share once, in the new order, and reshare
    /// it.
    async fn shuffle_pass(
        &self,
        ctx: &Ctx,
        x: &Shared<Vector>,
        set: Set,
        order: Option<&[u32]>,
    ) -> Result<Shared<Vector>> {
        let (ring, len) = x.shape;
        let mut sum = Wiped(self.blank::<Vector>(ctx, (ring, len)));
        if let Some(order) = order {
            for (share, &held) in x.shares.iter().zip(&self.maps.held) {
                // Each share is counted by the first holder of the key that also holds the share.
                let counts = self.maps.holders(set | held).next() == Some(self.maps.me);
                if counts {
                    sum.add_assign(share);
                }
            }
            let width = len / order.len().max(1);
            let mut index: Order = Zeroizing::new(Vec::with_capacity(len)); // it never grows, which would leave copies
            order.iter().for_each(|&row| index.extend((0..width as u32).map(|i| row * width as u32 + i)));
            sum = Wiped(sum.gather(&index));
        }
        let chunks = Chunks::of_bytes(len, ring.carrier().bytes() * 2 * self.share_count());
        if chunks.count() <= 1 {
            return self.reshare(ctx, sum).await;
        }
        let mut result = self.vector_of_shape(ctx, (ring, len));
        let rss = self.clone();
        let work = async move |ctx: Ctx, part| rss.reshare(&ctx, part).await;
        ctx.spread(chunks, |range| Wiped(sum.slice(range)), work, |range, part| result.write_at(range.start, &part))
            .await?;
        Ok(result)
    }
}
