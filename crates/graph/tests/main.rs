//! One program for all tests of the crate, so that their common code is compiled once.

mod broadcasting;
mod columns;
mod common;
mod convolutions;
mod entry;
mod fine;
mod forget;
mod forget_random;
mod hashes;
mod in_bits;
mod intervals;
mod messages;
mod messages_of_ranges;
mod multiples;
mod one_hot;
mod repeated;
mod reveals;
mod robust;
mod streamed;
mod submitted;
mod values;
mod within;
