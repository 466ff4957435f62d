//! A frame's header, and the pieces of a frame of data.
#![no_main]

use quorate_engine::testing::readers::frame;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some(written) = quorate_fuzz::settles(bytes, 8, |bytes| frame(bytes).ok()) {
        assert_eq!(written, bytes);
    }
});
