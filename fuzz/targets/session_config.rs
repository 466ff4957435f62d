//! The text of a `party.toml`.
#![no_main]

use quorate_fuzz::within;
use quorate_session::readers::config;

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(config) = within((1 << 18) + 512 * text.len(), || config(text)) {
        assert!(config.me < config.parties.len());
        assert!(config.protocol().is_ok() && config.network().is_ok());
    }
});
