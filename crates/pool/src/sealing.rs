//! Sealed files and bundles: AES-256-GCM, bound to what they are.

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom, SystemRandom};
use zeroize::{Zeroize, Zeroizing};

use crate::error::PoolError;
use crate::sizes::KEY_BYTES;

/// The bytes that follow a sealed bundle.
pub(crate) const TAG_BYTES: usize = 16;

/// A key of one bundle, of a file, or of the store.
pub(crate) type Key = Zeroizing<[u8; KEY_BYTES]>;

/// The key under which a party's store is sealed.
#[derive(Clone)]
pub struct StoreKey(Key);

impl StoreKey {
    /// Takes over the bytes of the key; the source is wiped.
    ///
    /// # Errors
    /// [`PoolError::Key`] unless there are 32.
    pub fn take(bytes: &mut [u8]) -> Result<StoreKey, PoolError> {
        let taken = <[u8; KEY_BYTES]>::try_from(&*bytes).map(|key| StoreKey(Zeroizing::new(key)));
        let given = bytes.len();
        bytes.zeroize();
        taken.map_err(|_| PoolError::Key { bytes: given })
    }

    /// Returns the key of a file: `of` names the pool, and the lot if it is the file of one.
    pub(crate) fn of_file(&self, of: &[&[u8]]) -> Key {
        let mut hasher = blake3::Hasher::new_derive_key("quorate/pool/file");
        hasher.update(&*self.0);
        for part in of {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
        Zeroizing::new(hasher.finalize().into())
    }
}

/// Fills with fresh random bytes.
pub(crate) fn random<const N: usize>() -> Result<Zeroizing<[u8; N]>, PoolError> {
    let mut bytes = Zeroizing::new([0; N]);
    SystemRandom::new().fill(&mut *bytes).map_err(|_| PoolError::Randomness)?;
    Ok(bytes)
}

fn cipher(key: &Key) -> Result<LessSafeKey, PoolError> {
    let unbound = UnboundKey::new(&AES_256_GCM, &**key).map_err(|_| PoolError::bug("a key of a wrong length"))?;
    Ok(LessSafeKey::new(unbound))
}

/// Seals a text in place under a key that seals nothing else, and returns the tag.
pub(crate) fn seal_once(key: &Key, place: &[u8], text: &mut [u8]) -> Result<[u8; TAG_BYTES], PoolError> {
    seal(key, [0; NONCE_LEN], place, text)
}

/// Opens in place what [`seal_once`] sealed. Returns whether it is whole; otherwise `text` is of no use.
pub(crate) fn open_once(key: &Key, place: &[u8], text: &mut [u8]) -> Result<Option<usize>, PoolError> {
    let nonce = Nonce::assume_unique_for_key([0; NONCE_LEN]);
    Ok(cipher(key)?.open_in_place(nonce, Aad::from(place), text).ok().map(|opened| opened.len()))
}

/// Seals a file: a random nonce, then the text, then the tag.
pub(crate) fn seal_file(key: &Key, name: &[u8], text: &[u8]) -> Result<Vec<u8>, PoolError> {
    let nonce = *random::<NONCE_LEN>()?;
    let mut file = Vec::with_capacity(NONCE_LEN + text.len() + TAG_BYTES);
    file.extend_from_slice(&nonce);
    file.extend_from_slice(text);
    let tag = seal(key, nonce, name, &mut file[NONCE_LEN..])?;
    file.extend_from_slice(&tag);
    Ok(file)
}

/// Opens a file; `None` if it is not what [`seal_file`] made under this key and name.
pub(crate) fn open_file(key: &Key, name: &[u8], file: &[u8]) -> Result<Option<Zeroizing<Vec<u8>>>, PoolError> {
    let Some((nonce, sealed)) = file.split_first_chunk::<NONCE_LEN>() else { return Ok(None) };
    let mut text = Zeroizing::new(sealed.to_vec());
    let opened = cipher(key)?.open_in_place(Nonce::assume_unique_for_key(*nonce), Aad::from(name), &mut text);
    let Some(len) = opened.ok().map(|opened| opened.len()) else { return Ok(None) };
    text.truncate(len);
    Ok(Some(text))
}

fn seal(key: &Key, nonce: [u8; NONCE_LEN], aad: &[u8], text: &mut [u8]) -> Result<[u8; TAG_BYTES], PoolError> {
    let nonce = Nonce::assume_unique_for_key(nonce);
    let sealed = cipher(key)?.seal_in_place_separate_tag(nonce, Aad::from(aad), text);
    let tag = sealed.map_err(|_| PoolError::bug("a text that is too long to be sealed"))?;
    tag.as_ref().try_into().map_err(|_| PoolError::bug("a tag of a wrong length"))
}
