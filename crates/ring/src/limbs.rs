//! Carrier words of more than 128 bits: limbs of 64 bits, the lowest first.
//!
//! No operation branches on a limb; the distance of a shift is public. Limbs are processed by plain loops: adapters,
//! functions of arrays and copies of slices may become calls, which take longer than their work.

#![allow(clippy::needless_range_loop, reason = "the other forms become calls")]

use std::ops::{BitAnd, BitOr, BitXor, Not, Shl, Shr};

use crate::vector::Data;
use crate::word::{MOST_LIMBS, Word};

/// A word of `N` limbs.
#[derive(Clone, Copy, PartialEq)]
#[repr(transparent)]
pub(crate) struct Limbs<const N: usize>([u64; N]);

/// 192 bits.
pub(crate) type W192 = Limbs<3>;
/// 256 bits.
pub(crate) type W256 = Limbs<4>;

// SAFETY: the type is transparent over an array of u64, for which zeros are a value.
unsafe impl<const N: usize> bytemuck::Zeroable for Limbs<N> {}
// SAFETY: as above; such arrays have no padding and any bits are a value.
unsafe impl<const N: usize> bytemuck::Pod for Limbs<N> {}

impl<const N: usize> Default for Limbs<N> {
    fn default() -> Self {
        Limbs([0; N])
    }
}

/// Returns x + y + carry, and the carry out.
#[inline(always)]
fn add_limb(x: u64, y: u64, carry: bool) -> (u64, bool) {
    let (sum, first) = x.overflowing_add(y);
    let (sum, second) = sum.overflowing_add(u64::from(carry));
    (sum, first | second)
}

/// Returns x - y - borrow, and the borrow out.
#[inline(always)]
fn sub_limb(x: u64, y: u64, borrow: bool) -> (u64, bool) {
    let (difference, first) = x.overflowing_sub(y);
    let (difference, second) = difference.overflowing_sub(u64::from(borrow));
    (difference, first | second)
}

/// Returns x y + sum + carry, low and high: it fits.
#[inline(always)]
fn mul_limb(x: u64, y: u64, sum: u64, carry: u64) -> (u64, u64) {
    let wide = u128::from(x) * u128::from(y) + u128::from(sum) + u128::from(carry);
    (wide as u64, (wide >> 64) as u64)
}

impl<const N: usize> Limbs<N> {
    #[inline(always)]
    fn map(self, other: Self, f: impl Fn(u64, u64) -> u64) -> Self {
        let mut mapped = [0; N];
        for i in 0..N {
            mapped[i] = f(self.0[i], other.0[i]);
        }
        Limbs(mapped)
    }

    #[inline(always)]
    fn sum(self, other: Self) -> Self {
        let (mut sum, mut carry) = ([0; N], false);
        for (i, sum) in sum.iter_mut().enumerate() {
            (*sum, carry) = add_limb(self.0[i], other.0[i], carry);
        }
        Limbs(sum)
    }

    #[inline(always)]
    fn difference(self, other: Self) -> Self {
        let (mut difference, mut borrow) = ([0; N], false);
        for (i, difference) in difference.iter_mut().enumerate() {
            (*difference, borrow) = sub_limb(self.0[i], other.0[i], borrow);
        }
        Limbs(difference)
    }

    /// Adds x 2^(64 place) factor; limbs beyond the word are not computed.
    #[inline(always)]
    fn add_multiple(&mut self, x: Self, place: usize, factor: u64) {
        let mut carry = 0;
        for (sum, x) in self.0[place..].iter_mut().zip(x.0) {
            (*sum, carry) = mul_limb(x, factor, *sum, carry);
        }
    }

    #[inline(always)]
    fn product(self, other: Self) -> Self {
        let mut product = Self::default();
        for (place, factor) in other.0.into_iter().enumerate() {
            product.add_multiple(self, place, factor);
        }
        product
    }

    /// Shifts up by a public number of limbs.
    #[inline(always)]
    fn up(self, places: usize) -> Self {
        let mut moved = self;
        for _ in 0..places {
            for i in (1..N).rev() {
                moved.0[i] = moved.0[i - 1];
            }
            moved.0[0] = 0;
        }
        moved
    }

    /// Shifts down by a public number of limbs.
    #[inline(always)]
    fn down(self, places: usize) -> Self {
        let mut moved = self;
        for _ in 0..places {
            for i in 1..N {
                moved.0[i - 1] = moved.0[i];
            }
            moved.0[N - 1] = 0;
        }
        moved
    }
}

impl<const N: usize> BitAnd for Limbs<N> {
    type Output = Self;
    #[inline(always)]
    fn bitand(self, other: Self) -> Self {
        self.map(other, |x, y| x & y)
    }
}

impl<const N: usize> BitOr for Limbs<N> {
    type Output = Self;
    #[inline(always)]
    fn bitor(self, other: Self) -> Self {
        self.map(other, |x, y| x | y)
    }
}

impl<const N: usize> BitXor for Limbs<N> {
    type Output = Self;
    #[inline(always)]
    fn bitxor(self, other: Self) -> Self {
        self.map(other, |x, y| x ^ y)
    }
}

impl<const N: usize> Not for Limbs<N> {
    type Output = Self;
    #[inline(always)]
    fn not(self) -> Self {
        self.map(self, |x, _| !x)
    }
}

impl<const N: usize> Shl<u32> for Limbs<N> {
    type Output = Self;
    #[inline(always)]
    fn shl(self, shift: u32) -> Self {
        let x = if shift < 64 { self } else { self.up(shift as usize / 64) };
        let bits = shift % 64;
        let (mut moved, mut below) = ([0; N], 0);
        for i in 0..N {
            moved[i] = (x.0[i] << bits) | ((below >> 1) >> (63 - bits));
            below = x.0[i];
        }
        Limbs(moved)
    }
}

impl<const N: usize> Shr<u32> for Limbs<N> {
    type Output = Self;
    #[inline(always)]
    fn shr(self, shift: u32) -> Self {
        let x = if shift < 64 { self } else { self.down(shift as usize / 64) };
        let bits = shift % 64;
        let (mut moved, mut above) = ([0; N], 0);
        for i in (0..N).rev() {
            moved[i] = (x.0[i] >> bits) | ((above << 1) << (63 - bits));
            above = x.0[i];
        }
        Limbs(moved)
    }
}

macro_rules! word {
    ($($word:ident $variant:ident),*) => {$(
        impl Word for $word {
            const BITS: u32 = 8 * size_of::<$word>() as u32;
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self.sum(other)
            }
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self.difference(other)
            }
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                self.product(other)
            }
            #[inline(always)]
            fn mul64(self, factor: u64) -> Self {
                let mut product = Self::default();
                product.add_multiple(self, 0, factor);
                product
            }
            #[inline(always)]
            fn neg(self) -> Self {
                Self::default().difference(self)
            }
            #[inline(always)]
            fn limbs(self) -> [u64; MOST_LIMBS] {
                let mut limbs = [0; MOST_LIMBS];
                for i in 0..self.0.len() {
                    limbs[i] = self.0[i];
                }
                limbs
            }
            #[inline(always)]
            fn of_limbs(limbs: [u64; MOST_LIMBS]) -> Self {
                let mut word = Self::default();
                for i in 0..word.0.len() {
                    word.0[i] = limbs[i];
                }
                word
            }
            #[inline(always)]
            fn bits_from(self, place: u32) -> u64 {
                let (limb, bits) = (place as usize / 64, place % 64);
                let above = self.0.get(limb + 1).copied().unwrap_or(0);
                (self.0[limb] >> bits) | ((above << 1) << (63 - bits))
            }
            #[inline(always)]
            fn set_bits(&mut self, place: u32, bits: u64) {
                self.0[place as usize / 64] = bits;
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

word!(W192 U192, W256 U256);
