//! The hashes of a program's nodes, which parties compare where their programs differ.
#![no_main]

use quorate_engine::Trace;
use quorate_engine::testing::readers::trace;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let ours = Trace { first: 2, hashes: (0..8).collect() };
    if let Some(written) = quorate_fuzz::settles(bytes, 8, |body| trace(body, &ours)) {
        assert_eq!(written, bytes);
    }
});
