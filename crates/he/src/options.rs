//! The options of a session: the cryptosystem, and the sizes of its keys.

use quorate_engine::{Misuse, Result};

/// Statistical security of all answers of a session under Paillier together, in bits.
const SESSION_SIGMA: u32 = 40;
/// The base-2 logarithm of the number of triples that a session must stay below; each takes one answer.
const SESSION_TRIPLES_LOG: u32 = 32;
/// The number of triples that a session must stay below.
pub(crate) const SESSION_TRIPLES: u64 = 1 << SESSION_TRIPLES_LOG;
/// sigma: the number of bits by which a mask of a Paillier plaintext is longer than what it masks.
pub(crate) const SIGMA: u32 = SESSION_SIGMA + SESSION_TRIPLES_LOG;
/// The number of bits by which the exponents of Paillier's randomisers are longer than the order that they run over.
pub(crate) const EXCESS: u32 = 128;
/// DGK plaintexts are taken modulo 2^64 or, in a subgroup, modulo 2^k.
pub(crate) const PLAIN_BITS: u32 = 64;
/// The smallest number of bits of a DGK prime that remain for factors unknown to all.
const FREE_BITS: u32 = 20;

/// A cryptosystem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scheme {
    /// Paillier 1999, as Damgård, Jurik and Nielsen 2010 use it; answers are packed.
    Paillier,
    /// Damgård, Geisler, Krøigaard 2007, with full decryption.
    Dgk,
}

/// The sizes of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Level {
    /// Bits of the modulus N = p q.
    pub(crate) modulus_bits: u32,
    /// t: bits of the secret orders of DGK.
    pub(crate) order_bits: u32,
}

impl Level {
    /// About 80 bits: legacy security in the paper's terms. Only for comparisons with old figures.
    pub const LEGACY: Level = Level { modulus_bits: 1024, order_bits: 160 };
    /// About 112 bits.
    pub const MEDIUM: Level = Level { modulus_bits: 2048, order_bits: 224 };
    /// About 128 bits.
    pub const LONG: Level = Level { modulus_bits: 3072, order_bits: 256 };

    /// Returns the bits of the modulus.
    pub fn modulus_bits(self) -> u32 {
        self.modulus_bits
    }

    pub(crate) fn prime_bits(self) -> u32 {
        self.modulus_bits / 2
    }

    pub(crate) fn order_bits(self) -> u32 {
        self.order_bits
    }

    /// Returns the bits of DGK's randomising exponents: half of t more than those of the order that they run over.
    pub(crate) fn blinding_bits(self) -> u32 {
        self.order_bits / 2 * 5
    }
}

/// The parameters of making triples, the same at both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Options {
    /// The cryptosystem.
    pub scheme: Scheme,
    /// The sizes of its keys.
    pub level: Level,
}

impl Options {
    pub(crate) fn check(self) -> Result<()> {
        let Level { modulus_bits, order_bits } = self.level;
        let whole = modulus_bits.is_multiple_of(128) && modulus_bits >= 2 * PLAIN_BITS + 2 + SIGMA;
        let room = self.scheme == Scheme::Paillier || modulus_bits / 2 >= PLAIN_BITS + order_bits + FREE_BITS;
        match whole && room {
            true => Ok(()),
            false => Err(Misuse::Other { what: "keys of this size cannot be made for homomorphic encryption" }.into()),
        }
    }

    /// Returns the bytes of a number modulo N.
    pub(crate) fn modulus_bytes(self) -> usize {
        self.level.modulus_bits as usize / 8
    }

    pub(crate) fn ciphertext_bytes(self) -> usize {
        match self.scheme {
            Scheme::Paillier => 2 * self.modulus_bytes(),
            Scheme::Dgk => self.modulus_bytes(),
        }
    }

    /// Returns the bytes of a public key: in both cryptosystems, three numbers modulo N.
    pub(crate) fn key_bytes(self) -> usize {
        3 * self.modulus_bytes()
    }

    /// Returns the number of answers in one ciphertext.
    pub(crate) fn pack(self, k: u32) -> usize {
        match self.scheme {
            Scheme::Paillier => ((self.level.modulus_bits - 1) / slot_bits(k)) as usize,
            Scheme::Dgk => 1,
        }
    }

    /// Encodes the options for the peer.
    pub(crate) fn encode(self) -> [u8; OPTIONS_BYTES] {
        let [a, b] = self.level.modulus_bits.to_le_bytes()[..2].try_into().unwrap_or_default();
        let [c, d] = self.level.order_bits.to_le_bytes()[..2].try_into().unwrap_or_default();
        [self.scheme as u8, a, b, c, d]
    }

    /// Describes encoded options in messages to users.
    pub(crate) fn describe(encoded: [u8; OPTIONS_BYTES]) -> String {
        let [scheme, a, b, c, d] = encoded;
        let scheme = match scheme {
            0 => "Paillier",
            1 => "DGK",
            _ => "an unknown cryptosystem",
        };
        let (modulus, order) = (u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d]));
        format!("triples from {scheme} with a modulus of {modulus} bits, orders of {order}")
    }
}

pub(crate) const OPTIONS_BYTES: usize = 5;

/// Returns the bits of a packed answer: the sum of two products of k bits each, masked.
pub(crate) fn slot_bits(k: u32) -> u32 {
    2 * k + 1 + SIGMA
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_answers_are_packed_as_fit() {
        let packs = |level: Level| [8, 16, 32, 64].map(|k| Options { scheme: Scheme::Paillier, level }.pack(k));
        assert_eq!(packs(Level::LEGACY), [11, 9, 7, 5]);
        assert_eq!(packs(Level::MEDIUM), [23, 19, 14, 10]);
        assert_eq!(packs(Level::LONG), [34, 29, 22, 15]);
        for level in [Level::LEGACY, Level::MEDIUM, Level::LONG] {
            let (paillier, dgk) = (Options { scheme: Scheme::Paillier, level }, Options { scheme: Scheme::Dgk, level });
            assert!(paillier.check().is_ok() && dgk.check().is_ok());
            assert!((1..=64).all(|k| paillier.pack(k) as u32 * slot_bits(k) < level.modulus_bits && dgk.pack(k) == 1));
        }
    }

    #[test]
    fn impossible_sizes_are_refused() {
        let check = |scheme, modulus, order| Options { scheme, level: Level::insecure(modulus, order) }.check();
        assert!(check(Scheme::Paillier, 256, 0).is_ok() && check(Scheme::Dgk, 256, 40).is_ok());
        for (scheme, modulus, order) in [
            (Scheme::Paillier, 128, 0),
            (Scheme::Paillier, 0, 0),
            (Scheme::Paillier, 1000, 160),
            (Scheme::Dgk, 256, 60),
            (Scheme::Dgk, 128, 40),
        ] {
            assert!(check(scheme, modulus, order).is_err(), "{scheme:?}, {modulus}, {order}");
        }
    }
}
