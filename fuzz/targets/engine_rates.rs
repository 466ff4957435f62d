//! A peer's rates of computing.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let is_taken = quorate_fuzz::within(4096, || quorate_engine::testing::readers::rates(bytes));
    let first = bytes.first_chunk().map_or(0.0, |word| f64::from_le_bytes(*word));
    assert!(!is_taken || (0.0..1.0).contains(&first));
});
