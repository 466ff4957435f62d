//! A stranger's bytes at both ends of a TLS channel.
#![no_main]

use std::sync::LazyLock;

use quorate_fuzz::{Parts, within};
use quorate_net::readers::Ends;

static ENDS: LazyLock<Ends> = LazyLock::new(Ends::new);

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    LazyLock::force(&ENDS);
    let mut parts = Parts(bytes);
    let (dials, step) = (parts.byte() & 1 == 1, usize::from(parts.byte()) * 16 + 1);
    let _ = within((1 << 20) + 64 * bytes.len(), || ENDS.hear(parts.0, step, dials));
});
