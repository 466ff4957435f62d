//! Public numbers of a program, in the fewest bytes that the largest needs: a program keeps them for as long as it
//! lives.

use std::ops::Range;
use std::sync::Arc;

/// Integers in order. Equal numbers are always kept in the same way.
#[derive(Clone, Debug, PartialEq)]
pub struct Units(Kept);

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
        Units(kept.unwrap_or_else(|| Kept::I128(values.into())))
    }
}

impl<const N: usize> From<[i128; N]> for Units {
    fn from(values: [i128; N]) -> Units {
        Units::from(values.as_slice())
    }
}

impl Units {
    /// Returns the numbers.
    pub fn to_vec(&self) -> Vec<i128> {
        self.slice(0..self.len())
    }

    /// Returns the number of numbers.
    pub fn len(&self) -> usize {
        match &self.0 {
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

    /// Returns the numbers for the elements `range` of an array: one for each, or the one that stands for all.
    ///
    /// # Panics
    /// If `range` exceeds the numbers.
    pub fn part(&self, range: Range<usize>) -> Vec<i128> {
        self.slice(if self.len() == 1 { 0..1 } else { range })
    }

    /// Returns the numbers `range`, whether or not one stands for all elements.
    ///
    /// # Panics
    /// If `range` exceeds the numbers.
    pub(crate) fn slice(&self, range: Range<usize>) -> Vec<i128> {
        match &self.0 {
            Kept::I8(all) => all[range].iter().map(|&v| v.into()).collect(),
            Kept::I32(all) => all[range].iter().map(|&v| v.into()).collect(),
            Kept::I64(all) => all[range].iter().map(|&v| v.into()).collect(),
            Kept::I128(all) => all[range].to_vec(),
        }
    }

    /// Returns one number for each of `elements` elements, where one number may stand for all of them.
    pub(crate) fn expand(&self, elements: usize) -> Vec<i128> {
        expand(&self.to_vec(), elements)
    }
}

/// Returns numbers, one for each element.
pub(crate) fn expand(values: &[i128], elements: usize) -> Vec<i128> {
    match values {
        [one] => vec![*one; elements],
        all => all.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(matches!(Units::from([-128, 127]).0, Kept::I8(_)));
        assert!(matches!(Units::from([128]).0, Kept::I32(_)));
        assert!(matches!(Units::from([1 << 31]).0, Kept::I64(_)));
        assert!(matches!(Units::from([1 << 63]).0, Kept::I128(_)));
        assert_eq!(Units::from([5]).expand(3), [5; 3]);
        assert_eq!(Units::from([5]).part(1..3), [5], "one stands for all");
    }
}
