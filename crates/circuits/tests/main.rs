//! One program for all tests of the crate, so that what they use is compiled once.

mod bristol;
mod builders;
mod common;
mod counts;
mod fuzz;
mod programs;
