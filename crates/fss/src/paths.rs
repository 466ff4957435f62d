//! Paths of as many keys as are walked together, each with a lane of its own.

use quorate_ring::threads::threads;

use crate::kernel::{Four, ZERO};

/// Keys that are walked together: a word of bits, and what keeps a processor's AES busy.
pub(crate) const TOGETHER: usize = 64;
/// Groups of four of them.
pub(crate) const FOURS: usize = TOGETHER / 4;
/// Fours from one level's corrections to the next one's: one more, so that levels do not share a part of the cache.
pub(crate) const STRIDE: usize = FOURS + 1;
/// Hashes from which on work is worth several threads: some 50 us.
const GRAIN: usize = 1 << 15;

/// The block of each lane.
pub(crate) fn lanes(fours: &mut [Four; FOURS]) -> &mut [u128; TOGETHER] {
    bytemuck::cast_mut(fours)
}

/// The same, to be read.
pub(crate) fn blocks(fours: &[Four; FOURS]) -> &[u128; TOGETHER] {
    bytemuck::cast_ref(fours)
}

/// Keys of a part, whole pieces: on one thread if all of them take too few hashes.
pub(crate) fn part_len(keys: usize, hashes: usize) -> usize {
    let parts = if keys.saturating_mul(hashes) < GRAIN { 1 } else { threads() };
    keys.div_ceil(parts).next_multiple_of(TOGETHER).max(TOGETHER)
}

/// The turns of paths to these places, that of the first level lowest: bits of a place from the highest on.
pub(crate) fn turns(places: &[u64], bits: u32) -> [Four; FOURS] {
    let mut turns = [ZERO; FOURS];
    for (turn, place) in lanes(&mut turns).iter_mut().zip(places) {
        *turn = (place << (u64::BITS - bits)).reverse_bits().into();
    }
    turns
}
