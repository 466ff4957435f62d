//! OTs of messages that the sender chooses, and of shared products with a bit.
//!
//! **Source**: Beaver 1995 for chosen messages from random ones; correlated OT after Asharov et al. 2013. **Model**:
//! that of the extension. The receiver's choice bits cost a bit each (see `cot`), then the sender answers in one
//! message: 2 rounds, or 4 with checks. **Notation**: pads p_0, p_1 of a random OT; c the choice.
//!
//! | protocol | the sender sends | the receiver computes |
//! |---|---|---|
//! | chosen messages over Z_2^l | m_0 + p_0, m_1 + p_1 | that of c, less its pad: m_c |
//! | product of a bit with x over Z_2^l | y = p_0 - p_1 + x; keeps -p_0 | p_c + c y; the sum is c x |
//! | selection: a bit and a column of bits | y = p_0 + p_1 + x; keeps p_0 | p_c + c y; the xor is c x |
//!
//! All are over Z_2^l with l bits per element in messages, l up to 128; columns of bits may have any height.

use quorate_engine::{Ctx, Misuse, Result};
use quorate_ring::{Bits, Module, Ring, Vector, Wiped};

use crate::blocks::Blocks;
use crate::cot::charge_hashes;
use crate::setup::{Ot, fits};
use crate::source::{Received, Sender, Sent};

/// Bits that one hash gives.
const BLOCK_BITS: usize = 128;

/// Checks that a hash covers a whole element.
fn check_ring(ring: Ring) -> Result<()> {
    if ring.bits() as usize <= BLOCK_BITS { Ok(()) } else { Err(Misuse::RingBits { bits: ring.bits() }.into()) }
}

impl Ot {
    /// Sends OTs of these messages: the peer gets one of each pair.
    ///
    /// # Errors
    /// [`Misuse::Length`] unless both lists are equally long, over one ring; [`Misuse::RingBits`] for a ring of more
    /// than 128 bits; whatever ends a run.
    pub async fn send_chosen(&self, ctx: &Ctx, messages: [&Vector; 2]) -> Result<()> {
        fits("pairs of messages", messages[0].len(), messages[1].len())?;
        fits("rings of messages, in bits", bits_of(messages[0]), bits_of(messages[1]))?;
        let ring = messages[0].ring();
        check_ring(ring)?;
        let sent = self.sender.extend(ctx, messages[0].len(), true).await?;
        let mut masked = self.pads(sent).each.map(|pad| Wiped(pad.to_vector(ring)));
        masked.iter_mut().zip(messages).for_each(|(pad, message)| pad.add_assign(message));
        ctx.exchange::<Vector>(&[(self.peer, &masked[0]), (self.peer, &masked[1])], &[]).await?;
        Ok(())
    }

    /// Receives OTs with these choices, one row, of elements of the ring.
    ///
    /// # Errors
    /// [`Misuse::RingBits`] for a ring of more than 128 bits; whatever ends a run.
    pub async fn receive_chosen(&self, ctx: &Ctx, choices: &Bits, ring: Ring) -> Result<Vector> {
        check_ring(ring)?;
        let mut received = self.receive_for(ctx, choices).await?;
        self.hash_received(&mut received);
        let shape = (ring, choices.lanes());
        let masked = ctx.exchange::<Vector>(&[], &[(self.peer, shape), (self.peer, shape)]).await?;
        let [mut chosen, mut other]: [Vector; 2] = masked.try_into().map_err(|_| crate::roots::LOST)?;
        // m_0 + c (m_1 - m_0)
        other.sub_assign(&chosen);
        chosen.add_mul_assign(&other, &Wiped(choices.to_vector(ring)));
        chosen.sub_assign(&Wiped(received.blocks.to_vector(ring)));
        chosen.reduce();
        Ok(chosen)
    }

    /// Returns shares of c_i x_i for the peer's bits c_i: the shares of this party and of the peer add up to it.
    ///
    /// # Errors
    /// [`Misuse::RingBits`] for a ring of more than 128 bits; whatever ends a run.
    pub async fn send_bit_products(&self, ctx: &Ctx, x: &Vector) -> Result<Vector> {
        let ring = x.ring();
        check_ring(ring)?;
        let sent = self.sender.extend(ctx, x.len(), true).await?;
        let [mut zero, one] = self.pads(sent).each.map(|pad| Wiped(pad.to_vector(ring)));
        self.answer(ctx, &*zero, one, x).await?;
        zero.neg_assign();
        zero.reduce();
        Ok(zero.into_inner())
    }

    /// Returns shares of c_i x_i for the peer's x over the ring; the choices are one row.
    ///
    /// # Errors
    /// [`Misuse::RingBits`] for a ring of more than 128 bits; whatever ends a run.
    pub async fn receive_bit_products(&self, ctx: &Ctx, choices: &Bits, ring: Ring) -> Result<Vector> {
        check_ring(ring)?;
        let mut received = self.receive_for(ctx, choices).await?;
        self.hash_received(&mut received);
        let own = received.blocks.to_vector(ring);
        let mut share = self.take(ctx, own, &Wiped(choices.to_vector(ring))).await?;
        share.reduce();
        Ok(share)
    }

    /// Returns shares of c_i and x_i, bit by bit, for the peer's bits c_i and this party's columns of bits. The xor of
    /// both parties' shares is that product.
    ///
    /// # Errors
    /// Whatever ends a run.
    pub async fn send_selections(&self, ctx: &Ctx, x: &Bits) -> Result<Bits> {
        let sent = self.sender.extend(ctx, x.lanes(), true).await?;
        let [zero, one] = self.tall_pads(&sent, x.rows()).map(Wiped);
        self.answer(ctx, &*zero, one, x).await?;
        Ok(zero.into_inner())
    }

    /// Returns shares of c_i and x_i, bit by bit, for the peer's x, columns of `rows` bits; the choices are one row.
    ///
    /// # Errors
    /// Whatever ends a run.
    pub async fn receive_selections(&self, ctx: &Ctx, choices: &Bits, rows: usize) -> Result<Bits> {
        let received = self.receive_for(ctx, choices).await?;
        let own = self.tall_pad(&received, rows);
        self.take(ctx, own, &Wiped(choices.broadcast_row(rows))).await
    }

    /// Sends p_0 - p_1 + x.
    async fn answer<M: Module>(&self, ctx: &Ctx, zero: &M, one: Wiped<M>, x: &M) -> Result<()> {
        let mut answer = Wiped(zero.clone());
        answer.sub_assign(&one);
        answer.add_assign(x);
        ctx.exchange(&[(self.peer, &*answer)], &[]).await?;
        Ok(())
    }

    /// Returns p_c + c y.
    async fn take<M: Module>(&self, ctx: &Ctx, own: M, choices: &M) -> Result<M> {
        let mut share = Wiped(own);
        let incoming = [(self.peer, share.shape_of())];
        let answer = ctx.exchange::<M>(&[], &incoming).await?.pop().ok_or(crate::roots::LOST)?;
        share.add_mul_assign(&answer, choices);
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

fn bits_of(vector: &Vector) -> usize {
    vector.ring().bits() as usize
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
