//! Public keys and ciphertexts of DGK.
#![no_main]

use std::sync::LazyLock;

use quorate_fuzz::{Parts, within};
use quorate_he::Scheme::Dgk;
use quorate_he::testing::{messages, read};

static HONEST: LazyLock<[Vec<u8>; 2]> = LazyLock::new(|| {
    let [key, ciphertext] = messages(Dgk);
    assert_eq!(read(Dgk, &key, &ciphertext), Ok(1));
    [key, ciphertext]
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let [key, _] = &*HONEST;
    let mut parts = Parts(bytes);
    let most = (1 << 20) + 256 * bytes.len();
    // Ciphertexts under a key that is right; and any key.
    let _ = match parts.byte() & 1 {
        0 => within(most, || read(Dgk, key, parts.0)),
        _ => within(most, || read(Dgk, parts.take(key.len()), parts.0)),
    };
});
