//! Matrices of bits.
#![no_main]

use quorate_fuzz::{Parts, settles};
use quorate_ring::Bits;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut parts = Parts(bytes);
    let (rows, lanes) = match parts.byte() {
        0 => (parts.number() as usize, parts.number() as usize),
        1 => (usize::MAX, parts.number() as usize),
        2 => (0, usize::MAX),
        rows => (rows.into(), parts.0.len().saturating_sub(1) * 8 / usize::from(rows)),
    };
    // A row takes whole words: of one lane, 64 times the bytes of the message.
    settles(parts.0, 256, |bytes| {
        let mut packed = Vec::new();
        Bits::unpack(rows, lanes, bytes).ok()?.pack(&mut packed);
        Some(packed)
    });
});
