//! Logic on packed bits.

use std::ops::Range;

use super::Bits;
use crate::simd::multiversion;
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
        if self.is_shape() {
            return self.charge_stream(4);
        }
        add_ands(self.words_mut(), a.words(), b.words());
    }

    /// self ^= words `range` of `other`, of all rows' words one after the other.
    ///
    /// # Panics
    /// If the range does not lie inside, or has another length than this matrix; so do the next two.
    pub fn xor_words(&mut self, other: &Bits, range: Range<usize>) {
        if self.joins_shape(&[other]) {
            return;
        }
        map2(self.part(&range), &other.words()[range], |x, y| x ^ y);
    }

    /// self ^= a & b, of these words of both.
    pub fn add_and_words(&mut self, a: &Bits, b: &Bits, range: Range<usize>) {
        if self.joins_shape(&[a, b]) {
            return;
        }
        add_ands(self.part(&range), &a.words()[range.clone()], &b.words()[range]);
    }

    /// self ^= a & b, of these words of `a` and all of `b`.
    pub fn add_and_words_of(&mut self, a: &Bits, range: Range<usize>, b: &Bits) {
        if self.joins_shape(&[a, b]) {
            return;
        }
        add_ands(self.part(&range), &a.words()[range], b.words());
    }

    /// Whether this is a shape, or becomes one beside others.
    fn joins_shape(&mut self, others: &[&Bits]) -> bool {
        if others.iter().any(|other| other.is_shape()) {
            self.words = None;
        }
        self.is_shape()
    }

    /// All words, as many as the range has.
    fn part(&mut self, range: &Range<usize>) -> &mut [u64] {
        assert!(self.words().len() == range.len(), "words {range:?} beside a {self:?}");
        self.words_mut()
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
