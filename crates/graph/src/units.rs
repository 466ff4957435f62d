//! Public numbers of a program, in the fewest bytes that the largest needs: a program keeps them for as long as it
//! lives. Numbers that are broadcast to a shape are kept once.

use std::ops::Range;
use std::sync::Arc;

/// Integers in order, each of which stands for one element of an array, or for several. A single one stands for all
/// elements. Equal numbers that are repeated alike are always kept in the same way.
#[derive(Clone, Debug, PartialEq)]
pub struct Units {
    kept: Kept,
    /// The number of elements in a row that each number stands for; after the last number, the first one is next.
    each: usize,
}

#[derive(Clone, Debug, PartialEq)]
enum Kept {
    I8(Arc<[i8]>),
    I32(Arc<[i32]>),
    I64(Arc<[i64]>),
    I128(Arc<[i128]>),
}

impl From<&[i128]> for Units {
    fn from(values: &[i128]) -> Units {
        fn all<T: TryFrom<i128>>(values: &[i128]) -> Option<Arc<[T]>> {
            values.iter().map(|&v| T::try_from(v).ok()).collect()
        }
        let small = || all(values).map(Kept::I8).or_else(|| all(values).map(Kept::I32));
        let kept = small().or_else(|| all(values).map(Kept::I64));
        Units { kept: kept.unwrap_or_else(|| Kept::I128(values.into())), each: 1 }
    }
}

impl<const N: usize> From<[i128; N]> for Units {
    fn from(values: [i128; N]) -> Units {
        Units::from(values.as_slice())
    }
}

impl Units {
    /// Returns numbers that stand for `each` elements in a row, one after another and then again from the first.
    pub(crate) fn repeated(values: &[i128], each: usize) -> Units {
        Units { each: if values.len() > 1 { each } else { 1 }, ..Units::from(values) }
    }

    /// Returns the numbers, without repeats.
    pub fn to_vec(&self) -> Vec<i128> {
        self.slice(0..self.len())
    }

    /// Returns the number of numbers, without repeats.
    pub fn len(&self) -> usize {
        match &self.kept {
            Kept::I8(all) => all.len(),
            Kept::I32(all) => all.len(),
            Kept::I64(all) => all.len(),
            Kept::I128(all) => all.len(),
        }
    }

    /// Returns whether there are no numbers.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of elements in a row that each number stands for.
    pub fn each(&self) -> usize {
        self.each
    }

    /// Returns the number of elements after which the numbers come again.
    pub fn period(&self) -> usize {
        self.len() * self.each
    }

    /// Returns the numbers for the elements `range` of an array: one for each, or the one that stands for all.
    pub fn part(&self, range: Range<usize>) -> Vec<i128> {
        match self.len() {
            0 | 1 => return self.to_vec(),
            _ if range.is_empty() => return vec![],
            _ => {}
        }
        let before = range.start - range.start % self.period();
        let (start, end) = (range.start - before, range.end - before);
        let (first, last) = (start / self.each, end.div_ceil(self.each));
        match last <= self.len() {
            true => repeated(&self.slice(first..last), self.each, start - first * self.each..end - first * self.each),
            false => repeated(&self.to_vec(), self.each, start..end),
        }
    }

    /// Returns the numbers `range`, without repeats.
    ///
    /// # Panics
    /// If `range` exceeds the numbers.
    pub(crate) fn slice(&self, range: Range<usize>) -> Vec<i128> {
        match &self.kept {
            Kept::I8(all) => all[range].iter().map(|&v| v.into()).collect(),
            Kept::I32(all) => all[range].iter().map(|&v| v.into()).collect(),
            Kept::I64(all) => all[range].iter().map(|&v| v.into()).collect(),
            Kept::I128(all) => all[range].to_vec(),
        }
    }

    /// Returns one number for each of `elements` elements.
    pub fn expand(&self, elements: usize) -> Vec<i128> {
        match self.len() {
            1 => vec![self.slice(0..1)[0]; elements],
            _ => self.part(0..elements),
        }
    }
}

/// Returns the numbers of the elements `range` of an array, of which each number stands for `each` in a row, one after
/// another and then again from the first.
pub(crate) fn repeated<T: Copy>(numbers: &[T], each: usize, range: Range<usize>) -> Vec<T> {
    if numbers.is_empty() {
        return vec![];
    }
    let (mut at, mut left) = (range.start / each % numbers.len(), each - range.start % each);
    let next = |_| {
        let number = numbers[at];
        left -= 1;
        if left == 0 {
            (at, left) = (if at + 1 == numbers.len() { 0 } else { at + 1 }, each);
        }
        number
    };
    range.map(next).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::{self, Repeats};

    #[test]
    fn numbers_come_back_from_the_narrowest_room() {
        let edges = [7, 31, 63].map(|bits| 1i128 << bits);
        for edge in edges {
            for values in [vec![0, edge - 1], vec![0, edge], vec![-edge], vec![-edge - 1, 1]] {
                let units = Units::from(values.as_slice());
                assert_eq!(units.to_vec(), values);
                assert_eq!((units.part(0..1), units.len()), (values[..1].to_vec(), values.len()));
                assert!(values.len() < 2 || units.part(1..2) == values[1..]);
            }
        }
        assert!(matches!(Units::from([-128, 127]).kept, Kept::I8(_)));
        assert!(matches!(Units::from([128]).kept, Kept::I32(_)));
        assert!(matches!(Units::from([1 << 31]).kept, Kept::I64(_)));
        assert!(matches!(Units::from([1 << 63]).kept, Kept::I128(_)));
        assert_eq!(Units::from([5]).expand(3), [5; 3]);
        assert_eq!(Units::from([5]).part(1..3), [5], "one stands for all");
    }

    #[test]
    fn numbers_that_are_broadcast_are_kept_once() {
        let shapes: [(&[usize], &[usize], usize); 8] = [
            (&[3], &[4, 3], 3),
            (&[4, 1], &[4, 3], 4),
            (&[1, 3, 1], &[2, 3, 5], 3),
            (&[2, 1, 3], &[2, 5, 3], 30),
            (&[2, 1, 3, 1], &[4, 2, 5, 3, 2], 30),
            (&[2, 3], &[2, 3], 6),
            (&[1, 3], &[0, 3], 0),
            (&[1], &[2, 2], 1),
        ];
        for (from, to, kept) in shapes {
            let values: Vec<i128> = (0..from.iter().product::<usize>()).map(|i| 7 * i as i128 - 5).collect();
            let units = Repeats::new(from, to).units(&values);
            let all: Vec<i128> = shape::broadcast_index(from, to).iter().map(|&i| values[i as usize]).collect();
            assert_eq!((units.len(), units.expand(all.len())), (kept, all.clone()), "{from:?} to {to:?}");
            for (start, end) in (0..=all.len()).flat_map(|end| (0..end).map(move |start| (start, end))) {
                assert!(units.len() == 1 || units.part(start..end) == all[start..end], "{from:?}: {start}..{end}");
            }
        }
    }
}
