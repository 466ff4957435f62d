//! Products over Z_2^k from correlated OTs, bit by bit.
//!
//! **Source**: Gilboa, "Two Party RSA Key Generation", CRYPTO 1999; the shortened messages after Demmler, Schneider,
//! Zohner (ABY), NDSS 2015, section III-A5. **Model**: that of the extension. A malicious party may make the product
//! wrong. A malicious sender that uses different b for different bits learns bits of a if a wrong product is noticed.
//! **Notation**: the receiver has a, the sender b. OT (i, e), i < k, e < len, has the choice bit a_(e,i) and is number
//! i len + e; its pads p_0, p_1 are reduced to k - i bits.
//!
//! | step | sender | receiver |
//! |---|---|---|
//! | 1 | | chooses by the bits of a: k OTs an element |
//! | 2 | sends y_i = p_0 - p_1 + b mod 2^(k-i); share -sum 2^i p_0 | share sum 2^i (p_c + c y_i) |
//!
//! The shares' sum is sum 2^i a_i b = a b. Rounds 2, with checks 4. The sender sends (k+1)/2 bits an OT on average.

use quorate_engine::{Ctx, Error, Misuse, Result};
use quorate_ring::chosen::Masks;
use quorate_ring::meter::{Kernel, charge};
use quorate_ring::{Bits, Ring, Vector, Wiped, pack_words, unpack_words};
use zeroize::{Zeroize, Zeroizing};

use crate::cot::Pads;
use crate::error::LOST;
use crate::flat::flat;
use crate::setup::{Ot, fits};
use crate::source::{Received, Sender, Sent};

/// Returns the bytes of the sender's message: y_i in k - i bits, each row in whole bytes.
pub(crate) fn answer_bytes(k: u32, len: usize) -> usize {
    (1..=k as usize).map(|bits| (bits * len).div_ceil(8)).sum()
}

pub(crate) fn check_ring(ring: Ring) -> Result<()> {
    if ring.bits() <= 64 { Ok(()) } else { Err(Misuse::RingBits { bits: ring.bits() }.into()) }
}

impl Ot {
    /// Returns shares of a_e b_e for the peer's a over the same ring, of at most 64 bits: the shares of this party and
    /// of the peer add up to it.
    ///
    /// # Errors
    /// [`Misuse::RingBits`] for a larger ring; any error that ends a run.
    pub async fn send_products(&self, ctx: &Ctx, b: &Vector) -> Result<Vector> {
        check_ring(b.ring())?;
        let sent = self.sender.extend(ctx, b.ring().bits() as usize * b.len(), true).await?;
        self.answer_products(ctx, sent, b).await
    }

    /// Returns shares of a_e b_e for the peer's b over the same ring, of at most 64 bits.
    ///
    /// # Errors
    /// [`Misuse::RingBits`] for a larger ring; any error that ends a run.
    pub async fn receive_products(&self, ctx: &Ctx, a: &Vector) -> Result<Vector> {
        check_ring(a.ring())?;
        let bits = Wiped(a.to_bits(0..a.ring().bits()));
        let received = self.receive_for(ctx, &Wiped(flat(&bits))).await?;
        self.take_products(ctx, received, &bits, a.ring()).await
    }

    /// Returns shares of the products of shared values: (x + the peer's x) (y + the peer's y), element by element. Both
    /// parties call it.
    ///
    /// # Errors
    /// [`Misuse`] unless x and y have one ring, of at most 64 bits, and one length; any error that ends a run.
    pub async fn products(&self, ctx: &Ctx, x: &Vector, y: &Vector) -> Result<Vector> {
        fits("factors", x.len(), y.len())?;
        fits("rings of factors, in bits", x.ring().bits() as usize, y.ring().bits() as usize)?;
        let send = async |ctx: Ctx| self.send_products(&ctx, y).await.map(Wiped);
        let (sent, received) =
            self.both(ctx, send, async |ctx: Ctx| self.receive_products(&ctx, x).await.map(Wiped)).await?;
        Ok(sum_of_products(x, y, &sent, &received))
    }

    /// Step 2 at the sender: sends the answer, and returns its share.
    pub(crate) async fn answer_products(&self, ctx: &Ctx, sent: Sent, b: &Vector) -> Result<Vector> {
        let bytes = answer_bytes(b.ring().bits(), b.len());
        let (answer, share) = sender_rows(&self.pads(sent), b, bytes);
        ctx.exchange_bytes(&[(self.peer, &answer)], &[]).await?;
        Ok(share)
    }

    /// Step 2 at the receiver, whose choices were the bits of a: returns its share.
    pub(crate) async fn take_products(
        &self,
        ctx: &Ctx,
        mut received: Received,
        a: &Bits,
        ring: Ring,
    ) -> Result<Vector> {
        self.hash_received(&mut received);
        let bytes = answer_bytes(ring.bits(), a.lanes());
        let answer = ctx.exchange_bytes(&[], &[(self.peer, bytes)]).await?.pop().ok_or(LOST)?;
        if answer.len() != bytes {
            return Err(Error::Malformed { peer: self.peer, what: "products of a wrong length" });
        }
        Ok(receiver_rows(&received, ring, a, &answer))
    }
}

/// Returns x y + the shares of the cross products.
pub(crate) fn sum_of_products(x: &Vector, y: &Vector, sent: &Vector, received: &Vector) -> Vector {
    let mut sum = sent.clone();
    sum.add_assign(received);
    sum.add_mul_assign(x, y);
    sum.reduce();
    sum
}

/// Returns the sender's message and its share. For a shape these are zeros and a shape, and the work is charged.
fn sender_rows(pads: &Pads, b: &Vector, bytes: usize) -> (Vec<u8>, Vector) {
    let (ring, k, len) = (b.ring(), b.ring().bits(), b.len());
    if pads.each[0].is_shape() {
        charge(Kernel::Pack, k as usize * len);
        return (vec![0; bytes], Vector::shape(ring, len));
    }
    let b = Zeroizing::new(b.to_u64s());
    let mut answer = Vec::with_capacity(bytes);
    let (mut share, mut row) = (Zeroizing::new(vec![0u64; len]), Zeroizing::new(vec![0u64; len]));
    let [zero, one] = [0, 1].map(|j: usize| pads.each[j].as_slice());
    for i in 0..k {
        let here = i as usize * len..(i as usize + 1) * len;
        let each = row.iter_mut().zip(share.iter_mut()).zip(b.iter());
        for (((y, share), b), (p0, p1)) in each.zip(zero[here.clone()].iter().zip(&one[here])) {
            *y = (*p0 as u64).wrapping_sub(*p1 as u64).wrapping_add(*b);
            *share = share.wrapping_sub((*p0 as u64) << i);
        }
        pack_words(&mut answer, &row, k - i);
    }
    (answer, Vector::from_u64s(ring, &share))
}

/// Returns the receiver's share. For a shape it is a shape, and the work is charged.
fn receiver_rows(received: &Received, ring: Ring, a: &Bits, answer: &[u8]) -> Vector {
    let (k, len) = (ring.bits(), a.lanes());
    if received.blocks.is_shape() {
        charge(Kernel::Pack, k as usize * len);
        return Vector::shape(ring, len);
    }
    let (mut share, mut row) = (Zeroizing::new(vec![0u64; len]), vec![0u64; len]);
    let mut rest = answer;
    let (mut choices, masks) = (Zeroizing::new(Vec::new()), Masks::new());
    for i in 0..k {
        let (bytes, after) = rest.split_at(((k - i) as usize * len).div_ceil(8));
        rest = after;
        unpack_words(&mut row, bytes, k - i);
        choices.zeroize();
        Wiped(a.row(i as usize)).pack(&mut choices);
        let pads = &received.blocks.as_slice()[i as usize * len..(i as usize + 1) * len];
        let each = share.iter_mut().zip(&row).zip(pads).enumerate();
        for (e, ((share, y), pad)) in each {
            let chosen = masks.word(choices[e / 8].into(), e % 8);
            *share = share.wrapping_add((*pad as u64).wrapping_add(y & chosen) << i);
        }
    }
    Vector::from_u64s(ring, &share)
}
