//! Widths and security parameters.
//!
//! | s | sg, promised | sg' |
//! |---|---|---|
//! | 64 | 57 | 58 |
//! | 48 | 42 | 43 |
//! | 32 | 26 | 27 |

use quorate_engine::{Misuse, Result};
use quorate_ring::Ring;

/// The parameters of a session: the number of bits of its keys, which fixes the other widths, and its options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    pub(crate) key_bits: u32,
    pub(crate) inner_bits: u32,
    /// Whether the protocols are the paper's: bits as elements, masks put together from random bits.
    paper: bool,
    /// Whether products of values that a party knows take triples of their own.
    marks: bool,
    /// Whether intermediate values may have more bits than the values of programs.
    wide: bool,
}

/// The largest number of bits of a value under keys of 64 bits.
const MOST_BITS: u32 = 126;

impl Default for Params {
    fn default() -> Self {
        Params::with_keys(64)
    }
}

impl Params {
    /// Returns the parameters for keys of 64 or 48 bits, or of 32 bits if 26 bits of statistical security are enough
    /// (`allow_weak`).
    ///
    /// # Errors
    /// [`Misuse`] for any other number of bits.
    pub fn new(key_bits: u32, allow_weak: bool) -> Result<Params> {
        match (key_bits, allow_weak) {
            (64 | 48, _) | (32, true) => Ok(Params::with_keys(key_bits)),
            (32, false) => {
                let what = "mac=32 gives 26 bits of statistical security, 40 are usual: take 48, or allow_weak";
                Err(Misuse::Other { what }.into())
            }
            _ => Err(Misuse::Other { what: "keys have 64, 48 or 32 bits" }.into()),
        }
    }

    pub(crate) fn with_keys(key_bits: u32) -> Params {
        let inner_bits = match key_bits {
            64 => 58,
            48 => 43,
            _ => 27,
        };
        Params { key_bits, inner_bits, paper: false, marks: true, wide: false }
    }

    /// Returns these parameters for sessions in which a third party deals. The bounds of its check and of the check of
    /// openings are the same for values of any width, so intermediate values may have any number of bits that has a
    /// carrier.
    pub(crate) fn dealt(self) -> Params {
        Params { wide: true, ..self }
    }

    /// Returns these parameters with the same triples for all products, whoever knows the factors.
    pub fn without_marks(self) -> Params {
        Params { marks: false, ..self }
    }

    /// Returns whether products of values that a party knows take triples of their own.
    pub fn marks_count(self) -> bool {
        self.marks
    }

    /// Returns these parameters with the protocols of the paper: bits as elements, masks put together from random bits,
    /// and its circuit of carries.
    pub fn as_in_the_paper(self) -> Params {
        Params { paper: true, ..self }
    }

    /// Returns whether masks are put together from random bits, and carries are computed as in the paper.
    pub(crate) fn is_paper(&self) -> bool {
        self.paper
    }

    /// Returns whether bits have MACs of their own.
    pub fn bits_have_macs(&self) -> bool {
        !self.paper
    }

    /// Refuses values with more bits than intermediate values may have.
    pub fn check_values(self, ring: Ring) -> Result<()> {
        if ring.bits() <= self.most_bits_inside() {
            return Ok(());
        }
        if self.most_bits_inside() == MOST_BITS {
            return Err(Misuse::RingBits { bits: ring.bits() }.into());
        }
        let what = "with mac=48 or 32, values have at most 32 bits, also on the way: take mac=64, or a smaller dtype \
                    if this step fits with one";
        Err(Misuse::Other { what }.into())
    }

    /// Returns s, the number of bits of the keys.
    pub fn key_bits(self) -> u32 {
        self.key_bits
    }

    /// Returns the promised statistical security, in bits.
    pub fn security_bits(self) -> u32 {
        self.inner_bits - 1
    }

    /// Returns sg', the statistical security of each intermediate step, in bits.
    pub fn inner_bits(self) -> u32 {
        self.inner_bits
    }

    /// Returns the largest number of bits of a program's values. All of their words have carriers; keys shorter than 64
    /// bits are for values of at most 32 bits.
    pub fn most_bits(self) -> u32 {
        if self.key_bits == 64 { MOST_BITS } else { 32 }
    }

    /// Returns the largest number of bits of intermediate values.
    pub fn most_bits_inside(self) -> u32 {
        if self.wide { MOST_BITS } else { self.most_bits() }
    }

    /// Returns Z_2^(k+s), the ring of shares and tags.
    pub fn shares(self, ring: Ring) -> Ring {
        Ring::of(ring.bits() + self.key_bits)
    }

    /// Returns Z_2^s, the ring of keys.
    pub(crate) fn keys(self) -> Ring {
        Ring::of(self.key_bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_as_many_bits_as_keys_allow() {
        let short = Params::new(48, false).unwrap();
        assert!(short.check_values(Ring::of(32)).is_ok() && short.check_values(Ring::of(33)).is_err());
        let dealt = short.dealt();
        assert!(dealt.check_values(Ring::of(126)).is_ok() && dealt.check_values(Ring::of(127)).is_err());
        assert!(dealt.most_bits() == 32 && dealt.security_bits() == 42);
    }
}
