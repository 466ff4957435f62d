//! One program for all tests of the crate, so that what they use is compiled once; what measures the memory of its
//! process is a program of its own.

mod accuracy;
mod circuits;
mod client;
mod coalitions;
mod common;
mod costs;
mod docs;
mod flow;
mod forms;
mod gadgets;
mod int_div;
mod masks;
mod misuse;
mod one_key;
mod primitives;
mod privacy;
mod random;
mod real;
mod scale;
mod shuffle;
mod smoke;
mod spy;
mod stock;
mod threads;
mod wide;
