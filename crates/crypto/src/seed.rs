//! Seeds: 256 secret bits from which everything else is derived by name.

use crate::tape::Reader;
use crate::{CryptoError, Prg, domains, os_random};
use zeroize::{Zeroize, ZeroizeOnDrop};

/// 32 secret bytes; wiped on drop, never printed.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Seed {
    pub(crate) bytes: [u8; 32],
    #[zeroize(skip)]
    pub(crate) tape: Option<Reader>,
}

impl Seed {
    /// Returns a seed from the operating system's generator.
    ///
    /// # Errors
    /// [`CryptoError::OsRandom`] if the system provides no randomness.
    pub fn random() -> Result<Seed, CryptoError> {
        let mut seed = Seed::from_bytes([0; 32]);
        os_random(&mut seed.bytes)?;
        Ok(seed)
    }

    /// Returns the seed of these bytes, which two parties agreed on or a peer sent.
    pub fn from_bytes(bytes: [u8; 32]) -> Seed {
        Seed { bytes, tape: None }
    }

    /// Returns the bytes, for sending the seed to a peer.
    pub fn expose(&self) -> &[u8; 32] {
        &self.bytes
    }

    /// Returns the seed named `domain`, `context`: keyed BLAKE3 of both, unambiguously encoded.
    ///
    /// # Panics
    /// If `domain` is longer than 255 bytes.
    pub fn derive(&self, domain: &'static str, context: &[u8]) -> Seed {
        Seed::from_bytes(self.hash(domains::SEED_DERIVE, domain, context))
    }

    /// Returns the generator named `domain`, `context`; it is unrelated to the seed of that name.
    ///
    /// # Panics
    /// If `domain` is longer than 255 bytes.
    pub fn prg(&self, domain: &'static str, context: &[u8]) -> Prg {
        if let Some(tape) = &self.tape {
            return tape.prg();
        }
        let mut material = self.hash(domains::SEED_PRG, domain, context);
        let prg = Prg::from_material(&material);
        material.zeroize();
        prg
    }

    fn hash(&self, purpose: u8, domain: &'static str, context: &[u8]) -> [u8; 32] {
        let domain_len = u8::try_from(domain.len()).expect("a domain has at most 255 bytes");
        let len = 2 + domain.len() + context.len();
        // Names are short: one compression of a block on the stack. Both branches hash the same bytes.
        let mut block = [0u8; 128];
        if len <= block.len() {
            block[0] = purpose;
            block[1] = domain_len;
            block[2..2 + domain.len()].copy_from_slice(domain.as_bytes());
            block[2 + domain.len()..len].copy_from_slice(context);
            return blake3::keyed_hash(&self.bytes, &block[..len]).into();
        }
        let mut hasher = blake3::Hasher::new_keyed(&self.bytes);
        hasher.update(&[purpose, domain_len]).update(domain.as_bytes()).update(context);
        let hash = hasher.finalize().into();
        hasher.zeroize();
        hash
    }
}

impl std::fmt::Debug for Seed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seed(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str = "quorate/crypto/test";

    #[test]
    fn names_separate() {
        let seed = Seed::from_bytes([7; 32]);
        let long = [9u8; 300];
        let all = [
            *seed.derive(NAME, b"").expose(),
            *seed.derive(NAME, b"\0").expose(),
            *seed.derive("quorate/crypto/tes", b"t").expose(),
            *seed.derive("quorate/crypto/test2", b"").expose(),
            *seed.derive(NAME, &long).expose(),
            *seed.derive(NAME, &long[1..]).expose(),
            *Seed::from_bytes([8; 32]).derive(NAME, b"").expose(),
            seed.hash(domains::SEED_PRG, NAME, b""),
        ];
        for (i, a) in all.iter().enumerate() {
            assert!(all[..i].iter().all(|b| a != b), "name {i} is not separate");
        }
        assert_eq!(seed.derive(NAME, b"x").expose(), seed.derive(NAME, b"x").expose());
    }

    #[test]
    fn both_branches_of_the_hash_are_one_function() {
        let seed = Seed::from_bytes([3; 32]);
        for len in [0usize, 1, 60, 106, 107, 108, 500] {
            let context = vec![5u8; len];
            let mut message = vec![1, NAME.len() as u8];
            message.extend_from_slice(NAME.as_bytes());
            message.extend_from_slice(&context);
            assert_eq!(seed.derive(NAME, &context).expose(), blake3::keyed_hash(&[3; 32], &message).as_bytes());
        }
    }

    #[test]
    fn random_seeds_differ_and_are_not_printed() {
        let (a, b) = (Seed::random().unwrap(), Seed::random().unwrap());
        assert_ne!(a.expose(), b.expose());
        assert_eq!(format!("{a:?}"), "Seed(..)");
    }
}
