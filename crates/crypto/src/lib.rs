//! Seeds, generators, the correlation-robust hash, commitments and session ids. No I/O except the operating system's
//! generator.
//!
//! All randomness comes from [`os_random`] and is expanded from [`Seed`]s: a seed derives further seeds and AES-CTR
//! generators by name. Every use of a hash has its own domain separator, see [`domains`].
//!
//! ```
//! use quorate_crypto::Seed;
//!
//! let seed = Seed::random()?;
//! let lane = 7u64.to_le_bytes();
//! let (mut ours, mut theirs) = ([0; 100], [0; 100]);
//! seed.prg("quorate/example/mask", &lane).fill(&mut ours);
//! seed.clone().prg("quorate/example/mask", &lane).fill(&mut theirs);
//! assert_eq!(ours, theirs);
//! # Ok::<(), quorate_crypto::CryptoError>(())
//! ```

mod cipher;
mod commit;
pub mod domains;
mod error;
pub mod gf128;
pub mod gf64;
mod half_gates;
mod prf;
mod prg;
mod seed;
mod session;
#[cfg_attr(feature = "testing", path = "testing/tape.rs")]
mod tape;
mod tccr;
mod wide;

pub use commit::{Commitment, Context, Opening, commit, verify};
pub use error::CryptoError;
pub use half_gates::{TABLES_BYTES, Tables};
pub use prf::Prf;
pub use prg::Prg;
pub use seed::Seed;
pub use session::SessionId;
#[cfg(feature = "testing")]
pub use tape::Tape;
pub use tccr::{RUN, Run, SEGMENT_TWEAKS, Tccr};

/// Fills `out` from the operating system's generator.
///
/// # Errors
/// [`CryptoError::OsRandom`] if the system provides no randomness.
pub fn os_random(out: &mut [u8]) -> Result<(), CryptoError> {
    Ok(getrandom::fill(out)?)
}

/// Returns whether two byte strings are equal, in time that depends only on their lengths.
pub fn ct_eq(a: &[u8], b: &[u8]) -> bool {
    subtle::ConstantTimeEq::ct_eq(a, b).into()
}
