//! One program for all tests of the crate, so that what they use is compiled once.

mod circuits;
mod common;
mod gadgets;
mod primitives;
mod random;
mod shuffle;
mod wide;
