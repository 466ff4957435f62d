//! The messages of P2's dealing, and the draws of each party.
//!
//! **Model**: malicious, one of three; nothing that is dealt is used before it is checked (`check`). **Notation**: s02
//! and s12 the seeds that P2 has in common with P0 and with P1.
//!
//! P0 draws its summand of a uniform value from s02, and P1 from s12. Of a value that follows (products, bits as
//! elements, tags), P0 draws its summand, and P2 sends P1 the rest. A party draws the MACs of its own bits, and P2
//! sends the other party its keys, MAC xor bit Delta.

use quorate_adversary::{BatchAdversary, Told};
use quorate_authenticated::macs::{MacBits, WithPeer};
use quorate_engine::{Ctx, Result, Stream};
use quorate_ot::Blocks;
use quorate_ring::{Bits, Module, Ring, Vector, Wiped, meter};
use zeroize::Zeroizing;

use super::Third;
use super::summands::{Fields, Summands};
use crate::setup::DEALER;

/// The ring of MACs and of their keys.
pub(crate) const BLOCK: Ring = Ring::of(128);
/// The ring whose words are elements of GF(2^64).
pub(crate) const FIELD: Ring = Ring::of(64);

/// A batch in the making.
pub(crate) struct Batch<'t> {
    pub third: &'t Third,
    pub ctx: &'t Ctx,
    /// The stream of this party's seed with P2; at P2 those of both seeds.
    streams: Vec<Stream>,
    /// The stream of P2's own seed.
    own: Stream,
    pub adversary: BatchAdversary,
}

impl<'t> Batch<'t> {
    pub fn new(third: &'t Third, ctx: &'t Ctx) -> Batch<'t> {
        let (coins, pairs) = (ctx.randomness(), &third.pairs);
        let streams = match pairs.deals() {
            true => vec![coins.stream(pairs.coins_with(0)), coins.stream(pairs.coins_with(1))],
            false => vec![coins.stream(pairs.coins_with(DEALER))],
        };
        Batch { third, ctx, streams, own: coins.stream(pairs.own_coins()), adversary: third.adversary.batch() }
    }

    pub fn deals(&self) -> bool {
        self.third.pairs.deals()
    }

    /// Returns the party that the first summand of this party belongs to.
    fn first(&self) -> usize {
        if self.deals() { 0 } else { self.third.pairs.me }
    }

    /// Draws uniform summands of both parties.
    pub fn uniform<M: Module>(&mut self, shape: M::Shape) -> Summands<M> {
        Summands(self.streams.iter_mut().map(|stream| stream.draw(shape)).collect())
    }

    /// Draws uniform values that are completely in the owner's summand, if the owner computes.
    pub fn owned<M: Module>(&mut self, owner: usize, shape: M::Shape) -> Summands<M> {
        let (mut drawn, first) = (self.uniform::<M>(shape), self.first());
        for (i, summand) in drawn.0.iter_mut().enumerate() {
            if owner != DEALER && first + i != owner && !summand.is_shape() {
                *summand = M::zeros(shape);
            }
        }
        drawn
    }

    /// Draws uniform bits that P2 alone knows; a shape elsewhere.
    pub fn bits_of_dealer(&mut self, shape: (usize, usize)) -> Bits {
        match self.deals() {
            true => self.own.draw(shape),
            false => Bits::shape(shape.0, shape.1),
        }
    }

    /// Draws numbers that P2 alone knows; shapes elsewhere.
    pub fn numbers_of_dealer(&mut self, shape: (Ring, usize)) -> Vector {
        match self.deals() {
            true => self.own.draw(shape),
            false => Vector::shape(shape.0, shape.1),
        }
    }

    /// Sends both parties the same bytes from P2; returns no bytes in a dry run.
    pub async fn send_both(&mut self, bytes: Vec<u8>, len: usize) -> Result<Vec<u8>> {
        if !self.deals() {
            let received = self.ctx.receive_bytes(DEALER, len).await?;
            return Ok(if self.ctx.is_dry() { vec![] } else { received.to_vec() });
        }
        if self.ctx.is_dry() {
            self.ctx.send_bytes(0, len, |_| ()).await?;
            return self.ctx.send_bytes(1, len, |_| ()).await.map(|()| bytes);
        }
        let sent = self.adversary.told_both(bytes);
        self.send_each(sent).await
    }

    /// Sends each party bytes of its own from P2.
    pub async fn send_each(&mut self, sent: [Vec<u8>; 2]) -> Result<Vec<u8>> {
        for (to, bytes) in sent.iter().enumerate() {
            self.ctx.send_bytes(to, bytes.len(), |out| out.copy_from_slice(bytes)).await?;
        }
        let [bytes, _] = sent;
        Ok(bytes)
    }

    /// Returns summands of a value that follows from others: P2 computes it by `value`.
    pub async fn follow<M: Module + Told>(
        &mut self,
        shape: M::Shape,
        value: impl FnOnce() -> M,
    ) -> Result<Summands<M>> {
        match self.third.pairs.me {
            0 => Ok(Summands(vec![self.streams[0].draw(shape)])),
            1 => self.receive(shape).await.map(|summand| Summands(vec![summand])),
            _ => {
                let drawn: M = self.streams[0].draw(shape);
                let mut rest = value();
                rest.sub_assign(&drawn);
                self.adversary.told(&mut rest);
                self.ctx.send(1, &rest).await?;
                Ok(Summands(vec![drawn, rest]))
            }
        }
    }

    async fn receive<M: Module>(&mut self, shape: M::Shape) -> Result<M> {
        self.ctx.receive(DEALER, shape).await
    }

    /// Returns summands of tags of elements under the sum of both keys.
    pub async fn tag(&mut self, x: &Summands<Vector>) -> Result<Summands<Vector>> {
        let (shape, third) = (x.0[0].shape_of(), self.third);
        let alpha: u128 = third.keys.iter().map(|keys| u128::from(*keys.alpha)).sum();
        self.follow(shape, || {
            let mut tags = x.total();
            let elements: &Vector = &tags;
            if let Some(error) = third.adversary.error_of(elements) {
                tags.add_assign(&error);
            }
            tags.scale(alpha);
            tags.into_inner()
        })
        .await
    }

    /// Deals MACs of own bits of both parties, row after row: those of P0's bits under P1's Delta, and the reverse.
    pub async fn macs(&mut self, own: &Summands<Bits>) -> Result<Vec<MacBits>> {
        let (rows, lanes) = own.0[0].shape_of();
        let len = rows * lanes;
        let macs = self.uniform::<Vector>((BLOCK, len));
        // The keys of the peer of each party here.
        let mut keys = Vec::new();
        for of in 0..2 {
            let peer = 1 - of;
            if self.deals() {
                let mut key = blocks(&macs.0[of]);
                xor_chosen(&mut key, &own.0[of], *self.third.keys[peer].delta);
                self.third.adversary.keys(of, &mut key, *self.third.keys[peer].delta);
                let mut key = Wiped(in_ring(&key));
                self.adversary.told(&mut *key);
                self.ctx.send(peer, &*key).await?;
                keys.push(key);
            } else if self.third.pairs.me == peer {
                keys.push(Wiped(self.receive((BLOCK, len)).await?));
            }
        }
        // P2 has the keys by the party whose bits they are of; a party has those of its peer's bits.
        let part = |(i, (own, macs)): (usize, (&Bits, &Vector))| {
            let keys = if self.deals() { &keys[1 - i] } else { &keys[0] };
            let peer = WithPeer { macs: blocks(macs), keys: blocks(keys) };
            MacBits { own: Wiped(own.clone()), peers: vec![peer] }
        };
        Ok(own.0.iter().zip(&macs.0).enumerate().map(part).collect())
    }

    /// Draws uniform summands of elements of GF(2^64), one for each bit.
    pub fn uniform_fields(&mut self, len: usize) -> Fields {
        Fields(self.uniform::<Vector>((FIELD, len)).0.iter().map(words).collect())
    }

    /// Returns summands of elements of GF(2^64) that follow from other values.
    pub async fn follow_fields(&mut self, len: usize, value: impl FnOnce() -> Vec<u64>) -> Result<Fields> {
        let shape = (FIELD, len);
        match self.third.pairs.me {
            0 => Ok(Fields(vec![words(&Wiped(self.streams[0].draw(shape)))])),
            1 => self.receive(shape).await.map(|summand| Fields(vec![words(&Wiped(summand))])),
            _ => {
                let drawn = words(&Wiped(self.streams[0].draw(shape)));
                let mut rest = Zeroizing::new(value());
                rest.iter_mut().zip(&drawn).for_each(|(x, drawn)| *x ^= drawn);
                let dry = self.ctx.is_dry();
                let mut rest = Wiped(if dry { Vector::shape(FIELD, len) } else { Vector::from_u64s(FIELD, &rest) });
                self.adversary.told(&mut *rest);
                self.ctx.send(1, &*rest).await?;
                Ok(Fields(vec![drawn, words(&rest)]))
            }
        }
    }
}

/// Returns the words of elements of GF(2^64); none for a shape.
fn words(x: &Vector) -> Vec<u64> {
    if x.is_shape() { vec![] } else { x.to_u64s() }
}

fn blocks(x: &Vector) -> Blocks {
    if x.is_shape() { Blocks::shape(x.len()) } else { Blocks::new(x.wide_words().to_vec()) }
}

fn in_ring(x: &Blocks) -> Vector {
    if x.is_shape() { Vector::shape(BLOCK, x.len()) } else { Vector::from_u128s(BLOCK, x.as_slice()) }
}

/// Adds a block where a bit is set.
fn xor_chosen(into: &mut Blocks, bits: &Bits, block: u128) {
    if into.is_shape() || bits.is_shape() {
        meter::stream(2 * size_of::<u128>() * into.len());
        into.become_shape();
        return;
    }
    let lanes = bits.lanes().max(1);
    for (row, into) in into.as_mut_slice().chunks_mut(lanes).take(bits.rows()).enumerate() {
        quorate_ring::chosen::xor(into, bits.words_of(row), block);
    }
}
