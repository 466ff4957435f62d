//! Inputs, openings and reveals.
//!
//! **Source**: additive sharing between two parties; **ours**: what is drawn from seeds of pairs, and the fresh shares
//! for party 2. **Model**: semi-honest, 1 of 3.
//!
//! | protocol | rounds | sent |
//! |---|---|---|
//! | input of party 0 or 1 | 0 | 0: the share of the other one is drawn from the seed of both |
//! | input of party 2 | 1 for party 1 | 1 element to party 1; party 0's share is drawn from its seed with party 2 |
//! | open, to compute on | 1 for parties 0 and 1 | 1 element by each of them; party 2 gets a shape |
//! | reveal to all | 1 | 2 elements by each of parties 0 and 1 |
//! | reveal to party 0 or 1 | 1 for it | 1 element by the other one of them |
//! | reveal to party 2 | 1 for it | 1 element by each of parties 0 and 1 |
//!
//! Party 2 knows all correlations, and with them the parts of shares of results. So it may see neither what is opened
//! nor a share that was not made anew. Parties 0 and 1 send it x_0 + r and x_1 - r, with r from the seed that they
//! alone know: these are uniform summands of x.

use quorate_additive::open::{NOT_OPENED, in_chunks};
use quorate_engine::{Ctx, Result, check_owner};
use quorate_ring::{Bits, Module, Vector};

use crate::setup::{DEALER, Pika};
use crate::share::Share;

/// Returns the party whose share of an input is drawn: party 0, or party 1 for an input of party 0.
fn drawn_by(owner: usize) -> usize {
    if owner == 0 { 1 } else { 0 }
}

impl Pika {
    /// Shares a vector of the owner; `value` is `Some` exactly at the owner (ignored in a dry run).
    pub(crate) async fn share_input(
        &self,
        ctx: &Ctx,
        owner: usize,
        shape: <Vector as Module>::Shape,
        value: Option<&Vector>,
    ) -> Result<Share<Vector>> {
        let own = self.split_input(ctx, owner, shape, value)?;
        match owner {
            DEALER => Ok(self.own_or(self.pass_long(ctx, (DEALER, 1), &own).await?, own)),
            _ => Ok(own),
        }
    }

    /// Shares bits of the owner.
    pub(crate) async fn share_input_bits(
        &self,
        ctx: &Ctx,
        owner: usize,
        shape: <Bits as Module>::Shape,
        value: Option<&Bits>,
    ) -> Result<Share<Bits>> {
        let own = self.split_input(ctx, owner, shape, value)?;
        match owner {
            DEALER => Ok(self.own_or(self.pass(ctx, (DEALER, 1), &*own).await?, own)),
            _ => Ok(own),
        }
    }

    /// Returns the passed share, or else the own one; party 2 keeps a shape of what it sent.
    fn own_or<M: Module>(&self, passed: Option<Share<M>>, own: Share<M>) -> Share<M> {
        match passed {
            Some(passed) => passed,
            None if self.deals() => Share::shape(own.shape_of()),
            None => own,
        }
    }

    /// Returns what a party has of an input before it is passed: the owner has the rest of the value, one party a drawn
    /// share, the third one a shape.
    fn split_input<M: Module>(&self, ctx: &Ctx, owner: usize, shape: M::Shape, value: Option<&M>) -> Result<Share<M>> {
        check_owner(ctx, owner, shape, value)?;
        let (coins, other) = (ctx.randomness(), drawn_by(owner));
        let drawn = |peer: usize| Share::<M>::of(coins.stream(self.coins_with(peer)).draw(shape));
        if self.me == other {
            return Ok(drawn(owner));
        }
        if self.me != owner {
            return Ok(Share::shape(shape));
        }
        let drawn = drawn(other);
        let Some(value) = value.filter(|_| !ctx.is_dry()) else { return Ok(drawn) };
        let mut rest = Share::of(value.clone());
        rest.sub_assign(&drawn);
        Ok(rest)
    }

    /// Opens to parties 0 and 1, to compute on; party 2 gets a shape.
    pub(crate) async fn open_share<M: Module>(&self, ctx: &Ctx, x: &Share<M>) -> Result<M> {
        let shape = x.shape_of();
        if self.deals() {
            return Ok(M::phantom(shape));
        }
        let received = ctx.exchange::<M>(&[(self.peer(), &**x)], &[(self.peer(), shape)]).await?.pop();
        let mut value = received.ok_or(NOT_OPENED)?;
        value.add_assign(x);
        value.reduce();
        Ok(value)
    }

    /// Opens as [`Pika::open_share`] does, over Z_2^k; a long vector goes as a stream of chunks.
    pub(crate) async fn open_long(&self, ctx: &Ctx, x: &Share<Vector>) -> Result<Vector> {
        let pika = self.clone();
        let open = async move |ctx: &Ctx, x: &Share<Vector>| pika.open_share(ctx, x).await.map(Some);
        in_chunks(ctx, x, true, open).await?.ok_or(NOT_OPENED)
    }

    /// Reveals a result to all, or to one party; the others get `None`.
    pub(crate) async fn reveal_share<M: Module>(
        &self,
        ctx: &Ctx,
        x: &Share<M>,
        to: Option<usize>,
    ) -> Result<Option<M>> {
        let learns = |party: usize| to.is_none_or(|to| to == party);
        let (coins, shape) = (ctx.randomness(), x.shape_of());
        if self.deals() {
            return if learns(DEALER) { self.add_shares(ctx, shape).await.map(Some) } else { Ok(None) };
        }
        let mut own = x.clone();
        if learns(DEALER) {
            let fresh = Share::<M>::of(coins.stream(self.coins_with(self.peer())).draw(shape));
            if self.me == 0 { own.add_assign(&fresh) } else { own.sub_assign(&fresh) }
        }
        let received = match to {
            None => {
                let outgoing = [(self.peer(), &*own), (DEALER, &*own)];
                ctx.exchange::<M>(&outgoing, &[(self.peer(), shape)]).await?.pop()
            }
            Some(to) if to == self.me => Some(ctx.receive(self.peer(), shape).await?),
            Some(to) => ctx.send(to, &*own).await.map(|()| None)?,
        };
        Ok(received.map(|mut value: M| {
            value.add_assign(&own);
            value.reduce();
            value
        }))
    }

    /// Adds up fresh shares at party 2.
    async fn add_shares<M: Module>(&self, ctx: &Ctx, shape: M::Shape) -> Result<M> {
        let mut value: M = ctx.receive(0, shape).await?;
        value.add_assign(&*Share::of(ctx.receive::<M>(1, shape).await?));
        value.reduce();
        Ok(value)
    }

    /// Reveals as [`Pika::reveal_share`] does, over Z_2^k; a long vector goes as a stream of chunks.
    pub(crate) async fn reveal_long(&self, ctx: &Ctx, x: &Share<Vector>, to: Option<usize>) -> Result<Option<Vector>> {
        let pika = self.clone();
        let reveal = async move |ctx: &Ctx, x: &Share<Vector>| pika.reveal_share(ctx, x, to).await;
        in_chunks(ctx, x, to.is_none_or(|to| to == self.me), reveal).await
    }
}
