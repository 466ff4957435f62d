//! What P2 sends of what it deals, and who draws what.
//!
//! **Model**: malicious, one of three; nothing that is dealt is used before it is checked (`check`). **Notation**: s02
//! and s12 the seeds that P2 has in common with P0 and with P1.
//!
//! Of what is uniform P0 draws its summand from s02 and P1 from s12. Of what follows (products, bits as elements, tags)
//! P0 draws its summand, and P2 sends P1 what is left. Of the MACs of a party's bits that party draws them, and P2
//! sends the other one its keys, MAC xor bit Delta.

use quorate_engine::{Ctx, Result, Stream};
use quorate_ot::Blocks;
use quorate_ring::{Bits, Module, Ring, Vector, Wiped, meter};
use quorate_spdz2k::{MacBits, WithPeer};
use zeroize::Zeroizing;

use super::Third;
use super::summands::{Fields, Summands};
use crate::setup::DEALER;

/// MACs, and keys of them.
pub(crate) const BLOCK: Ring = Ring::of(128);
/// GF(2^64).
pub(crate) const FIELD: Ring = Ring::of(64);

/// Where a dealer in a test deals something else, and what: of the so manieth thing that it sends of a batch the first
/// element is more by a power of two (bits and keys: other in that bit), and it goes on with that.
#[cfg(feature = "testing")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lie {
    /// Which, counted from 0.
    pub sent: usize,
    /// Which of its elements.
    pub element: usize,
    /// The power of two.
    pub bit: u32,
    /// Of what both are sent alike: to whom alone it is another.
    pub only: Option<usize>,
}

#[cfg(feature = "testing")]
impl Lie {
    /// The top bit of a modulus, whatever that is.
    pub const TOP: u32 = u32::MAX;
}

/// Bytes that both are sent: an element is one of them.
struct Told(Vec<u8>);

impl Lied for Told {
    #[cfg(feature = "testing")]
    fn lie(&mut self, lie: Lie) -> bool {
        let byte = self.0.get_mut(lie.element + lie.bit as usize / 8);
        byte.map(|byte| *byte ^= 1 << (lie.bit % 8)).is_some()
    }
}

/// A batch in the making.
pub(crate) struct Batch<'t> {
    pub third: &'t Third,
    pub ctx: &'t Ctx,
    /// Of this party's seed with P2; at P2 those with both.
    streams: Vec<Stream>,
    /// P2's own.
    own: Stream,
    /// What was sent so far, in numbers.
    sent: usize,
}

impl<'t> Batch<'t> {
    pub fn new(third: &'t Third, ctx: &'t Ctx) -> Batch<'t> {
        let (coins, pairs) = (ctx.randomness(), &third.pairs);
        let streams = match pairs.deals() {
            true => vec![coins.stream(pairs.coins_with(0)), coins.stream(pairs.coins_with(1))],
            false => vec![coins.stream(pairs.coins_with(DEALER))],
        };
        Batch { third, ctx, streams, own: coins.stream(pairs.own_coins()), sent: 0 }
    }

    pub fn deals(&self) -> bool {
        self.third.pairs.deals()
    }

    /// The party whose summand this party's first one is.
    fn first(&self) -> usize {
        if self.deals() { 0 } else { self.third.pairs.me }
    }

    /// Uniform summands of both.
    pub fn uniform<M: Module>(&mut self, shape: M::Shape) -> Summands<M> {
        Summands(self.streams.iter_mut().map(|stream| stream.draw(shape)).collect())
    }

    /// Uniform, and all of it one party's, where that computes.
    pub fn owned<M: Module>(&mut self, owner: usize, shape: M::Shape) -> Summands<M> {
        let (mut drawn, first) = (self.uniform::<M>(shape), self.first());
        for (i, summand) in drawn.0.iter_mut().enumerate() {
            if owner != DEALER && first + i != owner && !summand.is_shape() {
                *summand = M::zeros(shape);
            }
        }
        drawn
    }

    /// Uniform bits that P2 alone knows; a shape elsewhere.
    pub fn bits_of_dealer(&mut self, shape: (usize, usize)) -> Bits {
        match self.deals() {
            true => self.own.draw(shape),
            false => Bits::shape(shape.0, shape.1),
        }
    }

    /// Numbers that P2 alone knows; shapes elsewhere.
    pub fn numbers_of_dealer(&mut self, shape: (Ring, usize)) -> Vector {
        match self.deals() {
            true => self.own.draw(shape),
            false => Vector::shape(shape.0, shape.1),
        }
    }

    /// Bytes that P2 sends both, the same to each; nothing in a dry run.
    pub async fn send_both(&mut self, bytes: Vec<u8>, len: usize) -> Result<Vec<u8>> {
        if !self.deals() {
            let received = self.ctx.receive_bytes(DEALER, len).await?;
            return Ok(if self.ctx.is_dry() { vec![] } else { received.to_vec() });
        }
        if self.ctx.is_dry() {
            self.ctx.send_bytes(0, len, |_| ()).await?;
            return self.ctx.send_bytes(1, len, |_| ()).await.map(|()| bytes);
        }
        let mut sent = [Told(bytes.clone()), Told(bytes)];
        self.lie_to_both(&mut sent);
        self.send_each(sent.map(|Told(bytes)| bytes)).await
    }

    /// The same of what need not be the same.
    pub async fn send_each(&mut self, sent: [Vec<u8>; 2]) -> Result<Vec<u8>> {
        for (to, bytes) in sent.iter().enumerate() {
            self.ctx.send_bytes(to, bytes.len(), |out| out.copy_from_slice(bytes)).await?;
        }
        let [bytes, _] = sent;
        Ok(bytes)
    }

    /// Summands of what follows from other values: `value` is what P2 says that it is.
    pub async fn follow<M: Module + Lied>(
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
                self.lie(&mut rest);
                self.ctx.send(1, &rest).await?;
                Ok(Summands(vec![drawn, rest]))
            }
        }
    }

    async fn receive<M: Module>(&mut self, shape: M::Shape) -> Result<M> {
        self.ctx.receive(DEALER, shape).await
    }

    /// Tags of elements under the sum of both keys.
    pub async fn tag(&mut self, x: &Summands<Vector>) -> Result<Summands<Vector>> {
        let (shape, third) = (x.0[0].shape_of(), self.third);
        let alpha: u128 = third.keys.iter().map(|keys| u128::from(*keys.alpha)).sum();
        self.follow(shape, || {
            let mut tags = x.total();
            #[cfg(feature = "testing")]
            super::forgery::unit(third, &tags).inspect(|unit| tags.add_assign(unit));
            tags.scale(alpha);
            tags.into_inner()
        })
        .await
    }

    /// MACs of own bits of both parties, row after row: of P0's under P1's Delta, and the other way around.
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
                #[cfg(feature = "testing")]
                super::forgery::keys(self.third, of, &mut key, *self.third.keys[peer].delta);
                let mut key = Wiped(in_ring(&key));
                self.lie(&mut *key);
                self.ctx.send(peer, &*key).await?;
                keys.push(key);
            } else if self.third.pairs.me == peer {
                keys.push(Wiped(self.receive((BLOCK, len)).await?));
            }
        }
        // P2 has the keys by whose bits they are of, a party those of its peer's.
        let part = |(i, (own, macs)): (usize, (&Bits, &Vector))| {
            let keys = if self.deals() { &keys[1 - i] } else { &keys[0] };
            let peer = WithPeer { macs: blocks(macs), keys: blocks(keys) };
            MacBits { own: Wiped(own.clone()), peers: vec![peer] }
        };
        Ok(own.0.iter().zip(&macs.0).enumerate().map(part).collect())
    }

    /// Of elements of GF(2^64), one for each bit: uniform ones.
    pub fn uniform_fields(&mut self, len: usize) -> Fields {
        Fields(self.uniform::<Vector>((FIELD, len)).0.iter().map(words).collect())
    }

    /// The same of what follows.
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
                self.lie(&mut *rest);
                self.ctx.send(1, &*rest).await?;
                Ok(Fields(vec![drawn, words(&rest)]))
            }
        }
    }

    /// How the keys are spoilt that are sent next.
    #[cfg(feature = "testing")]
    pub fn spoils(&mut self) -> Option<super::Spoil> {
        let (spoil, _) = self.third.spoils.get().filter(|(_, at)| at.is_none_or(|at| at == self.sent))?;
        self.third.lied.set(self.third.lied.get() + 1);
        self.sent += 1;
        Some(spoil)
    }

    /// The same of what both are sent, to both, or to one of them.
    fn lie_to_both(&mut self, _values: &mut [Told; 2]) {
        #[cfg(feature = "testing")]
        for lie in self.third.lies.borrow().iter().filter(|lie| lie.sent == self.sent) {
            let mut told = false;
            for value in _values.iter_mut().enumerate().filter(|(i, _)| lie.only.is_none_or(|only| only == *i)) {
                told |= value.1.lie(*lie);
            }
            self.third.lied.set(self.third.lied.get() + usize::from(told));
        }
        self.sent += 1;
    }

    /// Deals something else where a test says so.
    fn lie<M: Lied>(&mut self, _value: &mut M) {
        #[cfg(feature = "testing")]
        for lie in self.third.lies.borrow().iter().filter(|lie| lie.sent == self.sent) {
            self.third.lied.set(self.third.lied.get() + usize::from(_value.lie(*lie)));
        }
        self.sent += 1;
    }
}

/// What a dealer in a test can deal otherwise.
pub(crate) trait Lied {
    /// Whether it is another one now.
    #[cfg(feature = "testing")]
    fn lie(&mut self, lie: Lie) -> bool;
}

impl Lied for Vector {
    #[cfg(feature = "testing")]
    fn lie(&mut self, lie: Lie) -> bool {
        let bits = self.ring().bits();
        let bit = if lie.bit == Lie::TOP { bits - 1 } else { lie.bit };
        if self.is_shape() || lie.element >= self.len() || bit >= bits {
            return false;
        }
        let mut error = Vector::constant(self.ring(), 1, 1);
        error.shl(bit);
        self.add_at(lie.element, &error);
        true
    }
}

impl Lied for Bits {
    #[cfg(feature = "testing")]
    fn lie(&mut self, lie: Lie) -> bool {
        let can = !self.is_shape() && lie.element < self.lanes() && lie.bit == 0;
        if can {
            self.words_of_mut(0)[lie.element / 64] ^= 1 << (lie.element % 64);
        }
        can
    }
}

/// The words of elements of GF(2^64); none of a shape.
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
        for (into, &word) in into.chunks_mut(64).zip(bits.words_of(row)) {
            for (i, into) in into.iter_mut().enumerate() {
                *into ^= block & 0u128.wrapping_sub((word >> i & 1).into());
            }
        }
    }
}
