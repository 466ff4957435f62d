//! Passes over the nodes of trees that two sides grow together: sums over a level, children, and counts of leaves.

use quorate_ring::wipe_words;

use super::sums::versions;
use super::{Four, ZERO};
use crate::hash::Hash;

/// The largest number of blocks of a leaf.
const BLOCKS: usize = 4;

/// Sums over the terminal nodes of four trees.
#[derive(Clone, Copy)]
pub(crate) struct Tally {
    /// The sums of each block of the leaves.
    pub blocks: [Sum; BLOCKS],
    /// The number of ones in all hashed blocks, for each key in two halves.
    pub ones: [u64; 8],
    /// The number of control bits that are set, in the lower half of each key.
    pub controls: [u64; 8],
}

/// The xor of hashes, and the xor of those whose node's control bit is set.
#[derive(Clone, Copy)]
pub(crate) struct Sum {
    pub all: Four,
    pub chosen: Four,
}

impl Tally {
    pub const ZERO: Tally = Tally { blocks: [Sum { all: ZERO, chosen: ZERO }; BLOCKS], ones: [0; 8], controls: [0; 8] };

    /// Returns the number of ones that the leaves of key q have with these corrections, modulo 4.
    pub fn ones_after(&self, q: usize, corrections: &[u128]) -> u64 {
        let ones = self.ones[2 * q].wrapping_add(self.ones[2 * q + 1]);
        let with = |(sum, correction): (&Sum, &u128)| {
            let added = u64::from(correction.count_ones()).wrapping_mul(self.controls[2 * q]);
            added.wrapping_sub(2 * u64::from((sum.chosen.0[q] & correction).count_ones()))
        };
        self.blocks.iter().zip(corrections).map(with).fold(ones, u64::wrapping_add) & 3
    }

    pub fn wipe(&mut self) {
        for sum in &mut self.blocks {
            wipe_words(&mut sum.all.0);
            wipe_words(&mut sum.chosen.0);
        }
        wipe_words(&mut self.ones);
        wipe_words(&mut self.controls);
    }
}

/// Returns all ones for both halves of each block whose lowest bit is set.
#[inline(always)]
fn controls(node: &[u64; 8]) -> [u64; 8] {
    let mut masks = [0; 8];
    for (pair, node) in masks.as_chunks_mut::<2>().0.iter_mut().zip(node.as_chunks::<2>().0) {
        *pair = [0u64.wrapping_sub(node[0] & 1); 2];
    }
    masks
}

versions! {
    fn sum_of(hash, blocks: &[[u64; 8]], total: &mut [u64; 8]) {
        for block in blocks {
            total.iter_mut().zip(block).for_each(|(sum, word)| *sum ^= word);
        }
    }
}

/// Returns the xor of all blocks.
pub(crate) fn sum(hash: &Hash, blocks: &[Four]) -> Four {
    let mut total = [0; 8];
    sum_of(hash, bytemuck::cast_slice(blocks), &mut total);
    bytemuck::cast(total)
}

versions! {
    fn split_words(hash, nodes: &mut [[u64; 8]], hashed: &mut [[u64; 8]], correction: &[u64; 8]) {
        for (node, hash) in nodes.iter_mut().zip(hashed) {
            let masks = controls(node);
            for i in 0..8 {
                hash[i] ^= masks[i] & correction[i];
                node[i] ^= hash[i];
            }
        }
    }
}

/// Replaces hashes by the left children, and nodes by the right ones.
pub(crate) fn split(hash: &Hash, nodes: &mut [Four], hashed: &mut [Four], correction: &Four) {
    assert_eq!(nodes.len(), hashed.len(), "a hash for each node");
    split_words(
        hash,
        bytemuck::cast_slice_mut(nodes),
        bytemuck::cast_slice_mut(hashed),
        bytemuck::cast_ref(correction),
    );
}

versions! {
    fn count_controls(hash, nodes: &[[u64; 8]], counts: &mut [u64; 8]) {
        for node in nodes {
            counts.iter_mut().zip(node).for_each(|(count, word)| *count = count.wrapping_add(word & 1));
        }
    }
}

/// Adds the control bits of terminal nodes.
pub(crate) fn tally_controls(hash: &Hash, nodes: &[Four], tally: &mut Tally) {
    count_controls(hash, bytemuck::cast_slice(nodes), &mut tally.controls);
}

versions! {
    fn tally_words(
        hash,
        nodes: &[[u64; 8]],
        hashed: &[[u64; 8]],
        mask: &[u64; 8],
        all: &mut [u64; 8],
        chosen: &mut [u64; 8],
        ones: &mut [u64; 8]
    ) {
        for (node, hash) in nodes.iter().zip(hashed) {
            let masks = controls(node);
            for i in 0..8 {
                all[i] ^= hash[i];
                chosen[i] ^= hash[i] & masks[i];
                ones[i] = ones[i].wrapping_add((hash[i] & mask[i]).count_ones().into());
            }
        }
    }
}

/// Adds a block of the leaves of terminal nodes; only the bits of `mask` count.
pub(crate) fn tally_leaves(
    hash: &Hash,
    (nodes, hashed): (&[Four], &[Four]),
    mask: u128,
    block: usize,
    tally: &mut Tally,
) {
    assert_eq!(nodes.len(), hashed.len(), "a hash for each node");
    let Sum { all, chosen } = &mut tally.blocks[block];
    tally_words(
        hash,
        bytemuck::cast_slice(nodes),
        bytemuck::cast_slice(hashed),
        bytemuck::cast_ref(&Four([mask; 4])),
        bytemuck::cast_mut(all),
        bytemuck::cast_mut(chosen),
        &mut tally.ones,
    );
}
