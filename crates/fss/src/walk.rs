//! The traversal of leaves in order, four keys side by side, a piece of their trees at a time: memory does not grow
//! with the domain.
//!
//! A piece is the subtree below one node some levels above the leaves; its nodes are made level by level. On the way
//! down to the next piece, only the part that changes is walked again.

use quorate_ring::{memory, wipe_words};

use crate::hash::{Hash, child};
use crate::kernel::{self, Four, ZERO};
use crate::{Keys, Shape};

/// The largest logarithm of the bits of a piece: for four keys they fit the first two caches.
const MOST_LOG: usize = 16;
/// The smallest logarithm; the leaves of smaller domains are repeated.
const LEAST_LOG: usize = 9;

/// The trees of four keys.
pub(crate) struct Trees {
    levels: usize,
    /// Levels of a piece.
    below: usize,
    roots: Four,
    corrections: Vec<Four>,
    /// The nodes on the way to the piece of `index`, the root first.
    path: Vec<Four>,
    index: Option<[u64; 4]>,
    nodes: Vec<Four>,
    other: Vec<Four>,
}

impl Trees {
    /// Makes room for four trees of `levels` levels, whose pieces have `below` levels.
    pub fn new(levels: usize, below: usize) -> Trees {
        assert!(below <= levels, "pieces of more levels than the tree");
        let buffer = || memory::zeros(1 << below);
        let (corrections, path) = (vec![ZERO; levels], vec![ZERO; levels - below + 1]);
        Trees { levels, below, roots: ZERO, corrections, path, index: None, nodes: buffer(), other: buffer() }
    }

    /// Starts with other keys.
    pub fn start(&mut self, roots: Four, correction: impl Fn(usize) -> Four) {
        self.corrections.iter_mut().enumerate().for_each(|(level, to)| *to = correction(level));
        self.roots = roots;
        self.path[0] = roots;
        self.index = None;
    }

    /// Returns the terminal nodes of a piece of each tree; `index` is the number of pieces to its left.
    pub fn piece(&mut self, hash: &Hash, index: [u64; 4]) -> &[Four] {
        let above = self.levels - self.below;
        // The number of leading bits of the index that are the same as before in all four trees.
        let same = self.index.map_or(0, |old| {
            let differ = old.iter().zip(index).fold(0, |differ, (old, new)| differ | (old ^ new));
            above - (u64::BITS - differ.leading_zeros()) as usize
        });
        for level in same..above {
            let node = self.path[level];
            let mut hashed = [ZERO];
            hash.each(&[node], 0, &mut hashed);
            for (q, piece) in index.iter().enumerate() {
                let right = 0u128.wrapping_sub((piece >> (above - 1 - level) & 1).into());
                self.path[level + 1].0[q] = child(node.0[q], hashed[0].0[q], self.corrections[level].0[q], right);
            }
        }
        self.index = Some(index);
        self.nodes[0] = self.path[above];
        for (i, correction) in self.corrections[above..].iter().enumerate() {
            kernel::level(hash, &self.nodes[..1 << i], correction, &mut self.other[..2 << i]);
            std::mem::swap(&mut self.nodes, &mut self.other);
        }
        &self.nodes
    }
}

impl Drop for Trees {
    fn drop(&mut self) {
        self.roots = ZERO;
        [&mut self.path, &mut self.nodes, &mut self.other].into_iter().for_each(|nodes| wipe_words(nodes));
    }
}

/// A window of leaves: a number of leaves from a place on, modulo the domain.
#[derive(Clone, Copy)]
pub(crate) struct Window {
    shape: Shape,
    len: u64,
    /// Levels of a piece.
    below: usize,
    /// The number of bits of a piece of the buffers.
    piece_bits: u64,
    /// The number of pieces of the window.
    pieces: u64,
}

impl Window {
    pub fn new(shape: Shape, len: u64) -> Window {
        assert!(len >= 1 && len - 1 <= shape.mask(), "a window of no leaves, or of more than there are");
        let levels = shape.levels();
        // If windows do not start at a piece, one more piece is evaluated, so pieces are small compared with windows.
        let whole = len - 1 == shape.mask();
        let wanted = len.div_ceil(shape.leaf_bits()).next_power_of_two().trailing_zeros() as usize;
        let below = if whole { wanted } else { wanted.saturating_sub(2) };
        let log = shape.leaf_bits().trailing_zeros() as usize;
        let below = below.clamp(LEAST_LOG.saturating_sub(log), MOST_LOG - log).min(levels);
        let piece_bits = (shape.leaf_bits() << below).max(1 << LEAST_LOG);
        Window { shape, len, below, piece_bits, pieces: len.div_ceil(piece_bits) }
    }

    /// Returns the piece of a place, and the place within it.
    fn split(&self, place: u64) -> (u64, u64) {
        let leaves = self.shape.leaf_bits() << self.below;
        (place / leaves, place % leaves)
    }
}

/// A function that visits leaves of four keys. It gets their place in the window and the bits of each key, 64 to a word
/// and zeros beyond the window.
pub(crate) trait Visit: FnMut(usize, [&[u64]; 4]) {}
impl<F: FnMut(usize, [&[u64]; 4])> Visit for F {}

/// A walker over windows: trees and buffers, for one group of four keys after the other.
pub(crate) struct Walker {
    window: Window,
    trees: Trees,
    /// The number of blocks of a piece.
    blocks: usize,
    /// For each key `stride` blocks: for each slot the leaves of a piece, and the first block of the piece that follows
    /// it.
    leaves: Vec<u128>,
    stride: usize,
    /// For each key the leaves of a piece of the window.
    shifted: Vec<u64>,
}

/// The number of blocks after a piece that evaluation may overwrite.
const PAD: usize = 8;

impl Walker {
    pub fn new(window: Window) -> Walker {
        let blocks = (window.piece_bits / 128) as usize;
        // One slot for the first piece, which returns at the end of a full turn, and two more if that many pieces
        // follow.
        let (last, _) = window.split(window.shape.mask());
        let slots = if window.pieces > last { window.pieces.min(3) } else { 3 };
        let stride = slots as usize * (blocks + PAD);
        let trees = Trees::new(window.shape.levels(), window.below);
        let (leaves, shifted) = (memory::zeros(4 * stride), memory::zeros(8 * blocks));
        Walker { window, trees, blocks, leaves, stride, shifted }
    }

    /// Visits the windows of four keys from `first` on; they begin at `starts`.
    pub fn visit(&mut self, hash: &Hash, keys: &Keys, first: usize, starts: [u64; 4], mut visit: impl Visit) {
        let Window { shape, len, piece_bits, pieces, .. } = self.window;
        let corrections = keys.corrections();
        self.trees.start(keys.four(first, |key| keys.roots.nodes()[key]), |level| {
            keys.four(first, |key| corrections.level(key, level))
        });
        let leaf: [Four; 4] = std::array::from_fn(|j| keys.four(first, |key| corrections.leaf(key, j)));
        let leaf = &leaf[..shape.blocks()];
        let places = starts.map(|start| self.window.split(start & shape.mask()));
        let (last, _) = self.window.split(shape.mask());
        let aligned = places.iter().all(|(_, within)| *within == 0);
        let mut slot = 0;
        self.make(hash, leaf, places.map(|(piece, _)| piece), slot);
        for piece in 0..pieces {
            let ends = piece + 1 == pieces;
            // After a full turn the first piece follows, which is in slot 0.
            let next = if ends && pieces > last { 0 } else { 1 + piece as usize % 2 };
            if next > 0 && !(ends && aligned) {
                self.make(hash, leaf, places.map(|(first, _)| (first + piece + 1) % (last + 1)), next);
            }
            let at = piece * piece_bits;
            let here = (len - at).min(piece_bits) as usize;
            let words = here.div_ceil(64);
            if !aligned {
                (0..4).for_each(|q| self.shift(hash, q, places[q].1 as usize, [slot, next], words));
            }
            let (words_of, distance) = match aligned {
                true => {
                    (&mut bytemuck::cast_slice_mut(&mut self.leaves)[2 * slot * (self.blocks + PAD)..], self.stride)
                }
                false => (&mut self.shifted[..], self.blocks),
            };
            if !here.is_multiple_of(64) {
                (0..4).for_each(|q| words_of[2 * q * distance + words - 1] &= (1 << (here % 64)) - 1);
            }
            let words_of = &*words_of;
            visit(at as usize, [0, 1, 2, 3].map(|q| &words_of[2 * q * distance..][..words]));
            slot = next;
        }
    }

    /// Writes the words of key q that begin at a bit of a slot and continue in the next slot.
    fn shift(&mut self, hash: &Hash, q: usize, within: usize, slots: [usize; 2], words: usize) {
        let [from, next] = slots.map(|slot| q * self.stride + slot * (self.blocks + PAD));
        self.leaves[from + self.blocks] = self.leaves[next];
        let of = |at: usize| -> &[u64] { bytemuck::cast_slice(&self.leaves[at..=at + self.blocks]) };
        let to = &mut self.shifted[2 * q * self.blocks..][..words];
        let (word, by) = (within / 64, (within % 64) as u32);
        let (head, tail) = to.split_at_mut(words.min(2 * self.blocks - word));
        kernel::shift(hash, &of(from)[word..=word + head.len()], by, head);
        kernel::shift(hash, &of(next)[..=tail.len()], by, tail);
    }

    /// Writes the leaves of a piece of each tree to a slot.
    fn make(&mut self, hash: &Hash, leaf: &[Four], piece: [u64; 4], slot: usize) {
        let nodes = self.trees.piece(hash, piece);
        let at = slot * (self.blocks + PAD);
        kernel::leaves(hash, nodes, leaf, &mut self.leaves[at..], self.stride);
        // A small domain is repeated, so that a window may wrap around its end.
        let leaves = self.window.shape.leaf_bits() << self.window.below;
        if leaves < self.window.piece_bits {
            (0..4).for_each(|q| repeat(&mut self.leaves[q * self.stride + at..][..self.blocks], leaves));
        }
    }
}

impl Drop for Walker {
    fn drop(&mut self) {
        wipe_words(&mut self.leaves);
        wipe_words(&mut self.shifted);
    }
}

/// Fills 512 bits by repeating the first `period` ones, a power of two below 512.
fn repeat(blocks: &mut [u128], period: u64) {
    if period < 128 {
        blocks[0] &= (1 << period) - 1;
        (period.trailing_zeros()..7).for_each(|log| blocks[0] |= blocks[0] << (1 << log));
    }
    let whole = (period / 128).max(1) as usize;
    for block in whole..blocks.len() {
        blocks[block] = blocks[block - whole];
    }
}
