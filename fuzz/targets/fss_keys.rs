//! Whole keys of one side, secret roots included.
#![no_main]

use quorate_fss::{Keys, Shape, Side};
use quorate_fuzz::{Parts, settles};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut parts = Parts(bytes);
    let (bits, form) = (u32::from(parts.byte() % 64) + 1, parts.byte());
    let shape = if form & 1 == 0 { Shape::wide(bits) } else { Shape::narrow(bits) }.expect("there are such domains");
    let side = if form & 4 == 0 { Side::First } else { Side::Second };
    let count = if form & 2 == 0 { usize::from(form >> 3) } else { parts.number() as usize };
    let written = settles(parts.0, 64, |bytes| {
        let mut written = Vec::new();
        Keys::read(shape, side, count, bytes).ok()?.write(&mut written);
        Some(written)
    });
    assert!(written.is_none_or(|written| written == parts.0));
});
