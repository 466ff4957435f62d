//! Input by a computing party.
//!
//! **Source**: Appendix A.1. **Model**: semi-honest, t of n. Rounds: 1. Sent: t elements by the owner, nothing by
//! others.
//!
//! The owner p* knows k_T for every T that does not contain it. Those shares are drawn, except that of T* = chi(p*),
//! which is the rest of the value and is sent to its t other holders. Shares with p* in T are zero: the owner does not
//! know their seeds, which t+1 other parties know, so they would hide nothing.

use std::ops::Range;

use quorate_engine::{Chunks, Ctx, Result, check_owner};
use quorate_ring::{Module, Ring, Vector};

use crate::maps::Set;
use crate::setup::Rss;
use crate::share::{Shared, Wiped};

impl Rss {
    /// Shares the owner's value; `value` is `Some` exactly at the owner (ignored in a dry run).
    pub(crate) async fn share_input<M: Module>(
        &self,
        ctx: &Ctx,
        owner: usize,
        shape: M::Shape,
        value: Option<&M>,
    ) -> Result<Shared<M>> {
        let maps = &self.maps;
        check_owner(ctx, owner, shape, value)?;
        let special: Set = maps.chi(owner);
        let mut streams = self.streams(ctx);
        let mut shares: Shared<M> = Shared::new(shape, Vec::with_capacity(maps.held.len()));
        for (&set, stream) in maps.held.iter().zip(&mut streams) {
            let drawn = set != special && maps.holders(set).any(|p| p == owner);
            shares.shares.push(if drawn { stream.draw(shape) } else { self.blank(ctx, shape) });
        }
        let own_special = maps.index(special);
        if maps.me == owner {
            let mut rest = value.cloned().unwrap_or_else(|| self.blank(ctx, shape));
            shares.shares.iter().for_each(|share| rest.sub_assign(share));
            shares.shares[maps.sent_share] = rest;
            let outgoing: Vec<(usize, &M)> =
                maps.sent_to.iter().map(|&to| (to, &shares.shares[maps.sent_share])).collect();
            ctx.exchange::<M>(&outgoing, &[]).await?;
        } else if let Some(own) = own_special {
            let mut received = ctx.exchange::<M>(&[], &[(owner, shape)]).await?;
            shares.shares[own] = received.remove(0);
        } else {
            ctx.exchange::<M>(&[], &[]).await?;
        }
        Ok(shares)
    }

    /// Shares the owner's value over Z_2^k like [`Rss::share_input`], as a stream of chunks where the vector is long.
    pub(crate) async fn share_long_input(
        &self,
        ctx: &Ctx,
        owner: usize,
        (ring, len): (Ring, usize),
        value: Option<&Vector>,
    ) -> Result<Shared<Vector>> {
        check_owner(ctx, owner, (ring, len), value)?;
        let chunks = Chunks::of_bytes(len, ring.carrier().bytes() * 2 * self.share_count());
        if chunks.count() <= 1 {
            return self.share_input(ctx, owner, (ring, len), value).await;
        }
        let mut result = self.vector_of_shape(ctx, (ring, len));
        let part = |range: Range<usize>| (range.len(), value.map(|v| Wiped(v.slice(range))));
        let rss = self.clone();
        let work = async move |ctx: Ctx, (len, part): (usize, Option<Wiped<Vector>>)| {
            rss.share_input(&ctx, owner, (ring, len), part.as_deref()).await
        };
        ctx.spread(chunks, part, work, |range, part| result.write_at(range.start, &part)).await?;
        Ok(result)
    }
}
