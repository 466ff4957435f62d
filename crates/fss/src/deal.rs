//! Making keys, by who knows the points and both roots.
//!
//! **Source**: Guo, Yang, Wang, Zhang, Xie, Liu, Zhao, "Half-Tree: Halving the Cost of Tree Expansion in COT and DPF",
//! EUROCRYPT 2023 (ePrint 2022/1431), figure 8, for keys of a bit; early termination of Boyle, Gilboa, Ishai, CCS
//! 2016. **Deviation**: the last level is not that of the paper: terminal nodes keep their control bit in the node, and
//! a leaf is B blocks H(s xor 2 (j + 1)). **Model**: an honest dealer; `docs/security/fss.md`.
//! **Notation**: s_0, s_1 a node's values on both sides, Delta their difference on the path to the point r, r_i the
//! path's turns from the highest bit of r on.

use quorate_ring::{Bits, memory};
use quorate_ring::{Wiped, wipe_words};

use crate::hash::{Hash, control, leaf_tweak};
use crate::kernel::{Four, ZERO};
use crate::keys::child;
use crate::{Corrections, Roots, Shape, Side};

/// Keys whose levels are made together.
pub(crate) const TOGETHER: usize = 64;

/// What a dealer makes.
pub struct Dealt {
    /// For both sides.
    pub corrections: Corrections,
    /// The first side's leaf at the point, one row with a lane for each key: 1 where its leaves minus the second's give
    /// 1, and 0 where they give -1. Secret.
    pub first_bits: Wiped<Bits>,
}

/// Keys at `points`, whose roots both sides have. 2 (d + B) hashes a key. Roots are taken: a root that served two keys
/// would show the xor of what hides them.
///
/// # Panics
/// Unless there are as many roots of either side as points, and every point lies in the domain.
pub fn deal(hash: &Hash, shape: Shape, points: &[u64], first: Roots, second: Roots) -> Dealt {
    let count = points.len();
    check(points, shape.mask(), &first, &second);
    let mut corrections = Corrections::zeros(shape, count);
    let mut first_bits = Wiped(Bits::zeros(1, count));
    let mut pairs = Pairs::new();
    let (key_bytes, mut scratch) = (shape.key_bytes(), Scratch::new());
    for (piece, points) in points.chunks(TOGETHER).enumerate() {
        let at = piece * TOGETHER;
        let len = points.len();
        pairs.start(&first, &second, at, len);
        let out = &mut corrections.bytes[at * key_bytes..(at + len) * key_bytes];
        let tree = Tree { bits: shape.bits() as usize, levels: shape.levels(), key_bytes };
        tree.descend(hash, points, &mut pairs, &mut scratch, out);
        let bits = finish(hash, shape, points, &pairs, &mut scratch, out);
        first_bits.words_of_mut(0)[piece] = bits;
    }
    Dealt { corrections, first_bits }
}

/// Panics unless points and roots belong together.
pub(crate) fn check(points: &[u64], mask: u64, first: &Roots, second: &Roots) {
    let count = points.len();
    assert!(first.count() == count && second.count() == count, "roots for another number of keys");
    assert!(first.side() == Side::First && second.side() == Side::Second, "roots of both sides, the first ones first");
    // Folded before it is looked at: no single point decides.
    assert!(points.iter().fold(0, |all, point| all | point) <= mask, "a point outside of the domain");
}

/// The nodes on the paths of a piece of keys.
pub(crate) struct Pairs {
    pub first: Vec<u128>,
    pub second: Vec<u128>,
}

impl Pairs {
    pub fn new() -> Pairs {
        Pairs { first: memory::zeros(TOGETHER), second: memory::zeros(TOGETHER) }
    }

    /// Begins at the roots of as many keys as `points`, from `at` on.
    pub fn start(&mut self, first: &Roots, second: &Roots, at: usize, len: usize) {
        self.first[..len].copy_from_slice(&first.nodes()[at..at + len]);
        self.second[..len].copy_from_slice(&second.nodes()[at..at + len]);
    }
}

impl Drop for Pairs {
    fn drop(&mut self) {
        wipe_words(&mut self.first);
        wipe_words(&mut self.second);
    }
}

/// Blocks to hash and their hashes.
pub(crate) struct Scratch {
    from: Vec<Four>,
    to: Vec<Four>,
}

impl Scratch {
    pub fn new() -> Scratch {
        Scratch { from: memory::zeros(2 * TOGETHER / 4), to: memory::zeros(2 * TOGETHER / 4) }
    }

    /// H of the first and of the second nodes xor `tweak`.
    pub fn hashes(&mut self, hash: &Hash, pairs: &Pairs, tweak: u128) -> [&[u128]; 2] {
        let from: &mut [u128] = bytemuck::cast_slice_mut(&mut self.from);
        let (first, second) = from.split_at_mut(TOGETHER);
        first.copy_from_slice(&pairs.first);
        second.copy_from_slice(&pairs.second);
        hash.each(&self.from, tweak, &mut self.to);
        let (first, second) = bytemuck::cast_slice(&self.to).split_at(TOGETHER);
        [first, second]
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.from.fill(ZERO);
        wipe_words(&mut self.from);
        wipe_words(&mut self.to);
    }
}

/// The levels of a batch of keys: what of their points they decide, and where their corrections lie.
pub(crate) struct Tree {
    pub bits: usize,
    pub levels: usize,
    pub key_bytes: usize,
}

impl Tree {
    /// CW_i = H(s_0) xor H(s_1) xor not r_i Delta for each level of a piece of keys, and the nodes at its end.
    pub fn descend(&self, hash: &Hash, points: &[u64], pairs: &mut Pairs, scratch: &mut Scratch, out: &mut [u8]) {
        for level in 0..self.levels {
            let [h0, h1] = scratch.hashes(hash, pairs, 0);
            for (key, point) in points.iter().enumerate() {
                let (s0, s1) = (&mut pairs.first[key], &mut pairs.second[key]);
                let right = 0u128.wrapping_sub((point >> (self.bits - 1 - level) & 1).into());
                let correction = level_correction([*s0, *s1], [h0[key], h1[key]], right);
                out[key * self.key_bytes + 16 * level..][..16].copy_from_slice(&correction.to_le_bytes());
                *s0 = child(*s0, h0[key], correction, right);
                *s1 = child(*s1, h1[key], correction, right);
            }
        }
    }
}

/// What makes the child beside the path equal on both sides: with `right` all ones the path goes right.
#[inline(always)]
fn level_correction(nodes: [u128; 2], hashes: [u128; 2], right: u128) -> u128 {
    hashes[0] ^ hashes[1] ^ ((nodes[0] ^ nodes[1]) & !right)
}

/// CW'_j = H_j(s_0) xor H_j(s_1) xor the unit vector's block j; the first side's leaves at the points.
fn finish(hash: &Hash, shape: Shape, points: &[u64], pairs: &Pairs, scratch: &mut Scratch, out: &mut [u8]) -> u64 {
    let mut bits = 0;
    for block in 0..shape.blocks() {
        let [h0, h1] = scratch.hashes(hash, pairs, leaf_tweak(block));
        let bytes = (shape.leaf_bytes() - 16 * block).min(16);
        for (key, point) in points.iter().enumerate() {
            let within = point & (shape.leaf_bits() - 1);
            // Shifts within a word: one of a block by a secret number may take a branch.
            let half = |h: usize| equal(within >> 6, (2 * block + h) as u64) << (within & 63);
            let unit = u128::from(half(0)) | u128::from(half(1)) << 64;
            let correction = h0[key] ^ h1[key] ^ unit;
            let at = key * shape.key_bytes() + 16 * shape.levels() + 16 * block;
            out[at..at + bytes].copy_from_slice(&correction.to_le_bytes()[..bytes]);
            let hit = (h0[key] ^ (control(pairs.first[key]) & correction)) & unit;
            bits |= u64::from(hit != 0) << key;
        }
    }
    bits
}

/// 1 if both are equal, without a branch; numbers below 2^63.
fn equal(a: u64, b: u64) -> u64 {
    (a ^ b).wrapping_sub(1) >> 63
}
