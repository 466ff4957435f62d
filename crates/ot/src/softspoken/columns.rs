//! Step 1: the columns that the trees produce, a tile of OTs at a time.

use quorate_crypto::Prf;
use quorate_ring::columns::{fold_leaves, rows_of_128};
use quorate_ring::memory::zeros;
use quorate_ring::meter::{Kernel, charge};
use quorate_ring::threads::side_by_side;
use quorate_ring::wipe_words;

use super::{Batch, GROUP, TILE_GROUPS};
use crate::blocks::Blocks;
use crate::options::{COLUMNS, Options};
use crate::tree::Tree;

/// Words of a column of a tile of one group.
pub(super) const GROUP_WORDS: usize = GROUP / 64;
/// Depth of the subtrees whose leaves are added up together: 16 columns of a tile, 16 KiB.
const GROUP_DEPTH: usize = 4;

/// Working memory for the leaves of one tree; wiped on drop.
pub(super) struct Scratch {
    leaves: Vec<u64>,
    upper: Vec<u64>,
    inputs: Vec<[u8; 16]>,
}

impl Scratch {
    pub fn new(options: Options) -> Scratch {
        let (width, depth) = (TILE_GROUPS * GROUP_WORDS, options.field_bits as usize);
        let low = depth.min(GROUP_DEPTH);
        Scratch { leaves: vec![0; width << low], upper: vec![0; width << (depth - low)], inputs: Vec::new() }
    }

    /// Sets the inputs of a tile: the instance's number plus the group's.
    pub fn begin(&mut self, instance: u128, (first, groups): (usize, usize)) {
        let input = |group: usize| instance.wrapping_add((first + group) as u128).to_le_bytes();
        self.inputs.clear();
        self.inputs.extend((0..groups).map(input));
    }

    /// Returns the sum of all leaves. Adds to column j of `columns` the sum of the leaves whose number has bit j. A
    /// missing leaf counts as zero.
    pub fn sum(&mut self, tree: &Tree, columns: &mut [u64]) -> &[u64] {
        let width = self.inputs.len() * GROUP_WORDS;
        let low = tree.depth.min(GROUP_DEPTH);
        let (low_columns, high_columns) = columns.split_at_mut(low * width);
        let leaves = &mut self.leaves[..width << low];
        let upper = &mut self.upper[..width << (tree.depth - low)];
        for (functions, upper) in tree.leaves.chunks(1 << low).zip(upper.chunks_exact_mut(width)) {
            for (function, leaf) in functions.iter().zip(leaves.chunks_exact_mut(width)) {
                evaluate(function.as_ref(), &self.inputs, leaf);
            }
            fold_leaves(leaves, low_columns, width);
            upper.copy_from_slice(&leaves[..width]);
        }
        if tree.depth > low {
            fold_leaves(upper, high_columns, width);
        }
        &self.upper[..width]
    }
}

fn evaluate(function: Option<&Prf>, inputs: &[[u8; 16]], out: &mut [u64]) {
    match function {
        Some(function) => function.eval(inputs, bytemuck::cast_slice_mut(out)),
        None => out.fill(0),
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        wipe_words(&mut self.leaves);
        wipe_words(&mut self.upper);
    }
}

/// The columns of a batch, tile by tile; empty in a dry run. Wiped on drop.
pub(super) struct Columns {
    blocks: Option<Vec<u128>>,
}

impl Columns {
    pub fn zeros(batch: Batch) -> Columns {
        Columns { blocks: Some(zeros(GROUP * batch.all_groups())) }
    }

    /// Returns the columns of a dry run, which is charged for the trees' draws.
    pub fn shape(batch: Batch, options: Options) -> Columns {
        let leaves: usize = options.depths().iter().map(|&depth| 1 << depth).sum();
        charge(Kernel::Draw, leaves * batch.all_groups() * (GROUP / 8));
        Columns { blocks: None }
    }

    pub fn is_shape(&self) -> bool {
        self.blocks.is_none()
    }

    /// Returns a tile's columns, one after the other.
    pub fn tile(&self, (first, groups): (usize, usize)) -> &[u64] {
        bytemuck::cast_slice(&self.blocks.as_deref().unwrap_or_default()[first * GROUP..(first + groups) * GROUP])
    }

    /// Returns the columns of every tile, to be filled; none for a shape.
    pub fn tiles_mut(&mut self, batch: Batch) -> impl Iterator<Item = ((usize, usize), &mut [u64])> {
        let mut rest = bytemuck::cast_slice_mut(self.blocks.as_deref_mut().unwrap_or_default());
        batch.tiles().map(move |tile| (tile, taken(&mut rest, COLUMNS * GROUP_WORDS * tile.1)))
    }

    /// Step 4: returns the wanted rows, each tile's in the place of its columns.
    pub fn rows(mut self, batch: Batch) -> Blocks {
        let Some(mut blocks) = self.blocks.take() else {
            charge(Kernel::Transpose, batch.groups * GROUP * (2 * 40 + COLUMNS));
            return Blocks::shape_in_place(batch.len);
        };
        let tiles = blocks[..batch.groups * GROUP].chunks_mut(TILE_GROUPS * GROUP).collect();
        side_by_side(tiles, |tile: &mut [u128]| {
            let mut rows = vec![0; tile.len()];
            rows_of_128(bytemuck::cast_slice(tile), &mut rows);
            tile.copy_from_slice(&rows);
            wipe_words(&mut rows);
        });
        let mut blocks = Blocks::new(blocks);
        blocks.truncate(batch.len);
        blocks
    }
}

/// Takes the first `words` words off `rest`.
pub(super) fn taken<'w>(rest: &mut &'w mut [u64], words: usize) -> &'w mut [u64] {
    let (first, after) = std::mem::take(rest).split_at_mut(words);
    *rest = after;
    first
}

impl Drop for Columns {
    fn drop(&mut self) {
        wipe_words(self.blocks.as_deref_mut().unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// A function evaluated twice at one input would repeat OTs, or reveal a mask of the check.
    #[test]
    fn no_two_groups_have_one_input_the_mask_of_the_check_included() {
        for options in [Options::default(), Options::MALICIOUS] {
            let mut scratch = Scratch::new(options);
            let (mut inputs, mut groups) = (BTreeSet::new(), 0);
            for instance in [1u128 << 100, 7 << 64, u128::MAX - 3] {
                let batch = Batch::new((2 * TILE_GROUPS + 3) * GROUP, options);
                for tile in batch.tiles() {
                    scratch.begin(instance, tile);
                    assert_eq!(scratch.inputs.len(), tile.1);
                    inputs.extend(scratch.inputs.iter().copied());
                }
                groups += batch.all_groups();
            }
            assert_eq!(inputs.len(), groups, "{options:?}");
            assert_eq!(groups, 3 * (2 * TILE_GROUPS + 3 + usize::from(options.is_malicious())));
        }
    }
}
