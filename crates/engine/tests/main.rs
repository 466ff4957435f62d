//! One program for all tests of the crate, so that what they use is compiled once; what measures the memory of its
//! process is a program of its own.

mod among;
mod common;
mod confirm;
mod failures;
mod flow;
mod ledger;
mod oneway;
mod randomness;
mod rounds;
mod stall;
mod tcp;
mod together;
mod toss;
