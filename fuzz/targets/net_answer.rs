//! A caller's answer to a challenge.
#![no_main]

use quorate_fuzz::within;
use quorate_net::readers::answer;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((challenge, seen)) = bytes.split_first_chunk() else { return };
    let _ = within(4096, || answer(challenge, seen));
});
