//! Labels of wires, as the garbler sends them.
#![no_main]

use quorate_fuzz::{Parts, settles};
use quorate_garble::Labels;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut parts = Parts(bytes);
    let (wires, instances) = match parts.byte() {
        0 => (parts.number() as usize, parts.number() as usize),
        1 => (usize::MAX, usize::MAX),
        wires => (wires.into(), parts.0.len() / 16 / usize::from(wires)),
    };
    let written = settles(parts.0, 8, |bytes| {
        let labels = Labels::from_bytes(wires, instances, bytes).ok()?;
        let mut written = vec![0; bytes.len()];
        labels.write_to(&mut written);
        Some(written)
    });
    assert!(written.is_none_or(|written| written == parts.0));
});
