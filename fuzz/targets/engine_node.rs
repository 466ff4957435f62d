//! A peer's description of a node, which is shown to the user.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let shown = quorate_fuzz::within(1 << 14, || quorate_engine::testing::readers::node(bytes));
    assert!(shown.chars().count() <= 300 && !shown.chars().any(char::is_control));
});
