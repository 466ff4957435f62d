//! Additive shares of two parties over Z_2^k and xor shares of bits: what each party does with its own share, and the
//! parts of protocols that do not depend on how correlations are made.
//!
//! A value is x = x_0 + x_1 mod 2^k, a bit is b = b_0 xor b_1. Party 0 adds public values. Any further party holds
//! shapes. In `quorate_aby` both parties make correlations by oblivious transfer, in semi-honest `quorate_pika` a third
//! party deals them.
//!
//! | module | contents |
//! |---|---|
//! | `share` | a party's share, and its form in a stock |
//! | [`local`] | operations without messages |
//! | [`open`] | openings of long vectors |
//! | [`product`] | products from a triple after its opening |
//! | [`order`] | orders of rows, for shuffles |
//! | [`stock`] | parts of stocks of correlations |
#![forbid(unsafe_code)]

pub mod local;
pub mod open;
pub mod order;
pub mod product;
mod share;
pub mod stock;

pub use share::{Share, blank};
