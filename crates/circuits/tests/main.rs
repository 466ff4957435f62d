//! One program for all tests of the crate, so that their dependencies are compiled once.

mod bristol;
mod builders;
mod common;
mod counts;
mod fuzz;
mod programs;
