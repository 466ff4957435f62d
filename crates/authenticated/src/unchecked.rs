//! Openings that wait for their check.

use std::collections::BTreeMap;

use quorate_engine::LaneId;
use quorate_ring::{Ring, Vector};

use crate::keys::HASH_BYTES;

/// One opening of a vector.
pub(crate) struct Note {
    /// The ring of the values.
    pub ring: Ring,
    /// The upper bits of this party's shares, which it did not send.
    pub high: Vector,
    /// m - alpha low: the tags of this party less alpha times what was sent. Those of all parties add up to alpha 2^k
    /// high.
    pub rest: Vector,
    /// In a dry run, the number of equal openings that this one counts for.
    pub times: usize,
}

impl Note {
    /// Returns the bytes that the note takes.
    pub fn bytes(&self) -> usize {
        let bytes = |x: &Vector| x.len() * x.ring().carrier().bytes();
        bytes(&self.high) + bytes(&self.rest)
    }
}

/// By opening and peer, hashes of the MACs of opened bits: this party's, and what the peer's have to be.
pub(crate) type Macs = BTreeMap<(LaneId, u64), Vec<[[u8; HASH_BYTES]; 2]>>;

/// Openings that wait for the check, by lane and use.
#[derive(Default)]
pub(crate) struct Unchecked {
    pub notes: BTreeMap<(LaneId, u64), Note>,
    /// Hashes of what every party sent, for n > 2.
    pub told: BTreeMap<(LaneId, u64), [u8; HASH_BYTES]>,
    pub macs: Macs,
}

impl Unchecked {
    /// Forgets all openings.
    pub fn clear(&mut self) {
        *self = Unchecked::default();
    }
}
