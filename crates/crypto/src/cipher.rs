//! AES-128 over slices of blocks, through the `aes` crate, which detects AES-NI and VAES at run time.

use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};

/// An expanded AES-128 key, wiped on drop.
#[derive(Clone)]
pub(crate) struct Aes {
    cipher: Cipher,
}

/// A cipher whose `drop` is compiled in this crate, which is optimised. In a caller's unoptimised code, wiping a key
/// would take longer than using it.
#[derive(Clone)]
struct Cipher(Option<aes::Aes128Enc>);

impl Drop for Cipher {
    #[inline(never)]
    fn drop(&mut self) {
        self.0 = None;
    }
}

impl Aes {
    pub(crate) fn new(key: &[u8; 16]) -> Aes {
        Aes { cipher: Cipher(Some(aes::Aes128Enc::new(&Array(*key)))) }
    }

    #[inline]
    fn cipher(&self) -> &aes::Aes128Enc {
        self.cipher.0.as_ref().expect("a cipher that is in use was not dropped")
    }

    /// Encrypts each block in place.
    #[inline]
    pub(crate) fn encrypt(&self, blocks: &mut [[u8; 16]]) {
        self.cipher().encrypt_blocks(Array::cast_slice_from_core_mut(blocks));
    }

    /// Encrypts each block of `from` into `to`.
    ///
    /// # Panics
    /// If the lengths differ.
    #[inline]
    pub(crate) fn encrypt_into(&self, from: &[[u8; 16]], to: &mut [[u8; 16]]) {
        let done =
            self.cipher().encrypt_blocks_b2b(Array::cast_slice_from_core(from), Array::cast_slice_from_core_mut(to));
        assert!(done.is_ok(), "{} blocks for {}", to.len(), from.len());
    }
}
