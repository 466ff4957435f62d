//! Points of base OTs, at both ends.
#![no_main]

use quorate_fuzz::{Parts, within};
use quorate_ot::readers::{base_receiver_message, base_sender_message};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut parts = Parts(bytes);
    let count = usize::from(parts.byte() % 4);
    let most = (1 << 16) + 64 * bytes.len();
    let at_sender = within(most, || base_receiver_message(count, parts.0));
    let at_receiver = within(most, || base_sender_message(count, parts.0));
    assert!(at_sender.is_err() || parts.0.len() == 64 * count);
    assert!(at_receiver.is_err() || parts.0.len() == 32 * count);
});
