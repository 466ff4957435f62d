//! The errors of this crate.

/// The reason why a cryptographic operation failed.
#[derive(Debug, thiserror::Error)]
pub enum CryptoError {
    /// The operating system's generator failed.
    #[error("the operating system gives no randomness")]
    OsRandom(#[from] getrandom::Error),
}
