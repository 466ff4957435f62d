//! The first message of a caller, of which only the beginning is looked at.
#![no_main]

libfuzzer_sys::fuzz_target!(|seen: &[u8]| {
    let whole = quorate_net::readers::first_message(seen, 4096);
    assert_eq!(whole.is_none(), seen.first().is_some_and(|&kind| kind != 22));
    assert!(seen.len() < 4096 || whole != Some(false), "more cannot be looked at");
});
