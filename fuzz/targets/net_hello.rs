//! The first message inside a connection.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    quorate_fuzz::settles(bytes, 0, |bytes| quorate_net::readers::hello(bytes.first_chunk()?));
});
