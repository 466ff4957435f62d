//! The hash of a peer's plan, which must be its only one.
#![no_main]

use quorate_fuzz::{Parts, within};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut parts = Parts(bytes);
    let mut own = [0; 32];
    let given = parts.take(32);
    own[..given.len()].copy_from_slice(given);
    let mut plans = Vec::new();
    while !parts.0.is_empty() && plans.len() < 4 {
        let len = usize::from(parts.byte());
        plans.push(parts.take(len));
    }
    let heard = within(4096, || quorate_engine::testing::readers::plan(own, &plans));
    assert_eq!(heard.is_ok(), plans.is_empty() || plans == [&own[..]]);
});
