//! Vectors over Z_2^k, or their shapes.

mod arith;
mod chosen;
mod convert;
mod pads;
mod range;
mod root;
mod select;
mod tally;
mod wire;

#[cfg(test)]
mod long_tests;
#[cfg(test)]
mod tests;

pub use pads::Halves;
pub use tally::Tally;

use crate::limbs::{W192, W256};
use crate::word::{MOST_LIMBS, Word};
use crate::{Ring, memory, meter};

/// A vector over a [`Ring`], in carrier words; or, without data, only its shape.
///
/// Local operations wrap in the carrier and leave garbage above bit k. Operations that reveal a value (`to_*`, `pack`)
/// or depend on the upper bits (`shr_logical`, `convert`, `to_bits`) reduce first. There is no `PartialEq`, and `Debug`
/// prints no values: contents are secret.
pub struct Vector {
    pub(crate) ring: Ring,
    pub(crate) data: Data,
}

/// The words of a vector in the carrier of its ring.
pub(crate) enum Data {
    Shape(usize),
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    U128(Vec<u128>),
    U192(Vec<W192>),
    U256(Vec<W256>),
}

/// Runs one expression on the words of a `Data`, for any carrier, or another one on its shape.
macro_rules! on_words {
    ($data:expr, $words:ident => $body:expr, $len:ident => $shape:expr) => {
        match $data {
            crate::vector::Data::Shape($len) => $shape,
            crate::vector::Data::U8($words) => $body,
            crate::vector::Data::U16($words) => $body,
            crate::vector::Data::U32($words) => $body,
            crate::vector::Data::U64($words) => $body,
            crate::vector::Data::U128($words) => $body,
            crate::vector::Data::U192($words) => $body,
            crate::vector::Data::U256($words) => $body,
        }
    };
}
pub(crate) use on_words;

/// Runs one expression with a type name standing for a carrier.
macro_rules! on_carrier {
    ($carrier:expr, $word:ident => $body:expr) => {
        match $carrier {
            crate::Carrier::U8 => {
                type $word = u8;
                $body
            }
            crate::Carrier::U16 => {
                type $word = u16;
                $body
            }
            crate::Carrier::U32 => {
                type $word = u32;
                $body
            }
            crate::Carrier::U64 => {
                type $word = u64;
                $body
            }
            crate::Carrier::U128 => {
                type $word = u128;
                $body
            }
            crate::Carrier::U192 => {
                type $word = crate::limbs::W192;
                $body
            }
            crate::Carrier::U256 => {
                type $word = crate::limbs::W256;
                $body
            }
        }
    };
}
pub(crate) use on_carrier;

impl Data {
    /// Returns the words of a vector whose carrier is known to be `W`.
    pub(crate) fn words<W: Word>(&self) -> &[W] {
        W::of(self).expect("vectors of one ring have one carrier")
    }
}

impl Vector {
    /// Returns `len` zeros.
    pub fn zeros(ring: Ring, len: usize) -> Vector {
        let data = on_carrier!(ring.carrier(), W => W::wrap(memory::zeros(len)));
        Vector { ring, data }
    }

    /// Returns the shape of a vector of `len` elements, without data.
    pub fn shape(ring: Ring, len: usize) -> Vector {
        meter::fresh(len.saturating_mul(ring.carrier().bytes()));
        Vector { ring, data: Data::Shape(len) }
    }

    /// Returns `len` copies of `value` mod 2^k.
    pub fn constant(ring: Ring, value: u128, len: usize) -> Vector {
        let bits = ring.bits();
        let data = on_carrier!(ring.carrier(), W => W::wrap(memory::filled(W::low(value) & W::mask(bits), len)));
        Vector { ring, data }
    }

    /// Returns the values mod 2^k.
    pub fn from_u64s(ring: Ring, values: &[u64]) -> Vector {
        on_carrier!(ring.carrier(), W => Self::from_fn(ring, values, W::low64))
    }

    /// Returns the values mod 2^k: two's complement.
    pub fn from_i64s(ring: Ring, values: &[i64]) -> Vector {
        on_carrier!(ring.carrier(), W => Self::from_fn(ring, values, |value| W::low_signed(value.into())))
    }

    /// Returns the values mod 2^k.
    pub fn from_u128s(ring: Ring, values: &[u128]) -> Vector {
        on_carrier!(ring.carrier(), W => Self::from_fn(ring, values, W::low))
    }

    /// Returns the values mod 2^k: two's complement.
    pub fn from_i128s(ring: Ring, values: &[i128]) -> Vector {
        on_carrier!(ring.carrier(), W => Self::from_fn(ring, values, W::low_signed))
    }

    /// Returns the values mod 2^k, each given in limbs of 64 bits, the lowest first.
    pub fn from_limbs(ring: Ring, values: &[[u64; MOST_LIMBS]]) -> Vector {
        on_carrier!(ring.carrier(), W => Self::from_fn(ring, values, W::of_limbs))
    }

    /// Returns numbers of 256 bits, given in halves, reduced.
    ///
    /// # Panics
    /// Unless the halves have equal lengths.
    pub fn from_halves(ring: Ring, low: &[u128], high: &[u128]) -> Vector {
        assert!(low.len() == high.len(), "halves of {} and {} numbers", low.len(), high.len());
        let limbs = |low: u128, high: u128| [low as u64, (low >> 64) as u64, high as u64, (high >> 64) as u64];
        on_carrier!(ring.carrier(), W => {
            let mask = W::mask(ring.bits());
            let each = low.iter().zip(high).map(|(&low, &high)| W::of_limbs(limbs(low, high)) & mask);
            Self::of_words(ring, memory::collected(each))
        })
    }

    fn from_fn<T: Copy, W: Word>(ring: Ring, values: &[T], word: impl Fn(T) -> W) -> Vector {
        let mask = W::mask(ring.bits());
        Self::of_words(ring, memory::collected(values.iter().map(|&value| word(value) & mask)))
    }

    /// Returns the low 64 bits of each reduced element; empty for a shape.
    pub fn to_u64s(&self) -> Vec<u64> {
        let bits = self.ring.bits();
        on_words!(&self.data, words => to_fn(words, bits, Word::wide64), _len => Vec::new())
    }

    /// Returns the low 64 bits of each element as a k-bit two's complement number; empty for a shape.
    pub fn to_i64s(&self) -> Vec<i64> {
        self.to_signed(|value| value as i64)
    }

    /// Returns the low 128 bits of each reduced element; empty for a shape.
    pub fn to_u128s(&self) -> Vec<u128> {
        let bits = self.ring.bits();
        on_words!(&self.data, words => to_fn(words, bits, Word::wide), _len => Vec::new())
    }

    /// Returns the low 128 bits of each element as a k-bit two's complement number; empty for a shape.
    pub fn to_i128s(&self) -> Vec<i128> {
        self.to_signed(|value| value)
    }

    /// Returns each element, reduced, in limbs of 64 bits, the lowest first; empty for a shape.
    pub fn to_limbs(&self) -> Vec<[u64; MOST_LIMBS]> {
        let bits = self.ring.bits();
        on_words!(&self.data, words => to_fn(words, bits, Word::limbs), _len => Vec::new())
    }

    fn to_signed<T>(&self, narrow: impl Fn(i128) -> T) -> Vec<T> {
        let bits = self.ring.bits();
        let unused_bits = 128u32.saturating_sub(bits);
        let signed = |value: u128| narrow((value << unused_bits) as i128 >> unused_bits);
        on_words!(&self.data, words => to_fn(words, bits, |word| signed(word.wide())), _len => Vec::new())
    }

    /// Returns the words of a vector over a ring of 65 to 128 bits, not reduced; empty for another ring, or for a
    /// shape.
    pub fn wide_words(&self) -> &[u128] {
        if let Data::U128(words) = &self.data { words } else { &[] }
    }

    /// Returns whether this is a shape without data.
    pub fn is_shape(&self) -> bool {
        matches!(self.data, Data::Shape(_))
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        on_words!(&self.data, words => words.len(), len => *len)
    }

    /// Returns whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the ring.
    pub fn ring(&self) -> Ring {
        self.ring
    }

    /// Returns the bytes of memory that the elements take (none for a shape).
    pub fn memory_bytes(&self) -> usize {
        on_words!(&self.data, words => std::mem::size_of_val(words.as_slice()), _len => 0)
    }

    /// Charges the costs of a loop over `arrays` arrays of `len` elements.
    pub(crate) fn charge_stream(&self, arrays: usize, len: usize) {
        meter::stream(len.saturating_mul(arrays * self.ring.carrier().bytes()));
    }

    /// Charges the costs of a loop over ranges of `len` elements of `arrays` vectors like this one.
    pub(crate) fn charge_part(&self, arrays: usize, len: usize) {
        let each = arrays * self.ring.carrier().bytes();
        meter::stream_within(len.saturating_mul(each), self.len().saturating_mul(each));
    }

    /// Charges the costs of `count` products of elements.
    pub(crate) fn charge_products(&self, count: usize) {
        let (kernel, each) = meter::product(self.ring.carrier());
        meter::charge(kernel, count.saturating_mul(each));
    }

    pub(crate) fn of_words<W: Word>(ring: Ring, words: Vec<W>) -> Vector {
        debug_assert_eq!(W::BITS, ring.carrier().bits());
        Vector { ring, data: W::wrap(words) }
    }

    /// Turns the vector into a shape of equal length; the data are freed without being wiped.
    pub(crate) fn become_shape(&mut self) {
        self.data = Data::Shape(self.len());
    }
}

/// Applies `of` to each word's low `bits` bits.
fn to_fn<W: Word, T>(words: &[W], bits: u32, of: impl Fn(W) -> T) -> Vec<T> {
    let mask = W::mask(bits);
    memory::collected(words.iter().map(|&word| of(word & mask)))
}

impl Clone for Vector {
    fn clone(&self) -> Vector {
        if self.is_shape() {
            self.charge_stream(2, self.len());
            return Vector::shape(self.ring, self.len());
        }
        on_words!(
            &self.data,
            words => Vector::of_words(self.ring, memory::copied(words)),
            len => Vector::shape(self.ring, *len)
        )
    }
}

impl std::fmt::Debug for Vector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = if self.is_shape() { "shape" } else { "vector" };
        write!(f, "{kind} of {} over {:?}", self.len(), self.ring)
    }
}
