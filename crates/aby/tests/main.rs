//! One program for all tests of the crate, so that what they use is compiled once; what measures the memory of its
//! process is a program of its own.

mod circuits;
mod common;
mod costs;
mod docs;
mod flow;
mod gadgets;
mod misuse;
mod primitives;
mod privacy;
mod random;
mod shuffle;
mod wide;
mod yao;
mod yao_ahead;
mod yao_costs;
