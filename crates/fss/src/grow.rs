//! Key generation by the two holders, who have summands of the points: this side's part, level by level for a batch.
//!
//! **Source**: Doerner, Shelat, "Scaling ORAM for secure computation", CCS 2017, section 5, on the half-tree. A dealer
//! computes a value of the node on the path; both sides have it as the xor over the whole level, since all other nodes
//! are the same on both sides. **Deviation**: the half-tree also needs (1 - r_i) Delta, of which the caller has shares.
//! **Model**: two semi-honest sides; `docs/security/fss.md`.
//!
//! With S_p the sum of H over a level at side p, CW_i = S_0 xor S_1 xor (1 - r_i) Delta. With S_(p,j) that of the
//! leaf's block j over the terminal nodes, CW'_j = S_(0,j) xor S_(1,j) xor e_j. A caller xors its shares of the
//! remaining terms to the sums and opens the result. The order of a level's nodes does not matter here: children
//! replace node and hash.
//!
//! Whether w is -1: with c_p the number of ones among side p's leaves, c_0 - c_1 = w. So the second bits of both
//! numbers, the first side's xored by not the lowest bit of c_0, are shares of it. The ones of H xor t CW' are those of
//! H and, where t is set, those of CW', less twice those of both. Modulo 4 the latter is a parity: that of CW' and the
//! sum of t H. So leaves are hashed only once.

use quorate_ring::threads::{side_by_side, threads};
use quorate_ring::{Bits, Wiped, memory, wipe_words};

use crate::hash::leaf_tweak;
use crate::kernel::{self, Four, Tally, ZERO};
use crate::{Corrections, Hash, Roots, Shape, Side};

/// The number of keys side by side.
const LANES: usize = 4;
/// The number of hashes from which work uses several threads.
const GRAIN: usize = 1 << 13;
/// The number of terminal nodes hashed together.
const TOGETHER: usize = 32;

/// A side's trees of a batch, from which keys are made: 16 2^d bytes each. Wiped on drop.
pub struct Growing {
    shape: Shape,
    roots: Roots,
    corrections: Corrections,
    /// The number of levels that have their corrections.
    level: usize,
    /// For each four keys 2^d nodes: the nodes of the level and, once they are hashed, their hashes after them.
    nodes: Vec<Four>,
    tallies: Vec<Tally>,
}

impl Growing {
    /// Makes trees of roots alone. The roots of both sides differ by a Delta, lowest bit 1, that neither side knows.
    pub fn new(shape: Shape, roots: Roots) -> Growing {
        let groups = roots.count().div_ceil(LANES);
        let mut nodes: Vec<Four> = memory::zeros(groups << shape.levels());
        for (group, nodes) in nodes.chunks_exact_mut(1 << shape.levels()).enumerate() {
            let of = |q: usize| roots.nodes()[(LANES * group + q).min(roots.count() - 1)];
            nodes[0] = Four([0, 1, 2, 3].map(of));
        }
        let corrections = Corrections::zeros(shape, roots.count());
        Growing { shape, roots, corrections, level: 0, nodes, tallies: Vec::new() }
    }

    /// Returns for each key the sum of H over the nodes of the next of d levels. Secret.
    ///
    /// # Panics
    /// If there is no further level.
    pub fn level_sums(&mut self, hash: &Hash) -> Vec<u128> {
        assert!(self.level < self.shape.levels(), "a tree has no more levels");
        let (level, count) = (self.level, self.roots.count());
        let mut sums = vec![ZERO; count.div_ceil(LANES)];
        self.each_group(&mut sums, |nodes, sum| {
            let (nodes, hashed) = nodes[..2 << level].split_at_mut(1 << level);
            hash.each(nodes, 0, hashed);
            *sum = kernel::sum(hash, hashed);
        });
        let in_order = bytemuck::cast_slice(&sums)[..count].to_vec();
        wipe_words(&mut sums);
        in_order
    }

    /// Makes the next level, from these corrections of the level whose sums were returned last.
    ///
    /// # Panics
    /// Unless there is one for each key.
    pub fn correct(&mut self, hash: &Hash, corrections: &[u128]) {
        let (level, count) = (self.level, self.roots.count());
        assert_eq!(corrections.len(), count, "a correction for each key");
        let bytes = self.shape.key_bytes();
        for (key, correction) in self.corrections.bytes.chunks_exact_mut(bytes).zip(corrections) {
            key[16 * level..16 * (level + 1)].copy_from_slice(&correction.to_le_bytes());
        }
        let of = |group: usize, q: usize| corrections[(LANES * group + q).min(count - 1)];
        let mut fours: Vec<Four> =
            (0..count.div_ceil(LANES)).map(|group| Four([0, 1, 2, 3].map(|q| of(group, q)))).collect();
        self.each_group(&mut fours, |nodes, correction| {
            let (nodes, hashed) = nodes[..2 << level].split_at_mut(1 << level);
            kernel::split(hash, nodes, hashed, correction);
        });
        self.level += 1;
    }

    /// Returns for each key the sums of its leaf's blocks over the terminal nodes, before their correction. Secret.
    ///
    /// # Panics
    /// Unless all levels have their corrections.
    pub fn leaf_sums(&mut self, hash: &Hash) -> Vec<u128> {
        assert_eq!(self.level, self.shape.levels(), "leaves before the last level");
        let (shape, count) = (self.shape, self.roots.count());
        let mut tallies = vec![Tally::ZERO; count.div_ceil(LANES)];
        self.each_group(&mut tallies, |nodes, tally| {
            let mut hashed = [ZERO; TOGETHER];
            for nodes in nodes.chunks(TOGETHER) {
                kernel::tally_controls(hash, nodes, tally);
                for block in 0..shape.blocks() {
                    let hashed = &mut hashed[..nodes.len()];
                    hash.each(nodes, leaf_tweak(block), hashed);
                    kernel::tally_leaves(hash, (nodes, hashed), block_mask(shape), block, tally);
                }
            }
            wipe_words(&mut hashed);
        });
        self.tallies = tallies;
        let blocks = shape.blocks();
        let sum = |i: usize| self.tallies[i / blocks / LANES].blocks[i % blocks].all.0[i / blocks % LANES];
        (0..count * blocks).map(sum).collect()
    }

    /// Returns the corrections of both sides' keys, with these corrections of the leaves, block by block. Also returns
    /// this side's xor shares of whether w is -1, one row, secret.
    ///
    /// # Panics
    /// Unless there is a block for each sum that [`leaf_sums`](Self::leaf_sums) returned.
    pub fn finish(mut self, corrections: &[u128]) -> (Corrections, Wiped<Bits>) {
        let (shape, count) = (self.shape, self.roots.count());
        assert_eq!(corrections.len(), count * shape.blocks(), "a correction for each block");
        assert_eq!(self.tallies.len(), count.div_ceil(LANES), "corrections before sums");
        let corrections: Vec<u128> = corrections.iter().map(|block| block & block_mask(shape)).collect();
        let mut signs = Wiped(Bits::zeros(1, count));
        let keys = self.corrections.bytes.chunks_exact_mut(shape.key_bytes());
        for (k, (key, blocks)) in keys.zip(corrections.chunks_exact(shape.blocks())).enumerate() {
            let leaf = &mut key[16 * shape.levels()..];
            for (bytes, block) in leaf.chunks_mut(16).zip(blocks) {
                bytes.copy_from_slice(&block.to_le_bytes()[..bytes.len()]);
            }
            let ones = self.tallies[k / LANES].ones_after(k % LANES, blocks);
            let first = u64::from(self.roots.side() == Side::First);
            let sign = (ones >> 1 ^ first & !ones) & 1;
            signs.words_of_mut(0)[k / 64] |= sign << (k % 64);
        }
        (std::mem::replace(&mut self.corrections, Corrections::zeros(shape, 0)), signs)
    }

    /// Works on every group, on several threads if there is much work.
    fn each_group<T: Send>(&mut self, each: &mut [T], work: impl Fn(&mut [Four], &mut T) + Sync) {
        let size = 1 << self.shape.levels();
        let parts = if each.len() << self.level < GRAIN { 1 } else { threads() };
        let part = each.len().div_ceil(parts).max(1);
        let parts = self.nodes.chunks_mut(part * size).zip(each.chunks_mut(part)).collect();
        side_by_side(parts, |(nodes, each)| {
            nodes.chunks_exact_mut(size).zip(each).for_each(|(nodes, each)| work(nodes, each));
        });
    }
}

impl Drop for Growing {
    fn drop(&mut self) {
        wipe_words(&mut self.nodes);
        self.tallies.iter_mut().for_each(Tally::wipe);
    }
}

/// Returns the bits of a leaf's blocks that stand for points.
fn block_mask(shape: Shape) -> u128 {
    u128::MAX >> (128 - shape.leaf_bits().min(128))
}

#[cfg(test)]
mod tests {
    use quorate_crypto::{SessionId, Tccr};

    use super::*;
    use crate::{Dealt, Kernel, deal};

    const DELTA: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;

    fn roots(side: Side, count: usize) -> Roots {
        let delta = if side == Side::First { 0 } else { DELTA };
        let root = |key: u128| (key + 1).wrapping_mul(0xbb67_ae85_84ca_a73b_3c6e_f372_fe94_f82b);
        Roots::new(side, (0..count as u128).map(|key| root(key) & !1 ^ delta).collect())
    }

    fn dealt(hash: &Hash, shape: Shape, points: &[u64]) -> Dealt {
        let [first, second] = [Side::First, Side::Second].map(|side| roots(side, points.len()));
        deal(hash, shape, points, first, second)
    }

    /// Returns both sides' trees; the shares of (1 - r_i) Delta and of the unit vector are opened in the clear.
    fn grown(hash: &Hash, shape: Shape, points: &[u64]) -> [(Corrections, Wiped<Bits>); 2] {
        let mut sides = [Side::First, Side::Second].map(|side| Growing::new(shape, roots(side, points.len())));
        for level in 0..shape.levels() {
            let sums = sides.each_mut().map(|side| side.level_sums(hash));
            let turn = |point: u64| u128::from(point >> (shape.bits() as usize - 1 - level) & 1);
            let corrections: Vec<u128> =
                (0..points.len()).map(|k| sums[0][k] ^ sums[1][k] ^ ((1 - turn(points[k])) * DELTA)).collect();
            sides.iter_mut().for_each(|side| side.correct(hash, &corrections));
        }
        let sums = sides.each_mut().map(|side| side.leaf_sums(hash));
        let unit = |k: usize, block: usize| {
            let place = points[k] & (shape.leaf_bits() - 1);
            if place / 128 == block as u64 { 1u128 << (place % 128) } else { 0 }
        };
        let blocks = shape.blocks();
        let corrections: Vec<u128> =
            (0..points.len() * blocks).map(|i| sums[0][i] ^ sums[1][i] ^ unit(i / blocks, i % blocks)).collect();
        sides.map(|side| side.finish(&corrections))
    }

    #[test]
    fn keys_are_those_of_a_dealer_for_every_point() {
        let session = Tccr::new(&SessionId::from_bytes([5; 32]));
        let mut looked_at = 0;
        for hash in Kernel::available().into_iter().filter_map(|kernel| Hash::with_kernel(&session, kernel)) {
            for (n, blocks) in (1..=10).flat_map(|n| [1, 2, 4].map(|blocks| (n, blocks))) {
                let shape = Shape::new(n, blocks).unwrap();
                let points: Vec<u64> = (0..1 << n).collect();
                let [(first, signs), (second, other_signs)] = grown(&hash, shape, &points);
                let mut dealt = dealt(&hash, shape, &points);
                if n < 3 {
                    // A dealer does not clear the unused bits of a byte.
                    dealt.corrections.bytes.iter_mut().for_each(|byte| *byte &= block_mask(shape) as u8);
                }
                assert!(first == dealt.corrections && second == dealt.corrections, "n = {n}");
                let signs = signs.to_bools().into_iter().zip(other_signs.to_bools()).map(|(a, b)| a ^ b);
                let negative: Vec<bool> = dealt.first_bits.to_bools().into_iter().map(|bit| !bit).collect();
                assert_eq!(signs.collect::<Vec<_>>(), negative, "n = {n}, {blocks} blocks, {:?}", hash.kernel());
                looked_at += points.len();
            }
        }
        assert!(looked_at >= 3 * 2046);
    }

    #[test]
    fn threads_and_larger_domains_change_nothing() {
        let hash = Hash::new(&Tccr::new(&SessionId::from_bytes([6; 32])));
        let shape = Shape::wide(16).unwrap();
        let points: Vec<u64> = (0..70).map(|i| (i * 40_503) & 0xffff).collect();
        let alone = grown(&hash, shape, &points);
        quorate_ring::threads::set_threads(3).unwrap();
        let several = grown(&hash, shape, &points);
        quorate_ring::threads::set_threads(1).unwrap();
        let dealt = dealt(&hash, shape, &points);
        for ((made, signs), (again, signs_again)) in alone.iter().zip(&several) {
            assert!(*made == dealt.corrections && *again == dealt.corrections);
            assert_eq!(signs.to_bools(), signs_again.to_bools());
        }
    }
}
