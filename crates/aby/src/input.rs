//! Inputs and openings.
//!
//! **Source**: aby, sections III-A1 and III-B1. **Deviation**: the share of the party that does not own an input is
//! drawn from a seed that both parties know. In the paper, the owner draws it and sends it. Here, too, it is uniform
//! for both, and the owner knows it. **Model**: semi-honest, 1 of 2.
//!
//! | protocol | rounds | sent |
//! |---|---|---|
//! | input | 0 | 0 (Table I: l bits, 1 message) |
//! | open to both | 1 | l bits by each party |
//! | open to one | 1 | l bits by the other |
//!
//! An opening reveals a share. It follows from the value and the receiver's own share.

use std::cell::RefCell;

use quorate_additive::open::{NOT_OPENED, in_chunks, opening};
use quorate_engine::{Ctx, Result, check_owner};
use quorate_ring::{Module, Vector};

use crate::Share;
use crate::setup::Aby;

impl Aby {
    /// Shares the owner's value; `value` is `Some` exactly at the owner (ignored in a dry run).
    pub(crate) fn share_input<M: Module>(
        &self,
        ctx: &Ctx,
        owner: usize,
        shape: M::Shape,
        value: Option<&M>,
    ) -> Result<Share<M>> {
        check_owner(ctx, owner, shape, value)?;
        let drawn: Share<M> = Share::of(ctx.randomness().stream(&self.pair).draw(shape));
        match value {
            Some(value) if ctx.me() == owner && !ctx.is_dry() => {
                let mut rest = Share::of(value.clone());
                rest.sub_assign(&drawn);
                Ok(rest)
            }
            _ => Ok(drawn),
        }
    }

    /// Opens to both parties, or `only` to one; at the other the result is `None`.
    pub(crate) async fn open_share<M: Module>(
        &self,
        ctx: &Ctx,
        x: &Share<M>,
        only: Option<usize>,
    ) -> Result<Option<M>> {
        let learns = |party: usize| only.is_none_or(|to| to == party);
        let (outgoing, incoming) = ([(self.peer(), &**x)], [(self.peer(), x.shape_of())]);
        let outgoing = &outgoing[..usize::from(learns(self.peer()))];
        let incoming = &incoming[..usize::from(learns(self.me))];
        let received = ctx.exchange(outgoing, incoming).await?.pop();
        Ok(received.map(|mut value| {
            value.add_assign(x);
            value.reduce();
            value
        }))
    }

    /// Opens a long vector to both parties, in place of this party's share of it.
    pub(crate) async fn open_in_place(&self, ctx: &Ctx, x: Share<Vector>) -> Result<Share<Vector>> {
        let chunks = opening(x.shape_of());
        let value = RefCell::new(x);
        let aby = self.clone();
        let work = async move |ctx: Ctx, x| aby.open_share(&ctx, &x, None).await?.ok_or(NOT_OPENED);
        let part = |range| value.borrow().map(|x| x.slice(range));
        ctx.spread(chunks, part, work, |range, part| value.borrow_mut().write_at(range.start, &part)).await?;
        Ok(value.into_inner())
    }

    /// Opens as [`Aby::open_share`] does, over Z_2^k; a long vector goes as a stream of chunks.
    pub(crate) async fn open_long(&self, ctx: &Ctx, x: &Share<Vector>, only: Option<usize>) -> Result<Option<Vector>> {
        let aby = self.clone();
        let open = async move |ctx: &Ctx, x: &Share<Vector>| aby.open_share(ctx, x, only).await;
        in_chunks(ctx, x, only.is_none_or(|to| to == self.me), open).await
    }
}
