//! Conversions between rings, and between elements and their bits.

use super::{Vector, on_carrier, on_words};
use crate::simd::multiversion;
use crate::word::{MOST_LIMBS, Word};
use crate::{Bits, Ring, memory, meter, transpose};
use std::ops::Range;

multiversion! {
    /// The words in another carrier: masked, then widened or cut.
    words T;
    fn recast[S: Word, T: Word](out: &mut [T], words: &[S], mask: S) {
        for (to, from) in out.iter_mut().zip(words) {
            *to = T::of_limbs((*from & mask).limbs());
        }
    }
}

multiversion! {
    /// a_i += 2^shift b_i, in the words of a.
    words T;
    fn add_shifted[S: Word, T: Word](a: &mut [T], b: &[S], shift: u32) {
        let bits = shift % u64::BITS;
        match shift / u64::BITS {
            0 => add_moved::<S, T, 0>(a, b, bits),
            1 => add_moved::<S, T, 1>(a, b, bits),
            2 => add_moved::<S, T, 2>(a, b, bits),
            _ => add_moved::<S, T, 3>(a, b, bits),
        }
    }
}

/// a_i += 2^(64 LIMBS + bits) b_i, in the words of a.
#[inline(always)]
fn add_moved<S: Word, T: Word, const LIMBS: usize>(a: &mut [T], b: &[S], bits: u32) {
    for (sum, word) in a.iter_mut().zip(b) {
        let (limbs, mut moved) = (word.limbs(), [0; MOST_LIMBS]);
        for i in LIMBS..MOST_LIMBS {
            let below = if i > LIMBS { limbs[i - LIMBS - 1] } else { 0 };
            moved[i] = (limbs[i - LIMBS] << bits) | ((below >> 1) >> (63 - bits));
        }
        *sum = sum.add(T::of_limbs(moved));
    }
}

multiversion! {
    /// Reads the low `bits` bits as a signed number: (x xor s) - s for the sign bit s, in the wider word.
    words W;
    fn extend[W: Word](words: &mut [W], bits: u32) {
        let sign = W::low(1) << (bits - 1);
        for word in words {
            *word = (*word ^ sign).sub(sign);
        }
    }
}

impl Vector {
    /// Returns the elements in another ring: reduced, then extended by zeros or truncated.
    pub fn convert(&self, ring: Ring) -> Vector {
        if ring == self.ring {
            return self.clone();
        }
        if self.is_shape() {
            let result = Self::shape(ring, self.len());
            self.charge_stream(1, self.len());
            result.charge_stream(2, self.len());
            return result;
        }
        let mut result = Self::zeros(ring, self.len());
        let bits = self.ring.bits();
        on_words!(&mut result.data, out => {
            on_words!(&self.data, words => recast(out, words, Word::mask(bits)), _len => ());
        }, _len => ());
        result
    }

    /// Adds 2^shift x, where self has at most `shift` bits more than x: the wraps of x vanish.
    ///
    /// # Panics
    /// If self has more bits than that, or the lengths differ.
    pub fn add_raised(&mut self, x: &Vector, shift: u32) {
        assert!(self.ring.bits() <= x.ring.bits() + shift, "wraps do not vanish in a larger ring");
        assert!(self.len() == x.len(), "local operation on a {self:?} and a {x:?}: lengths must agree");
        if x.is_shape() {
            self.become_shape();
        }
        if self.is_shape() {
            self.charge_stream(2, self.len());
            return x.charge_stream(1, x.len());
        }
        if shift >= self.ring.bits() {
            return;
        }
        on_words!(&mut self.data, sums => {
            on_words!(&x.data, words => add_shifted(sums, words, shift), _len => ());
        }, _len => ());
    }

    /// Returns the elements, read as k-bit two's complement numbers, in another ring (truncated if that is smaller).
    pub fn sign_extend(&self, ring: Ring) -> Vector {
        let mut result = self.convert(ring);
        if ring.bits() > self.ring.bits() {
            result.reduce();
            if result.is_shape() {
                result.charge_stream(2, result.len());
                return result;
            }
            let bits = self.ring.bits();
            on_words!(&mut result.data, words => extend(words, bits), _len => ());
        }
        result
    }

    /// Returns bits `bits.start` to `bits.end - 1` of every element: a row for each bit, a lane for each element.
    ///
    /// # Panics
    /// If the range goes beyond bit k.
    pub fn to_bits(&self, bits: Range<u32>) -> Bits {
        assert!(bits.start <= bits.end && bits.end <= self.ring.bits(), "bits {bits:?} of a {self:?}");
        let rows = bits.len();
        if self.is_shape() {
            meter::transpose(self.len(), rows);
            return Bits::shape(rows, self.len());
        }
        let mut result = Bits::zeros(rows, self.len());
        on_words!(&self.data, words => transpose::rows_of(result.words_mut(), rows, words, bits.start), _len => ());
        result
    }

    /// Returns bit 0 of every element: one row.
    pub fn low_bit(&self) -> Bits {
        self.to_bits(0..1)
    }
}

impl Bits {
    /// Returns one element for each lane: the sum of row_i 2^i mod 2^k.
    pub fn to_vector(&self, ring: Ring) -> Vector {
        let rows = self.rows().min(ring.bits() as usize);
        if self.is_shape() {
            meter::transpose(self.lanes(), rows);
            return Vector::shape(ring, self.lanes());
        }
        on_carrier!(ring.carrier(), W => {
            let mut out: Vec<W> = memory::zeros(self.lanes());
            transpose::columns_of(&mut out, self.words(), rows);
            Vector::of_words(ring, out)
        })
    }
}
