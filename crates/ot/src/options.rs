//! The options of a session: the field of the extension, and its adversary.

use quorate_engine::{Misuse, Result};

/// Columns of the extension: the computational security parameter kappa.
pub(crate) const COLUMNS: usize = 128;

/// The adversary of the extension. Base OTs and trees are checked in either case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Adversary {
    /// Parties follow the protocol.
    #[default]
    SemiHonest,
    /// A party may do anything. A cheated party stops, or the outcome is that of an honest run with other inputs.
    Malicious,
}

/// The parameters of an extension, the same at both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Options {
    /// The field of 2^f elements, f from 1 to 8: 128/f bits are sent per OT, and 2^f 128/f bits are drawn. With f = 1
    /// this is the protocol of Ishai, Kilian, Nissim and Petrank.
    pub field_bits: u32,
    /// The adversary against which it protects.
    pub adversary: Adversary,
}

impl Default for Options {
    fn default() -> Self {
        Options { field_bits: 4, adversary: Adversary::SemiHonest }
    }
}

impl Options {
    /// IKNP, semi-honest: the plain reference.
    pub const IKNP: Options = Options { field_bits: 1, adversary: Adversary::SemiHonest };
    /// SoftSpoken over the field of 16 elements, with checks.
    pub const MALICIOUS: Options = Options { field_bits: 4, adversary: Adversary::Malicious };

    pub(crate) fn check(self) -> Result<()> {
        match self.field_bits {
            1..=8 => Ok(()),
            _ => Err(Misuse::Other { what: "the field of an OT extension has 2^1 to 2^8 elements" }.into()),
        }
    }

    pub(crate) fn is_malicious(self) -> bool {
        self.adversary == Adversary::Malicious
    }

    /// Returns the depths of the trees: f each, and for the last one the remainder of the 128 columns.
    pub(crate) fn depths(self) -> Vec<usize> {
        let f = self.field_bits as usize;
        let mut depths = vec![f; COLUMNS / f];
        if !COLUMNS.is_multiple_of(f) {
            depths.push(COLUMNS % f);
        }
        depths
    }

    /// Encodes the options for the peer.
    pub(crate) fn encode(self) -> [u8; 2] {
        [self.field_bits as u8, self.adversary as u8]
    }

    /// Describes encoded options in messages to users.
    pub(crate) fn describe(encoded: [u8; 2]) -> String {
        let adversary = match encoded[1] {
            0 => "semi-honest",
            1 => "malicious",
            _ => "unknown",
        };
        format!("OT extension over 2^{}, {adversary}", encoded[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depths_add_up_to_all_columns() {
        for field_bits in 1..=8 {
            let options = Options { field_bits, ..Options::default() };
            let depths = options.depths();
            assert!(options.check().is_ok() && depths.iter().sum::<usize>() == COLUMNS);
            assert!(depths.iter().all(|&d| d >= 1 && d <= field_bits as usize));
        }
        for field_bits in [0, 9, 200] {
            assert!(Options { field_bits, ..Options::default() }.check().is_err());
        }
    }
}
