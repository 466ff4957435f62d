//! The carrier words, as one private trait.

use crate::vector::Data;
use std::ops::{BitAnd, BitOr, BitXor, Not, Shl, Shr};

/// Limbs of 64 bits in the widest word.
pub(crate) const MOST_LIMBS: usize = 4;

/// An unsigned word with wrapping arithmetic.
pub(crate) trait Word:
    bytemuck::Pod
    + Default
    + PartialEq
    + Send
    + Sync
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + Not<Output = Self>
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
{
    /// Bits of the word.
    const BITS: u32;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn neg(self) -> Self;
    /// Returns the word in limbs of 64 bits, the lowest first, zeros above.
    fn limbs(self) -> [u64; MOST_LIMBS];
    /// Returns the low bits of a number in such limbs.
    fn of_limbs(limbs: [u64; MOST_LIMBS]) -> Self;
    fn wrap(words: Vec<Self>) -> Data;
    /// Returns the words of `data` if it has this carrier.
    fn of(data: &Data) -> Option<&[Self]>;

    /// Returns the low bits of `value`.
    #[inline(always)]
    fn low(value: u128) -> Self {
        Self::of_limbs([value as u64, (value >> 64) as u64, 0, 0])
    }
    /// Returns the low bits of `value` in two's complement.
    #[inline(always)]
    fn low_signed(value: i128) -> Self {
        let sign = (value >> 127) as u64;
        Self::of_limbs([value as u64, (value >> 64) as u64, sign, sign])
    }
    /// Returns the low bits of `value`.
    #[inline(always)]
    fn low64(value: u64) -> Self {
        Self::of_limbs([value, 0, 0, 0])
    }
    /// Returns the low 128 bits.
    #[inline(always)]
    fn wide(self) -> u128 {
        let [low, high, ..] = self.limbs();
        u128::from(high) << 64 | u128::from(low)
    }
    /// Returns the low 64 bits.
    #[inline(always)]
    fn wide64(self) -> u64 {
        self.limbs()[0]
    }
    /// Returns the product with a number of 64 bits.
    #[inline(always)]
    fn mul64(self, factor: u64) -> Self {
        self.mul(Self::low64(factor))
    }

    /// Returns 64 bits from a public place on, zeros above the word.
    #[inline(always)]
    fn bits_from(self, place: u32) -> u64 {
        (self >> place).wide64()
    }
    /// Sets 64 bits from a public place on, a multiple of 64, where the word has zeros.
    #[inline(always)]
    fn set_bits(&mut self, place: u32, bits: u64) {
        *self = *self | (Self::low64(bits) << place);
    }

    /// Returns 2^k - 1, k from 1 to `BITS`.
    #[inline(always)]
    fn mask(bits: u32) -> Self {
        !Self::default() >> (Self::BITS - bits)
    }
}

macro_rules! word {
    ($($word:ident $variant:ident),*) => {$(
        impl Word for $word {
            const BITS: u32 = $word::BITS;
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            #[inline(always)]
            fn neg(self) -> Self {
                self.wrapping_neg()
            }
            #[inline(always)]
            fn limbs(self) -> [u64; MOST_LIMBS] {
                [self as u64, (self as u128 >> 64) as u64, 0, 0]
            }
            #[inline(always)]
            fn of_limbs([low, high, ..]: [u64; MOST_LIMBS]) -> Self {
                (u128::from(high) << 64 | u128::from(low)) as $word
            }
            fn wrap(words: Vec<Self>) -> Data {
                Data::$variant(words)
            }
            fn of(data: &Data) -> Option<&[Self]> {
                match data {
                    Data::$variant(words) => Some(words),
                    _ => None,
                }
            }
        }
    )*};
}

word!(u8 U8, u16 U16, u32 U32, u64 U64, u128 U128);
