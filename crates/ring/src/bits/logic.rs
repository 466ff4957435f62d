//! Logic on packed bits.

use std::ops::Range;

use super::Bits;
use crate::simd::multiversion;
use crate::terms::{Terms, set_terms};
use crate::threads::on_parts_with;

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

    fn combine(&mut self, other: &Bits, f: impl Fn(u64, u64) -> u64 + Copy + Sync) {
        self.assert_fits(other);
        if other.is_shape() {
            self.words = None;
        }
        if self.is_shape() {
            return self.charge_stream(3);
        }
        on_parts_with(self.words_mut(), other.words(), |a, b| map2(a, b, f));
    }

    /// self ^= other.
    ///
    /// # Panics
    /// If the shapes differ. The same holds for all operations on two values here.
    pub fn xor_assign(&mut self, other: &Bits) {
        self.combine(other, |x, y| x ^ y);
    }

    /// self &= other.
    pub fn and_assign(&mut self, other: &Bits) {
        self.combine(other, |x, y| x & y);
    }

    /// self ^= a & b.
    pub fn add_and_assign(&mut self, a: &Bits, b: &Bits) {
        self.assert_fits(a);
        self.assert_fits(b);
        if a.is_shape() || b.is_shape() {
            self.words = None;
        }
        if self.is_shape() {
            return self.charge_stream(4);
        }
        add_ands(self.words_mut(), a.words(), b.words());
    }

    /// self = the sum over all terms of (the sum of some x) and (the sum of some y). Only the words `range` are used,
    /// counted over the rows of a matrix one after the other. A shape if any matrix is one.
    ///
    /// # Panics
    /// If the range does not lie inside all x and y, or differs in length from this matrix, or a term names none of
    /// them.
    pub fn set_terms(&mut self, x: &[Bits], y: &[Bits], range: Range<usize>, terms: &Terms) {
        if x.iter().chain(y).any(Bits::is_shape) {
            self.words = None;
        }
        if self.is_shape() {
            let sums: usize = terms.iter().map(|(x, y)| x.len() + y.len()).sum();
            return self.charge_stream(sums + 1);
        }
        assert!(self.words().len() == range.len(), "words {range:?} beside a {self:?}");
        let [x, y] = [x, y].map(|all| all.iter().map(|one| &one.words()[range.clone()]).collect::<Vec<_>>());
        set_terms(self.words_mut(), &x, &y, terms, |a, b| a ^ b, |a, b| a & b);
    }

    /// self = !self.
    pub fn not_assign(&mut self) {
        if self.is_shape() {
            return self.charge_stream(2);
        }
        for word in self.words_mut() {
            *word = !*word;
        }
    }
}
