//! The dealer's message: the corrections of a batch of keys.
#![no_main]

use quorate_fss::{Corrections, Shape};
use quorate_fuzz::{Parts, settles};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut parts = Parts(bytes);
    let (bits, form) = (u32::from(parts.byte() % 64) + 1, parts.byte());
    let shape = if form & 1 == 0 { Shape::wide(bits) } else { Shape::narrow(bits) }.expect("there are such domains");
    let count = if form & 2 == 0 { usize::from(form >> 2) } else { parts.number() as usize };
    let written = settles(parts.0, 64, |bytes| {
        let corrections = Corrections::read(shape, count, bytes).ok()?;
        let blocks = corrections.to_blocks();
        assert!(Corrections::from_blocks(shape, count, &blocks).is_ok_and(|again| again == corrections));
        let mut written = Vec::new();
        corrections.write(&mut written);
        Some(written)
    });
    assert!(written.is_none_or(|written| written == parts.0));
});
