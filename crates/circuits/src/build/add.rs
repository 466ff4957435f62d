//! Sums and differences.
//!
//! `Size`: a ripple of full adders, one AND a bit. `Depth`: Sklansky's prefix network, in ceil(log2 k) layers, as few
//! as a carry's degree allows.

use super::prefix::Span;
use super::{Bit, Builder, Goal, same_width};

impl Builder {
    /// Returns x + y modulo 2^k: k - 1 ANDs for size.
    pub fn add(&mut self, x: &[Bit], y: &[Bit], goal: Goal) -> Vec<Bit> {
        self.add_carry(x, y, Bit::FALSE, goal).0
    }

    /// Returns x + y + `carry`, and the carry out: k ANDs for size, k - 1 if the carry out is not used.
    pub fn add_carry(&mut self, x: &[Bit], y: &[Bit], carry: Bit, goal: Goal) -> (Vec<Bit>, Bit) {
        same_width(x, y);
        let half: Vec<Bit> = self.xor_words(x, y);
        let out = match goal {
            Goal::Size => self.ripple(x, y, carry),
            Goal::Depth => {
                let generate = self.and_words(x, y);
                let spans: Vec<Span> =
                    (generate.iter().zip(&half)).map(|(&generate, &propagate)| Span { generate, propagate }).collect();
                self.carries(carry, &spans)
            }
        };
        let into = std::iter::once(carry).chain(out.iter().copied());
        let sum = half.iter().zip(into).map(|(&half, carry)| self.xor(half, carry)).collect();
        (sum, out.last().copied().unwrap_or(carry))
    }

    /// Returns x - y modulo 2^k: k - 1 ANDs for size.
    pub fn sub(&mut self, x: &[Bit], y: &[Bit], goal: Goal) -> Vec<Bit> {
        self.sub_borrow(x, y, goal).0
    }

    /// Returns x - y modulo 2^k, and whether x < y as unsigned numbers.
    pub fn sub_borrow(&mut self, x: &[Bit], y: &[Bit], goal: Goal) -> (Vec<Bit>, Bit) {
        let (difference, carry) = self.add_carry(x, &self.not_words(y), Bit::TRUE, goal);
        (difference, !carry)
    }

    /// Returns -x modulo 2^k: k - 2 ANDs for size.
    pub fn neg(&mut self, x: &[Bit], goal: Goal) -> Vec<Bit> {
        let zero = self.number(0, x.len());
        self.sub(&zero, x, goal)
    }

    /// Returns -x if `negate`, else x: k - 1 ANDs for size.
    pub fn negate_if(&mut self, negate: Bit, x: &[Bit], goal: Goal) -> Vec<Bit> {
        let flipped = self.xor_bit(negate, x);
        self.add_carry(&flipped, &self.number(0, x.len()), negate, goal).0
    }

    /// Returns |x| of a number in two's complement; the lowest number is mapped to itself.
    pub fn abs(&mut self, x: &[Bit], goal: Goal) -> Vec<Bit> {
        match x.last() {
            Some(&sign) => self.negate_if(sign, x, goal),
            None => Vec::new(),
        }
    }

    /// Returns the carries out of every position, one after the other.
    pub(super) fn ripple(&mut self, x: &[Bit], y: &[Bit], carry: Bit) -> Vec<Bit> {
        let mut carry = carry;
        let mut out = Vec::with_capacity(x.len());
        for (&x, &y) in x.iter().zip(y) {
            carry = self.majority(x, y, carry);
            out.push(carry);
        }
        out
    }

    /// Returns whether two of three are set: one AND.
    pub(super) fn majority(&mut self, x: Bit, y: Bit, z: Bit) -> Bit {
        let (xz, yz) = (self.xor(x, z), self.xor(y, z));
        let differ = self.and(xz, yz);
        self.xor(differ, z)
    }
}
