//! **Insecure**: short keys, and the readers of a peer's bytes under them, for fuzz targets.

use quorate_crypto::Seed;

use crate::coins::Coins;
use crate::options::{Level, Scheme};
use crate::scheme::{PublicKey, SecretKey};
use crate::{dgk, paillier};

impl Level {
    /// Returns the sizes of keys that anyone can break, for quick tests.
    pub const fn insecure(modulus_bits: u32, order_bits: u32) -> Level {
        Level { modulus_bits, order_bits }
    }
}

/// Keys that are small enough to be read many times a second, and protect nothing.
const LEVELS: [Level; 2] = [Level::insecure(256, 0), Level::insecure(256, 40)];

/// Returns the message with a public key of this cryptosystem, and one ciphertext under it.
pub fn messages(scheme: Scheme) -> [Vec<u8>; 2] {
    match scheme {
        Scheme::Paillier => written::<paillier::SecretKey>(LEVELS[0]),
        Scheme::Dgk => written::<dgk::SecretKey>(LEVELS[1]),
    }
}

fn written<K: SecretKey>(level: Level) -> [Vec<u8>; 2] {
    let mut coins = Coins::new(&Seed::from_bytes([3; 32]), "quorate/he/testing", 0);
    let key = K::generate(level, &mut coins);
    [key.message(), key.encrypt(64, 5, &mut coins)]
}

/// Reads a peer's public key, and ciphertexts under it. Returns the number of ciphertexts.
///
/// # Errors
/// The fault of the key or of the ciphertexts.
pub fn read(scheme: Scheme, key: &[u8], ciphertexts: &[u8]) -> Result<usize, &'static str> {
    match scheme {
        Scheme::Paillier => read_with::<paillier::PublicKey>(LEVELS[0], key, ciphertexts),
        Scheme::Dgk => read_with::<dgk::PublicKey>(LEVELS[1], key, ciphertexts),
    }
}

fn read_with<K: PublicKey>(level: Level, key: &[u8], ciphertexts: &[u8]) -> Result<usize, &'static str> {
    K::read_key(level, key)?.read(ciphertexts).map(|read| read.len())
}
