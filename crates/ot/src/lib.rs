//! Oblivious transfer between two parties.
//!
//! In an OT a sender has two messages and a receiver gets the one it chooses. The sender does not learn which, and the
//! receiver learns nothing of the other. A session starts with 128 base OTs, from which an extension makes any number
//! of OTs. Both ends call matching halves on the same lane, in step. Each party can be sender and receiver, also at
//! once ([`Ot::both`]).
//!
//! | module | what |
//! |---|---|
//! | `base` | base OT on ristretto255 (Masny, Rindal 2019) |
//! | `remembered` | the memory of base OTs, which only tests have |
//! | `roots` | the start of a pair of parties: base OTs and trees, in both directions |
//! | `tree` | trees of keys of which the peer knows all leaves but one |
//! | `softspoken` | the extension (Roy 2022), semi-honest or malicious |
//! | `source` | the interface of an extension |
//! | `cot` | correlated and random OTs |
//! | `uses` | correlated OTs for several uses |
//! | `bit_product` | shared products with a bit; columns of bits from random OTs |
//! | `product` | shared products over Z_2^k |
//! | [`correlated`] | shares of bits times an element over up to 256 bits |
//! | [`vole`] | vector OLE over Z_2^m: shares of a key times a vector |
//! | `rows` | chunks of long rows |
//! | `triples` | multiplication triples over Z_2^k and for bits |
//! | [`cost`] | the costs of each |
//! | `communication` | rounds and bytes |
//! | `error` | errors that several protocols share |
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod base;
mod bit_product;
mod blocks;
mod communication;
pub mod correlated;
pub mod cost;
mod cot;
mod domains;
mod error;
mod flat;
mod options;
mod product;
#[doc(hidden)]
#[cfg(feature = "readers")]
pub mod readers;
#[cfg_attr(all(feature = "testing", debug_assertions), path = "testing/remembered.rs")]
mod remembered;
mod roots;
mod rows;
mod setup;
mod softspoken;
pub mod source;
mod tree;
mod triples;
mod uses;
pub mod vole;

pub use blocks::{Blocks, PIECES};
pub use options::{Adversary, Options};
pub use setup::Ot;
pub use triples::{BitTriples, Triples};
pub use uses::{ReceivedCots, SentCots};
