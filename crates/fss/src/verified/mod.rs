//! Keys that their holders check: payload (1, alpha) at one point, whoever dealt them.
//!
//! **Source**: the half-tree of [`deal`](crate::deal()) without early termination, and the verification of de Castro,
//! Polychroniadou, "Lightweight, Maliciously Secure Verifiable Function Secret Sharing", EUROCRYPT 2022, whose proof of
//! a leaf is compared after a random linear combination. **Deviation**: the proof's hash, below, and exact sums in
//! place of the payload's check; `docs/security/fss.md` says why that suffices. **Model**: the dealer, or one side, may
//! cheat. **Notation**: L bits of a payload's ring, s_x the node of leaf x, t_x its lowest bit, cs the proof's
//! correction.
//!
//! A leaf's values are (-1)^side (H(s_x xor 2) + t_x CW'_1) and the same with 4 and CW'_2, modulo 2^L. Its proof is
//! pi_x = (pi'(s_x xor a_j(x)) xor s_x)_{j<4} xor t_x cs, 512 bits, with a permutation of its own and a_j(T) =
//! (T, 0), (0, T), (T, T), (T, 2T), T the number of the leaf in the session.
//!
//! | | |
//! |---|---|
//! | corrections of a key | 16 n + 2 ceil(L / 8) + 64 bytes, the same for both sides |
//! | AES calls a leaf | 3 for its values, 7 with its proof |
//! | compared | what the dealer sent to both; 64 bytes of proofs a key, and the sums: as one hash |
//!
//! The order matters: corrections first, then a coin of both holders that the dealer cannot foresee, then
//! [`check`], and nothing that depends on an input before it was passed. Always the whole domain.

mod check;
mod deal;
mod leaves;

use quorate_ring::{Ring, memory};

use crate::kernel::Four;
use crate::wire::{Header, VERIFIED};
use crate::{FssError, HEADER_BYTES, Roots, Side};

pub use check::{Checked, check, coins};
pub use deal::deal;
pub use leaves::visit;

/// Bytes of cs.
const PROOF_BYTES: usize = 64;

/// What a leaf's node is hashed with for its values; even, as in the other trees.
const VALUE_TWEAKS: [u128; 2] = [2, 4];

/// A domain of 2^n points, n from 1 to 16, and payloads in Z_2^L, L up to 128.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    bits: u8,
    ring: Ring,
}

impl Shape {
    /// The largest n.
    pub const MOST_BITS: u32 = 16;

    /// 2^n points with payloads of this ring.
    ///
    /// # Errors
    /// [`FssError::Domain`] or [`FssError::Payload`] beyond these bounds.
    pub fn new(bits: u32, ring: Ring) -> Result<Shape, FssError> {
        if !(1..=Self::MOST_BITS).contains(&bits) {
            return Err(FssError::Domain { bits, least: 1, most: Self::MOST_BITS });
        }
        if ring.bits() > 128 {
            return Err(FssError::Payload { bits: ring.bits() });
        }
        Ok(Shape { bits: bits as u8, ring })
    }

    /// n.
    pub fn bits(self) -> u32 {
        self.bits.into()
    }

    /// The payloads' ring.
    pub fn ring(self) -> Ring {
        self.ring
    }

    /// Points of the domain.
    pub fn points(self) -> usize {
        1 << self.bits
    }

    /// The largest point.
    pub fn mask(self) -> u64 {
        self.points() as u64 - 1
    }

    fn payload_bytes(self) -> usize {
        self.ring.bits().div_ceil(8) as usize
    }

    /// Bytes of a key's corrections.
    pub fn key_bytes(self) -> usize {
        16 * usize::from(self.bits) + 2 * self.payload_bytes() + PROOF_BYTES
    }

    /// Bytes of the corrections of so many keys in a message.
    pub fn batch_bytes(self, count: usize) -> usize {
        HEADER_BYTES.saturating_add(count.saturating_mul(self.key_bytes()))
    }

    /// Leaves of so many keys: how far their numbers reach in the session.
    pub fn leaves(self, count: usize) -> u64 {
        (count as u64).saturating_mul(self.points() as u64)
    }
}

/// What the dealer sends to both sides, the same to each. Holders compare a hash of [`bytes`](Self::bytes).
#[derive(Clone, PartialEq, Eq)]
pub struct Corrections {
    shape: Shape,
    count: usize,
    bytes: Vec<u8>,
}

impl Corrections {
    fn zeros(shape: Shape, count: usize) -> Corrections {
        Corrections { shape, count, bytes: memory::zeros(count * shape.key_bytes()) }
    }

    /// The corrections of `count` keys as they lie in memory.
    ///
    /// # Errors
    /// [`FssError::Length`] unless these are exactly as many bytes as shape and number demand.
    pub fn from_bytes(shape: Shape, count: usize, bytes: &[u8]) -> Result<Corrections, FssError> {
        let expected_bytes = count.saturating_mul(shape.key_bytes());
        if bytes.len() != expected_bytes {
            return Err(FssError::Length { expected_bytes, got_bytes: bytes.len() });
        }
        let mut own = memory::with_room(expected_bytes);
        own.extend_from_slice(bytes);
        Ok(Corrections { shape, count, bytes: own })
    }

    fn header(shape: Shape, count: usize) -> Header {
        Header { kind: VERIFIED, bits: shape.bits, form: shape.ring.bits() as u8, count }
    }

    /// Appends these corrections as a message of [`Shape::batch_bytes`].
    ///
    /// # Panics
    /// For 2^32 keys or more.
    pub fn write(&self, out: &mut Vec<u8>) {
        Self::header(self.shape, self.count).write(out);
        out.extend_from_slice(&self.bytes);
    }

    /// The corrections of `count` keys of this shape.
    ///
    /// # Errors
    /// [`FssError::Version`], [`FssError::Form`] or [`FssError::Length`] if the message is not of these.
    pub fn read(shape: Shape, count: usize, message: &[u8]) -> Result<Corrections, FssError> {
        let body = Self::header(shape, count).read(message, count.saturating_mul(shape.key_bytes()))?;
        Self::from_bytes(shape, count, body)
    }

    /// The shape of each key.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// How many keys there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// All bytes: [`Shape::key_bytes`] a key.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The 16 bytes of a key from `at` on, or as many as `len` says, as a number.
    fn number(&self, key: usize, at: usize, len: usize) -> u128 {
        let mut bytes = [0; 16];
        bytes[..len].copy_from_slice(&self.bytes[key * self.shape.key_bytes() + at..][..len]);
        u128::from_le_bytes(bytes)
    }

    fn level(&self, key: usize, level: usize) -> u128 {
        self.number(key, 16 * level, 16)
    }

    /// CW'_1 or CW'_2.
    fn payload(&self, key: usize, which: usize) -> u128 {
        let bytes = self.shape.payload_bytes();
        self.number(key, 16 * usize::from(self.shape.bits) + which * bytes, bytes)
    }

    /// A block of cs.
    fn proof(&self, key: usize, block: usize) -> u128 {
        let start = self.shape.key_bytes() - PROOF_BYTES;
        self.number(key, start + 16 * block, 16)
    }
}

impl std::fmt::Debug for Corrections {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Corrections({:?}, {})", self.shape, self.count)
    }
}

/// A side's keys of a batch.
#[derive(Debug)]
pub struct Keys {
    roots: Roots,
    corrections: Corrections,
}

impl Keys {
    /// Roots and the corrections that belong to them.
    ///
    /// # Errors
    /// [`FssError::Count`] if their numbers differ.
    pub fn new(roots: Roots, corrections: Corrections) -> Result<Keys, FssError> {
        if roots.count() != corrections.count {
            return Err(FssError::Count { roots: roots.count(), corrections: corrections.count });
        }
        Ok(Keys { roots, corrections })
    }

    /// The shape of each key.
    pub fn shape(&self) -> Shape {
        self.corrections.shape
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.corrections.count
    }

    /// Whose they are.
    pub fn side(&self) -> Side {
        self.roots.side()
    }

    /// What both sides have.
    pub fn corrections(&self) -> &Corrections {
        &self.corrections
    }

    /// Something of four keys from `first` on; what is missing of four is the last key again.
    fn four(&self, first: usize, of: impl Fn(usize) -> u128) -> Four {
        Four([0, 1, 2, 3].map(|q| of((first + q).min(self.count() - 1))))
    }
}
