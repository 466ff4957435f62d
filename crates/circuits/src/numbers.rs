//! Conversions of numbers to rows of bits and back, group by group.

use quorate_ring::Bits;

/// Returns rows of bits for a circuit's inputs. `numbers[g][i]` is the value of group g (of `widths[g]` bits, at
/// most 128) in instance i; bits beyond the width are ignored.
///
/// # Panics
/// Unless there is one list for every group, all of one length.
pub fn to_rows(widths: &[u32], numbers: &[Vec<u128>]) -> Bits {
    assert!(widths.len() == numbers.len(), "{} lists of numbers for {} groups", numbers.len(), widths.len());
    let instances = numbers.first().map_or(0, Vec::len);
    let mut rows = Bits::zeros(widths.iter().map(|&width| width as usize).sum(), instances);
    let mut row = 0;
    for (&width, numbers) in widths.iter().zip(numbers) {
        assert!(numbers.len() == instances, "{} numbers in one group, {instances} in another", numbers.len());
        for bit in 0..width {
            let words = rows.words_of_mut(row);
            for (i, number) in numbers.iter().enumerate() {
                let set = bit < 128 && number >> bit & 1 == 1;
                words[i / 64] |= u64::from(set) << (i % 64);
            }
            row += 1;
        }
    }
    rows
}

/// Returns the numbers that rows of bits represent, in the form of [`to_rows`].
///
/// # Panics
/// Unless the number of rows is the sum of the widths.
pub fn from_rows(widths: &[u32], rows: &Bits) -> Vec<Vec<u128>> {
    assert!(widths.iter().sum::<u32>() as usize == rows.rows(), "{} rows for groups of {widths:?}", rows.rows());
    let mut row = 0;
    let mut numbers = Vec::with_capacity(widths.len());
    for &width in widths {
        let mut group = vec![0u128; rows.lanes()];
        for bit in 0..width {
            let words = rows.words_of(row);
            for (i, number) in group.iter_mut().enumerate() {
                if bit < 128 {
                    *number |= u128::from(words[i / 64] >> (i % 64) & 1) << bit;
                }
            }
            row += 1;
        }
        numbers.push(group);
    }
    numbers
}
