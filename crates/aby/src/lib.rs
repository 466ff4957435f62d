//! Two parties, semi-honest: additive sharing over Z_2^k and xor sharing of bits, labels of garbled circuits, over one
//! engine of oblivious transfers.
//!
//! **Source**: "ABY - A Framework for Efficient Mixed-Protocol Secure Two-Party Computation" (Demmler, Schneider,
//! Zohner 2015), sections III and IV, with today's oblivious transfer. **Model**: one of two parties may try to learn
//! more than the results; both follow the protocol. A value is x = x_0 + x_1 mod 2^k, a bit is b = b_0 xor b_1.
//!
//! | protocol | file | rounds | sent by both parties, per element |
//! |---|---|---|---|
//! | input | `input` | 0 | 0 |
//! | open | `input` | 1 | 2 elements |
//! | product, matrix product, AND | `mul` | 1 | 4 elements, 2 (m k + k n) in all, 4 bits |
//! | bit times element, random bits | `select` | 1; 0 | 2 elements and 2 bits; 0 |
//! | look-ups of digits, carries of both shares | `lookup`, `carry` | 2 + ceil(log2 D) | 8.5 bits a bit, and ANDs |
//! | look-up of n bits in a public table; of a bit | `public_table`, `points` | 2; 1 | 2 (n + k - 1) bits; 2 n |
//! | comparison, truncation, bits, larger rings | `summands` | see there | |
//! | shuffle | `shuffle` | 2 | 2 elements |
//! | Yao's sharing, garbled circuits | `yao` | see there | |
//!
//! All protocols use correlations (`kind`) that the dry run of a program counts (`stock`) and that oblivious transfers
//! make offline (`make`, `matrix`, `shuffle`, `points` with the sizes in `keys`). What the parties do alone with their
//! shares is in [`quorate_additive`].
#![forbid(unsafe_code)]

mod backend;
mod carry;
mod convolution;
pub mod cost;
mod digits;
mod edabit;
mod family;
mod input;
mod keys;
mod kind;
mod lookup;
mod make;
mod matrix;
mod mul;
mod pads;
mod points;
mod public_table;
mod select;
mod setup;
mod shuffle;
mod stock;
mod summands;
mod tables;
mod tree;
mod yao;

pub use digits::Table;
pub use kind::Kind;
pub use setup::Aby;
pub use yao::{Garbling, YaoLabels};

/// A share of one of the two parties.
pub type Share<M> = quorate_additive::Share<M>;
