//! One program for all tests of the crate, so that their dependencies are compiled once. A test that measures the
//! memory of its process is a program of its own.

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
mod workers;
