//! One program for all tests of the crate, so that what they use is compiled once; what measures the memory of its process
//! is a program of its own.

mod accuracy;
mod circuits;
mod client;
mod common;
mod costs;
mod docs;
mod flow;
mod forms;
mod gadgets;
mod int_div;
mod masks;
mod misuse;
mod primitives;
mod privacy;
mod random;
mod real;
mod scale;
mod shuffle;
mod smoke;
mod spy;
mod threads;
mod wide;
