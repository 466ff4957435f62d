//! Selection and concatenation of rows and lanes.

use super::Bits;
use super::copy::{or_bit, or_bits};
use super::logic::map2;
use crate::{Runs, memory, meter, threads};
use std::ops::Range;

impl Bits {
    /// Returns row `row`, alone.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row(&self, row: usize) -> Bits {
        self.slice_rows(row..row + 1)
    }

    /// Returns a range of rows.
    ///
    /// # Panics
    /// If the range does not lie inside.
    pub fn slice_rows(&self, range: Range<usize>) -> Bits {
        assert!(range.start <= range.end && range.end <= self.rows, "rows {range:?} of a {self:?}");
        let row_words = self.row_words();
        match &self.words {
            None => Self::copied(range.len(), self.lanes),
            Some(words) => {
                let words = memory::copied(&words[range.start * row_words..range.end * row_words]);
                Self::of_words(range.len(), self.lanes, words)
            }
        }
    }

    /// Returns the rows of all parts, one part after the other; a shape if any part is one.
    ///
    /// # Panics
    /// If there are no parts, or their numbers of lanes differ.
    pub fn concat_rows(parts: &[&Bits]) -> Bits {
        let first = parts.first().expect("concat of at least one part");
        for part in parts {
            assert!(part.lanes == first.lanes, "rows of a {first:?} and a {part:?}");
        }
        let rows = parts.iter().map(|part| part.rows).sum();
        if parts.iter().any(|part| part.is_shape()) {
            return Self::copied(rows, first.lanes);
        }
        let mut words = memory::with_room(rows * first.row_words());
        for part in parts {
            words.extend_from_slice(part.words());
        }
        Self::of_words(rows, first.lanes, words)
    }

    /// Returns a range of lanes of every row.
    ///
    /// # Panics
    /// If the range does not lie inside.
    pub fn slice_lanes(&self, range: Range<usize>) -> Bits {
        assert!(range.start <= range.end && range.end <= self.lanes, "lanes {range:?} of a {self:?}");
        let lanes = range.len();
        if self.is_shape() {
            return Self::copied(self.rows, lanes);
        }
        let mut result = Self::zeros(self.rows, lanes);
        result.or_lanes(0, self, range);
        result
    }

    /// Returns the lanes of all parts side by side; a shape if any part is one.
    ///
    /// # Panics
    /// If there are no parts, or their numbers of rows differ.
    pub fn concat_lanes(parts: &[&Bits]) -> Bits {
        let first = parts.first().expect("concat of at least one part");
        for part in parts {
            assert!(part.rows == first.rows, "lanes of a {first:?} and a {part:?}");
        }
        let lanes = parts.iter().map(|part| part.lanes).sum();
        if parts.iter().any(|part| part.is_shape()) {
            return Self::copied(first.rows, lanes);
        }
        let mut result = Self::zeros(first.rows, lanes);
        let mut at = 0;
        for part in parts {
            result.or_lanes(at, part, 0..part.lanes);
            at += part.lanes;
        }
        result
    }

    /// Returns the lanes at public positions, in their order; positions may repeat.
    ///
    /// # Panics
    /// If a position lies outside (unchecked on shapes, which do not read positions).
    pub fn gather_lanes(&self, indices: &[u32]) -> Bits {
        if self.is_shape() {
            return self.gathered_shape(indices.len());
        }
        let last = indices.iter().fold(0, |last, &i| last.max(i));
        assert!(indices.is_empty() || (last as usize) < self.lanes, "a lane outside a {self:?}");
        let row_words = indices.len().div_ceil(64);
        let mut words = memory::zeros(self.rows * row_words);
        let part = threads::part_len(indices.len(), size_of::<u32>(), 64);
        for (row, words) in words.chunks_mut(row_words.max(1)).enumerate() {
            let row = self.words_of(row);
            let parts = words.chunks_mut(part / 64).zip(indices.chunks(part)).collect();
            threads::side_by_side(parts, |(words, indices): (&mut [u64], &[u32])| {
                let bit = |i: u32| row[i as usize / 64] >> (i % 64) & 1;
                let gathered = |some: &[u32]| some.iter().rev().fold(0, |word, &i| word << 1 | bit(i));
                words.iter_mut().zip(indices.chunks(64)).for_each(|(word, some)| *word = gathered(some));
            });
        }
        Self::of_words(self.rows, indices.len(), words)
    }

    /// Returns the lanes at public positions in runs, in their order.
    ///
    /// # Panics
    /// If a position lies outside (unchecked on shapes).
    pub fn gather_runs(&self, runs: &Runs) -> Bits {
        let (len, width) = (runs.len(), runs.width as usize);
        if self.is_shape() {
            return self.gathered_shape(len);
        }
        let last = runs.starts.iter().fold(0, |last, &start| last.max(start)) as usize;
        let used = if runs.repeats { last + 1 } else { last + width };
        assert!(len == 0 || used <= self.lanes, "a lane outside a {self:?}");
        let mut result = Self::zeros(self.rows, len);
        for row in 0..self.rows {
            let (source, target) = (self.words_of(row), result.words_of_mut(row));
            for (i, &start) in runs.starts.iter().enumerate() {
                match runs.repeats {
                    true => or_bit(target, i * width, source[start as usize / 64] >> (start % 64) & 1, width),
                    false => or_bits(target, i * width, source, start as usize, width),
                }
            }
        }
        result
    }

    /// Returns the shape of [`gather_lanes`](Self::gather_lanes) for this number of positions.
    pub fn gathered_shape(&self, lanes: usize) -> Bits {
        meter::fetched(self.rows.saturating_mul(lanes));
        Self::shape(self.rows, lanes)
    }

    /// Returns the rows at public positions, in their order; positions may repeat.
    ///
    /// # Panics
    /// If a position lies outside (unchecked on shapes).
    pub fn gather_rows(&self, indices: &[u32]) -> Bits {
        if self.is_shape() {
            return Self::copied(indices.len(), self.lanes);
        }
        let mut words = memory::with_room(indices.len() * self.row_words());
        for &row in indices {
            words.extend_from_slice(self.words_of(row as usize));
        }
        Self::of_words(indices.len(), self.lanes, words)
    }

    /// Xors rows `from`, `from + 1`, ... of `other` to the rows at these positions; a shape if either is one.
    ///
    /// # Panics
    /// If the numbers of lanes differ, or a row does not exist (unchecked on shapes).
    pub fn xor_rows(&mut self, positions: &[u32], other: &Bits, from: usize) {
        self.with_rows(positions, other, from, |to, row| map2(to, row, |x, y| x ^ y));
    }

    /// Overwrites the rows at these positions by rows `from`, `from + 1`, ... of `other`; a shape if either is one.
    ///
    /// # Panics
    /// If the numbers of lanes differ, or a row does not exist (unchecked on shapes).
    pub fn set_rows(&mut self, positions: &[u32], other: &Bits, from: usize) {
        self.with_rows(positions, other, from, <[u64]>::copy_from_slice);
    }

    fn with_rows(&mut self, positions: &[u32], other: &Bits, from: usize, work: impl Fn(&mut [u64], &[u64])) {
        assert!(self.lanes == other.lanes, "rows of a {other:?} in a {self:?}");
        let row_words = self.row_words();
        if self.is_shape() || other.is_shape() {
            self.words = None;
            return meter::stream(row_words.saturating_mul(3 * 8 * positions.len()));
        }
        for (i, &position) in positions.iter().enumerate() {
            let at = position as usize * row_words;
            work(&mut self.words_mut()[at..at + row_words], other.words_of(from + i));
        }
    }

    /// Returns `rows` copies of the only row.
    ///
    /// # Panics
    /// Unless there is exactly one row.
    pub fn broadcast_row(&self, rows: usize) -> Bits {
        assert!(self.rows == 1, "broadcasting a {self:?} as a row");
        match &self.words {
            None => Self::copied(rows, self.lanes),
            Some(words) => Self::of_words(rows, self.lanes, words.repeat(rows)),
        }
    }

    /// Overwrites the lanes from `start` on; a shape if either is one.
    ///
    /// # Panics
    /// If the numbers of rows differ or `part` does not fit there.
    pub fn write_lanes_at(&mut self, start: usize, part: &Bits) {
        let fits = self.rows == part.rows && start.checked_add(part.lanes).is_some_and(|end| end <= self.lanes);
        assert!(fits, "writing a {part:?} at lane {start} of a {self:?}");
        if self.is_shape() || part.is_shape() {
            self.words = None;
            return part.charge_stream(3);
        }
        let row_words = self.row_words();
        if row_words == 0 || part.lanes == 0 {
            return;
        }
        let end = start + part.lanes;
        for row in self.words_mut().chunks_exact_mut(row_words) {
            for (at, word) in row.iter_mut().enumerate().take(end.div_ceil(64)).skip(start / 64) {
                let below = if at * 64 < start { (1u64 << (start - at * 64)) - 1 } else { 0 };
                let above = if end < at * 64 + 64 { u64::MAX << (end - at * 64) } else { 0 };
                *word &= below | above;
            }
        }
        self.or_lanes(start, part, 0..part.lanes);
    }

    /// Copies lanes of `source` to the lanes from `to` on, which must be zero.
    fn or_lanes(&mut self, to: usize, source: &Bits, range: Range<usize>) {
        let row_words = self.row_words();
        if row_words == 0 {
            return;
        }
        for (row, target) in self.words_mut().chunks_exact_mut(row_words).enumerate() {
            or_bits(target, to, source.words_of(row), range.start, range.len());
        }
    }
}
