//! Shared products of a bit with an element; columns of bits from random OTs.
//!
//! **Source**: correlated OT after Asharov et al. 2013. **Model**: that of the extension. The receiver's choice bits
//! cost a bit each (see `cot`), then the sender answers in one message: 2 rounds, or 4 with checks. **Notation**: pads
//! p_0, p_1 of a random OT; c the choice.
//!
//! | protocol | the sender sends | the receiver computes |
//! |---|---|---|
//! | product of a bit with x over Z_2^l | y = p_0 - p_1 + x; keeps -p_0 | p_c + c y; the sum is c x |
//!
//! Elements take l bits in messages, l up to 128; columns of bits may have any height.

use quorate_engine::{Ctx, Misuse, Result};
use quorate_ring::{Bits, Ring, Vector, Wiped};

use crate::blocks::Blocks;
use crate::cot::charge_hashes;
use crate::setup::Ot;
use crate::source::{Received, Sender, Sent};

/// Bits that one hash gives.
const BLOCK_BITS: usize = 128;

/// Checks that a hash covers a whole element.
fn check_ring(ring: Ring) -> Result<()> {
    if ring.bits() as usize <= BLOCK_BITS { Ok(()) } else { Err(Misuse::RingBits { bits: ring.bits() }.into()) }
}

impl Ot {
    /// Returns shares of c_i x_i for the peer's bits c_i: the shares of this party and of the peer add up to it.
    ///
    /// # Errors
    /// [`Misuse::RingBits`] for a ring of more than 128 bits; any error that ends a run.
    pub async fn send_bit_products(&self, ctx: &Ctx, x: &Vector) -> Result<Vector> {
        let ring = x.ring();
        check_ring(ring)?;
        let sent = self.sender.extend(ctx, x.len(), true).await?;
        let [mut zero, one] = self.pads(sent).each.map(|pad| Wiped(pad.to_vector(ring)));
        let mut answer = Wiped(zero.clone());
        answer.sub_assign(&one);
        answer.add_assign(x);
        ctx.exchange(&[(self.peer, &*answer)], &[]).await?;
        zero.neg_assign();
        zero.reduce();
        Ok(zero.into_inner())
    }

    /// Returns shares of c_i x_i for the peer's x over the ring; the choices are one row.
    ///
    /// # Errors
    /// [`Misuse::RingBits`] for a ring of more than 128 bits; any error that ends a run.
    pub async fn receive_bit_products(&self, ctx: &Ctx, choices: &Bits, ring: Ring) -> Result<Vector> {
        check_ring(ring)?;
        let mut received = self.receive_for(ctx, choices).await?;
        self.hash_received(&mut received);
        let mut share = Wiped(received.blocks.to_vector(ring));
        let incoming = [(self.peer, (ring, share.len()))];
        let answer = ctx.exchange::<Vector>(&[], &incoming).await?.pop().ok_or(crate::error::LOST)?;
        share.add_mul_assign(&answer, &Wiped(choices.to_vector(ring)));
        share.reduce();
        Ok(share.into_inner())
    }

    /// Returns both messages of a batch, as columns of `rows` bits.
    pub(crate) fn tall_pads(&self, sent: &Sent, rows: usize) -> [Bits; 2] {
        let delta = self.sender.delta();
        let mut one = sent.blocks.clone();
        one.as_mut_slice().iter_mut().for_each(|block| *block ^= delta);
        let hash = self.sending.segment(sent.instance);
        [&sent.blocks, &one].map(|blocks| tall(&hash, blocks, rows))
    }

    /// Returns the chosen messages of a batch, as columns of `rows` bits.
    pub(crate) fn tall_pad(&self, received: &Received, rows: usize) -> Bits {
        tall(&self.receiving.segment(received.instance), &received.blocks, rows)
    }
}

/// Returns `rows` bits of each block's hashes. The blocks' first hashes have tweaks from 0 on, and the second ones
/// those that follow.
fn tall(hash: &quorate_crypto::Tccr, blocks: &Blocks, rows: usize) -> Bits {
    let part = |i: usize| {
        let mut hashed = blocks.clone();
        charge_hashes(&hashed, 1);
        hash.hash_run(hashed.as_mut_slice(), (i * blocks.len()) as u128);
        hashed.to_bits((rows - i * BLOCK_BITS).min(BLOCK_BITS))
    };
    let parts: Vec<Wiped<Bits>> = (0..rows.div_ceil(BLOCK_BITS)).map(|i| Wiped(part(i))).collect();
    match &parts[..] {
        [] if blocks.is_shape() => Bits::shape(0, blocks.len()),
        [] => Bits::zeros(0, blocks.len()),
        parts => Bits::concat_rows(&parts.iter().map(|part| &**part).collect::<Vec<_>>()),
    }
}
