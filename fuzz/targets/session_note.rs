//! A peer's note at the start of a run: its memory, its values and the arrays that it has dropped.
#![no_main]

use quorate_fuzz::{Parts, within};
use quorate_session::readers::note;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut parts = Parts(bytes);
    let nodes = usize::from(u16::from_le_bytes([parts.byte(), parts.byte()]));
    if let Ok(dropped) = within(4096 + 8 * bytes.len(), || note(parts.0, nodes)) {
        assert!(dropped.iter().all(|&(first, last)| first <= last && (last as usize) < nodes));
    }
});
