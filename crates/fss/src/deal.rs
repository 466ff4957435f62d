//! Key generation by a dealer, which knows the points and both roots.
//!
//! **Source**: Guo, Yang, Wang, Zhang, Xie, Liu, Zhao, "Half-Tree: Halving the Cost of Tree Expansion in COT and DPF",
//! EUROCRYPT 2023 (ePrint 2022/1431), figure 8, for keys of a bit; early termination of Boyle, Gilboa, Ishai, CCS
//! 2016. **Deviation**: the last level is not that of the paper: terminal nodes keep their control bit in the node, and
//! a leaf is B blocks H(s xor 2 (j + 1)). **Model**: an honest dealer; `docs/security/fss.md`.
//! **Notation**: s_0, s_1 a node's values on both sides, Delta their difference on the path to the point r, r_i the
//! path's turns from the highest bit of r on.

use quorate_ring::threads::side_by_side;
use quorate_ring::{Bits, Wiped, memory, wipe_words};

use crate::hash::{Hash, control, leaf_tweak};
use crate::kernel::{self, Four, ZERO};
use crate::paths::{FOURS, STRIDE, TOGETHER, blocks, lanes, part_len, turns};
use crate::{Corrections, Roots, Shape, Side};

/// The output of a dealer.
pub struct Dealt {
    /// The corrections, for both sides.
    pub corrections: Corrections,
    /// The first side's leaf at the point, one row with a lane for each key. It is 1 where the first side's leaves
    /// minus the second's give 1, and 0 where they give -1. Secret.
    pub first_bits: Wiped<Bits>,
}

/// Generates keys at `points`, whose roots both sides have. 2 (d + B) hashes a key. Roots are consumed: with one root
/// for two keys, masks would cancel and reveal the xor of what they hide. Batches are spread over
/// [threads](quorate_ring::threads).
///
/// # Panics
/// Unless each side has as many roots as there are points, and every point lies in the domain.
pub fn deal(hash: &Hash, shape: Shape, points: &[u64], first: Roots, second: Roots) -> Dealt {
    let count = points.len();
    check(points, shape.mask(), &first, &second);
    let mut corrections = Corrections::zeros(shape, count);
    let mut first_bits = Wiped(Bits::zeros(1, count));
    let (bits, levels, key_bytes) = (shape.bits(), shape.levels(), shape.key_bytes());
    let part = part_len(count, 2 * (levels + shape.blocks()));
    let parts = corrections.bytes.chunks_mut(part * key_bytes).zip(first_bits.words_of_mut(0).chunks_mut(part / 64));
    side_by_side(parts.enumerate().collect(), |(i, (bytes, words))| {
        let mut pairs = Pairs::new(levels);
        for (piece, (bytes, word)) in bytes.chunks_mut(TOGETHER * key_bytes).zip(words).enumerate() {
            let at = i * part + piece * TOGETHER;
            let points = &points[at..at + bytes.len() / key_bytes];
            pairs.descend(hash, [&first, &second], at, points, bits, bytes);
            *word = finish(hash, shape, points, &mut pairs, bytes);
        }
    });
    Dealt { corrections, first_bits }
}

/// Checks that points and roots belong together; panics otherwise.
pub(crate) fn check(points: &[u64], mask: u64, first: &Roots, second: &Roots) {
    let count = points.len();
    assert!(first.count() == count && second.count() == count, "roots for another number of keys");
    assert!(first.side() == Side::First && second.side() == Side::Second, "roots of both sides, the first ones first");
    // Points are combined before the check: no branch depends on a single point.
    let all = points.iter().fold(0, |all, point| all | point);
    assert!(all.checked_shr(mask.trailing_ones()).unwrap_or(0) == 0, "a point outside of the domain");
}

/// The nodes on the paths of a piece of keys, on both sides. Wiped on drop.
pub(crate) struct Pairs {
    pub sides: [[Four; FOURS]; 2],
    pub hashed: [[Four; FOURS]; 2],
    turns: [Four; FOURS],
    /// The corrections of the levels.
    corrections: Vec<Four>,
}

impl Pairs {
    /// Makes room for paths of this many levels.
    pub fn new(levels: usize) -> Pairs {
        let corrections = memory::zeros(levels * STRIDE);
        Pairs { sides: [[ZERO; FOURS]; 2], hashed: [[ZERO; FOURS]; 2], turns: [ZERO; FOURS], corrections }
    }

    /// Computes CW_i = H(s_0) xor H(s_1) xor not r_i Delta for each level of the keys from `at` on, at `points` of
    /// `bits` bits. Writes them to the beginning of the keys' bytes, and leaves the nodes at the end of the paths.
    pub fn descend(&mut self, hash: &Hash, roots: [&Roots; 2], at: usize, points: &[u64], bits: u32, out: &mut [u8]) {
        let (len, fours) = (points.len(), points.len().div_ceil(4));
        for (nodes, roots) in self.sides.iter_mut().zip(roots) {
            lanes(nodes)[..len].copy_from_slice(&roots.nodes()[at..at + len]);
        }
        self.turns = turns(points, bits);
        let [first, second] = &mut self.sides;
        for corrections in self.corrections.chunks_exact_mut(STRIDE) {
            let sides = [&mut first[..fours], &mut second[..fours]];
            kernel::correct(hash, sides, &self.turns[..fours], &mut corrections[..fours]);
            kernel::next_turns(hash, &mut self.turns);
        }
        let key_bytes = out.len() / len;
        for (group, keys) in out.chunks_mut(4 * key_bytes).enumerate() {
            for (level, corrections) in self.corrections.chunks_exact(STRIDE).enumerate() {
                for (key, block) in keys.chunks_exact_mut(key_bytes).zip(corrections[group].0) {
                    key[16 * level..][..16].copy_from_slice(&block.to_le_bytes());
                }
            }
        }
    }

    /// Hashes both sides' nodes xor `tweak` by H.
    pub fn hash(&mut self, hash: &Hash, tweak: u128) {
        self.sides.iter().zip(&mut self.hashed).for_each(|(nodes, hashed)| hash.each(nodes, tweak, hashed));
    }
}

impl Drop for Pairs {
    fn drop(&mut self) {
        wipe_words(self.sides.as_flattened_mut());
        wipe_words(self.hashed.as_flattened_mut());
        wipe_words(&mut self.turns);
    }
}

/// Computes CW'_j = H_j(s_0) xor H_j(s_1) xor the unit vector's block j. Returns the first side's leaves at the points.
fn finish(hash: &Hash, shape: Shape, points: &[u64], pairs: &mut Pairs, out: &mut [u8]) -> u64 {
    let mut bits = 0;
    for block in 0..shape.blocks() {
        pairs.hash(hash, leaf_tweak(block));
        let ([first, _], [h0, h1]) = (pairs.sides.each_ref().map(blocks), pairs.hashed.each_ref().map(blocks));
        let len = (shape.leaf_bytes() - 16 * block).min(16);
        for (lane, (key, point)) in out.chunks_exact_mut(shape.key_bytes()).zip(points).enumerate() {
            let within = point & (shape.leaf_bits() - 1);
            // These are shifts within a word: a shift of a block by a secret number may branch.
            let half = |h: usize| equal(within >> 6, (2 * block + h) as u64) << (within & 63);
            let unit = u128::from(half(0)) | u128::from(half(1)) << 64;
            let correction = h0[lane] ^ h1[lane] ^ unit;
            key[16 * (shape.levels() + block)..][..len].copy_from_slice(&correction.to_le_bytes()[..len]);
            let hit = (h0[lane] ^ (control(first[lane]) & correction)) & unit;
            bits |= u64::from(hit != 0) << lane;
        }
    }
    bits
}

/// Returns 1 if both are equal, without a branch; numbers are below 2^63.
fn equal(a: u64, b: u64) -> u64 {
    (a ^ b).wrapping_sub(1) >> 63
}
