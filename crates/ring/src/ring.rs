//! Z_2^k as a run-time value.

use crate::RingError;

/// The ring Z_2^k, k from 1 to [`Ring::MOST_BITS`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ring {
    bits: u16,
}

/// The word that holds an element: the smallest that has k bits.
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
    /// k in 129..=192.
    U192,
    /// k in 193..=256.
    U256,
}

impl Carrier {
    /// Returns the bits of the word.
    pub const fn bits(self) -> u32 {
        match self {
            Carrier::U8 => 8,
            Carrier::U16 => 16,
            Carrier::U32 => 32,
            Carrier::U64 => 64,
            Carrier::U128 => 128,
            Carrier::U192 => 192,
            Carrier::U256 => 256,
        }
    }

    /// Returns the bytes of the word.
    pub const fn bytes(self) -> usize {
        self.bits() as usize / 8
    }
}

impl Ring {
    /// The largest number of bits of a ring. Dtypes of users have fewer: elements of more than 128 bits are internal
    /// values of protocols, such as tags, and have neither [`mask`](Self::mask) nor codec.
    pub const MOST_BITS: u32 = Carrier::U256.bits();

    /// Returns Z_2^bits.
    ///
    /// # Errors
    /// [`RingError::BadWidth`] unless 1 <= bits <= [`MOST_BITS`](Self::MOST_BITS).
    pub const fn new(bits: u32) -> Result<Ring, RingError> {
        if bits >= 1 && bits <= Self::MOST_BITS {
            Ok(Ring { bits: bits as u16 })
        } else {
            Err(RingError::BadWidth { bits })
        }
    }

    /// Returns Z_2^bits, for constants and for widths that the project itself derives.
    ///
    /// # Panics
    /// Unless 1 <= bits <= [`MOST_BITS`](Self::MOST_BITS).
    pub const fn of(bits: u32) -> Ring {
        assert!(bits >= 1 && bits <= Self::MOST_BITS, "a ring has 1 to 256 bits");
        Ring { bits: bits as u16 }
    }

    /// Returns k.
    pub const fn bits(self) -> u32 {
        self.bits as u32
    }

    /// Returns 2^k - 1.
    ///
    /// # Panics
    /// If k > 128: it does not fit the result.
    pub const fn mask(self) -> u128 {
        assert!(self.bits <= 128, "only rings of at most 128 bits have a mask of 128 bits");
        u128::MAX >> (128 - self.bits())
    }

    /// Returns the smallest word that holds k bits.
    pub const fn carrier(self) -> Carrier {
        match self.bits {
            0..=8 => Carrier::U8,
            9..=16 => Carrier::U16,
            17..=32 => Carrier::U32,
            33..=64 => Carrier::U64,
            65..=128 => Carrier::U128,
            129..=192 => Carrier::U192,
            _ => Carrier::U256,
        }
    }

    /// Returns the bytes of `len` packed elements: ceil(len k / 8), at most `usize::MAX`.
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
