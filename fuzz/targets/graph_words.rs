//! Hashes, networks and sharings as users write them.
#![no_main]

use quorate_fuzz::{settles, within};
use quorate_graph::{Hash, Network};
use quorate_session::{Approved, readers::sharings};

libfuzzer_sys::fuzz_target!(|text: &str| {
    let read = |bytes: &[u8]| Some(std::str::from_utf8(bytes).ok()?.parse::<Hash>().ok()?.to_string());
    if let Some(written) = settles(text.as_bytes(), 16, read) {
        assert_eq!(written, text.to_lowercase());
    }
    settles(text.as_bytes(), 16, |bytes| sharings(std::str::from_utf8(bytes).ok()?).ok());
    if let Ok(network) = within(4096 + 8 * text.len(), || text.parse::<Network>()) {
        assert!(network.price(10, 10, 0.0) >= 0.0);
    }
    let _ = within(4096 + 512 * text.len(), || Approved::read([text.to_owned()]));
});
