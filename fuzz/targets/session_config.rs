//! The text of a `party.toml`, and the name of a session.
#![no_main]

use quorate_fuzz::within;
use quorate_session::{Named, readers::config};

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(config) = within((1 << 18) + 512 * text.len(), || config(text)) {
        assert!(config.me < config.parties.len());
        assert!(config.protocol().is_ok() && config.network().is_ok());
    }
    // A name that is refused is cut in the error.
    let named = within(4096, || Named::read(text, true).is_ok());
    assert!(!named || (1..=64).contains(&text.len()));
});
