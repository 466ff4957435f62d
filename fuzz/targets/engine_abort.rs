//! The body of an abort: its cause and the parties that it names.
#![no_main]

use quorate_engine::testing::readers::abort;
use quorate_fuzz::Parts;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut parts = Parts(bytes);
    let number = parts.number();
    quorate_fuzz::settles(parts.0, 0, |body| abort(number, body).ok());
});
