//! Sizes and names that files, errors and callers have in common.

/// The bytes of a key.
pub const KEY_BYTES: usize = 32;

/// The largest number of places of a lot that are not reserved: their keys are written with each change.
pub const MOST_BUNDLES: u32 = 1 << 16;

/// The name of a pool, the same at all parties.
pub type PoolId = [u8; 32];
