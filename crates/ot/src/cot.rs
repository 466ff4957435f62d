//! Correlated and random OTs.
//!
//! | protocol | rounds, and with checks | bytes by the receiver, f = 4 |
//! |---|---|---|
//! | correlated, random choices | 1, 3 | 3.875 an OT |
//! | correlated, the receiver's choices | 1, 3 | 4 an OT |
//! | random: both messages hashed | 1, 3 | 3.875 an OT |
//!
//! **Source**: Ishai et al. 2003 for the hashing; the hash and its tweaks are those of Guo, Katz, Wang, Yu 2020, under
//! a key for each batch. Message b of OT i is H(q_i + b Delta, i).

use quorate_engine::{Ctx, Result};
use quorate_ring::Bits;
use quorate_ring::meter::{Kernel, charge};

use crate::blocks::Blocks;
use crate::setup::Ot;
use crate::source::{Choices, Received, Receiver, Sender, Sent};

/// Both messages of every OT, hashed.
pub(crate) struct Pads {
    pub each: [Blocks; 2],
}

impl Ot {
    /// Makes `len` correlated OTs as their sender: q_i, of which the peer has q_i xor c_i Delta for random bits c_i.
    ///
    /// # Errors
    /// [`Error::Cheating`](quorate_engine::Error::Cheating) if the peer fails the check; any error that ends a run.
    pub async fn send_cots(&self, ctx: &Ctx, len: usize) -> Result<Blocks> {
        Ok(self.sender.extend(ctx, len, false).await?.blocks)
    }

    /// Makes `len` correlated OTs as their receiver: random bits c_i, one row, and q_i xor c_i Delta.
    ///
    /// # Errors
    /// Any error that ends a run.
    pub async fn receive_cots(&self, ctx: &Ctx, len: usize) -> Result<(Bits, Blocks)> {
        let Received { choices, blocks, .. } = self.receiver.extend(ctx, Choices::Random(len)).await?;
        Ok((choices, blocks))
    }

    /// Makes `len` correlated OTs as their sender: q_i, of which the peer has q_i xor c_i Delta for bits c_i of its
    /// choice.
    ///
    /// # Errors
    /// [`Error::Cheating`](quorate_engine::Error::Cheating) if the peer fails the check; any error that ends a run.
    pub async fn send_cots_for(&self, ctx: &Ctx, len: usize) -> Result<Blocks> {
        Ok(self.sender.extend(ctx, len, true).await?.blocks)
    }

    /// Makes correlated OTs as their receiver for these choices, one row: q_i xor c_i Delta.
    ///
    /// # Errors
    /// Any error that ends a run.
    pub async fn receive_cots_for(&self, ctx: &Ctx, choices: &Bits) -> Result<Blocks> {
        Ok(self.receive_for(ctx, choices).await?.blocks)
    }

    /// Makes `len` random OTs as their sender: both messages of each.
    ///
    /// # Errors
    /// Those of [`Ot::send_cots`].
    pub async fn send_random(&self, ctx: &Ctx, len: usize) -> Result<[Blocks; 2]> {
        let sent = self.sender.extend(ctx, len, false).await?;
        Ok(self.pads(sent).each)
    }

    /// Makes `len` random OTs as their receiver: random choices, one row, and the chosen messages.
    ///
    /// # Errors
    /// Those of [`Ot::receive_cots`].
    pub async fn receive_random(&self, ctx: &Ctx, len: usize) -> Result<(Bits, Blocks)> {
        let mut received = self.receiver.extend(ctx, Choices::Random(len)).await?;
        self.hash_received(&mut received);
        Ok((received.choices, received.blocks))
    }

    /// Makes the receiver's batch for these choices.
    pub(crate) async fn receive_for(&self, ctx: &Ctx, choices: &Bits) -> Result<Received> {
        crate::setup::fits("choices of OTs are one row", choices.rows(), 1)?;
        self.receiver.extend(ctx, Choices::Given(choices)).await
    }

    /// Returns both messages of a batch.
    pub(crate) fn pads(&self, sent: Sent) -> Pads {
        let Sent { blocks: mut zero, instance } = sent;
        charge_hashes(&zero, 2);
        let hash = self.sending.segment(instance);
        let mut one = zero.clone();
        let delta = self.sender.delta();
        one.as_mut_slice().iter_mut().for_each(|block| *block ^= delta);
        hash.hash_run(zero.as_mut_slice(), 0);
        hash.hash_run(one.as_mut_slice(), 0);
        Pads { each: [zero, one] }
    }

    /// Replaces the blocks of a batch by the chosen messages.
    pub(crate) fn hash_received(&self, received: &mut Received) {
        charge_hashes(&received.blocks, 1);
        self.receiving.segment(received.instance).hash_run(received.blocks.as_mut_slice(), 0);
    }
}

/// Charges a dry run for `each` hashes of each block: two AES blocks each.
pub(crate) fn charge_hashes(blocks: &Blocks, each: usize) {
    if blocks.is_shape() {
        charge_hashes_of(blocks.len(), each);
    }
}

/// Charges a dry run for `each` hashes of each of `len` blocks: two AES blocks each.
pub(crate) fn charge_hashes_of(len: usize, each: usize) {
    charge(Kernel::Draw, 32 * each * len);
}
