//! Paillier's cryptosystem, with many answers in one ciphertext.
//!
//! **Source**: Paillier, EUROCRYPT 1999; Damgård, Jurik, Nielsen 2010 (encryption with a fixed base); Pullonen,
//! Bogdanov, Schneider 2012 (packing, in ABY's section III-A4). **Model**: semi-honest. Plaintexts are hidden under the
//! decisional composite residuosity assumption, from N and h alone. An answer hides from the key's owner everything
//! except its sum, statistically (docs/security/he.md). **Deviation**: randomisers are h^alpha for alpha of phi + 128
//! bits, not of phi/2. So no assumption about short exponents is needed, and answers hide their factors from the owner,
//! who knows the order of h. Masks are longer by sigma = 72 bits, not 40, so that fewer than 2^32 answers are within
//! 2^-40 of hiding everything together. A mask's high bits are never all ones, so that no slot overflows into the next.
//!
//! **Notation**: N = p q of phi bits; h = x^(2 N) mod N^2 for a random x; s = 2 k + 1 + sigma bits of a slot.
//!
//! | operation | what |
//! |---|---|
//! | encrypt m | (1 + m N) h^alpha mod N^2; the owner modulo p^2 and q^2 |
//! | answer queries i | product of (A_i^(y_i) B_i^(x_i))^(2^(s i)), times an encryption of the sum of r_i 2^(s i) |
//! | decrypt c | L_p(c^(p-1) mod p^2) / L_p((1 + N)^(p-1)) mod p with L_p(u) = (u - 1) / p, likewise q |

mod public;
mod secret;
mod slots;
#[cfg(test)]
mod tests;

pub(crate) use public::PublicKey;
pub(crate) use secret::SecretKey;
