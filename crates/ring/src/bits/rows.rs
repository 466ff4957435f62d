//! Rows within one matrix, and rows as runs of neighbouring lanes.

use super::Bits;
use crate::meter;

impl Bits {
    /// Returns a matrix whose row i has `bits[i]` in every lane.
    pub fn of_rows(bits: &[bool], lanes: usize) -> Bits {
        let row_words = lanes.div_ceil(64);
        let word = |&bit: &bool| if bit { u64::MAX } else { 0 };
        Self::of_words(
            bits.len(),
            lanes,
            bits.iter().flat_map(|bit| std::iter::repeat_n(word(bit), row_words)).collect(),
        )
    }

    /// Sets row `to` to row `a` xor row `b`.
    ///
    /// # Panics
    /// If a row does not exist (unchecked on shapes).
    pub fn set_row_to_xor(&mut self, to: u32, a: u32, b: u32) {
        self.within_row(3, |words, row_words| {
            let [to, a, b] = [to, a, b].map(|row| row as usize * row_words);
            for i in 0..row_words {
                words[to + i] = words[a + i] ^ words[b + i];
            }
        });
    }

    /// Sets row `to` to row `from`. Panics like [`set_row_to_xor`](Self::set_row_to_xor).
    pub fn copy_row(&mut self, to: u32, from: u32) {
        self.within_row(2, |words, row_words| {
            let from = from as usize * row_words;
            words.copy_within(from..from + row_words, to as usize * row_words);
        });
    }

    /// Sets row `row` to zero. Panics like [`set_row_to_xor`](Self::set_row_to_xor).
    pub fn clear_row(&mut self, row: u32) {
        self.within_row(1, |words, row_words| words[row as usize * row_words..][..row_words].fill(0));
    }

    fn within_row(&mut self, rows: usize, work: impl FnOnce(&mut [u64], usize)) {
        let row_words = self.row_words();
        if self.is_shape() {
            return meter::stream(row_words.saturating_mul(8 * rows));
        }
        work(self.words_mut(), row_words);
    }

    /// Returns for each list the sum of the rows in it; a shape for a shape.
    ///
    /// # Panics
    /// If a row does not exist (unchecked on shapes).
    pub fn sum_rows(&self, lists: &[Vec<u32>]) -> Bits {
        let row_words = self.row_words();
        if self.is_shape() {
            let rows: usize = lists.iter().map(Vec::len).sum();
            meter::stream(row_words.saturating_mul(8 * rows));
            return Self::shape(lists.len(), self.lanes);
        }
        let mut sums = Self::zeros(lists.len(), self.lanes);
        for (list, sum) in lists.iter().zip(sums.words_mut().chunks_exact_mut(row_words.max(1))) {
            for &row in list {
                sum.iter_mut().zip(self.words_of(row as usize)).for_each(|(sum, word)| *sum ^= word);
            }
        }
        sums
    }

    /// Splits the only row into `rows` rows: row r, lane l is lane `l * rows + r`.
    ///
    /// # Panics
    /// Unless there is exactly one row, of a multiple of `rows` lanes.
    pub fn lanes_to_rows(&self, rows: usize) -> Bits {
        assert!(self.rows == 1 && rows > 0 && self.lanes.is_multiple_of(rows), "a {self:?} as {rows} rows");
        let lanes = self.lanes / rows;
        if self.is_shape() {
            meter::fetched(self.lanes);
            return Self::shape(rows, lanes);
        }
        let mut all = Self::zeros(rows, lanes);
        let from = self.words_of(0);
        for row in 0..rows {
            for (i, word) in all.words_of_mut(row).iter_mut().enumerate() {
                let bit = |lane: usize| {
                    let at = lane * rows + row;
                    from[at / 64] >> (at % 64) & 1
                };
                *word = (i * 64..lanes.min(i * 64 + 64)).rev().fold(0, |word, lane| word << 1 | bit(lane));
            }
        }
        all
    }

    /// Undoes [`lanes_to_rows`](Self::lanes_to_rows).
    pub fn rows_to_lanes(&self) -> Bits {
        let (rows, lanes) = (self.rows, self.lanes);
        if self.is_shape() {
            meter::fetched(rows * lanes);
            return Self::shape(1, rows * lanes);
        }
        let mut all = Self::zeros(1, rows * lanes);
        for (i, word) in all.words_of_mut(0).iter_mut().enumerate() {
            let bit = |at: usize| self.words_of(at % rows)[at / rows / 64] >> (at / rows % 64) & 1;
            *word = (i * 64..(rows * lanes).min(i * 64 + 64)).rev().fold(0, |word, at| word << 1 | bit(at));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some_bits(rows: usize, lanes: usize) -> Vec<bool> {
        (0..rows * lanes).map(|i| (i * i + i / 3) % 5 < 2).collect()
    }

    #[test]
    fn rows_of_one_matrix() {
        for lanes in [0, 1, 63, 64, 65, 200] {
            let bits = some_bits(4, lanes);
            let mut matrix = Bits::from_bools(4, lanes, &bits);
            let row = |matrix: &Bits, r: usize| matrix.to_bools()[r * lanes..(r + 1) * lanes].to_vec();
            matrix.set_row_to_xor(2, 0, 1);
            let sum: Vec<bool> = (0..lanes).map(|i| bits[i] ^ bits[lanes + i]).collect();
            assert_eq!(row(&matrix, 2), sum);
            matrix.set_row_to_xor(2, 2, 2);
            assert_eq!(row(&matrix, 2), vec![false; lanes]);
            matrix.copy_row(0, 3);
            assert_eq!(row(&matrix, 0), bits[3 * lanes..]);
            matrix.clear_row(3);
            assert_eq!(row(&matrix, 3), vec![false; lanes]);
            assert_eq!(
                Bits::of_rows(&[true, false], lanes).to_bools(),
                [vec![true; lanes], vec![false; lanes]].concat()
            );
        }
    }

    #[test]
    fn sums_of_rows() {
        let lists = [vec![0, 2, 3], vec![], vec![1], vec![3, 3]];
        for lanes in [0, 1, 64, 200] {
            let bits = some_bits(4, lanes);
            let matrix = Bits::from_bools(4, lanes, &bits);
            let sum =
                |list: &Vec<u32>, lane: usize| list.iter().fold(false, |sum, r| sum ^ bits[*r as usize * lanes + lane]);
            let expected: Vec<bool> =
                lists.iter().flat_map(|list| (0..lanes).map(move |lane| sum(list, lane))).collect();
            assert_eq!(matrix.sum_rows(&lists).to_bools(), expected);
            assert!(Bits::shape(4, lanes).sum_rows(&lists).is_shape());
        }
    }

    #[test]
    fn lanes_as_rows_and_back() {
        for (rows, lanes) in [(1, 70), (3, 1), (5, 64), (8, 130), (128, 3), (7, 0)] {
            let bits = some_bits(rows, lanes);
            let flat = Bits::from_bools(1, rows * lanes, &bits);
            let split = flat.lanes_to_rows(rows);
            let expected: Vec<bool> =
                (0..rows).flat_map(|r| (0..lanes).map(move |l| l * rows + r)).map(|i| bits[i]).collect();
            assert_eq!(split.to_bools(), expected, "{rows} x {lanes}");
            assert_eq!(split.rows_to_lanes().to_bools(), bits);
            assert!(Bits::shape(1, rows * lanes).lanes_to_rows(rows).rows_to_lanes().is_shape());
        }
    }
}
