//! The carrier words, seen through one private trait.

use crate::vector::Data;
use std::ops::{BitAnd, BitOr, BitXor, Not, Shl, Shr};

/// An unsigned machine word with wrapping arithmetic.
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
    /// The low bits of `value`.
    fn low(value: u128) -> Self;
    /// The low bits of `value`.
    fn low64(value: u64) -> Self;
    fn wide(self) -> u128;
    /// The low 64 bits.
    fn wide64(self) -> u64;
    fn wrap(words: Vec<Self>) -> Data;
    /// The words of `data` if it has this carrier.
    fn of(data: &Data) -> Option<&[Self]>;

    /// 2^k - 1, k from 1 to `BITS`.
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
            fn low(value: u128) -> Self {
                value as $word
            }
            #[inline(always)]
            fn low64(value: u64) -> Self {
                value as $word
            }
            #[inline(always)]
            fn wide(self) -> u128 {
                self as u128
            }
            #[inline(always)]
            fn wide64(self) -> u64 {
                self as u64
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
