//! Sums of many bits of given weights: the core of products and of counting.
//!
//! A full adder replaces three bits of a column by one there and one in the next column, for one AND. Its sum adds no
//! AND-depth. Let a column have depths a_1 <= a_2 <= ... (an even number, made so by a half adder), and let it take the
//! shallowest first. It then leaves two bits and passes on carries of depths a_3 + 1, a_5 + 1, ... So its second
//! deepest bit determines the deepest carry, the fourth deepest of the next column counts two columns further, and so
//! on. The tree's depth is about log2 of its height, rather than 1.7 times that.

use super::{Bit, Builder, Goal};

impl Builder {
    /// Returns the sum of all bits, where those in column i weigh 2^i, modulo 2^(number of columns).
    pub fn sum_columns(&mut self, columns: Vec<Vec<Bit>>, goal: Goal) -> Vec<Bit> {
        match goal {
            Goal::Size => self.reduce(columns, 1).into_iter().map(|column| first_of(&column, 0)).collect(),
            Goal::Depth => {
                let rows = self.reduce(columns, 2);
                let row = |i: usize| -> Vec<Bit> { rows.iter().map(|column| first_of(column, i)).collect() };
                self.add(&row(0), &row(1), Goal::Depth)
            }
        }
    }

    /// Returns the number of set bits, in the smallest width that holds it. For size: n minus the number of ones in n
    /// ANDs.
    pub fn popcount(&mut self, bits: &[Bit], goal: Goal) -> Vec<Bit> {
        let width = (usize::BITS - bits.len().leading_zeros()) as usize;
        let mut columns = vec![Vec::new(); width];
        if let Some(lowest) = columns.first_mut() {
            *lowest = bits.to_vec();
        }
        self.sum_columns(columns, goal)
    }

    /// Returns the sum of several numbers modulo 2^`width`; shorter numbers are unsigned.
    pub fn sum(&mut self, numbers: &[Vec<Bit>], width: usize, goal: Goal) -> Vec<Bit> {
        let column = |i: usize| numbers.iter().filter_map(|number| number.get(i).copied()).collect();
        let columns = (0..width).map(column).collect();
        self.sum_columns(columns, goal)
    }

    /// Adds up within columns until each has at most `height` bits; carries out of the last column are dropped.
    fn reduce(&mut self, mut columns: Vec<Vec<Bit>>, height: usize) -> Vec<Vec<Bit>> {
        for i in 0..columns.len() {
            let mut column = std::mem::take(&mut columns[i]);
            column.retain(|&bit| bit != Bit::FALSE);
            // Deepest first, so that the shallowest are at the end. The sort is stable, so the circuit is always the
            // same.
            column.sort_by_key(|&bit| std::cmp::Reverse(self.depth(bit)));
            let mut odd = height == 2 && column.len() % 2 == 1;
            while column.len() > height {
                let (sum, carry) = match column.len() == 2 || odd {
                    true => self.half_adder(&mut column),
                    false => self.full_adder(&mut column),
                };
                odd = false;
                let at = column.partition_point(|&bit| self.depth(bit) > self.depth(sum));
                column.insert(at, sum);
                if let Some(next) = columns.get_mut(i + 1) {
                    next.push(carry);
                }
            }
            columns[i] = column;
        }
        columns
    }

    fn full_adder(&mut self, column: &mut Vec<Bit>) -> (Bit, Bit) {
        let [x, y, z] = [(); 3].map(|()| column.pop().expect("three bits"));
        let xy = self.xor(x, y);
        (self.xor(xy, z), self.majority(x, y, z))
    }

    fn half_adder(&mut self, column: &mut Vec<Bit>) -> (Bit, Bit) {
        let [x, y] = [(); 2].map(|()| column.pop().expect("two bits"));
        (self.xor(x, y), self.and(x, y))
    }
}

fn first_of(column: &[Bit], i: usize) -> Bit {
    column.get(i).copied().unwrap_or(Bit::FALSE)
}
