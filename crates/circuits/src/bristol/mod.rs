//! Bristol files: the old format and Bristol Fashion.
//!
//! Both are lists of gates over numbered wires, the inputs first and the outputs last. A header promises how many of
//! everything there are; nothing is taken on its word: memory grows with the text that is there, and with the input and
//! output wires, of which there may be 2^24 (64 MiB).
//!
//! **Fashion**: `gates wires`, `inputs width...`, `outputs width...`, then gates XOR, AND, INV, EQ (a constant), EQW
//! (a copy), MAND (n ANDs: all first operands, all second ones, all results). **Old**: `gates wires`, `width width
//! width` of two inputs and one output, then gates XOR, AND, INV. Copies vanish when read: they are other names of a
//! wire.

mod lines;
mod read;
mod write;

pub use write::write_fashion;

use crate::{Circuit, CircuitError};

/// A circuit in either format: in Fashion, a third line of numbers comes before the gates.
///
/// # Errors
/// Whatever is wrong with the text, with its line.
pub fn read(text: &[u8]) -> Result<Circuit, CircuitError> {
    match lines::numbers_on_line(text, 2) {
        true => read_fashion(text),
        false => read_old(text),
    }
}

/// A circuit in Bristol Fashion.
///
/// # Errors
/// Whatever is wrong with the text, with its line.
pub fn read_fashion(text: &[u8]) -> Result<Circuit, CircuitError> {
    read::circuit(text, read::Format::Fashion)
}

/// A circuit in the old Bristol format. Inputs of no wires, which stand for a party without one, are left out.
///
/// # Errors
/// Whatever is wrong with the text, with its line.
pub fn read_old(text: &[u8]) -> Result<Circuit, CircuitError> {
    read::circuit(text, read::Format::Old)
}
