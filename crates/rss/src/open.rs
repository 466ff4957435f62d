//! Open: to all parties, or to one.
//!
//! **Source**: section 4.3. **Model**: semi-honest, t of n. Rounds: 1. Sent per party: t elements (to all); to one
//! party, t parties send one element each. A message is the sum of the missing shares that this party sends to the
//! receiver. It follows from the opened value and the receiver's own shares.

use quorate_engine::{Chunks, Ctx, Result};
use quorate_ring::{Module, Vector};

use crate::setup::Rss;
use crate::share::{Shared, Wiped};

impl Rss {
    /// Opens a value to every party for which `learns` holds; at the others the result is `None`.
    pub(crate) async fn open_where<M: Module>(
        &self,
        ctx: &Ctx,
        x: &Shared<M>,
        learns: impl Fn(usize) -> bool,
    ) -> Result<Option<M>> {
        let maps = &self.maps;
        let sum = |own: &[usize]| {
            let mut sum = Wiped(x.shares[own[0]].clone());
            own[1..].iter().for_each(|&i| sum.add_assign(&x.shares[i]));
            sum
        };
        let told = maps.opened_to.iter().filter(|(to, _)| learns(*to));
        let sums: Vec<(usize, Wiped<M>)> = told.map(|(to, own)| (*to, sum(own))).collect();
        let outgoing: Vec<(usize, &M)> = sums.iter().map(|(to, sum)| (*to, &**sum)).collect();
        let incoming: Vec<(usize, M::Shape)> = match learns(maps.me) {
            true => maps.opened_from.iter().map(|&from| (from, x.shape)).collect(),
            false => Vec::new(),
        };
        let received = ctx.exchange(&outgoing, &incoming).await?;
        if !learns(maps.me) {
            return Ok(None);
        }
        let mut value = x.shares[0].clone();
        x.shares[1..].iter().chain(&received).for_each(|share| value.add_assign(share));
        value.reduce();
        Ok(Some(value))
    }

    /// Opens a value over Z_2^k like [`Rss::open_where`], as a stream of chunks where the vector is long.
    pub(crate) async fn open_long(
        &self,
        ctx: &Ctx,
        x: &Shared<Vector>,
        learns: impl Fn(usize) -> bool + Send + Sync + 'static,
    ) -> Result<Option<Vector>> {
        let (ring, len) = x.shape;
        let chunks = Chunks::of_bytes(len, ring.carrier().bytes() * 2 * self.share_count());
        if chunks.count() <= 1 {
            return self.open_where(ctx, x, learns).await;
        }
        let mut value: Option<Vector> = learns(self.maps.me).then(|| self.blank(ctx, (ring, len)));
        let rss = self.clone();
        let work = async move |ctx: Ctx, x: Shared<Vector>| rss.open_where(&ctx, &x, &learns).await;
        ctx.spread(
            chunks,
            |range| x.slice(range),
            work,
            |range, part: Option<Vector>| {
                if let (Some(value), Some(part)) = (&mut value, part) {
                    value.write_at(range.start, &part);
                }
            },
        )
        .await?;
        Ok(value)
    }
}
