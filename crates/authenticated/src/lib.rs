//! Shares with tags among parties all but one of which may cheat in any way, and what parties compute with them, from
//! correlations.
//!
//! A value x of Z_2^k is the sum of all parties' shares in Z_2^(k+s), modulo 2^k. Each party has a key alpha^j below
//! 2^s, and a share of the tag alpha x; alpha is the sum of all keys. A party that changes an opened value has to
//! change its tag to match, which takes the key.
//!
//! Correlations come from a [`Source`]: in `quorate_spdz2k` all parties make them together, in malicious `quorate_pika`
//! a third party deals them to two.
//!
//! **Notation**, in all modules:
//!
//! - n parties P_i; k the bits of a value; s the bits of a key; K the largest k among the openings of a check. A
//!   session promises fewer than s bits of statistical security: `params` has the table.
//! - \[x\]: shares of x with tags. The *lows* of a share are its lowest k bits, the only ones that an opening sends.
//!   Its upper bits stay with the party until the check.
//! - *MAC*: for bits, authentication under a key Delta^j of each peer ([`MacBits`]); for elements the same is the tag.
//! - toss: draw public coins together; tell: send; the run ends: every party stops with an error.
//!
//! | protocol | file | rounds, n = 2 unless said | elements of Z_2^k to each peer |
//! |---|---|---|---|
//! | open | `open`, `bit_openings` | 1 | 1 |
//! | check of openings | `check` | 5, 7 if n > 2; 1 more with bits | s numbers of s bits and s of K + s bits |
//! | input, by its owner | `input` | 1, for the others | 1 |
//! | product, AND | `mul`, `matmul`, `convolve` | 1 | one for each element of both operands; fewer if known |
//! | bits as elements, lowest bits | `links` | 1 | |
//! | shuffle | `shuffle` | for each party a network of switches | |
//! | what differs where a third party deals | `third` | | |
//!
//! The arguments for its security are docs/security/spdz2k.md and docs/security/pika-malicious.md.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod bit_openings;
pub mod bits;
mod check;
mod convolve;
mod forms;
mod forward;
mod gathered_bits;
mod input;
pub mod keys;
mod kind;
#[cfg_attr(feature = "testing", path = "testing/lasting.rs")]
mod lasting;
mod links;
pub mod macs;
mod matmul;
mod memory;
pub mod messages;
mod mul;
mod open;
pub mod options;
mod packed;
mod paper;
mod params;
mod party;
mod secrets;
pub mod shared;
mod sharing;
mod shuffle;
mod source;
mod stock;
mod tagged;
#[cfg(feature = "testing")]
pub mod testing;
mod third;
mod unchecked;
pub mod weights;

pub use forms::SharedBits;
pub use kind::{Kind, Material};
pub use params::Params;
pub use party::Authenticated;
pub use secrets::Secrets;
pub use source::{Dims, FromPool, LACKING, Source};
pub use tagged::Tagged;
pub use third::Seat;
