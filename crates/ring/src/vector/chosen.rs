//! Sums of public selections of elements, many at once.

use super::{Vector, on_words};
use crate::simd::multiversion;
use crate::word::Word;
use crate::{Bits, meter};

/// The number of elements whose subsets are all added up first: half a byte of each row selects one of 16 sums. With 64
/// rows that takes 20 additions an element; whole bytes would take 40, most of them for the tables.
const GROUP: usize = 4;
/// The number of bytes of a row that are processed before the next row: their sums stay in the first cache.
const BYTES: usize = 16;

multiversion! {
    /// Adds to each sum the elements whose bit is set in its row. `rows` are packed rows, `row_bytes` apart.
    words W;
    fn add_chosen[W: Word](sums: &mut [W], words: &[W], rows: &[u8], row_bytes: usize) {
        let mut tables = [[[W::default(); 1 << GROUP]; 2]; BYTES];
        for (at, part) in words.chunks(2 * GROUP * BYTES).enumerate() {
            let tables = &mut tables[..part.len().div_ceil(2 * GROUP)];
            // Beyond the last element there is nothing to add, whatever a row's bits there are.
            let mut groups = part.chunks(GROUP);
            for table in tables.as_flattened_mut() {
                let group = groups.next().unwrap_or_default();
                for i in 0..GROUP {
                    let word = group.get(i).copied().unwrap_or_default();
                    for low in 0..1 << i {
                        table[1 << i | low] = table[low].add(word);
                    }
                }
            }
            for (row, sum) in sums.iter_mut().enumerate() {
                let picks = &rows[row * row_bytes + at * BYTES..];
                for ([low, high], pick) in tables.iter().zip(picks) {
                    *sum = sum.add(low[usize::from(pick % 16)]).add(high[usize::from(pick / 16)]);
                }
            }
        }
    }
}

impl Vector {
    /// Returns for each row of `chosen` the sum of the elements whose bit is set there. The selections are public: they
    /// index tables.
    ///
    /// # Panics
    /// Unless there is a lane for each element.
    pub fn sums_of_chosen(&self, chosen: &Bits) -> Vector {
        assert!(chosen.lanes() == self.len(), "choices of {} elements among {}", chosen.lanes(), self.len());
        let rows = chosen.rows();
        if self.is_shape() || chosen.is_shape() {
            // Tables of sums, and two entries for each row and byte: looked up, and added to a sum that is kept.
            let bytes = self.ring.carrier().bytes();
            let each = 4 * 3 * bytes + (rows / GROUP) * (meter::FETCHED_BYTES + bytes / 2);
            meter::stream_within(self.len().saturating_mul(each), BYTES * 2 * (1 << GROUP) * bytes);
            return Vector::shape(self.ring, rows);
        }
        let mut sums = Vector::zeros(self.ring, rows);
        let row_bytes = self.len().div_ceil(64) * 8;
        let picks: &[u8] = bytemuck::cast_slice(chosen.words());
        on_words!(&mut sums.data, sums => add_chosen(sums, self.data.words(), picks, row_bytes), _len => ());
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ring;
    use crate::simd::forced;

    /// Tests that every row gives the sum of its selected elements, on every path, in rings of all carriers, at all
    /// ends of tables.
    #[test]
    fn sums_are_those_of_the_elements_that_are_chosen() {
        for (bits, len, rows) in [
            (5, 0, 3),
            (8, 7, 1),
            (13, 8, 2),
            (7, 1, 64),
            (64, 63, 4),
            (128, 65, 3),
            (32, 9, 48),
            (64, 127, 64),
            (128, 128, 64),
        ]
        .into_iter()
        .chain([(128, 1000, 3), (190, 300, 64), (254, 129, 5), (65, 40, 0)])
        {
            let mut seed = u64::from(bits) + 7;
            let mut next = || {
                seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                seed.rotate_right(20)
            };
            let values: Vec<[u64; 4]> = (0..len).map(|_| [next(), next(), next(), next()]).collect();
            let x = Vector::from_limbs(Ring::of(bits), &values);
            let picks: Vec<bool> = (0..rows * len).map(|_| next() & 1 == 1).collect();
            let mut chosen = Bits::from_bools(rows, len, &picks);
            // A row's bits beyond its last element are ignored.
            if len % 64 > 0 {
                chosen.words_mut().chunks_mut(len.div_ceil(64)).for_each(|row| row[len / 64] |= u64::MAX << (len % 64));
            }
            let mut wanted = Vec::new();
            for row in 0..rows {
                let mut sum = Vector::zeros(Ring::of(bits), 1);
                for i in (0..len).filter(|i| picks[row * len + i]) {
                    sum.add_assign(&x.slice(i..i + 1));
                }
                wanted.push(sum.to_limbs()[0]);
            }
            for (path, sums) in forced::on_all(|| x.sums_of_chosen(&chosen).to_limbs()) {
                assert_eq!(sums, wanted, "{path:?}, {bits} bits, {len} elements");
            }
            assert_eq!(Vector::shape(Ring::of(bits), len).sums_of_chosen(&chosen).len(), rows);
        }
    }
}
