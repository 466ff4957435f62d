//! A peer's frames at a party that runs a program: every type, in any order.
#![no_main]

use quorate_fuzz::{Parts, within};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut parts = Parts(bytes);
    let mut frames = Vec::new();
    while !parts.0.is_empty() && frames.len() < 64 {
        frames.push(parts.piece().to_vec());
    }
    within((4 << 20) + 64 * bytes.len(), || quorate_engine::testing::readers::party(frames));
});
