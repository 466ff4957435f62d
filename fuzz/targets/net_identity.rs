//! The texts of certificate and key files: any bytes, or any contents in a PEM envelope.
#![no_main]

use quorate_fuzz::{Parts, within};
use quorate_net::readers::{fingerprint, pinned};

/// Returns a file of this kind with these contents.
fn enveloped(kind: &str, contents: &[u8]) -> Vec<u8> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = format!("-----BEGIN {kind}-----\n").into_bytes();
    for three in contents.chunks(3) {
        let word = (0..3).fold(0, |word, i| word << 8 | u32::from(three.get(i).copied().unwrap_or(0)));
        let digit = |i: usize| if i > three.len() { b'=' } else { DIGITS[(word >> (18 - 6 * i)) as usize & 63] };
        text.extend((0..4).map(digit));
    }
    text.extend_from_slice(format!("\n-----END {kind}-----\n").as_bytes());
    text
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut parts = Parts(bytes);
    let is_text = parts.byte() & 1 == 0;
    let (mine, theirs, key) = (parts.piece(), parts.piece(), parts.0);
    let file = |kind: &str, contents: &[u8]| if is_text { contents.to_vec() } else { enveloped(kind, contents) };
    let [mine, theirs] = [mine, theirs].map(|contents| file("CERTIFICATE", contents));
    let key = file(concat!("PRIVATE", " KEY"), key);
    let one = within((1 << 16) + 64 * bytes.len(), || fingerprint(&mine));
    let both = within((1 << 18) + 64 * bytes.len(), || pinned([&mine, &theirs], &key));
    assert!(one.is_ok() || both.is_err());
});
