//! Division with remainder: restoring, one quotient bit after the other.
//!
//! After j bits of x the remainder has at most j bits, so step j subtracts j bits only. A divisor with bits beyond them
//! is larger anyway. This takes k^2 + 3k - 3 ANDs for size, unsigned; the plain way takes twice as many.

use super::{Bit, Builder, Goal, Sign, same_width};

/// A quotient and a remainder.
pub struct Quotient {
    /// The quotient, rounded down.
    pub quotient: Vec<Bit>,
    /// The remainder: it has the divisor's sign, and is smaller in magnitude.
    pub remainder: Vec<Bit>,
}

impl Builder {
    /// Returns floor(x / y) and x - y floor(x / y).
    ///
    /// For y = 0, the remainder is x and the quotient is all ones if x >= 0, else 0. The lowest signed number divided
    /// by -1 is itself, since its negative does not fit.
    pub fn divide(&mut self, x: &[Bit], y: &[Bit], sign: Sign, goal: Goal) -> Quotient {
        same_width(x, y);
        match (sign, y.last()) {
            (Sign::Signed, Some(&negative)) => self.divide_signed(x, y, negative, goal),
            _ => self.divide_unsigned(x, y, goal),
        }
    }

    /// Returns floor(x / y) and x - y floor(x / y), without signs, if the quotient has at most `digits` bits;
    /// otherwise, and for y = 0, the results are arbitrary. Costs `digits` times about two ANDs a bit of y.
    pub fn divide_short(&mut self, x: &[Bit], y: &[Bit], digits: usize, goal: Goal) -> Quotient {
        let (digits, width) = (digits.min(x.len()), y.len() + 1);
        // The part of x above the digits is below y, and so is every remainder.
        let mut remainder = x[digits..].to_vec();
        let divisor = [y, &[Bit::FALSE]].concat();
        let mut quotient = vec![Bit::FALSE; digits];
        for i in (0..digits).rev() {
            remainder.insert(0, x[i]);
            remainder.resize(width, Bit::FALSE);
            let (difference, borrow) = self.sub_borrow(&remainder, &divisor, goal);
            quotient[i] = !borrow;
            remainder = self.mux(borrow, &remainder[..y.len()], &difference[..y.len()]);
        }
        remainder.resize(y.len(), Bit::FALSE);
        Quotient { quotient, remainder }
    }

    fn divide_unsigned(&mut self, x: &[Bit], y: &[Bit], goal: Goal) -> Quotient {
        let width = x.len();
        // beyond[j]: whether y has a bit at j or above.
        let mut beyond = vec![Bit::FALSE; width + 1];
        for j in (1..width).rev() {
            beyond[j] = self.or(y[j], beyond[j + 1]);
        }
        let mut quotient = vec![Bit::FALSE; width];
        let mut remainder: Vec<Bit> = Vec::with_capacity(width);
        for (step, i) in (0..width).rev().enumerate() {
            remainder.insert(0, x[i]);
            let (difference, borrow) = self.sub_borrow(&remainder, &y[..=step], goal);
            let larger = self.or(borrow, beyond[step + 1]);
            quotient[i] = !larger;
            remainder = self.mux(larger, &remainder, &difference);
        }
        Quotient { quotient, remainder }
    }

    /// Makes y > 0 by changing both signs, and x >= 0 by floor(x / y) = not floor(not x / y).
    fn divide_signed(&mut self, x: &[Bit], y: &[Bit], negative: Bit, goal: Goal) -> Quotient {
        let width = x.len();
        let divisor = self.negate_if(negative, y, goal);
        // One bit more, for -x of the lowest x.
        let extended = [x, &x[width - 1..]].concat();
        let dividend = self.negate_if(negative, &extended, goal);
        let flip = dividend[width];
        let magnitude = self.xor_bit(flip, &dividend[..width]);
        let unsigned = self.divide_unsigned(&magnitude, &divisor, goal);
        let quotient = self.xor_bit(flip, &unsigned.quotient);
        // not x = q y + r gives x = (not q) y + (y + not r).
        let flipped = self.xor_bit(flip, &unsigned.remainder);
        let added = self.and_bit(flip, &divisor);
        let remainder = self.add(&flipped, &added, goal);
        let remainder = self.negate_if(negative, &remainder, goal);
        Quotient { quotient, remainder }
    }
}
