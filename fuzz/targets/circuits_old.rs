//! A circuit in the old Bristol format.
#![no_main]

use quorate_circuits::bristol::{read, read_fashion, read_old, write_fashion};

/// Inputs and outputs of a header take memory, up to their limit.
const PORTS_BYTES: usize = 16 << 24;

libfuzzer_sys::fuzz_target!(|text: &[u8]| {
    let _ = quorate_fuzz::within(PORTS_BYTES + 4096 + 64 * text.len(), || read(text));
    let Ok(circuit) = quorate_fuzz::within(PORTS_BYTES + 4096 + 64 * text.len(), || read_old(text)) else { return };
    if circuit.input_wires() > 1 << 12 {
        return; // read, and too large to be written often
    }
    let written = write_fashion(&circuit);
    assert!(read_fashion(written.as_bytes()).as_ref() == Ok(&circuit));
});
