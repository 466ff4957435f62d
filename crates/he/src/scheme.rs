//! What the protocol asks of a cryptosystem.

use crypto_bigint::BoxedUint;
use zeroize::Zeroizing;

use crate::coins::Coins;
use crate::options::Level;

/// Shares of this many products, or plaintexts, modulo 2^k.
pub(crate) type Words = Zeroizing<Vec<u64>>;

/// What a message held, or why it is refused.
pub(crate) type Parsed<T> = Result<T, &'static str>;

/// What a party answers: encryptions of the peer's factors a and b, and the factors x and y of its own that they are
/// multiplied with: a y + b x.
pub(crate) struct Query<'q> {
    pub a: &'q BoxedUint,
    pub b: &'q BoxedUint,
    pub x: u64,
    pub y: u64,
}

/// A key of this party's.
pub(crate) trait SecretKey: Sized + Sync {
    type Public: PublicKey;

    fn generate(level: Level, coins: &mut Coins) -> Self;

    /// The public key, as it is sent.
    fn message(&self) -> Vec<u8>;

    /// Writes an encryption of m < 2^k.
    fn encrypt(&self, k: u32, m: u64, coins: &mut Coins) -> Vec<u8>;

    /// Ciphertexts that the peer sent.
    fn read(&self, message: &[u8]) -> Result<Vec<BoxedUint>, &'static str>;

    /// The answers in a ciphertext, modulo 2^k.
    fn decrypt(&self, k: u32, ciphertext: &BoxedUint, answers: usize) -> Result<Words, &'static str>;
}

/// A key of the peer's.
pub(crate) trait PublicKey: Sized + Sync {
    /// Reads what [`SecretKey::message`] gave.
    fn read_key(level: Level, message: &[u8]) -> Result<Self, &'static str>;

    /// Ciphertexts that the peer sent.
    fn read(&self, message: &[u8]) -> Result<Vec<BoxedUint>, &'static str>;

    /// Writes a ciphertext of all a y + b x + r, each masked by an r of its own, and returns all -r modulo 2^k.
    fn answer(&self, k: u32, queries: &[Query<'_>], coins: &mut Coins) -> (Vec<u8>, Words);
}

/// 2^k - 1.
pub(crate) fn mask(k: u32) -> u64 {
    u64::MAX >> (64 - k)
}

pub(crate) const BAD_KEY_LENGTH: &str = "a public key of a wrong length";
pub(crate) const BAD_MODULUS: &str = "a public key whose modulus is even or of a wrong size";
pub(crate) const BAD_BASE: &str = "a public key whose base is out of range, 1 or no unit";
