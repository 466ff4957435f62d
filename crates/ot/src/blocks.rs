//! Secret 128-bit blocks.

use quorate_ring::{Bits, Ring, Vector, meter, wipe_words};

const BLOCK_BYTES: usize = size_of::<u128>();
/// About the number of pieces of blocks that are under way together: operands, results, and other chunks.
pub const PIECES: usize = 32;

/// 128-bit blocks, one for each OT; or, in a dry run, only their number. Wiped on drop, never printed.
pub struct Blocks {
    len: usize,
    words: Vec<u128>,
}

impl Blocks {
    /// Creates blocks from `words`.
    pub fn new(words: Vec<u128>) -> Blocks {
        Blocks { len: words.len(), words }
    }

    /// Returns `len` blocks without data, charged as new memory.
    pub fn shape(len: usize) -> Blocks {
        let bytes = len.saturating_mul(BLOCK_BYTES);
        meter::fresh_within(bytes, bytes.saturating_mul(PIECES));
        Blocks { len, words: Vec::new() }
    }

    /// Returns `len` blocks without data, which take the place of memory that was charged before.
    pub(crate) fn shape_in_place(len: usize) -> Blocks {
        Blocks { len, words: Vec::new() }
    }

    /// Turns the blocks into a shape, to be combined with a shape.
    pub fn become_shape(&mut self) {
        wipe_words(&mut self.words);
        self.words = Vec::new();
    }

    /// Returns the number of blocks.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns whether this is a shape without data.
    pub fn is_shape(&self) -> bool {
        self.words.len() != self.len
    }

    /// Returns the blocks; empty for a shape.
    pub fn as_slice(&self) -> &[u128] {
        &self.words
    }

    /// Returns the blocks, to be changed; empty for a shape.
    pub fn as_mut_slice(&mut self) -> &mut [u128] {
        &mut self.words
    }

    /// Returns the bytes of all blocks; empty for a shape. On little-endian machines, the lowest byte of each block
    /// comes first.
    pub fn as_bytes(&self) -> &[u8] {
        bytemuck::cast_slice(&self.words)
    }

    /// Returns the low bits of each block as an element of the ring.
    ///
    /// # Panics
    /// If the ring has more than 128 bits: the upper ones would not be random.
    pub fn to_vector(&self, ring: Ring) -> Vector {
        assert!(ring.bits() <= 128, "a block of 128 bits is no element of {ring:?}");
        if self.is_shape() { Vector::shape(ring, self.len) } else { Vector::from_u128s(ring, &self.words) }
    }

    /// Returns the low `rows` bits of each block: row i holds bit i.
    ///
    /// # Panics
    /// Unless 1 <= rows <= 128.
    pub fn to_bits(&self, rows: usize) -> Bits {
        self.to_vector(Ring::of(rows as u32)).to_bits(0..rows as u32)
    }

    /// Keeps the first `len` blocks.
    pub(crate) fn truncate(&mut self, len: usize) {
        if let Some(cut) = self.words.get_mut(len..) {
            wipe_words(cut);
        }
        self.words.truncate(len);
        self.len = self.len.min(len);
    }
}

impl Clone for Blocks {
    fn clone(&self) -> Blocks {
        if self.is_shape() { Blocks::shape(self.len) } else { Blocks::new(self.words.clone()) }
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        if self.is_shape() {
            let bytes = self.len.saturating_mul(BLOCK_BYTES);
            return meter::stream_within(bytes, bytes.saturating_mul(PIECES));
        }
        wipe_words(&mut self.words);
    }
}

impl std::fmt::Debug for Blocks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} blocks", self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_and_bits_are_the_low_ones() {
        let blocks = Blocks::new(vec![0x1ff, 6, u128::MAX]);
        assert_eq!(blocks.to_vector(Ring::of(8)).to_u64s(), [255, 6, 255]);
        let bits = blocks.to_bits(2);
        assert_eq!((bits.rows(), bits.to_bools()), (2, vec![true, false, true, true, true, true]));
        assert_eq!(format!("{blocks:?}"), "3 blocks");
        let shape = Blocks::shape(5);
        assert!(shape.is_shape() && !blocks.is_shape() && shape.to_bits(3).is_shape() && shape.as_slice().is_empty());
        assert!(!Blocks::shape(0).is_shape() && Blocks::shape(0).is_empty());
    }
}
