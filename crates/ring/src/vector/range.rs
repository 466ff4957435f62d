//! Arithmetic on parts of long vectors in place, without the copy of a slice.

use std::ops::Range;

use super::arith::map2;
use super::{Vector, on_words};
use crate::meter;
use crate::terms::{Terms, set_terms};
use crate::word::Word;

impl Vector {
    /// Checks that a range of `whole`, over this vector's ring, lies inside it and has this vector's length.
    fn assert_part(&self, whole: &Vector, range: &Range<usize>) {
        let fits = self.ring == whole.ring && range.len() == self.len() && range.end <= whole.len();
        assert!(fits, "range {range:?} of a {whole:?} beside a {self:?}");
    }

    /// Sets self to the sum over all terms of (the sum of some x) (the sum of some y), of the elements `range` of each.
    /// The result is a shape if any of them is one.
    ///
    /// # Panics
    /// If the rings differ, the range is not of this length or does not lie inside all x and y, or a term names none of
    /// them.
    pub fn set_terms(&mut self, x: &[Vector], y: &[Vector], range: Range<usize>, terms: &Terms) {
        x.iter().chain(y).for_each(|operand| self.assert_part(operand, &range));
        if x.iter().chain(y).any(Vector::is_shape) {
            self.become_shape();
        }
        if self.is_shape() {
            self.charge_products(terms.len() * self.len());
            self.charge_stream(terms.iter().map(|(x, y)| x.len() + y.len()).sum(), self.len());
            return x[0].charge_part(x.len() + y.len() + 1, self.len());
        }
        on_words!(&mut self.data, words => {
            let [x, y] = [x, y].map(|all| all.iter().map(|one| &one.data.words()[range.clone()]).collect::<Vec<_>>());
            set_terms(words, &x, &y, terms, Word::add, Word::mul)
        }, _len => ());
    }

    /// Adds `part` to the elements from `start` on; a shape if either is one.
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

    /// Returns the memory of a range of elements, for a generator to fill. It is empty for a shape, which is charged
    /// for the generator's draw.
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
