//! SPDZ2k: any number of parties, all but one of which may cheat in any way.
//!
//! A value x of Z_2^k is the sum of all parties' shares in Z_2^(k+s), modulo 2^k. Each party has a key alpha^j below
//! 2^s, and a share of the tag alpha x; alpha is the sum of all keys. A party that changes an opened value has to
//! change its tag to match, which takes the key.
//!
//! **Notation**, in all modules:
//!
//! - n parties P_i; k the bits of a value; s the bits of a key; K the largest k among the openings of a check. A
//!   session promises fewer than s bits of statistical security: `params` has the table, and defines sg', W, V and L.
//! - \[x\]: shares of x with tags. The *lows* of a share are its lowest k bits, the only ones that an opening sends.
//!   Its upper bits stay with the party until the check.
//! - *MAC*: for bits, authentication under a key Delta^j of each peer ([`MacBits`]); for elements the same is the tag.
//! - toss: draw public coins together; tell: send; the run ends: every party stops with an error.
//!
//! | protocol | file | rounds, n = 2 unless said | elements of Z_2^k to each peer |
//! |---|---|---|---|
//! | open | `open` | 1 | 1 |
//! | check of openings | `check` | 5, 7 if n > 2; 1 more with bits | s numbers of s bits and s of K + s bits |
//! | input, by its owner | `input` | 1, for the others | 1 |
//! | product, AND | `mul` | 1 | one for each element of both operands; less where parties know operands |
//! | shuffle | `shuffle` | for each party a network of switches | |
//! | what a session starts from | `keys` | 4; 5 if n > 2 | |
//! | correlations | `make` | offline | |
//! | authentication of what a party knows | `authenticate` | 4 | |
//! | openings of whole words, and their check | `words` | 5 | |
//! | multiplication triples | `triple` | 37 | |
//! | one-sided triples | `onesided` | 37 | |
//! | matrix triples of two parties, experimental | `matrix` | 28 | |
//! | triples that one party knows | `provenproduct` | 7 | |
//! | random bits of two parties | `provenbit` | | |
//! | triples from published parts; without a division | `bucket_triple` of `leaky_triple`; `two_keys` | 30; 29 | |
//! | random bits by square roots | `randbit` | 52 | |
//! | bits with MACs, their ANDs | `tinyot`, `leaky`, `bucket` | 11; 18 if n > 2 | |
//! | triples of bits as elements | `bittriple` | 35 | |
//! | bits with MACs that are elements, too | `link` | 28; 41 if n > 2 | |
//! | bits of one party, proven | `proved` | 7 | |
//! | numbers of one party with their bits, by cut and choose | `privateedabit`, `quicksilver` | 13; 18 if n > 2 | |
//! | numbers of one party with fewer bits than their ring, or in parts | `shorter` | 1 more | |
//! | edaBits, comparison masks, truncation masks | `edabit` | | |
//!
//! A third party may deal all correlations to two parties; it then runs the same program on shapes (`dealt`).
//!
//! The arguments for its security are docs/security/spdz2k.md and docs/security/spdz2k-matrix.md.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod authenticate;
mod bits;
mod bittriple;
mod bucket;
mod bucket_triple;
mod check;
mod coins;
mod convolve;
#[cfg(feature = "testing")]
mod dealer;
mod dealt;
mod edabit;
mod factors;
mod family;
mod forms;
mod input;
mod keys;
mod leaky;
mod leaky_triple;
mod link;
mod macs;
mod make;
mod matmul;
mod matrix;
mod members;
mod memory;
mod mul;
mod onesided;
mod open;
mod paper;
pub mod params;
mod party;
mod privateedabit;
mod proved;
mod provenbit;
mod provenproduct;
mod quicksilver;
mod randbit;
mod sacrifice;
mod shared;
mod sharing;
mod shorter;
mod shuffle;
mod stock;
mod tagged;
mod tinyot;
mod transfers;
mod triple;
mod two_keys;
pub mod weights;
mod words;

pub use bits::from_elements;
#[cfg(feature = "testing")]
pub use dealer::InsecureBits;
pub use dealt::{Deals, Seat};
pub use family::{ALLOW_WEAK, MAC};
pub use forms::SharedBits;
pub use keys::Keys;
pub use macs::{MacBits, WithPeer};
pub use params::Params;
pub use party::Spdz2k;
pub use shared::Shared;
pub use stock::{Kind, Material};
pub use tagged::Tagged;
pub use triple::Triples;
