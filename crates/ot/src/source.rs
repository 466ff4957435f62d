//! What makes correlated OTs in bulk.
//!
//! Everything above takes its OTs from here. A source says in which multiples it makes them, and may take OTs of
//! another source to start from: SoftSpoken starts from base OTs, a silent extension would start from a batch of
//! SoftSpoken's.

use quorate_engine::{Ctx, Result};
use quorate_ring::Bits;

use crate::blocks::Blocks;
use crate::cost::Cost;

/// The sender's part of a batch: q_i, of which the receiver has q_i xor c_i Delta.
pub struct Sent {
    /// q_i.
    pub blocks: Blocks,
    /// The batch's number: no other one of the session and direction has it. It picks the key of the hash.
    pub instance: u128,
}

/// The receiver's part of a batch.
pub struct Received {
    /// c_i: one row.
    pub choices: Bits,
    /// q_i xor c_i Delta.
    pub blocks: Blocks,
    /// As at the sender.
    pub instance: u128,
}

/// Who decides which message of each OT the receiver gets.
#[derive(Clone, Copy)]
pub enum Choices<'c> {
    /// Chance: so many random bits.
    Random(usize),
    /// The receiver: these bits, one row. Costs a bit of communication for each.
    Given(&'c Bits),
}

impl Choices<'_> {
    /// The number of OTs.
    pub fn len(&self) -> usize {
        match self {
            Choices::Random(len) => *len,
            Choices::Given(bits) => bits.lanes(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The sender's end of a source.
#[allow(async_fn_in_trait)] // futures are single-threaded on purpose
pub trait Sender {
    /// The correlation Delta; bit 0 is 1. It stays the same for the session.
    fn delta(&self) -> u128;
    /// The number of OTs of which a batch should be a multiple: others are made and thrown away.
    fn granularity(&self) -> usize;
    /// What a batch costs; `given` where the receiver decides.
    fn cost(&self, len: usize, given: bool) -> Cost;
    /// One batch; `given` where the receiver decides.
    async fn extend(&self, ctx: &Ctx, len: usize, given: bool) -> Result<Sent>;
}

/// The receiver's end of a source.
#[allow(async_fn_in_trait)] // futures are single-threaded on purpose
pub trait Receiver {
    /// As at the sender.
    fn granularity(&self) -> usize;
    /// As at the sender.
    fn cost(&self, len: usize, given: bool) -> Cost;
    /// One batch.
    async fn extend(&self, ctx: &Ctx, choices: Choices<'_>) -> Result<Received>;
}
