//! Paths of keys that are walked together, each in a lane of its own.

use quorate_ring::threads::threads;

use crate::kernel::{Four, ZERO};

/// The number of keys walked together: a word of bits, and enough to keep a processor's AES busy.
pub(crate) const TOGETHER: usize = 64;
/// The number of groups of four in them.
pub(crate) const FOURS: usize = TOGETHER / 4;
/// The number of fours from one level's corrections to the next: one more than needed, so that levels do not share a
/// part of the cache.
pub(crate) const STRIDE: usize = FOURS + 1;
/// The number of hashes from which work uses several threads: some 50 us.
const GRAIN: usize = 1 << 15;

/// Returns the block of each lane, to be written.
pub(crate) fn lanes(fours: &mut [Four; FOURS]) -> &mut [u128; TOGETHER] {
    bytemuck::cast_mut(fours)
}

/// Returns the block of each lane, to be read.
pub(crate) fn blocks(fours: &[Four; FOURS]) -> &[u128; TOGETHER] {
    bytemuck::cast_ref(fours)
}

/// Returns the number of keys of a part, in whole pieces: on one thread if all of them take too few hashes.
pub(crate) fn part_len(keys: usize, hashes: usize) -> usize {
    let parts = if keys.saturating_mul(hashes) < GRAIN { 1 } else { threads() };
    keys.div_ceil(parts).next_multiple_of(TOGETHER).max(TOGETHER)
}

/// Returns the turns of paths to these places, that of the first level lowest: bits of a place from the highest on.
pub(crate) fn turns(places: &[u64], bits: u32) -> [Four; FOURS] {
    let mut turns = [ZERO; FOURS];
    for (turn, place) in lanes(&mut turns).iter_mut().zip(places) {
        *turn = (place << (u64::BITS - bits)).reverse_bits().into();
    }
    turns
}
