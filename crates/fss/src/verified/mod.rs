//! Keys that their holders check: payload (1, alpha) at one point, for any dealer.
//!
//! **Source**: the half-tree of [`deal`](crate::deal()) without early termination, and the verification of de Castro,
//! Polychroniadou, "Lightweight, Maliciously Secure Verifiable Function Secret Sharing", EUROCRYPT 2022, whose proof of
//! a leaf is compared after a random linear combination. **Deviation**: the proof's hash, below, and exact sums in
//! place of the payload's check; `docs/security/fss.md` shows why these suffice. **Model**: the dealer, or one side,
//! may cheat. **Notation**: L bits of a payload's ring, s_x the node of leaf x, t_x its lowest bit, cs the proof's
//! correction.
//!
//! A leaf's values are (-1)^side (H(s_x xor 2) + t_x CW'_1) and the same with 4 and CW'_2, modulo 2^L. Its proof is
//! pi_x = (pi'(s_x xor a_j(x + 1)) xor s_x)_{j<3} xor t_x cs, 384 bits, with a permutation of its own and a_j(T) = (T,
//! 0), (0, T), (T, T).
//!
//! | | |
//! |---|---|
//! | corrections of a key | 16 n + 2 ceil(L / 8) + 48 bytes, the same for both sides |
//! | AES calls a leaf | 3 for its values, 6 with its proof |
//! | compared | what the dealer sent to both; 48 bytes of proofs a key, and the sums: as one hash |
//!
//! The order matters: corrections first, then a coin of both holders that the dealer cannot foresee, then [`check`].
//! Nothing that depends on an input may be sent before the check is passed. Always the whole domain.

mod check;
mod deal;
mod leaves;
mod windows;

use quorate_ring::Ring;

use crate::keys::{self, Form};
use crate::wire::{Header, VERIFIED};
use crate::{FssError, HEADER_BYTES};

pub use check::{Checked, check, coins};
pub use deal::deal;
pub use leaves::visit;
pub use windows::{Windows, charge_windows};

/// Bytes of cs.
const PROOF_BYTES: usize = 48;

/// The tweaks of a leaf's node for its values; even, as in the other trees.
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

    /// Returns a domain of 2^n points with payloads of this ring.
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

    /// Returns n.
    pub fn bits(self) -> u32 {
        self.bits.into()
    }

    /// Returns the payloads' ring.
    pub fn ring(self) -> Ring {
        self.ring
    }

    /// Returns the number of points of the domain.
    pub fn points(self) -> usize {
        1 << self.bits
    }

    /// Returns the largest point.
    pub fn mask(self) -> u64 {
        self.points() as u64 - 1
    }

    fn payload_bytes(self) -> usize {
        self.ring.bits().div_ceil(8) as usize
    }

    /// Returns the bytes of a key's corrections.
    pub fn key_bytes(self) -> usize {
        16 * usize::from(self.bits) + 2 * self.payload_bytes() + PROOF_BYTES
    }

    /// Returns the bytes of the corrections of `count` keys in a message.
    pub fn batch_bytes(self, count: usize) -> usize {
        HEADER_BYTES.saturating_add(count.saturating_mul(self.key_bytes()))
    }

    /// Returns the number of leaves of `count` keys.
    pub fn leaves(self, count: usize) -> u64 {
        (count as u64).saturating_mul(self.points() as u64)
    }
}

impl Form for Shape {
    fn correction_bytes(self) -> usize {
        self.key_bytes()
    }

    fn header(self, count: usize) -> Header {
        Header { kind: VERIFIED, bits: self.bits, form: self.ring.bits() as u8, count }
    }
}

/// The dealer's message to both sides, the same to each. Holders compare a hash of its bytes.
pub type Corrections = keys::Corrections<Shape>;

/// A side's keys of a batch.
pub type Keys = keys::Keys<Shape>;

impl Corrections {
    /// Returns the 16 bytes of a key from `at` on, or the first `len` of these, as a number.
    fn number(&self, key: usize, at: usize, len: usize) -> u128 {
        let mut bytes = [0; 16];
        bytes[..len].copy_from_slice(&self.of_key(key)[at..][..len]);
        u128::from_le_bytes(bytes)
    }

    fn level(&self, key: usize, level: usize) -> u128 {
        self.number(key, 16 * level, 16)
    }

    /// Returns CW'_1 or CW'_2.
    fn payload(&self, key: usize, which: usize) -> u128 {
        let bytes = self.shape.payload_bytes();
        self.number(key, 16 * usize::from(self.shape.bits) + which * bytes, bytes)
    }

    /// Returns a block of cs.
    fn proof(&self, key: usize, block: usize) -> u128 {
        let start = self.shape.key_bytes() - PROOF_BYTES;
        self.number(key, start + 16 * block, 16)
    }
}
