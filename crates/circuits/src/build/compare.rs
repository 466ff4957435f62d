//! Comparisons, extrema.

use super::prefix::Span;
use super::{Bit, Builder, Goal, Sign, same_width};

/// The extremum of several numbers and its position.
pub struct Extremum {
    /// The number.
    pub value: Vec<Bit>,
    /// The position, from 0, in as many bits as the last position has; the first position if several numbers are equal.
    pub index: Vec<Bit>,
}

/// The kind of extremum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extreme {
    /// The smallest.
    Min,
    /// The largest.
    Max,
}

impl Builder {
    /// x = y: k - 1 ANDs in ceil(log2 k) layers.
    pub fn equal(&mut self, x: &[Bit], y: &[Bit]) -> Bit {
        let differ = self.xor_words(x, y);
        self.is_zero(&differ)
    }

    /// x = 0: k - 1 ANDs in ceil(log2 k) layers.
    pub fn is_zero(&mut self, x: &[Bit]) -> Bit {
        self.all(&self.not_words(x))
    }

    /// x < y. `Size`: k ANDs. `Depth`: 3k - 1 - ceil(log2(k + 1)) ANDs in ceil(log2(k + 1)) layers.
    pub fn less_than(&mut self, x: &[Bit], y: &[Bit], sign: Sign, goal: Goal) -> Bit {
        same_width(x, y);
        let (mut x, mut y) = (x.to_vec(), y.to_vec());
        if let (Sign::Signed, Some(x), Some(y)) = (sign, x.last_mut(), y.last_mut()) {
            // A sign bit counts in the opposite way.
            std::mem::swap(x, y);
        }
        match goal {
            // The borrow out of x - y.
            Goal::Size => self.ripple(&self.not_words(&x), &y, Bit::FALSE).pop().unwrap_or(Bit::FALSE),
            Goal::Depth => {
                let spans: Vec<Span> = (x.iter().zip(&y))
                    .map(|(&x, &y)| Span { generate: self.and(!x, y), propagate: !self.xor(x, y) })
                    .collect();
                self.carry_out(Bit::FALSE, &spans)
            }
        }
    }

    /// The smaller of two: 2k ANDs for size.
    pub fn min(&mut self, x: &[Bit], y: &[Bit], sign: Sign, goal: Goal) -> Vec<Bit> {
        let less = self.less_than(y, x, sign, goal);
        self.mux(less, y, x)
    }

    /// The larger of two: 2k ANDs for size.
    pub fn max(&mut self, x: &[Bit], y: &[Bit], sign: Sign, goal: Goal) -> Vec<Bit> {
        let less = self.less_than(x, y, sign, goal);
        self.mux(less, y, x)
    }

    /// The extremum of several numbers, by a tournament: 2k ANDs a match for size, and the index.
    ///
    /// # Panics
    /// If there are none, or their widths differ.
    pub fn extremum(&mut self, numbers: &[Vec<Bit>], extreme: Extreme, sign: Sign, goal: Goal) -> Extremum {
        assert!(!numbers.is_empty(), "the extremum of nothing");
        let index_bits = (usize::BITS - (numbers.len() - 1).leading_zeros()) as usize;
        let mut round: Vec<Extremum> = (numbers.iter().enumerate())
            .map(|(i, value)| Extremum { value: value.clone(), index: self.number(i as u128, index_bits) })
            .collect();
        while round.len() > 1 {
            let mut next = Vec::with_capacity(round.len().div_ceil(2));
            let mut left = round.into_iter();
            while let Some(first) = left.next() {
                next.push(match left.next() {
                    Some(second) => self.duel(&first, &second, extreme, sign, goal),
                    None => first,
                });
            }
            round = next;
        }
        round.remove(0)
    }

    /// Chooses the second of two only if it is strictly better.
    fn duel(&mut self, first: &Extremum, second: &Extremum, extreme: Extreme, sign: Sign, goal: Goal) -> Extremum {
        let better = match extreme {
            Extreme::Min => self.less_than(&second.value, &first.value, sign, goal),
            Extreme::Max => self.less_than(&first.value, &second.value, sign, goal),
        };
        Extremum {
            value: self.mux(better, &second.value, &first.value),
            index: self.mux(better, &second.index, &first.index),
        }
    }
}
