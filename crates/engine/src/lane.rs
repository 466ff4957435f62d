//! Identities of lanes: the path of forks that leads to a lane, as a number that all parties compute alike.

use std::sync::LazyLock;

use blake3::hazmat::{ContextKey, HasherExt, hash_derive_key_context};

/// The context of [`blake3::derive_key`] for lanes, hashed once since programs fork often.
static CONTEXT: LazyLock<ContextKey> = LazyLock::new(|| hash_derive_key_context("quorate/engine/lane"));

/// The identity of a lane within a run. It derives from the path alone, so a branch that a party skips does not
/// renumber other lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LaneId(pub(crate) u128);

impl LaneId {
    pub(crate) const ROOT: LaneId = LaneId(1);
    pub(crate) const BYTES: usize = 16;

    /// Returns the lane of this lane's `index`-th fork. Collisions have probability below `forks^2 / 2^128`.
    pub(crate) fn child(self, index: u64) -> LaneId {
        let mut path = [0; 24];
        path[..16].copy_from_slice(&self.0.to_le_bytes());
        path[16..].copy_from_slice(&index.to_le_bytes());
        LaneId::of(&path)
    }

    /// Returns the first half of the hash of `path`. Its inputs (a path's step, a use of randomness) have different
    /// lengths.
    pub(crate) fn of(path: &[u8]) -> LaneId {
        let hash = blake3::Hasher::new_from_context_key(&CONTEXT).update(path).finalize();
        let mut id = [0; 16];
        id.copy_from_slice(&hash.as_bytes()[..16]);
        LaneId(u128::from_le_bytes(id))
    }

    pub(crate) fn to_bytes(self) -> [u8; 16] {
        self.0.to_le_bytes()
    }

    pub(crate) fn from_bytes(bytes: [u8; 16]) -> LaneId {
        LaneId(u128::from_le_bytes(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_derived_keys() {
        let id = LaneId::of(b"a path");
        assert_eq!(id.to_bytes(), blake3::derive_key("quorate/engine/lane", b"a path")[..16]);
        assert_eq!(LaneId::from_bytes(id.to_bytes()), id);
    }
}
