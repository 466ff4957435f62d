//! Shares of whether a point lies in a public interval, for the nodes of two paths.
//!
//! **Source**: Storrier, Vadapalli, Lyons, Henry, "Grotto: Screaming fast (2+1)-PC or Z_2^n via (2,2)-DPFs", CCS 2023:
//! the control bits of a node are the shares of the parity of all leaves below it. **Deviation**: on the half-tree, and
//! the last leaf's bits are summed themselves. **Cost**: d + B hashes for each end but 0.
//!
//! [r < x] is the sum of the left siblings' control bits on the way to x, where it turns right, and of the leaf's bits
//! before x. Keys are walked 64 at a time, with their corrections level by level side by side. If all intervals of a
//! piece begin with 0, that end takes no walk.

use quorate_ring::threads::side_by_side;
use quorate_ring::{Bits, Wiped, memory, wipe_words};

use crate::hash::{Hash, leaf_tweak};
use crate::kernel::{self, Four, ZERO};
use crate::paths::{FOURS, STRIDE, TOGETHER, blocks, lanes, part_len, turns};
use crate::{Keys, Shape};

/// Returns in row i, lane k this side's xor share of whether key k's point lies in the interval `ends(i, k)`. The
/// interval goes from the first end up to the second, exclusive, modulo 2^n. Equal ends are the empty interval. Batches
/// are spread over [threads](quorate_ring::threads).
///
/// # Panics
/// If an end lies outside of the domain.
pub fn intervals(hash: &Hash, keys: &Keys, rows: usize, ends: impl Fn(usize, usize) -> [u64; 2] + Sync) -> Wiped<Bits> {
    let mut shares = Wiped(Bits::zeros(rows, keys.count()));
    let pieces = keys.count().div_ceil(TOGETHER);
    // Piece by piece, a word for each row.
    let mut words: Vec<u64> = memory::zeros(pieces * rows);
    let hashes = 2 * (keys.shape().levels() + keys.shape().blocks()) * rows;
    let part = part_len(keys.count(), hashes) / TOGETHER;
    side_by_side(words.chunks_mut((part * rows).max(1)).enumerate().collect(), |(i, words)| {
        let mut paths = Paths::new(keys.shape());
        for (piece, words) in words.chunks_exact_mut(rows).enumerate() {
            let first = (i * part + piece) * TOGETHER;
            paths.start(keys, first);
            for (row, word) in words.iter_mut().enumerate() {
                *word = paths.intervals(hash, keys, |k| ends(row, first + k));
            }
        }
    });
    for (row, piece) in (0..rows).flat_map(|row| (0..pieces).map(move |piece| (row, piece))) {
        shares.words_of_mut(row)[piece] = words[piece * rows + row];
    }
    wipe_words(&mut words);
    shares
}

/// A piece of keys, and a path to a public place in each key's tree.
struct Paths {
    shape: Shape,
    /// The number of keys of the piece.
    len: usize,
    roots: [Four; FOURS],
    /// The corrections of the levels, and then those of the leaf's blocks.
    corrections: Vec<Four>,
    nodes: [Four; FOURS],
    hashed: [Four; FOURS],
    /// For both ends of an interval, words whose bits add up to a share.
    sums: [[Four; FOURS]; 2],
}

impl Paths {
    fn new(shape: Shape) -> Paths {
        let corrections = memory::zeros((shape.levels() + shape.blocks()) * STRIDE);
        let [roots, nodes, hashed] = [[ZERO; FOURS]; 3];
        Paths { shape, len: 0, roots, corrections, nodes, hashed, sums: [[ZERO; FOURS]; 2] }
    }

    /// Takes the keys from `first` on.
    fn start(&mut self, keys: &Keys, first: usize) {
        let (shape, corrections) = (self.shape, keys.corrections());
        self.len = TOGETHER.min(keys.count() - first);
        lanes(&mut self.roots)[..self.len].copy_from_slice(&keys.roots.nodes()[first..first + self.len]);
        let key_bytes = shape.key_bytes();
        let bytes = &corrections.bytes[first * key_bytes..][..self.len * key_bytes];
        for (group, keys) in bytes.chunks(4 * key_bytes).enumerate() {
            for (level, fours) in self.corrections.chunks_exact_mut(STRIDE).take(shape.levels()).enumerate() {
                for (key, to) in keys.chunks_exact(key_bytes).zip(&mut fours[group].0) {
                    *to = u128::from_le_bytes(*key[16 * level..].first_chunk().expect("a block for each level"));
                }
            }
        }
        for (block, fours) in self.corrections.chunks_exact_mut(STRIDE).skip(shape.levels()).enumerate() {
            let of = |lane: usize| corrections.leaf(first + lane, block);
            (0..self.len).for_each(|lane| fours[lane / 4].0[lane % 4] = of(lane));
        }
    }

    /// Returns the shares of intervals, one of each key, in a bit of the word each.
    fn intervals(&mut self, hash: &Hash, keys: &Keys, ends: impl Fn(usize) -> [u64; 2]) -> u64 {
        let mut places = [[0; TOGETHER]; 2];
        let [from, to] = &mut places;
        for (k, (from, to)) in from.iter_mut().zip(to).enumerate().take(self.len) {
            [*from, *to] = ends(k);
            assert!(*from.max(to) <= self.shape.mask(), "an interval's end outside of the domain");
        }
        (0..2).for_each(|end| self.walk(hash, &places[end], end));
        let [from, to] = self.sums.each_ref().map(blocks);
        let share = |k: usize| {
            // An interval around the end of the domain is everything except the interval between its ends.
            let whole = u64::from(places[0][k] > places[1][k]) & keys.side().bit() as u64;
            (u64::from((from[k] ^ to[k]).count_ones() & 1) ^ whole) << k
        };
        (0..self.len).map(share).fold(0, |word, bit| word | bit)
    }

    /// Computes the sums of one end.
    fn walk(&mut self, hash: &Hash, places: &[u64; TOGETHER], end: usize) {
        let (shape, fours) = (self.shape, self.len.div_ceil(4));
        let (nodes, hashed, sums) = (&mut self.nodes[..fours], &mut self.hashed[..fours], &mut self.sums[end][..fours]);
        let (levels, leaf) = self.corrections.split_at(shape.levels() * STRIDE);
        nodes.copy_from_slice(&self.roots[..fours]);
        sums.fill(ZERO);
        // No point lies below 0.
        let mut turns = turns(places, shape.bits());
        if places.iter().all(|&place| place == 0) {
            return;
        }
        for corrections in levels.chunks_exact(STRIDE) {
            kernel::descend(hash, nodes, &corrections[..fours], &turns[..fours], sums);
            kernel::next_turns(hash, &mut turns);
        }
        // Only the control bits of the left siblings count.
        sums.iter_mut().for_each(|sum| sum.0.iter_mut().for_each(|sum| *sum &= 1));
        for (block, corrections) in leaf.chunks_exact(STRIDE).enumerate() {
            hash.each(nodes, leaf_tweak(block), hashed);
            let mut masks = [ZERO; FOURS];
            for (mask, place) in lanes(&mut masks).iter_mut().zip(places) {
                let before = (place & (shape.leaf_bits() - 1)).saturating_sub(128 * block as u64).min(128);
                *mask = !u128::MAX.checked_shl(before as u32).unwrap_or(0);
            }
            kernel::add_leaves(hash, (nodes, hashed), &corrections[..fours], &masks[..fours], sums);
        }
    }
}

impl Drop for Paths {
    fn drop(&mut self) {
        [&mut self.roots, &mut self.nodes, &mut self.hashed].into_iter().for_each(|blocks| wipe_words(blocks));
        wipe_words(self.sums.as_flattened_mut());
    }
}
