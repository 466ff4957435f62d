//! Arithmetic on parts of long vectors in place: what slicing first would copy.

use std::ops::Range;

use super::arith::{add_products, map2};
use super::{Vector, on_words};
use crate::meter;
use crate::word::Word;

impl Vector {
    /// That a range of a vector of this ring has this vector's length, or lies inside `whole`.
    fn assert_part(&self, whole: &Vector, range: &Range<usize>) {
        let fits = self.ring == whole.ring && range.len() == self.len() && range.end <= whole.len();
        assert!(fits, "range {range:?} of a {whole:?} beside a {self:?}");
    }

    /// self += other[range]; a shape if either is.
    ///
    /// # Panics
    /// If the rings differ, the range is not of this length, or it does not lie inside.
    pub fn add_range(&mut self, other: &Vector, range: Range<usize>) {
        self.assert_part(other, &range);
        if other.is_shape() {
            self.become_shape();
        }
        if self.is_shape() {
            return other.charge_part(3, self.len());
        }
        on_words!(&mut self.data, words => map2(words, &other.data.words()[range], Word::add), _len => ());
    }

    /// self -= other[range]; a shape if either is.
    ///
    /// # Panics
    /// As [`add_range`](Self::add_range).
    pub fn sub_range(&mut self, other: &Vector, range: Range<usize>) {
        self.assert_part(other, &range);
        if other.is_shape() {
            self.become_shape();
        }
        if self.is_shape() {
            return other.charge_part(3, self.len());
        }
        on_words!(&mut self.data, words => map2(words, &other.data.words()[range], Word::sub), _len => ());
    }

    /// self += a[range] b, for `b` of this length; a shape if any is.
    ///
    /// # Panics
    /// As [`add_range`](Self::add_range).
    pub fn add_mul_range(&mut self, a: &Vector, range: Range<usize>, b: &Vector) {
        self.assert_part(a, &range);
        self.assert_fits(b);
        if a.is_shape() || b.is_shape() {
            self.become_shape();
        }
        if self.is_shape() {
            self.charge_products(self.len());
            return a.charge_part(4, self.len());
        }
        on_words!(&mut self.data, words => add_products(words, &a.data.words()[range], b.data.words()), _len => ());
    }

    /// self += a[range] b[range]; a shape if any is.
    ///
    /// # Panics
    /// As [`add_range`](Self::add_range).
    pub fn add_mul_ranges(&mut self, a: &Vector, b: &Vector, range: Range<usize>) {
        self.assert_part(a, &range);
        self.assert_part(b, &range);
        if a.is_shape() || b.is_shape() {
            self.become_shape();
        }
        if self.is_shape() {
            self.charge_products(self.len());
            return a.charge_part(4, self.len());
        }
        on_words!(&mut self.data,
            words => add_products(words, &a.data.words()[range.clone()], &b.data.words()[range]), _len => ());
    }

    /// Adds `part` to the elements from `start` on; a shape if either is.
    ///
    /// # Panics
    /// If the rings differ or `part` does not fit there.
    pub fn add_at(&mut self, start: usize, part: &Vector) {
        let range = start..start.saturating_add(part.len());
        part.assert_part(self, &range);
        if part.is_shape() {
            self.become_shape();
        }
        if self.is_shape() {
            return self.charge_part(3, part.len());
        }
        on_words!(&mut self.data, words => map2(&mut words[range], part.data.words(), Word::add), _len => ());
    }

    /// The memory of a range of elements, for a generator to fill; nothing for a shape,
    /// which is charged for what the generator would draw.
    ///
    /// # Panics
    /// If the range does not lie inside.
    pub fn bytes_of_mut(&mut self, range: Range<usize>) -> &mut [u8] {
        let width = self.ring.carrier().bytes();
        if self.is_shape() {
            meter::charge(meter::Kernel::Draw, range.len().saturating_mul(width));
            return &mut [];
        }
        &mut self.bytes_mut()[range.start * width..range.end * width]
    }
}
