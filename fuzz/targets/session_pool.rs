//! What a peer tells of its pool in the setup: its lots, and the places that are left in them.
#![no_main]

use quorate_fuzz::within;
use quorate_session::readers::pool;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(Some((lots, places))) = within(4096 + 8 * bytes.len(), || pool(bytes)) {
        assert!(lots <= 1024 && places <= lots as u64 * u64::from(u32::MAX));
    }
});
