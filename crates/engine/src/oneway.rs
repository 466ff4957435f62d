//! Messages for which the sender does not wait: [`Ctx::send`] and [`Ctx::receive`].
//!
//! An exchange counts a round for both ends. Here the receiver's depth rises to one more than the sender's, and the
//! sender stays at its own depth. A party that only sends, however often, delays the other by one message only.
//!
//! Both ends call it in step: one sends, the other receives. As in an exchange, a sender waits for credit only before
//! it sends, and only for what it sent earlier. It therefore waits only for a party at an earlier step of the lane, and
//! no circle of waits can arise. Among more than two parties only [`dry::together`](crate::dry::together) gives exact
//! depths.

use std::ops::Deref;

use quorate_ring::Module;
use quorate_ring::meter::{Kernel, charge};

use crate::ctx::{Ctx, wrong_length};
use crate::error::Result;
use crate::lane_table::Message;

/// The bytes of a message; empty in a dry run.
pub struct Incoming(Option<Message>);

impl Deref for Incoming {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.as_ref().map_or(&[], Message::bytes)
    }
}

impl Ctx {
    /// Sends a vector to one party, which calls [`Ctx::receive`].
    ///
    /// # Errors
    /// Any error that ends the run.
    pub async fn send<M: Module>(&self, to: usize, vector: &M) -> Result<()> {
        self.core.costs.borrow_mut().apart();
        self.wait_for_credit(to, false).await?;
        self.post(to, M::packed_bytes(vector.shape_of()), |frame| vector.pack(frame))?;
        self.reach(self.depth.get().sent());
        Ok(())
    }

    /// Receives the vector that `from` sends.
    ///
    /// # Errors
    /// Any error that ends the run; [`Error::Malformed`](crate::Error::Malformed) if the message has another length
    /// than its shape.
    pub async fn receive<M: Module>(&self, from: usize, shape: M::Shape) -> Result<M> {
        let bytes = self.next_one(from, M::packed_bytes(shape)).await?;
        if self.is_dry() {
            M::charge_unpack(shape);
            return Ok(M::phantom(shape));
        }
        M::unpack(shape, &bytes).map_err(|_| wrong_length(from))
    }

    /// Sends `length` bytes, which `write` writes in place, to a party that calls [`Ctx::receive_bytes`]. A dry run
    /// does not call `write`.
    ///
    /// # Errors
    /// Any error that ends the run.
    pub async fn send_bytes(&self, to: usize, length: usize, write: impl FnOnce(&mut [u8])) -> Result<()> {
        self.core.costs.borrow_mut().apart();
        self.wait_for_credit(to, false).await?;
        let dry = self.is_dry();
        self.post(to, length, |frame| {
            let start = frame.len();
            if !dry {
                frame.resize(start + length, 0);
                write(&mut frame[start..]);
            }
        })?;
        self.reach(self.depth.get().sent());
        Ok(())
    }

    /// Receives exactly `length` bytes that `from` sends with [`Ctx::send_bytes`].
    ///
    /// # Errors
    /// Any error that ends the run; [`Error::Malformed`](crate::Error::Malformed) if the message has another length.
    pub async fn receive_bytes(&self, from: usize, length: usize) -> Result<Incoming> {
        self.next_one(from, length).await
    }

    async fn next_one(&self, from: usize, length: usize) -> Result<Incoming> {
        self.core.costs.borrow_mut().apart();
        if self.is_dry() {
            self.check_peer(from)?;
            charge(Kernel::Message, 1);
            charge(Kernel::Wire, length);
            let told = self.told(from).await;
            let mut depth = if self.reckons() { self.depth.get().received() } else { self.depth.get() };
            depth.own = depth.own.max(told);
            self.reach(depth);
            return Ok(Incoming(None));
        }
        let message = self.next_message(from).await?;
        let mut depth = self.depth.get();
        depth.own = depth.own.max(message.depth);
        self.reach(depth);
        if message.bytes().len() == length { Ok(Incoming(Some(message))) } else { Err(wrong_length(from)) }
    }
}
