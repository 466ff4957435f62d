//! The interface of a cryptosystem.

use crypto_bigint::BoxedUint;
use zeroize::Zeroizing;

use crate::coins::Coins;
use crate::options::Level;

/// Shares of this many products, or plaintexts, modulo 2^k.
pub(crate) type Words = Zeroizing<Vec<u64>>;

/// The content of a message, or the reason why it is refused.
pub(crate) type Parsed<T> = Result<T, &'static str>;

/// A query to answer: encryptions of the peer's factors a and b, and this party's factors x and y. The answer is a y +
/// b x.
pub(crate) struct Query<'q> {
    pub a: &'q BoxedUint,
    pub b: &'q BoxedUint,
    pub x: u64,
    pub y: u64,
}

/// This party's secret key.
pub(crate) trait SecretKey: Sized + Sync {
    type Public: PublicKey;

    fn generate(level: Level, coins: &mut Coins) -> Self;

    /// Returns the message with the public key.
    fn message(&self) -> Vec<u8>;

    /// Writes an encryption of m < 2^k.
    fn encrypt(&self, k: u32, m: u64, coins: &mut Coins) -> Vec<u8>;

    /// Reads ciphertexts from the peer.
    fn read(&self, message: &[u8]) -> Result<Vec<BoxedUint>, &'static str>;

    /// Returns the answers in a ciphertext, modulo 2^k.
    fn decrypt(&self, k: u32, ciphertext: &BoxedUint, answers: usize) -> Result<Words, &'static str>;
}

/// A peer's public key.
pub(crate) trait PublicKey: Sized + Sync {
    /// Reads the output of [`SecretKey::message`].
    fn read_key(level: Level, message: &[u8]) -> Result<Self, &'static str>;

    /// Reads ciphertexts from the peer.
    fn read(&self, message: &[u8]) -> Result<Vec<BoxedUint>, &'static str>;

    /// Writes a ciphertext of all a y + b x + r, each masked by an r of its own, and returns all -r modulo 2^k.
    fn answer(&self, k: u32, queries: &[Query<'_>], coins: &mut Coins) -> (Vec<u8>, Words);
}

/// Returns 2^k - 1.
pub(crate) fn mask(k: u32) -> u64 {
    u64::MAX >> (64 - k)
}

pub(crate) const BAD_KEY_LENGTH: &str = "a public key of a wrong length";
pub(crate) const BAD_MODULUS: &str = "a public key whose modulus is even or of a wrong size";
pub(crate) const BAD_BASE: &str = "a public key whose base is out of range, 1 or no unit";
