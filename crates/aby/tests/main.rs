//! One program for all tests of the crate, so that common code is compiled once. Tests that measure the memory of their
//! process are a program of their own.

mod circuits;
mod common;
mod costs;
mod docs;
mod flow;
mod gadgets;
mod hidden;
mod misuse;
mod pools;
mod primitives;
mod privacy;
mod random;
mod shuffle;
mod wide;
mod yao;
mod yao_ahead;
mod yao_costs;
