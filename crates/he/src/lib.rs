//! Additively homomorphic encryption between two parties, and multiplication triples from it.
//!
//! It exists for comparison with oblivious transfer, which is faster: Paillier's cryptosystem with many answers in one
//! ciphertext, and that of Damgård, Geisler and Krøigaard (DGK). Each party has a key of its own, and answers under the
//! peer's.
//!
//! | module | what |
//! |---|---|
//! | `options` | the cryptosystem and the sizes of its keys |
//! | `coins` | this party's coins as big integers |
//! | `primes` | secret primes |
//! | `modulus` | arithmetic modulo an odd number, in constant time |
//! | `power` | powers of fixed bases and of pairs of bases |
//! | `crt` | the combination of two residues |
//! | `scheme` | the interface of a cryptosystem |
//! | `paillier`, `dgk` | the cryptosystems |
//! | `keys` | this party's key and the peer's |
//! | `setup` | the start of a session: an exchange of public keys |
//! | `steps` | the local work of a batch of triples |
//! | `triples` | the protocol |
//! | [`cost`] | the costs of each |
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod coins;
pub mod cost;
mod crt;
mod dgk;
mod keys;
mod modulus;
mod options;
mod paillier;
mod power;
mod primes;
mod scheme;
mod setup;
mod steps;
#[cfg(feature = "testing")]
pub mod testing;
mod triples;

pub use options::{Level, Options, Scheme};
pub use setup::He;
pub use triples::Triples;
