//! Places that are dealt as verified keys of their digits, and the checks of those keys.
//!
//! **Source**: keys of `quorate_fss::verified`. **Model**: malicious, one of three; the argument is in
//! docs/security/pika-malicious.md. **Notation**: a place r below 2^n, r = 2^b r_h + r_l; e_h and e_l the vectors of
//! first values of both keys, one-hot; L = max(n, k) + s bits of a value.
//!
//! | | |
//! |---|---|
//! | n up to 10 | one key, of n bits |
//! | n up to 21 | keys of 5 bits (r_h) and of b = n - 5 (r_l); 32 random b_i over Z_2^k, and c = b_(r_h) (`kinds`) |
//!
//! P2 draws r; both parties draw roots from their seeds with P2; P2 sends both the same corrections of the keys. c is a
//! dealt sum of products whose left factor is e_h itself. For each key P0 and P1 compare, beside the zeros of products:
//!
//! - the corrections that they got,
//! - the sum of all leaves' proofs weighted with coins that were tossed after they had them,
//! - the sum of first values less 1, and that of second values less alpha.
//!
//! Shares of r and of its tag are sums of values weighted with their places.

use quorate_authenticated::shared::Shared;
use quorate_authenticated::{Kind, Params, Tagged};
use quorate_crypto::Prg;
use quorate_engine::Result;
use quorate_fss::verified::{self, Corrections, Keys, Shape};
use quorate_fss::{Hash, Roots, Side};
use quorate_ring::meter::{self, Kernel, charge};
use quorate_ring::{Ring, Vector, Wiped, wipe_words};
use zeroize::Zeroizing;

use super::deal::{BLOCK, Batch};
use super::summands::Summands;
use super::transcript::Transcript;

/// The largest number of bits of a place with one key.
const ONE_KEY_BITS: u32 = 10;
/// The number of bits of the upper digit.
const UPPER_BITS: u32 = 5;
/// The largest number of bits of a place.
pub(crate) const MOST_BITS: u32 = UPPER_BITS + Shape::MOST_BITS;
/// The largest number of bits of a value.
const VALUE_BITS: u32 = 128;
const BLOCK_BYTES: usize = 16;
/// The number of blocks of AES calls that the check of a leaf takes, with its proof.
const LEAF_BLOCKS: usize = 6;

/// The form in which places among 2^n are dealt, for look-ups with entries over Z_2^k.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digits {
    params: Params,
    place_bits: u32,
    ring: Ring,
}

impl Digits {
    /// Returns the digits, or `None` if such keys do not exist.
    pub fn new(params: Params, place_bits: u32, ring: Ring) -> Option<Digits> {
        let bits = place_bits.max(ring.bits()) + params.key_bits();
        let has_keys = (1..=MOST_BITS).contains(&place_bits) && bits <= VALUE_BITS && ring.bits() <= 64;
        has_keys.then_some(Digits { params, place_bits, ring })
    }

    /// Returns the digits of a kind.
    pub fn of(params: Params, kind: &Kind) -> Option<Digits> {
        match *kind {
            Kind::Place { place_bits, bits, .. } => Self::new(params, place_bits, Ring::of(bits)),
            _ => None,
        }
    }

    /// Returns the kind of correlations.
    pub fn kind(self) -> Kind {
        let (bits, choices, blocks) = (self.ring.bits(), self.choices(), self.blocks());
        Kind::Place { place_bits: self.place_bits, bits, choices, blocks }
    }

    /// Returns the blocks of a place's keys. Their number is even: sizes of batches, and thus messages, depend on it.
    fn blocks(self) -> usize {
        self.key_bytes().div_ceil(BLOCK_BYTES).next_multiple_of(2)
    }

    /// Returns the bytes of roots and corrections of a place's keys.
    fn key_bytes(self) -> usize {
        self.shapes().iter().map(|shape| BLOCK_BYTES + shape.key_bytes()).sum()
    }

    /// Returns the shapes of the keys: of the lower digit, and of the upper one.
    pub fn shapes(self) -> Vec<Shape> {
        let bits = match self.has_upper() {
            true => vec![self.place_bits - UPPER_BITS, UPPER_BITS],
            false => vec![self.place_bits],
        };
        let ring = Ring::of(self.place_bits.max(self.ring.bits()) + self.params.key_bits());
        bits.into_iter().filter_map(|bits| Shape::new(bits, ring).ok()).collect()
    }

    fn has_upper(self) -> bool {
        self.place_bits > ONE_KEY_BITS
    }

    /// Returns the number of values of the upper digit; 0 without an upper digit.
    pub fn choices(self) -> usize {
        if self.has_upper() { 1 << UPPER_BITS } else { 0 }
    }

    /// Returns the number of bits of the lower digit.
    pub(super) fn lower_bits(self) -> u32 {
        if self.has_upper() { self.place_bits - UPPER_BITS } else { self.place_bits }
    }
}

/// Keys of one digit, of a batch.
struct Digit {
    shape: Shape,
    /// Blocks from which roots are made: those of this party, or at P2 of both.
    roots: Summands<Vector>,
    /// The corrections as they were received; empty in a dry run.
    corrections: Vec<u8>,
}

/// Places of a batch, as they are dealt.
pub(crate) struct DealtPlaces {
    digits: Digits,
    len: usize,
    keys: Vec<Digit>,
    /// The places' shares and tags, once the keys are checked.
    places: Option<Shared>,
}

impl Digit {
    /// Returns the keys of a side, as they are held.
    fn keys(&self, side: Side) -> Result<Keys> {
        keys(self.shape, side, self.roots.0[0].wide_words(), &self.corrections)
    }
}

pub(super) fn keys(shape: Shape, side: Side, roots: &[u128], corrections: &[u8]) -> Result<Keys> {
    let corrections = Corrections::from_bytes(shape, roots.len(), corrections).map_err(|_| NO_KEYS)?;
    Keys::new(Roots::new(side, roots.to_vec()), corrections).map_err(|_| NO_KEYS)
}

const NO_KEYS: quorate_engine::Error = quorate_engine::Error::Bug { what: "a stock of places without their keys" };

/// Returns the side whose keys a party has.
pub(super) fn side_of(me: usize) -> Side {
    if me == 0 { Side::First } else { Side::Second }
}

/// Returns all first and second values of keys, one key after the other, modulo 2^L.
pub(crate) fn values(hash: &Hash, keys: &Keys) -> [Wiped<Vector>; 2] {
    let (shape, points) = (keys.shape(), keys.shape().points());
    let mut all = [(); 2].map(|()| quorate_ring::memory::zeros::<u128>(points * keys.count()));
    verified::visit(hash, keys, |first, place, each| {
        for (q, both) in each.iter().enumerate() {
            for (all, values) in all.iter_mut().zip(both) {
                all[(first + q) * points + place..][..values.len()].copy_from_slice(values);
            }
        }
    });
    all.map(|mut all| {
        let vector = Wiped(Vector::from_u128s(shape.ring(), &all));
        wipe_words(&mut all);
        vector
    })
}

impl Batch<'_> {
    /// Deals places as keys. Returns also the one-hot vectors of upper digits, if there are any.
    pub(super) async fn keys_of_places(
        &mut self,
        digits: Digits,
        len: usize,
    ) -> Result<(DealtPlaces, Option<Summands<Vector>>)> {
        let places = Wiped(self.numbers_of_dealer((Ring::of(digits.place_bits), len)));
        let mut dealt = DealtPlaces { digits, len, keys: vec![], places: None };
        for (i, shape) in digits.shapes().into_iter().enumerate() {
            let shift = if i == 0 { 0 } else { digits.lower_bits() };
            let mut points = Zeroizing::new(if places.is_shape() { vec![] } else { places.to_u64s() });
            points.iter_mut().for_each(|place| *place = *place >> shift & shape.mask());
            let digit = self.keys(shape, len, &points).await?;
            dealt.keys.push(digit);
        }
        let hot = if digits.has_upper() { Some(self.upper(&dealt, &places)?) } else { None };
        Ok((dealt, hot))
    }

    /// Deals keys at points that P2 knows, with the payload (1, alpha).
    async fn keys(&mut self, shape: Shape, len: usize, points: &[u64]) -> Result<Digit> {
        let roots = self.uniform::<Vector>((BLOCK, len));
        let dry = self.ctx.is_dry();
        if dry && self.deals() {
            charge(Kernel::Draw, (2 * shape.bits() as usize + 10) * BLOCK_BYTES * len);
        }
        if self.deals() && !dry {
            let [first, second] = [Side::First, Side::Second]
                .map(|side| Roots::new(side, roots.0[usize::from(side == Side::Second)].wide_words().to_vec()));
            let alpha = self.third.keys.iter().map(|keys| u128::from(*keys.alpha)).sum();
            let dealt = verified::deal(self.third.pairs.hash(), shape, points, alpha, first, second);
            let both = || [0, 1].map(|i| roots.0[i].wide_words());
            let corrections = dealt.bytes().to_vec();
            let sent = self.adversary.keys_told(corrections, || (self.third.pairs.hash(), shape, alpha, both()));
            let corrections = self.send_each(sent).await?;
            return Ok(Digit { shape, roots, corrections });
        }
        let corrections = self.send_both(vec![], len * shape.key_bytes()).await?;
        Ok(Digit { shape, roots, corrections })
    }

    /// Returns the one-hot vectors of upper digits, over the ring of b: each party evaluates its key; P2, which knows
    /// the digits, has their sums.
    fn upper(&self, dealt: &DealtPlaces, places: &Vector) -> Result<Summands<Vector>> {
        let Digits { params, ring, .. } = dealt.digits;
        let (wide, choices) = (params.shares(ring), dealt.digits.choices());
        if self.ctx.is_dry() {
            let parts = if self.deals() { 2 } else { 1 };
            return Ok(Summands(vec![Vector::shape(wide, choices * dealt.len); parts]));
        }
        if self.deals() {
            let mut hot = vec![0; choices * dealt.len];
            for (hot, place) in hot.chunks_exact_mut(choices).zip(Zeroizing::new(places.to_u64s()).iter()) {
                let digit = place >> dealt.digits.lower_bits();
                (0..).zip(hot).for_each(|(i, hot)| *hot = u128::from(i == digit));
            }
            let vector = Vector::from_u128s(wide, &hot);
            wipe_words(&mut hot);
            return Ok(Summands(vec![vector, Vector::zeros(wide, choices * dealt.len)]));
        }
        let upper = dealt.keys.last().ok_or(NO_KEYS)?;
        let keys = upper.keys(side_of(self.third.pairs.me))?;
        let [first, _] = values(self.third.pairs.hash(), &keys);
        Ok(Summands(vec![first.convert(wide)]))
    }
}

impl DealtPlaces {
    /// Absorbs everything that both parties compare of all keys; then the places have shares. Does nothing in a dry
    /// run.
    pub(super) fn check(
        &mut self,
        (hash, me, alpha): (&Hash, usize, u64),
        coins: Option<&mut Prg>,
        transcript: &mut Transcript<'_>,
    ) -> Result<()> {
        let Some(coins) = coins else {
            for Digit { shape, .. } in &self.keys {
                charge(Kernel::Draw, LEAF_BLOCKS * shape.points() * BLOCK_BYTES * self.len);
                transcript.charge(self.len * shape.key_bytes());
            }
            return Ok(());
        };
        let mut places: Option<Shared> = None;
        for (i, digit) in self.keys.iter().enumerate() {
            transcript.same(&digit.corrections);
            let keys = digit.keys(side_of(me))?;
            let coins = verified::coins(digit.shape, coins);
            let checked = verified::check(hash, &keys, &coins);
            transcript.same(bytemuck::cast_slice(checked.proofs.as_flattened()));
            let mut ones = (*checked.ones).clone();
            if me == 0 {
                ones.add_scalar(1u128.wrapping_neg());
            }
            transcript.zero(ones);
            let mut macs = (*checked.macs).clone();
            macs.add_scalar(u128::from(alpha).wrapping_neg());
            transcript.zero(macs);
            let raised = |x: &Vector| {
                let mut raised = x.clone();
                raised.shl(if i == 0 { 0 } else { self.digits.lower_bits() });
                raised
            };
            let part = Shared { share: raised(&checked.points), tag: raised(&checked.point_macs) };
            match &mut places {
                None => places = Some(part),
                Some(places) => {
                    places.share.add_assign(&part.share);
                    places.tag.add_assign(&part.tag);
                }
            }
        }
        self.places = places;
        Ok(())
    }

    /// Returns what a party keeps: the places, and roots and corrections of each, in blocks; P2 keeps shapes.
    pub fn into_stock(self, deals: bool) -> Result<(Tagged, Wiped<Vector>)> {
        let Digits { params, place_bits, ring, .. } = self.digits;
        let own = Ring::of(place_bits.max(ring.bits()));
        let Kind::Place { blocks, .. } = self.digits.kind() else { return Err(NO_KEYS) };
        if !deals && self.places.is_none() {
            charge_copies(self.digits, self.len);
        }
        let places = match (&self.places, deals) {
            (Some(places), false) => Shared { share: places.share.clone(), tag: places.tag.clone() },
            _ => {
                let shape = || Vector::shape(params.shares(own), self.len);
                Shared { share: shape(), tag: shape() }
            }
        };
        let keys = match deals || self.places.is_none() {
            true => Vector::shape(BLOCK, blocks * self.len),
            false => self.in_blocks(blocks),
        };
        Ok((Tagged::of(own, &places), Wiped(keys)))
    }

    /// Returns, for each place, the roots and then the corrections of its keys, filled up to `blocks` blocks.
    fn in_blocks(&self, blocks: usize) -> Vector {
        let mut all = quorate_ring::memory::zeros::<u128>(blocks * self.len);
        for (i, one) in all.chunks_exact_mut(blocks).enumerate() {
            let bytes: &mut [u8] = bytemuck::cast_slice_mut(one);
            let mut at = 0;
            let mut put = |part: &[u8]| {
                bytes[at..at + part.len()].copy_from_slice(part);
                at += part.len();
            };
            self.keys.iter().for_each(|digit| put(bytemuck::bytes_of(&digit.roots.0[0].wide_words()[i])));
            for digit in &self.keys {
                let each = digit.shape.key_bytes();
                put(&digit.corrections[i * each..(i + 1) * each]);
            }
        }
        let vector = Vector::from_u128s(BLOCK, &all);
        wipe_words(&mut all);
        vector
    }
}

/// Charges a dry run with moving the keys of `len` places into blocks or out of them, three times.
pub(super) fn charge_copies(digits: Digits, len: usize) {
    meter::stream(3 * 2 * len * digits.key_bytes());
}

/// Returns the keys of `len` places that are stored in blocks, those of the lower digit first.
///
/// # Errors
/// [`quorate_engine::Error::Bug`] unless there are the blocks of all places.
pub(crate) fn keys_of(digits: Digits, me: usize, blocks: &Vector, len: usize) -> Result<Vec<Keys>> {
    let (shapes, each) = (digits.shapes(), digits.blocks());
    if blocks.is_shape() || blocks.ring() != BLOCK || blocks.len() != each * len {
        return Err(NO_KEYS);
    }
    // The capacity for all roots is reserved: a reallocation would leave copies behind.
    let mut parts: Vec<(Vec<u128>, Vec<u8>)> = shapes.iter().map(|_| (Vec::with_capacity(len), vec![])).collect();
    for one in blocks.wide_words().chunks_exact(each) {
        let bytes: &[u8] = bytemuck::cast_slice(one);
        let mut at = shapes.len() * BLOCK_BYTES;
        for (k, ((roots, corrections), shape)) in parts.iter_mut().zip(&shapes).enumerate() {
            roots.push(one[k]);
            corrections.extend_from_slice(&bytes[at..at + shape.key_bytes()]);
            at += shape.key_bytes();
        }
    }
    shapes
        .iter()
        .zip(&mut parts)
        .map(|(shape, (roots, corrections))| {
            let keys = keys(*shape, side_of(me), roots, corrections);
            wipe_words(roots);
            keys
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_other_numbers_of_places_are_refused() {
        let digits = Digits::new(Params::default(), 6, Ring::of(64)).expect("places of 6 bits have keys");
        let keys = |blocks: Vector| keys_of(digits, 0, &blocks, 3);
        assert!(keys(Vector::zeros(BLOCK, 3 * digits.blocks())).is_ok_and(|keys| keys.len() == 1));
        for len in [0, digits.blocks(), 3 * digits.blocks() - 1, 4 * digits.blocks()] {
            assert!(keys(Vector::zeros(BLOCK, len)).is_err(), "{len} blocks");
        }
        assert!(keys(Vector::shape(BLOCK, 3 * digits.blocks())).is_err());
    }
}
