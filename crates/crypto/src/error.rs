//! What can go wrong.

/// Why a cryptographic operation could not be done.
#[derive(Debug, thiserror::Error)]
pub enum CryptoError {
    /// The operating system's generator failed.
    #[error("the operating system gives no randomness")]
    OsRandom(#[from] getrandom::Error),
}
