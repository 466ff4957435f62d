//! The cryptosystem of Damgård, Geisler and Krøigaard (DGK), with full decryption.
//!
//! **Source**: Damgård, Geisler, Krøigaard, ACISP 2007, with their correction of 2009; decryption by Pohlig and Hellman
//! 1978, as in ABY's section III-A4. **Model**: semi-honest. Plaintexts are hidden under the assumption of DGK that
//! powers of h cannot be distinguished from powers of g (docs/security/he.md). An answer hides everything except its
//! sum modulo 2^k, as its mask is uniform. **Deviation**: plaintexts are taken modulo 2^k and not 2^(2 k + 1), as
//! nothing more is needed. One key serves all rings: g has the order 2^64 times that of h, and plaintexts of k bits are
//! powers of g^(2^(64-k)). The remaining factor of p - 1 is any odd number and not a prime, which key generation would
//! take long to find. Logarithms are found by halves, in k log2 k / 2 squarings.
//!
//! **Notation**: n = p q of phi bits; v, w primes of t bits; p - 1 = 2^64 v f_p, q - 1 = 2^64 w f_q with odd factors;
//! h has order v modulo p and w modulo q, g the order 2^64 v and 2^64 w; r of 2.5 t bits.
//!
//! | operation | what |
//! |---|---|
//! | encrypt m | g^(2^(64-k) m) h^r mod n; the owner with r modulo v and modulo w |
//! | answer a query | A^y B^x times an encryption of the mask |
//! | decrypt c | the logarithm of c^v mod p to the base g^v, of order 2^k |

mod logarithm;
mod public;
mod secret;
#[cfg(test)]
mod tests;

pub(crate) use public::PublicKey;
pub(crate) use secret::SecretKey;
