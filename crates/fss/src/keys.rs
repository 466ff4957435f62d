//! The keys of a batch: flat arrays, without an allocation for each key.

use quorate_ring::memory;

use crate::kernel::Four;
use crate::wire::{CORRECTIONS, Header};
use crate::{FssError, Roots, Shape, Side};

/// The form of the keys of a batch.
pub trait Form: Copy + std::fmt::Debug {
    /// Returns the bytes of a key's corrections.
    fn correction_bytes(self) -> usize;
    /// Returns the header of the corrections of `count` keys in a message.
    fn header(self, count: usize) -> Header;
}

impl Form for Shape {
    fn correction_bytes(self) -> usize {
        self.key_bytes()
    }

    fn header(self, count: usize) -> Header {
        Header::of(CORRECTIONS, self, count)
    }
}

/// The dealer's message to both sides: for each key the corrections of its levels, 16 bytes each, then that of its
/// leaf. It is the same for both sides. To a party that knows one root only, it is indistinguishable from random bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct Corrections<S = Shape> {
    pub(crate) shape: S,
    pub(crate) count: usize,
    pub(crate) bytes: Vec<u8>,
}

impl<S: Form> Corrections<S> {
    pub(crate) fn zeros(shape: S, count: usize) -> Corrections<S> {
        Corrections { shape, count, bytes: memory::zeros(count * shape.correction_bytes()) }
    }

    /// Returns the corrections of `count` keys from their bytes in memory, without the header of a message.
    ///
    /// # Errors
    /// [`FssError::Length`] unless the number of bytes matches the shape and `count`.
    pub fn from_bytes(shape: S, count: usize, bytes: &[u8]) -> Result<Corrections<S>, FssError> {
        let expected_bytes = count.saturating_mul(shape.correction_bytes());
        if bytes.len() != expected_bytes {
            return Err(FssError::Length { expected_bytes, got_bytes: bytes.len() });
        }
        let mut own = memory::with_room(expected_bytes);
        own.extend_from_slice(bytes);
        Ok(Corrections { shape, count, bytes: own })
    }

    /// Returns the shape of each key.
    pub fn shape(&self) -> S {
        self.shape
    }

    /// Returns the number of keys.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns all bytes, one key after the other.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn of_key(&self, key: usize) -> &[u8] {
        let bytes = self.shape.correction_bytes();
        &self.bytes[key * bytes..(key + 1) * bytes]
    }
}

impl Corrections {
    /// Returns the corrections of `count` keys from blocks of 128 bits, in the form of [`to_blocks`](Self::to_blocks).
    ///
    /// # Errors
    /// [`FssError::Length`] unless the number of blocks matches the shape and `count`.
    pub fn from_blocks(shape: Shape, count: usize, blocks: &[u128]) -> Result<Corrections, FssError> {
        let expected_bytes = count.saturating_mul(shape.key_blocks()).saturating_mul(16);
        if size_of_val(blocks) != expected_bytes {
            return Err(FssError::Length { expected_bytes, got_bytes: size_of_val(blocks) });
        }
        let mut own = Corrections::zeros(shape, count);
        let keys = own.bytes.chunks_exact_mut(shape.key_bytes()).zip(blocks.chunks_exact(shape.key_blocks()));
        for (key, blocks) in keys {
            for (bytes, block) in key.chunks_mut(16).zip(blocks) {
                bytes.copy_from_slice(&block.to_le_bytes()[..bytes.len()]);
            }
        }
        Ok(own)
    }

    /// Returns each key's bytes as whole blocks: [`Shape::key_blocks`] of them.
    pub fn to_blocks(&self) -> Vec<u128> {
        let block = |bytes: &[u8]| {
            let mut whole = [0; 16];
            whole[..bytes.len()].copy_from_slice(bytes);
            u128::from_le_bytes(whole)
        };
        let mut blocks = memory::with_room(self.count * self.shape.key_blocks());
        for key in self.bytes.chunks_exact(self.shape.key_bytes()) {
            blocks.extend(key.chunks(16).map(block));
        }
        blocks
    }

    /// Returns the correction of a level.
    #[inline]
    pub(crate) fn level(&self, key: usize, level: usize) -> u128 {
        let bytes = self.of_key(key)[16 * level..].first_chunk().expect("a level's correction has 16 bytes");
        u128::from_le_bytes(*bytes)
    }

    /// Returns a block of the leaf's correction; zeros beyond a small domain.
    #[inline]
    pub(crate) fn leaf(&self, key: usize, block: usize) -> u128 {
        let leaf = &self.of_key(key)[16 * self.shape.levels()..];
        let bytes = &leaf[(16 * block).min(leaf.len())..];
        if let Some(bytes) = bytes.first_chunk() {
            return u128::from_le_bytes(*bytes);
        }
        let mut whole = [0; 16];
        whole[..bytes.len()].copy_from_slice(bytes);
        u128::from_le_bytes(whole)
    }
}

impl<S: std::fmt::Debug> std::fmt::Debug for Corrections<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Corrections({:?}, {})", self.shape, self.count)
    }
}

/// A side's keys of a batch.
#[derive(Debug)]
pub struct Keys<S: Form = Shape> {
    pub(crate) roots: Roots,
    pub(crate) corrections: Corrections<S>,
}

impl<S: Form> Keys<S> {
    /// Combines roots and the corrections that belong to them.
    ///
    /// # Errors
    /// [`FssError::Count`] if their numbers differ.
    pub fn new(roots: Roots, corrections: Corrections<S>) -> Result<Keys<S>, FssError> {
        if roots.count() != corrections.count {
            return Err(FssError::Count { roots: roots.count(), corrections: corrections.count });
        }
        Ok(Keys { roots, corrections })
    }

    /// Returns the shape of each key.
    pub fn shape(&self) -> S {
        self.corrections.shape
    }

    /// Returns the number of keys.
    pub fn count(&self) -> usize {
        self.corrections.count
    }

    /// Returns the side that holds them.
    pub fn side(&self) -> Side {
        self.roots.side()
    }

    /// Returns the corrections, which both sides have.
    pub fn corrections(&self) -> &Corrections<S> {
        &self.corrections
    }

    /// Returns a value of each of four keys from `first` on; the last key fills up an incomplete four.
    pub(crate) fn four(&self, first: usize, of: impl Fn(usize) -> u128) -> Four {
        Four([0, 1, 2, 3].map(|q| of((first + q).min(self.count() - 1))))
    }
}
