//! The greeting at the start of a run: hashes, terms and a note.
#![no_main]

use quorate_engine::testing::readers::greeting;

const OURS: &str = "protocol=rss; parties=3; k=64; truncation=exact";

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // Terms that are no text are longer once they are one, and may then be too long to be read again.
    let is_text = |body: &[u8]| {
        let terms = body.get(66..).unwrap_or_default();
        let len = body.get(64..66).map_or(0, |len| usize::from(u16::from_le_bytes([len[0], len[1]])));
        std::str::from_utf8(&terms[..len.min(terms.len())]).is_ok()
    };
    match is_text(bytes) {
        true => {
            if let Some(written) = quorate_fuzz::settles(bytes, 200, |body| greeting(body, OURS)) {
                assert_eq!(written, bytes);
            }
        }
        false => {
            quorate_fuzz::within(4096 + 200 * bytes.len(), || greeting(bytes, OURS));
        }
    }
});
