//! Correlated OTs for several uses: their blocks, and pads for numbered uses.
//!
//! **Source**: the hash is that of `cot`. **Model**: that of the extension. **Notation**: OT i of n has the blocks q_i
//! at the sender and q_i xor c_i Delta at the receiver; pad b of use v is H(q_i + b Delta, v n + i).
//!
//! No tweak is used twice under the batch's key, so pads of different uses are unrelated, though they come from one
//! block. H only has to be tweakable circular correlation robust. The blocks themselves may leave a party only under a
//! mask that hides them.
//!
//! Rounds and bytes are those of `cot`.

use std::ops::Range;

use quorate_crypto::Tccr;
use quorate_engine::{Ctx, Result};
use quorate_ring::Bits;
use zeroize::Zeroizing;

use crate::blocks::Blocks;
use crate::cot::charge_hashes;
use crate::setup::Ot;
use crate::source::{Choices, Receiver, Sender};

/// The sender's end of a batch.
pub struct SentCots {
    blocks: Blocks,
    hash: Tccr,
    delta: Zeroizing<u128>,
}

/// The receiver's end of a batch.
pub struct ReceivedCots {
    choices: Bits,
    blocks: Blocks,
    hash: Tccr,
}

impl Ot {
    /// Makes `len` correlated OTs as their sender, for several uses; `given` if the peer decides the choices.
    ///
    /// # Errors
    /// [`Error::Cheating`](quorate_engine::Error::Cheating) if the peer fails the check; any error that ends a run.
    pub async fn send_cots_for_uses(&self, ctx: &Ctx, len: usize, given: bool) -> Result<SentCots> {
        let sent = self.sender.extend(ctx, len, given).await?;
        let hash = self.sending.segment(sent.instance);
        Ok(SentCots { blocks: sent.blocks, hash, delta: Zeroizing::new(self.sender.delta()) })
    }

    /// Makes correlated OTs as their receiver, for several uses.
    ///
    /// # Errors
    /// Any error that ends a run.
    pub async fn receive_cots_for_uses(&self, ctx: &Ctx, choices: Choices<'_>) -> Result<ReceivedCots> {
        let received = self.receiver.extend(ctx, choices).await?;
        let hash = self.receiving.segment(received.instance);
        Ok(ReceivedCots { choices: received.choices, blocks: received.blocks, hash })
    }
}

/// Returns the pads of a use of these OTs, each block plus `shift`.
fn pads(hash: &Tccr, blocks: &Blocks, shift: u128, number: u32, range: Range<usize>) -> Blocks {
    if blocks.is_shape() {
        let shape = Blocks::shape(range.len());
        charge_hashes(&shape, 1);
        return shape;
    }
    let first = u128::from(number) * blocks.len() as u128 + range.start as u128;
    let mut pads = Blocks::new(blocks.as_slice()[range].iter().map(|block| block ^ shift).collect());
    hash.hash_run(pads.as_mut_slice(), first);
    pads
}

impl SentCots {
    /// Returns the blocks q_i.
    pub fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    /// Returns both pads of these OTs for a use.
    pub fn pads(&self, number: u32, range: Range<usize>) -> [Blocks; 2] {
        [0, *self.delta].map(|shift| pads(&self.hash, &self.blocks, shift, number, range.clone()))
    }
}

impl ReceivedCots {
    /// Returns the choices c_i, one row. Secret.
    pub fn choices(&self) -> &Bits {
        &self.choices
    }

    /// Returns the blocks q_i xor c_i Delta.
    pub fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    /// Returns the chosen pads of these OTs for a use.
    pub fn pads(&self, number: u32, range: Range<usize>) -> Blocks {
        pads(&self.hash, &self.blocks, 0, number, range)
    }
}

impl Drop for ReceivedCots {
    fn drop(&mut self) {
        self.choices.wipe();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use quorate_engine::testing::online;

    use super::*;
    use crate::options::Options;

    const LEN: usize = 300;

    #[test]
    fn blocks_are_correlated_and_the_chosen_pads_of_every_use_are_known() {
        let ends = online(2, async |ctx| {
            let ot = Ot::setup(ctx, 1 - ctx.me(), Options::default()).await?;
            Ok(match ctx.me() {
                0 => (Some((ot.send_cots_for_uses(ctx, LEN, false).await?, ot.delta())), None),
                _ => (None, Some(ot.receive_cots_for_uses(ctx, Choices::Random(LEN)).await?)),
            })
        });
        let mut ends = ends.into_iter().map(|end| end.unwrap().0);
        let (Some((sent, _)), _) = ends.next().unwrap() else { panic!("no sender") };
        let (_, Some(received)) = ends.next().unwrap() else { panic!("no receiver") };
        let choices = received.choices().to_bools();
        let delta = *sent.delta;
        let mut all = BTreeSet::new();
        for (i, &choice) in choices.iter().enumerate() {
            let difference = if choice { delta } else { 0 };
            assert_eq!(sent.blocks().as_slice()[i] ^ received.blocks().as_slice()[i], difference);
        }
        // The pads of a range are part of those of the whole, and no pad comes twice.
        for number in 0..3 {
            let of = |range: Range<usize>| (sent.pads(number, range.clone()), received.pads(number, range));
            let (pads, chosen) = of(0..LEN);
            for (i, &choice) in choices.iter().enumerate() {
                assert_eq!(pads[usize::from(choice)].as_slice()[i], chosen.as_slice()[i], "use {number}");
            }
            let (part, chosen_part) = of(100..164);
            assert_eq!(part[1].as_slice(), &pads[1].as_slice()[100..164]);
            assert_eq!(chosen_part.as_slice(), &chosen.as_slice()[100..164]);
            all.extend(pads.iter().flat_map(|pads| pads.as_slice().iter().copied()));
        }
        assert_eq!(all.len(), 3 * 2 * LEN, "pads of different uses are alike");
    }
}
