//! Three parties, semi-honest, of which one deals: additive sharing over Z_2^k and xor sharing of bits between party 0
//! and party 1, on correlations that party 2 makes.
//!
//! **Source**: the model of Pika (Wagh 2022): two parties hold the data, a third one deals. Products are those of
//! Beaver 1991, inputs of a dealer as in SecureNN (Wagh, Gupta, Chandran 2019). **Model**: one of three parties may try
//! to learn more than the results; all follow the protocol. The dealer follows it, too: what it deals is right. It sees
//! nothing of the data but its own inputs and the results that are revealed to it. Any two parties together know all
//! inputs of the third one.
//!
//! A value is x = x_0 + x_1 mod 2^k, a bit is b = b_0 xor b_1. Party 2 holds shapes: it runs the same program, at no
//! cost where it has nothing to do, and is idle online except for its own inputs and results. From run to run it keeps
//! masks of values that stay factors.
//!
//! | protocol | file | rounds | sent for each element |
//! |---|---|---|---|
//! | input | `input` | 0; 1 by party 2 | 0; 1 element by party 2 |
//! | open to parties 0 and 1 | `input` | 1 | 1 element by each of them |
//! | reveal | `input` | 1 | 1 element to each party that learns it, by each of the others of parties 0 and 1 |
//! | product, sum of products, matrix product, AND | `mul` | 1 | 1 for each factor by each; dealt: 1 for each result |
//! | a value becomes a factor; a product by it | `kept_factor` | 1 | 1; 1 for each element of the other operand |
//! | bit times element | `select` | 1 | 1 element and 1 bit by each; dealt: 2 elements |
//! | look-up in a table of 2^n entries | `lookup` | 2 | n + k bits by each; dealt: a key and 2 elements |
//! | sign, equality, truncation by keys | `comparison` | 1; truncation 2 | k bits by each; dealt: keys of k bits |
//! | random bits, edaBits, masks | `masks` | 0 | dealt: see `dealer` |
//! | shuffle | `shuffle` | 2 | 1 element by each; dealt: 2 elements |
//!
//! Correlations are dealt from seeds that party 2 has in common with each of the others. Only the parts that follow
//! from other values take a message, to one of them (`dealer`). Comparisons of many numbers, and all other gadgets, are
//! those of [`quorate_gadgets`]; the form of comparisons is predicted (`predicted`).
#![forbid(unsafe_code)]

mod backend;
mod chunks;
mod comparison;
pub mod cost;
mod dealer;
mod family;
mod forms;
mod input;
mod kept_factor;
mod kind;
mod lookup;
pub mod malicious;
mod masks;
mod mul;
mod pass;
mod points;
mod predicted;
mod select;
mod setup;
mod share;
mod shuffle;
mod stock;
#[cfg(feature = "testing")]
mod testing;

pub use family::MALICIOUS;
pub use forms::{COMPARISONS, Comparisons};
pub use kind::Kind;
pub use malicious::PikaMalicious;
pub use setup::Pika;
pub use share::Share;
