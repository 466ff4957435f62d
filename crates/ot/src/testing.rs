//! **Insecure**: errors that tests of cheaters add.

use quorate_ring::Vector;

use crate::vole::Shares;

impl Shares {
    /// Adds an error to a digit's share.
    pub fn insecure_add(&mut self, digit: usize, error: &Vector) {
        self.parts[digit].add_assign(error);
    }
}
