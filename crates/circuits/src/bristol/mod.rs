//! Bristol files: the old format and Bristol Fashion.
//!
//! Both are lists of gates over numbered wires, the inputs first and the outputs last. A header states the number of
//! gates, wires, inputs and outputs, but is not trusted. Memory grows only with the text that follows, and with the
//! input and output wires. These are limited to 2^24 (64 MiB).
//!
//! **Fashion**: `gates wires`, `inputs width...`, `outputs width...`, then gates XOR, AND, INV, EQ (a constant), EQW (a
//! copy), MAND (n ANDs: all first operands, all second ones, all results). **Old**: `gates wires`, `width width width`
//! of two inputs and one output, then gates XOR, AND, INV. Copies are not kept: they become other names of a wire.

mod lines;
mod read;
mod write;

pub use write::write_fashion;

use crate::{Circuit, CircuitError};

/// Reads a circuit in either format: in Fashion, a third line of numbers comes before the gates.
///
/// # Errors
/// Any fault of the text, with its line.
pub fn read(text: &[u8]) -> Result<Circuit, CircuitError> {
    match lines::numbers_on_line(text, 2) {
        true => read_fashion(text),
        false => read_old(text),
    }
}

/// Reads a circuit in Bristol Fashion.
///
/// # Errors
/// Any fault of the text, with its line.
pub fn read_fashion(text: &[u8]) -> Result<Circuit, CircuitError> {
    read::circuit(text, read::Format::Fashion)
}

/// Reads a circuit in the old Bristol format. Inputs of no wires, which stand for a party without an input, are left
/// out.
///
/// # Errors
/// Any fault of the text, with its line.
pub fn read_old(text: &[u8]) -> Result<Circuit, CircuitError> {
    read::circuit(text, read::Format::Old)
}
