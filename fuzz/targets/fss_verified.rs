//! The dealer's message of keys whose form is verified.
#![no_main]

use quorate_fss::verified::{Corrections, Shape};
use quorate_fuzz::{Parts, settles};
use quorate_ring::Ring;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut parts = Parts(bytes);
    let (bits, ring) = (u32::from(parts.byte() % 16) + 1, Ring::of(u32::from(parts.byte() % 128) + 1));
    let shape = Shape::new(bits, ring).expect("there are such domains");
    let form = parts.byte();
    let count = if form & 1 == 0 { usize::from(form >> 1) } else { parts.number() as usize };
    let written = settles(parts.0, 64, |bytes| {
        let mut written = Vec::new();
        Corrections::read(shape, count, bytes).ok()?.write(&mut written);
        Some(written)
    });
    assert!(written.is_none_or(|written| written == parts.0));
});
