//! One program for all tests of the crate, so that their dependencies are compiled once.

mod circuits;
mod common;
mod safety;
mod whole;
