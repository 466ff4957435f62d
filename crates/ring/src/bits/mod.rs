//! Matrices of bits, 64 to a word, or their shapes.

mod copy;
mod logic;
mod rows;
mod select;
mod wire;

#[cfg(test)]
mod tests;

use crate::{memory, meter};

/// `rows` x `lanes` bits, row-major, each row padded to whole 64-bit words; or, without data, only their shape.
///
/// A protocol keeps bit i of a batch of numbers in row i, one number in each lane, so that one word operation serves 64
/// numbers. Padding bits may hold garbage in memory; packed bytes never contain it. `Debug` prints no bits.
pub struct Bits {
    rows: usize,
    lanes: usize,
    /// `None` for a shape.
    words: Option<Vec<u64>>,
}

impl Bits {
    /// Returns zeros.
    pub fn zeros(rows: usize, lanes: usize) -> Bits {
        Self::of_words(rows, lanes, memory::zeros(rows * lanes.div_ceil(64)))
    }

    /// Returns a shape without data.
    pub fn shape(rows: usize, lanes: usize) -> Bits {
        meter::fresh(Self::carried_bytes(rows, lanes));
        Bits { rows, lanes, words: None }
    }

    /// Returns a matrix of equal bits.
    pub fn constant(bit: bool, rows: usize, lanes: usize) -> Bits {
        let word = if bit { u64::MAX } else { 0 };
        Self::of_words(rows, lanes, memory::filled(word, rows * lanes.div_ceil(64)))
    }

    /// Returns the bits of a row-major array.
    ///
    /// # Panics
    /// Unless there are `rows` x `lanes` bits.
    pub fn from_bools(rows: usize, lanes: usize, bits: &[bool]) -> Bits {
        assert!(bits.len() == rows * lanes, "{} bits are not {rows} x {lanes}", bits.len());
        let mut result = Self::zeros(rows, lanes);
        let row_words = result.row_words();
        let words = result.words_mut();
        for (i, bit) in bits.iter().enumerate() {
            let (row, lane) = (i / lanes, i % lanes);
            words[row * row_words + lane / 64] |= u64::from(*bit) << (lane % 64);
        }
        result
    }

    /// Returns the bits as a row-major array; empty for a shape.
    pub fn to_bools(&self) -> Vec<bool> {
        if self.is_shape() {
            return Vec::new();
        }
        let row = |r: usize| (0..self.lanes).map(move |lane| self.words_of(r)[lane / 64] >> (lane % 64) & 1 == 1);
        let mut bits = memory::with_room(self.rows * self.lanes);
        bits.extend((0..self.rows).flat_map(row));
        bits
    }

    /// Returns whether this is a shape without data.
    pub fn is_shape(&self) -> bool {
        self.words.is_none()
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of lanes: bits in a row.
    pub fn lanes(&self) -> usize {
        self.lanes
    }

    /// Returns the bytes of memory that the bits take (none for a shape).
    pub fn memory_bytes(&self) -> usize {
        self.words().len() * 8
    }

    /// Returns the bytes of memory of a matrix of this shape, at most `usize::MAX`.
    pub(crate) const fn carried_bytes(rows: usize, lanes: usize) -> usize {
        rows.saturating_mul(lanes.div_ceil(64)).saturating_mul(8)
    }

    /// Returns the shape of a copy of this size, and charges the copy.
    fn copied(rows: usize, lanes: usize) -> Bits {
        meter::stream(Self::carried_bytes(rows, lanes).saturating_mul(2));
        Self::shape(rows, lanes)
    }

    /// Charges the costs of a loop over this many matrices of this shape.
    fn charge_stream(&self, matrices: usize) {
        meter::stream(Self::carried_bytes(self.rows, self.lanes).saturating_mul(matrices));
    }

    /// Returns the words of a row.
    fn row_words(&self) -> usize {
        self.lanes.div_ceil(64)
    }

    fn of_words(rows: usize, lanes: usize, words: Vec<u64>) -> Bits {
        debug_assert_eq!(words.len(), rows * lanes.div_ceil(64));
        Bits { rows, lanes, words: Some(words) }
    }

    /// Returns the words of row `row` of a value with data, 64 lanes each, lowest bit first. Padding may be garbage.
    ///
    /// # Panics
    /// For a shape, and unless there is such a row.
    pub fn words_of(&self, row: usize) -> &[u64] {
        let row_words = self.row_words();
        &self.words()[row * row_words..(row + 1) * row_words]
    }

    /// Returns the words of row `row` of a value with data, to be written: 64 lanes each, lowest bit first.
    ///
    /// # Panics
    /// For a shape, and unless there is such a row.
    pub fn words_of_mut(&mut self, row: usize) -> &mut [u64] {
        let row_words = self.row_words();
        &mut self.words_mut()[row * row_words..(row + 1) * row_words]
    }

    /// Returns all words; none for a shape.
    pub(crate) fn words(&self) -> &[u64] {
        self.words.as_deref().unwrap_or(&[])
    }

    /// Returns all words; none for a shape.
    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        self.words.as_deref_mut().unwrap_or(&mut [])
    }
}

impl Clone for Bits {
    fn clone(&self) -> Bits {
        match &self.words {
            Some(words) => Self::of_words(self.rows, self.lanes, memory::copied(words)),
            None => Self::copied(self.rows, self.lanes),
        }
    }
}

impl std::fmt::Debug for Bits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = if self.is_shape() { "shape" } else { "matrix" };
        write!(f, "{kind} of {} x {} bits", self.rows, self.lanes)
    }
}
