//! Z_2^k as a run-time value.

use crate::RingError;

/// The ring Z_2^k, k from 1 to 128.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ring {
    bits: u8,
}

/// The machine word that holds an element: the smallest that has k bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Carrier {
    /// k in 1..=8.
    U8,
    /// k in 9..=16.
    U16,
    /// k in 17..=32.
    U32,
    /// k in 33..=64.
    U64,
    /// k in 65..=128.
    U128,
}

impl Carrier {
    /// Bits of the word.
    pub const fn bits(self) -> u32 {
        match self {
            Carrier::U8 => 8,
            Carrier::U16 => 16,
            Carrier::U32 => 32,
            Carrier::U64 => 64,
            Carrier::U128 => 128,
        }
    }

    /// Bytes of the word.
    pub const fn bytes(self) -> usize {
        self.bits() as usize / 8
    }
}

impl Ring {
    /// Z_2^bits.
    ///
    /// # Errors
    /// [`RingError::BadWidth`] unless 1 <= bits <= 128.
    pub const fn new(bits: u32) -> Result<Ring, RingError> {
        if bits >= 1 && bits <= 128 { Ok(Ring { bits: bits as u8 }) } else { Err(RingError::BadWidth { bits }) }
    }

    /// Z_2^bits, for constants and widths that the project itself derives.
    ///
    /// # Panics
    /// Unless 1 <= bits <= 128.
    pub const fn of(bits: u32) -> Ring {
        assert!(bits >= 1 && bits <= 128, "a ring has 1 to 128 bits");
        Ring { bits: bits as u8 }
    }

    /// k.
    pub const fn bits(self) -> u32 {
        self.bits as u32
    }

    /// 2^k - 1.
    pub const fn mask(self) -> u128 {
        u128::MAX >> (128 - self.bits())
    }

    /// The smallest word that holds k bits.
    pub const fn carrier(self) -> Carrier {
        match self.bits {
            0..=8 => Carrier::U8,
            9..=16 => Carrier::U16,
            17..=32 => Carrier::U32,
            33..=64 => Carrier::U64,
            _ => Carrier::U128,
        }
    }

    /// Bytes that `len` packed elements take: ceil(len k / 8), at most `usize::MAX`.
    pub const fn packed_bytes(self, len: usize) -> usize {
        let bytes = (len as u128 * self.bits as u128).div_ceil(8);
        if bytes > usize::MAX as u128 { usize::MAX } else { bytes as usize }
    }
}

impl std::fmt::Debug for Ring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Z_2^{}", self.bits)
    }
}
