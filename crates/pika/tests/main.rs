//! One program for all tests of the crate, so that common code is compiled once.

mod circuits;
mod common;
mod comparison;
mod costs;
mod docs;
mod factor;
mod flow;
mod gadgets;
mod hostile;
mod misuse;
#[path = "../../attacked-spdz2k/tests/adversarial/outcomes.rs"]
#[allow(dead_code)]
mod outcomes;
mod pools;
mod primitives;
mod privacy;
mod random;
mod shuffle;
mod stock;
mod wide;
