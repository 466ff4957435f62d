//! Products, by the sum of partial products in columns.

use super::{Bit, Builder, Goal, Sign, same_width};

impl Builder {
    /// Returns x y modulo 2^k, signed or not: k^2 - k + 1 ANDs for size.
    pub fn mul(&mut self, x: &[Bit], y: &[Bit], goal: Goal) -> Vec<Bit> {
        same_width(x, y);
        let mut columns = vec![Vec::new(); x.len()];
        for (i, &a) in x.iter().enumerate() {
            for (j, &b) in y[..x.len() - i].iter().enumerate() {
                columns[i + j].push(self.and(a, b));
            }
        }
        self.sum_columns(columns, goal)
    }

    /// Returns x y in full: its width is the sum of those of x and y.
    pub fn mul_wide(&mut self, x: &[Bit], y: &[Bit], sign: Sign, goal: Goal) -> Vec<Bit> {
        let width = x.len() + y.len();
        let mut columns = vec![Vec::new(); width];
        // A product p with one sign bit weighs -2^w: not p weighs 2^w, and 2^w is subtracted (Baugh and Wooley 1973).
        let mut taken_off = vec![Bit::FALSE; width];
        for (i, &a) in x.iter().enumerate() {
            for (j, &b) in y.iter().enumerate() {
                let product = self.and(a, b);
                let negative = sign == Sign::Signed && ((i + 1 == x.len()) != (j + 1 == y.len()));
                columns[i + j].push(if negative { !product } else { product });
                if negative {
                    let mut weight = vec![Bit::FALSE; width];
                    weight[i + j] = Bit::TRUE;
                    taken_off = self.sub(&taken_off, &weight, Goal::Size);
                }
            }
        }
        columns.iter_mut().zip(taken_off).for_each(|(column, bit)| column.push(bit));
        self.sum_columns(columns, goal)
    }

    /// Returns x^2 modulo 2^`width`, for unsigned x: each product of two different bits is taken once, so it has about
    /// half of a product's ANDs.
    pub fn square(&mut self, x: &[Bit], width: usize, goal: Goal) -> Vec<Bit> {
        let mut columns = vec![Vec::new(); width];
        for (i, &a) in x.iter().enumerate() {
            if let Some(column) = columns.get_mut(2 * i) {
                column.push(a);
            }
            for (j, &b) in x.iter().enumerate().skip(i + 1) {
                if i + j + 1 < width {
                    columns[i + j + 1].push(self.and(a, b));
                }
            }
        }
        self.sum_columns(columns, goal)
    }
}
