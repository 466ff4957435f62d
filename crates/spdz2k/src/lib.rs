//! SPDZ2k: any number of parties, all but one of which may cheat in any way.
//!
//! Parties compute on the authenticated shares of [`quorate_authenticated`], whose notation is used here, and make all
//! correlations together, from oblivious transfer. `params` defines sg', W, V and L.
//!
//! | protocol | file | rounds, n = 2 unless said | elements of Z_2^k to each peer |
//! |---|---|---|---|
//! | what a session starts from | `keys` | 4; 5 if n > 2 | |
//! | correlations, by a party that makes them | `make`, `maker` | offline | |
//! | uniform elements that one party knows, random bits above a value | `draws` | local | |
//! | authentication of what a party knows | `authenticate` | 4 | |
//! | openings of whole words, and their check | `word_openings` | 5 | |
//! | multiplication triples, in the form that is chosen | `triples` | | |
//! | multiplication triples | `triple` | 37 | |
//! | products of one party's factors with another's bits, of which triples are made | `factors` | 4 | |
//! | the sacrifice of triples | `sacrifice` | 13; 14 if n > 2 | |
//! | the division of triples by 2^sg' | `division` | | |
//! | one-sided triples | `onesided` | 37 | |
//! | matrix triples of two parties, experimental | `matrix` | 28 | |
//! | triples that one party knows | `provenproduct` | 7 | |
//! | random bits of two parties | `provenbit` | | |
//! | triples from published parts; without a division | `bucket_triple` of `leaky_triple`; `two_keys` | 30; 29 | |
//! | random bits by square roots | `randbit` | 52 | |
//! | random bits in the form that is chosen | `random_bits` | | |
//! | bits with MACs, their ANDs | `tinyot`, `leaky`, `bucket` | 11; 18 if n > 2 | |
//! | triples of bits as elements | `bittriple` | 35 | |
//! | bits with MACs that are elements, too | `bits_as_elements` | 28; 41 if n > 2 | |
//! | bits of one party, proven | `proved` | 7 | |
//! | numbers of one party with their bits, by cut and choose | `privateedabit`, `quicksilver` | 13; 18 if n > 2 | |
//! | numbers of one party with fewer bits than their ring, or in parts | `short_numbers` | 1 more | |
//! | edaBits, comparison masks, truncation masks | `edabit`, of `numbers` | | |
//!
//! The arguments for its security are docs/security/spdz2k.md and docs/security/spdz2k-matrix.md.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod authenticate;
mod bits_as_elements;
mod bittriple;
mod bucket;
mod bucket_triple;
mod coins;
#[cfg_attr(feature = "testing", path = "testing/dealer.rs")]
mod dealer;
mod division;
mod draws;
mod edabit;
mod factors;
mod family;
mod keys;
mod leaky;
mod leaky_triple;
mod make;
mod maker;
mod matrix;
mod memory;
mod numbers;
mod onesided;
mod options;
mod params;
mod party;
mod privateedabit;
mod proved;
mod provenbit;
mod provenproduct;
mod quicksilver;
mod randbit;
mod random_bits;
mod sacrifice;
mod sharing;
mod short_numbers;
#[cfg(feature = "testing")]
pub mod testing;
mod tinyot;
mod transfers;
mod triple;
mod triples;
mod two_keys;
mod word_openings;

pub use keys::Keys;
pub use params::Params;
pub use party::Spdz2k;
pub use triple::Triples;
