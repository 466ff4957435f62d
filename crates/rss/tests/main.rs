//! One program for all tests of the crate, so that their common code is compiled once. Tests that measure the memory of
//! their process are programs of their own.

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
mod hidden;
mod int_div;
mod masks;
mod misuse;
mod one_key;
mod pools;
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
