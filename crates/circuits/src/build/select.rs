//! Selection and exchange by a bit: one AND a bit.

use super::{Bit, Builder, same_width};

impl Builder {
    /// Returns x if `bit`, else y: one AND a bit.
    pub fn mux(&mut self, bit: Bit, x: &[Bit], y: &[Bit]) -> Vec<Bit> {
        let differ = self.xor_words(x, y);
        let moved = self.and_bit(bit, &differ);
        self.xor_words(&moved, y)
    }

    /// Returns (y, x) if `bit`, else (x, y): one AND a bit.
    pub fn swap_if(&mut self, bit: Bit, x: &[Bit], y: &[Bit]) -> (Vec<Bit>, Vec<Bit>) {
        same_width(x, y);
        let differ = self.xor_words(x, y);
        let moved = self.and_bit(bit, &differ);
        (self.xor_words(x, &moved), self.xor_words(y, &moved))
    }
}
