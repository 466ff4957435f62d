//! Sources of correlated OTs in bulk, from which all other protocols take their OTs.
//!
//! A source has a granularity: it makes multiples of that number of OTs. It may itself start from OTs of another
//! source: SoftSpoken starts from base OTs, and a silent extension would start from a batch of SoftSpoken's.

use quorate_engine::{Ctx, Result};
use quorate_ring::Bits;

use crate::blocks::Blocks;
use crate::communication::Cost;

/// The sender's part of a batch: q_i, of which the receiver has q_i xor c_i Delta.
pub struct Sent {
    /// The blocks q_i.
    pub blocks: Blocks,
    /// The batch's number, which no other batch of the session and direction has. It selects the key of the hash.
    pub instance: u128,
}

/// The receiver's part of a batch.
pub struct Received {
    /// The choices c_i, one row.
    pub choices: Bits,
    /// The blocks q_i xor c_i Delta.
    pub blocks: Blocks,
    /// The batch's number, the same as at the sender.
    pub instance: u128,
}

/// The origin of the receiver's choices.
#[derive(Clone, Copy)]
pub enum Choices<'c> {
    /// Chance: this number of random bits.
    Random(usize),
    /// The receiver: these bits, one row. Costs a bit of communication for each.
    Given(&'c Bits),
}

impl Choices<'_> {
    /// Returns the number of OTs.
    pub fn len(&self) -> usize {
        match self {
            Choices::Random(len) => *len,
            Choices::Given(bits) => bits.lanes(),
        }
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The sender's end of a source.
#[allow(async_fn_in_trait)] // futures are single-threaded on purpose
pub trait Sender {
    /// Returns the correlation Delta; bit 0 is 1. It stays the same for the session.
    fn delta(&self) -> u128;
    /// Returns the number of which a batch's length should be a multiple: OTs beyond it are made and thrown away.
    fn granularity(&self) -> usize;
    /// Returns the costs of a batch; `given` if the receiver decides the choices.
    fn cost(&self, len: usize, given: bool) -> Cost;
    /// Makes one batch; `given` if the receiver decides the choices.
    async fn extend(&self, ctx: &Ctx, len: usize, given: bool) -> Result<Sent>;
}

/// The receiver's end of a source.
#[allow(async_fn_in_trait)] // futures are single-threaded on purpose
pub trait Receiver {
    /// Returns the number of which a batch's length should be a multiple: OTs beyond it are made and thrown away.
    fn granularity(&self) -> usize;
    /// Returns the costs of a batch; `given` if the receiver decides the choices.
    fn cost(&self, len: usize, given: bool) -> Cost;
    /// Makes one batch.
    async fn extend(&self, ctx: &Ctx, choices: Choices<'_>) -> Result<Received>;
}
