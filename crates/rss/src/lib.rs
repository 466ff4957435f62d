//! Replicated secret sharing over Z_2^k for 3, 5 or 7 parties, semi-honest, honest majority.
//!
//! **Source**: "Secure multi-party computation over rings with replicated secret sharing", sections 3 to 5 and
//! Appendices A and C. **Model**: t of n = 2t+1 parties may collude; all follow the protocol. A value is x = sum of x_T
//! over all sets T of t parties. The parties outside T hold x_T, and also a seed k_T, so random sharings and masks cost
//! no communication.
//!
//! | protocol | file | rounds | ring elements sent per party |
//! |---|---|---|---|
//! | PRandR | `prandr` | 0 | 0 |
//! | Mul, DotProd, MatMul (Protocol 1) | `mul` | 1 | t per element of the result |
//! | MulPub (Protocol 2) | `mulpub` | 1 | n - 1 |
//! | Open | `open` | 1 | t |
//! | Input by a computing party (A.1) | `input` | 1 | t, by the owner |
//! | Input by a client (Protocol 5): its packets; reading them | [`client`]; `accept` | 0 | 0 |
//! | RandBit (Protocol 6) | `randbit` | 1 | n - 1, over Z_2^(k+2) |
//! | masks for truncation and for wider rings (Protocols 3, 4) | `masks` | as edaBit, + 1 | |
//! | edaBit (Protocol 7) | `edabit` | log(t+1) (log k + 1) + 1 | inputs, and the ANDs of its adders |
//! | three parties: gadgets on summands | `split`, `three` | | |
//! | three parties: random bits of keys | `inject` | 2 | 1 |
//! | three parties: edaBits of summands | `digits` | about log k + 3 | 3.3 for k = 64 |
//!
//! The code for Z_2^k and packed bits (Z_2) is generic over [`quorate_ring::Module`].
#![forbid(unsafe_code)]

mod accept;
mod backend;
pub mod client;
pub mod cost;
mod digits;
mod edabit;
mod family;
mod forms;
mod inject;
mod input;
mod kind;
mod maps;
mod masks;
mod mul;
mod mulpub;
mod open;
mod parts;
mod prandr;
mod randbit;
mod setup;
mod share;
mod shuffle;
mod split;
mod stock;
mod three;
mod three_shuffle;

pub use forms::{BitForm, CorrelationForm, Forms, Made};
pub use kind::Kind;
pub use setup::Rss;
pub use share::Shared;
