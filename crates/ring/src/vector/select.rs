//! Selection and concatenation of elements.

use super::{Vector, on_words};
use crate::word::Word;
use crate::{Runs, memory, meter};
use std::ops::Range;

fn gathered<W: Word>(words: &[W], indices: &[u32]) -> Vec<W> {
    memory::collected(indices.iter().map(|&i| words[i as usize]))
}

impl Vector {
    /// Returns the shape of a copy of `len` elements, and charges the copy.
    fn copied(&self, len: usize) -> Vector {
        self.charge_stream(2, len);
        Self::shape(self.ring, len)
    }

    /// Returns the elements of a range.
    ///
    /// # Panics
    /// If the range does not lie inside the vector.
    pub fn slice(&self, range: Range<usize>) -> Vector {
        assert!(range.start <= range.end && range.end <= self.len(), "range {range:?} of a {self:?}");
        let len = range.len();
        on_words!(&self.data, words => Self::of_words(self.ring, memory::copied(&words[range])), _len => {
            self.charge_part(2, len);
            Self::shape(self.ring, len)
        })
    }

    /// Appends another vector of the same ring; a shape if either is one.
    ///
    /// # Panics
    /// If the rings differ.
    pub fn append(&mut self, other: &Vector) {
        assert!(self.ring == other.ring, "appending a {other:?} to a {self:?}");
        if self.is_shape() || other.is_shape() {
            self.charge_stream(2, other.len());
            *self = Self::shape(self.ring, self.len() + other.len());
            return;
        }
        on_words!(&mut self.data, words => {
            memory::make_room(words, other.len());
            words.extend_from_slice(other.data.words());
        }, _len => ());
    }

    /// Returns all parts one after the other; a shape if any part is one.
    ///
    /// # Panics
    /// If there are no parts, or their rings differ.
    pub fn concat(parts: &[&Vector]) -> Vector {
        let first = parts.first().expect("concat of at least one part");
        let len = parts.iter().map(|part| part.len()).sum();
        for part in parts {
            assert!(part.ring == first.ring, "concat of a {first:?} and a {part:?}");
        }
        if parts.iter().any(|part| part.is_shape()) {
            return first.copied(len);
        }
        let mut result = Self::zeros(first.ring, 0);
        on_words!(&mut result.data, words => {
            memory::make_room(words, len);
            for part in parts {
                words.extend_from_slice(part.data.words());
            }
        }, _len => ());
        result
    }

    /// Overwrites the elements from `start` on; a shape if either is one.
    ///
    /// # Panics
    /// If the rings differ or `part` does not fit there.
    pub fn write_at(&mut self, start: usize, part: &Vector) {
        let fits = self.ring == part.ring && start.checked_add(part.len()).is_some_and(|end| end <= self.len());
        assert!(fits, "writing a {part:?} at {start} of a {self:?}");
        if part.is_shape() {
            self.become_shape();
        }
        if self.is_shape() {
            return self.charge_part(2, part.len());
        }
        let place = start..start + part.len();
        on_words!(&mut self.data, words => words[place].copy_from_slice(part.data.words()), _len => ());
    }

    /// Returns the elements at public positions, in their order; positions may repeat.
    ///
    /// # Panics
    /// If a position lies outside (unchecked on shapes, which do not read positions).
    pub fn gather(&self, indices: &[u32]) -> Vector {
        on_words!(&self.data, words => Self::of_words(self.ring, gathered(words, indices)),
        _len => self.gathered_shape(indices.len()))
    }

    /// Returns the elements at public positions in runs, in their order.
    ///
    /// # Panics
    /// If a position lies outside (unchecked on shapes).
    pub fn gather_runs(&self, runs: &Runs) -> Vector {
        let width = runs.width as usize;
        on_words!(&self.data, words => {
            let mut gathered = memory::with_room(runs.len());
            for &start in &runs.starts {
                match runs.repeats {
                    true => gathered.resize(gathered.len() + width, words[start as usize]),
                    false => gathered.extend_from_slice(&words[start as usize..start as usize + width]),
                }
            }
            Self::of_words(self.ring, gathered)
        }, _len => self.gathered_shape(runs.len()))
    }

    /// Returns the shape of [`gather`](Self::gather) for this number of positions.
    pub fn gathered_shape(&self, len: usize) -> Vector {
        meter::fetched(len);
        Self::shape(self.ring, len)
    }

    /// Returns `len` copies of the only element.
    ///
    /// # Panics
    /// Unless there is exactly one element.
    pub fn broadcast_scalar(&self, len: usize) -> Vector {
        assert!(self.len() == 1, "broadcasting a {self:?} as a scalar");
        on_words!(
            &self.data,
            words => Self::of_words(self.ring, memory::repeated(words[0], len)),
            _len => self.copied(len)
        )
    }
}
