//! INSECURE: additive sharing with tags among any number of parties, for tests of all that families stand on.
//!
//! Every party knows the seed from which a dealer would deal, and with it every secret. What is real: shares are wider
//! than their values, in Z_2^(k+s) with s = 64; every share has a tag; bits are elements of Z_2^(1+s); products use
//! multiplication triples; openings are checked before results are revealed, and again before they are believed. So
//! whoever changes a message is found, and whatever takes shares for plain vectors fails here first.
//!
//! | protocol | file | rounds | elements of Z_2^(k+s) to each peer |
//! |---|---|---|---|
//! | open | `open` | 1 | 1 |
//! | check | `open` | 2 | 1 for each ring, and 64 bytes; 96 if n > 2 |
//! | input, by its owner | `input` | 1, for the others | 1 |
//! | product, AND | `mul` | 1 | one for each element of both operands |
//! | correlations, shuffle | `dealer` | 0 | 0 |
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod bits;
mod dealer;
mod family;
mod input;
mod mul;
mod open;
mod party;
mod sharing;
mod tagged;

pub use dealer::Kind;
pub use party::Insecure;
