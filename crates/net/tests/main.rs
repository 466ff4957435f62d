//! One program for all tests of the crate, so that what they use is compiled once.

mod common;
mod connecting;
mod failures;
mod memory;
mod shaped;
mod tcp;
