//! Logic on packed bits.

use super::Bits;
use crate::simd::multiversion;

multiversion! {
    /// a_i = f(a_i, b_i).
    fn map2[F: Fn(u64, u64) -> u64 + Copy](a: &mut [u64], b: &[u64], f: F) {
        for (x, y) in a.iter_mut().zip(b) {
            *x = f(*x, *y);
        }
    }
}

multiversion! {
    /// a_i ^= b_i & c_i.
    fn add_ands[](a: &mut [u64], b: &[u64], c: &[u64]) {
        for ((x, y), z) in a.iter_mut().zip(b).zip(c) {
            *x ^= y & z;
        }
    }
}

impl Bits {
    fn assert_fits(&self, other: &Bits) {
        assert!(
            self.rows == other.rows && self.lanes == other.lanes,
            "local operation on a {self:?} and a {other:?}: shapes must agree"
        );
    }

    fn combine(&mut self, other: &Bits, f: impl Fn(u64, u64) -> u64 + Copy) {
        self.assert_fits(other);
        if other.is_shape() {
            self.words = None;
        }
        map2(self.words_mut(), other.words(), f);
    }

    /// self ^= other.
    ///
    /// # Panics
    /// If the shapes differ; so do all operations on two values here.
    pub fn xor_assign(&mut self, other: &Bits) {
        self.combine(other, |x, y| x ^ y);
    }

    /// self &= other.
    pub fn and_assign(&mut self, other: &Bits) {
        self.combine(other, |x, y| x & y);
    }

    /// self &= !other.
    pub fn and_not_assign(&mut self, other: &Bits) {
        self.combine(other, |x, y| x & !y);
    }

    /// self |= other.
    pub fn or_assign(&mut self, other: &Bits) {
        self.combine(other, |x, y| x | y);
    }

    /// self ^= a & b.
    pub fn add_and_assign(&mut self, a: &Bits, b: &Bits) {
        self.assert_fits(a);
        self.assert_fits(b);
        if a.is_shape() || b.is_shape() {
            self.words = None;
        }
        add_ands(self.words_mut(), a.words(), b.words());
    }

    /// self = !self.
    pub fn not_assign(&mut self) {
        for word in self.words_mut() {
            *word = !*word;
        }
    }
}
