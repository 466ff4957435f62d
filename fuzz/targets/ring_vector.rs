//! Elements of Z_2^k.
#![no_main]

use quorate_fuzz::{Parts, settles};
use quorate_ring::{Ring, Vector};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut parts = Parts(bytes);
    let ring = Ring::of(u32::from(parts.byte()) + 1);
    let len = match parts.byte() {
        0 => parts.number() as usize,
        1 => usize::MAX,
        _ => parts.0.len() * 8 / ring.bits() as usize,
    };
    settles(parts.0, 64, |bytes| {
        let mut packed = Vec::new();
        Vector::unpack(ring, len, bytes).ok()?.pack(&mut packed);
        Some(packed)
    });
});
