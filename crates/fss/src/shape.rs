//! The shape of a key: its domain and the end of its tree, which determine all sizes.

use crate::FssError;

/// Bits of a block, the unit of nodes and leaves.
pub(crate) const BLOCK_BITS: u64 = 128;
/// Bytes of the header of keys in a message.
pub const HEADER_BYTES: usize = 8;
/// Blocks of a wide leaf.
pub(crate) const WIDE: usize = 4;

/// A domain of points 0 .. 2^n, and terminal nodes of B blocks of 128 bits.
///
/// | | levels d | bytes of corrections a key | AES calls for the whole domain |
/// |---|---|---|---|
/// | wide, n > 9 | n - 9 | 16 d + 64 | 2^d - 1 + 2^(n-7) |
/// | narrow, n > 7 | n - 7 | 16 d + 16 | 2^d - 1 + 2^(n-7) |
/// | n up to 9, or 7 | 0 | 2^n bits | blocks of 2^n bits |
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    bits: u8,
    blocks: u8,
    levels: u8,
}

impl Shape {
    /// The largest n.
    pub const MOST_BITS: u32 = 64;

    /// Returns a shape with leaves of 512 bits: the fastest to evaluate.
    ///
    /// # Errors
    /// [`FssError::Domain`] unless 1 <= n <= [`MOST_BITS`](Self::MOST_BITS).
    pub const fn wide(bits: u32) -> Result<Shape, FssError> {
        Self::new(bits, WIDE)
    }

    /// Returns a shape with leaves of 128 bits: the shortest keys, for uses that need only
    /// [parities](crate::intervals).
    ///
    /// # Errors
    /// [`FssError::Domain`] unless 1 <= n <= [`MOST_BITS`](Self::MOST_BITS).
    pub const fn narrow(bits: u32) -> Result<Shape, FssError> {
        Self::new(bits, 1)
    }

    /// Returns a shape with leaves of `blocks` blocks: 1, 2 or 4.
    ///
    /// # Errors
    /// [`FssError::Domain`] unless 1 <= n <= [`MOST_BITS`](Self::MOST_BITS).
    ///
    /// # Panics
    /// For another number of blocks.
    pub const fn new(bits: u32, blocks: usize) -> Result<Shape, FssError> {
        assert!(matches!(blocks, 1 | 2 | 4), "a leaf has 1, 2 or 4 blocks");
        if bits < 1 || bits > Self::MOST_BITS {
            return Err(FssError::Domain { bits, least: 1, most: Self::MOST_BITS });
        }
        let leaf = BLOCK_BITS.trailing_zeros() + blocks.trailing_zeros();
        let levels = bits.saturating_sub(leaf);
        // A domain smaller than a leaf takes only the blocks that it needs.
        let needed = if bits < leaf { (1u64 << bits).div_ceil(BLOCK_BITS) as u8 } else { blocks as u8 };
        Ok(Shape { bits: bits as u8, blocks: needed, levels: levels as u8 })
    }

    /// Returns n.
    pub const fn bits(self) -> u32 {
        self.bits as u32
    }

    /// Returns the number of blocks of a terminal node.
    pub const fn blocks(self) -> usize {
        self.blocks as usize
    }

    /// Returns the number of levels of the tree, d.
    pub const fn levels(self) -> usize {
        self.levels as usize
    }

    /// Returns the number of points below a terminal node.
    pub const fn leaf_bits(self) -> u64 {
        let leaf = BLOCK_BITS * self.blocks as u64;
        match self.bits < 9 && 1 << self.bits < leaf {
            true => 1 << self.bits,
            false => leaf,
        }
    }

    /// Returns the largest point, 2^n - 1.
    pub const fn mask(self) -> u64 {
        u64::MAX >> (Self::MOST_BITS - self.bits())
    }

    /// Returns the bytes of the last correction.
    pub(crate) const fn leaf_bytes(self) -> usize {
        self.leaf_bits().div_ceil(8) as usize
    }

    /// Returns the bytes of a key's corrections, which both sides get. The root is not among them: it comes from a
    /// seed.
    pub const fn key_bytes(self) -> usize {
        16 * self.levels() + self.leaf_bytes()
    }

    /// Returns the number of blocks of 128 bits that hold these bytes.
    pub const fn key_blocks(self) -> usize {
        self.key_bytes().div_ceil(16)
    }

    /// Returns the bytes of the corrections of `count` keys [in a message](crate::Corrections::write).
    pub const fn batch_bytes(self, count: usize) -> usize {
        HEADER_BYTES.saturating_add(count.saturating_mul(self.key_bytes()))
    }

    /// Returns the bytes of `count` whole keys, roots included, [in a message](crate::Keys::write).
    pub const fn keys_bytes(self, count: usize) -> usize {
        self.batch_bytes(count).saturating_add(count.saturating_mul(16))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_table() {
        let wide = |bits| Shape::wide(bits).unwrap();
        let narrow = |bits| Shape::narrow(bits).unwrap();
        assert_eq!((wide(16).levels(), wide(16).key_bytes()), (7, 176));
        assert_eq!((wide(32).key_bytes(), wide(64).key_bytes()), (432, 944));
        assert_eq!((narrow(32).key_bytes(), narrow(64).key_bytes()), (416, 928));
        assert_eq!((1..=9).map(|n| wide(n).key_bytes()).collect::<Vec<_>>(), [1, 1, 1, 2, 4, 8, 16, 32, 64]);
        assert_eq!((wide(9).levels(), wide(10).levels(), narrow(7).levels(), narrow(8).levels()), (0, 1, 0, 1));
        assert_eq!((wide(7).blocks(), wide(8).blocks(), wide(9).blocks(), narrow(9).blocks()), (1, 2, 4, 1));
        assert_eq!((wide(3).leaf_bits(), wide(8).leaf_bits(), narrow(8).leaf_bits()), (8, 256, 128));
        assert_eq!((wide(64).mask(), wide(1).mask()), (u64::MAX, 1));
        for bad in [0, 65, u32::MAX] {
            assert_eq!(Shape::wide(bad), Err(FssError::Domain { bits: bad, least: 1, most: 64 }));
        }
    }
}
