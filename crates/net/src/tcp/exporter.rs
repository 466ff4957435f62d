//! The exporter of a TLS connection (RFC 8446, section 7.5): bytes that only its two ends have.
//!
//! `rustls` does not offer `export_keying_material` for connections without buffers of its own, so the exporter's
//! master secret is taken where rustls logs secrets for debugging; all other secrets are refused there. Instead of
//! HKDF, BLAKE3 derives bytes from it, under a context of this crate.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use rustls::KeyLog;
use zeroize::Zeroizing;

use super::claim::Exported;

/// The name of the exporter's master secret in key logs.
const MASTER: &str = "EXPORTER_SECRET";
const CONTEXT: &str = "quorate-net 2026-11-29 exporter of a connection";

/// Keeps the exported bytes of one connection.
#[derive(Default)]
pub(crate) struct Exporter(Mutex<Option<Exported>>);

impl Exporter {
    /// Returns the exported bytes; `None` before the handshake has derived them.
    pub(crate) fn exported(&self) -> Option<Exported> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl KeyLog for Exporter {
    fn log(&self, label: &str, _client_random: &[u8], secret: &[u8]) {
        if label == MASTER {
            let derived = Zeroizing::new(blake3::derive_key(CONTEXT, secret));
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(derived);
        }
    }

    fn will_log(&self, label: &str) -> bool {
        label == MASTER
    }
}

impl fmt::Debug for Exporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Exporter")
    }
}
