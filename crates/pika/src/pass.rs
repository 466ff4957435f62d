//! Messages from one party to another, while the third one continues.
//!
//! The sender does not wait: the receiver's rounds rise to one more than the sender's.

use quorate_additive::blank;
use quorate_additive::open::opening;
use quorate_engine::{Ctx, Result};
use quorate_ring::{Module, Vector};

use crate::setup::Pika;
use crate::share::Share;

/// Sender and receiver.
pub(crate) type Way = (usize, usize);

impl Pika {
    /// Passes a vector or bits. Returns `None` except at the receiver, whose `own` gives the shape.
    pub(crate) async fn pass<M: Module>(&self, ctx: &Ctx, (from, to): Way, own: &M) -> Result<Option<Share<M>>> {
        let shape = own.shape_of();
        if M::packed_bytes(shape) == 0 {
            return Ok((self.me == to).then(|| Share::of(blank(ctx.is_dry(), shape))));
        }
        let work = async |ctx: Ctx| match self.me == from {
            true => ctx.send(to, own).await.map(|()| None),
            false => ctx.receive::<M>(from, shape).await.map(|received| Some(Share::of(received))),
        };
        Ok(ctx.among(&[from.min(to), from.max(to)], work).await?.flatten())
    }

    /// Passes as [`Pika::pass`] does; a long vector goes as a stream of chunks.
    pub(crate) async fn pass_long(&self, ctx: &Ctx, way: Way, own: &Vector) -> Result<Option<Share<Vector>>> {
        let chunks = opening(own.shape_of());
        if chunks.count() <= 1 {
            return self.pass(ctx, way, own).await;
        }
        let mut received = (self.me == way.1).then(|| Share::of(blank::<Vector>(ctx.is_dry(), own.shape_of())));
        let pika = self.clone();
        let work = async move |ctx: Ctx, part: Share<Vector>| pika.pass(&ctx, way, &*part).await;
        ctx.spread(
            chunks,
            |range| Share::of(own.slice(range)),
            work,
            |range, part: Option<Share<Vector>>| {
                if let (Some(received), Some(part)) = (&mut received, part) {
                    received.write_at(range.start, &part);
                }
            },
        )
        .await?;
        Ok(received)
    }
}
