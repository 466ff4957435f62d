//! Frames in a stream that arrives in pieces.
#![no_main]

use quorate_fuzz::{Parts, within};
use quorate_net::MAX_FRAME;
use quorate_net::readers::cut;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut parts = Parts(bytes);
    let step = usize::from(parts.byte()) + 1;
    let stream = parts.0;
    // A frame that is announced has its memory at once, and a length above the limit has none.
    let (written, too_large) = within(MAX_FRAME + 4096 + 4 * bytes.len(), || cut(stream.chunks(step)));
    assert!(stream.starts_with(&written));
    assert!(too_large.is_none_or(|length| length > MAX_FRAME));
    assert_eq!((written, too_large), cut([stream]));
});
