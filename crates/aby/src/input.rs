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

use quorate_engine::{Chunks, Ctx, Error, Misuse, Result};
use quorate_ring::{Module, Ring, Vector};

use crate::setup::Aby;
use crate::share::{Share, blank};

/// The error of an opening to both parties that returned no value.
pub(crate) const NOT_OPENED: Error = Error::Bug { what: "an opening to both gave nothing" };

/// Checks that the owner exists, and that it alone gives a value, of the shape on which both agree.
pub(crate) fn check_owner<M: Module>(ctx: &Ctx, owner: usize, shape: M::Shape, value: Option<&M>) -> Result<()> {
    check_party(ctx, owner)?;
    match value {
        _ if ctx.is_dry() => Ok(()),
        None if owner == ctx.me() => Err(Misuse::Other { what: "an input without its owner's value" }.into()),
        Some(value) if value.shape_of() != shape => {
            Err(Misuse::Other { what: "an input of another shape than was agreed" }.into())
        }
        _ => Ok(()),
    }
}

pub(crate) fn check_party(ctx: &Ctx, party: usize) -> Result<()> {
    let parties = ctx.parties();
    if party < parties { Ok(()) } else { Err(Misuse::NoSuchParty { party, parties }.into()) }
}

/// Returns chunks of a vector that is opened: a share and a value at a time.
pub(crate) fn opening((ring, len): (Ring, usize)) -> Chunks {
    Chunks::of_bytes(len, 2 * ring.carrier().bytes())
}

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
        let drawn: Share<M> = Share(ctx.randomness().stream(&self.pair).draw(shape));
        match value {
            Some(value) if ctx.me() == owner && !ctx.is_dry() => {
                let mut rest = Share(value.clone());
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
        let work = async |ctx: Ctx, range| {
            let own = value.borrow().map(|x| x.slice(range));
            self.open_share(&ctx, &own, None).await?.ok_or(NOT_OPENED)
        };
        ctx.stream_alike(chunks, work, |range, part| value.borrow_mut().write_at(range.start, &part)).await?;
        Ok(value.into_inner())
    }

    /// Opens as [`Aby::open_share`] does, over Z_2^k; a long vector goes as a stream of chunks.
    pub(crate) async fn open_long(&self, ctx: &Ctx, x: &Share<Vector>, only: Option<usize>) -> Result<Option<Vector>> {
        let (ring, len) = x.shape_of();
        let chunks = opening((ring, len));
        if chunks.count() <= 1 {
            return self.open_share(ctx, x, only).await;
        }
        let learns = only.is_none_or(|to| to == self.me);
        let mut value: Option<Vector> = learns.then(|| blank(ctx.is_dry(), (ring, len)));
        let work = async |ctx: Ctx, range| self.open_share(&ctx, &x.map(|x| x.slice(range)), only).await;
        ctx.stream_alike(chunks, work, |range, part: Option<Vector>| {
            if let (Some(value), Some(part)) = (&mut value, part) {
                value.write_at(range.start, &part);
            }
        })
        .await?;
        Ok(value)
    }
}
