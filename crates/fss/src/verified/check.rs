//! The evaluation by which a holder checks a batch before it uses it.

use quorate_crypto::{Prg, gf128};
use quorate_ring::threads::{side_by_side, threads};
use quorate_ring::{Vector, Wiped, memory, wipe_words};

use super::{Keys, Shape};
use crate::Hash;
use crate::kernel::{self, Four, PROOF_BLOCKS, Sums};
use crate::walk::Trees;

/// Levels of a piece: its nodes fit the first cache.
pub(super) const PIECE_LEVELS: usize = 8;
/// The number of leaves from which work uses several threads: some 50 us.
const GRAIN: u64 = 1 << 13;

/// A side's sums over all leaves of each key.
pub struct Checked {
    /// sum_x c_x pi_x, three elements of GF(2^128) a key: the same on both sides. To be compared as a hash.
    pub proofs: Vec<[u128; PROOF_BLOCKS]>,
    /// Shares of the sum of all first values: it must be 1.
    pub ones: Wiped<Vector>,
    /// Shares of the sum of all second values: it must be alpha.
    pub macs: Wiped<Vector>,
    /// Shares of the point, sum_x x y_x.
    pub points: Wiped<Vector>,
    /// Shares of alpha times the point.
    pub point_macs: Wiped<Vector>,
}

impl Drop for Checked {
    fn drop(&mut self) {
        wipe_words(self.proofs.as_flattened_mut());
    }
}

/// Returns the coefficients c_x of a domain's leaves, from a generator that both holders tossed after the batch was
/// fixed.
pub fn coins(shape: Shape, prg: &mut Prg) -> Vec<u128> {
    let mut coins = memory::zeros(shape.points());
    prg.fill(bytemuck::cast_slice_mut(&mut coins));
    coins
}

/// Evaluates all leaves. Both holders then compare the proofs, and check that `ones` is 1 and `macs` alpha, exactly. A
/// key is proven only if all of these hold.
///
/// # Panics
/// Unless there is a coin for each point.
pub fn check(hash: &Hash, keys: &Keys, coins: &[u128]) -> Checked {
    let (shape, count) = (keys.shape(), keys.count());
    assert_eq!(coins.len(), shape.points(), "a coin for each point of the domain");
    let mut proofs: Vec<[u128; PROOF_BLOCKS]> = vec![[0; PROOF_BLOCKS]; count];
    let mut values: Vec<[u128; 4]> = vec![[0; 4]; count];
    let threads = if shape.leaves(count) < GRAIN { 1 } else { threads() };
    let part = count.div_ceil(threads).next_multiple_of(4).max(4);
    let parts = proofs.chunks_mut(part).zip(values.chunks_mut(part)).enumerate().collect();
    side_by_side(parts, |(i, (proofs, values))| {
        let bits = shape.bits() as usize;
        let mut trees = Trees::new(bits, bits.min(PIECE_LEVELS));
        for (group, (proofs, values)) in proofs.chunks_mut(4).zip(values.chunks_mut(4)).enumerate() {
            let first = i * part + 4 * group;
            let mut sums = sums_of(hash, keys, first, coins, &mut trees);
            for (q, (proof, value)) in proofs.iter_mut().zip(values).enumerate() {
                *proof = sums.proofs.map(|[low, middle, high]| gf128::reduce([low.0[q], middle.0[q], high.0[q]]));
                *value = finished(keys, first + q, &sums, q);
            }
            sums.wipe();
        }
    });
    let mut vector = |which: usize| {
        let mut each: Vec<u128> = values.iter().map(|values| values[which]).collect();
        let vector = Wiped(Vector::from_u128s(shape.ring(), &each));
        wipe_words(&mut each);
        vector
    };
    let [ones, macs, points, point_macs] = [0, 1, 2, 3].map(&mut vector);
    wipe_words(values.as_flattened_mut());
    Checked { proofs, ones, macs, points, point_macs }
}

/// Returns the sums over all leaves of four keys.
fn sums_of(hash: &Hash, keys: &Keys, first: usize, coins: &[u128], trees: &mut Trees) -> Sums {
    let corrections = keys.corrections();
    start(keys, first, trees);
    let proofs: [Four; PROOF_BLOCKS] = std::array::from_fn(|j| keys.four(first, |key| corrections.proof(key, j)));
    let mut sums = Sums::ZERO;
    let points = coins.len().min(1 << PIECE_LEVELS);
    for (piece, coins) in coins.chunks(points).enumerate() {
        let nodes = trees.piece(hash, [piece as u64; 4]);
        kernel::check(hash, nodes, (piece * points) as u64, coins, &proofs, &mut sums);
    }
    sums
}

pub(super) fn start(keys: &Keys, first: usize, trees: &mut Trees) {
    let corrections = keys.corrections();
    trees.start(keys.four(first, |key| keys.roots.nodes()[key]), |level| {
        keys.four(first, |key| corrections.level(key, level))
    });
}

/// Returns the four sums of a key's values: the sums of hashes, plus a correction for each control bit, with the side's
/// sign.
fn finished(keys: &Keys, key: usize, sums: &Sums, q: usize) -> [u128; 4] {
    let payload = [0, 1].map(|which| keys.corrections().payload(key, which));
    let sign = 0u128.wrapping_sub(keys.side().is_negative().into());
    let value = |which: usize, weighted: usize| {
        let corrected = payload[which].wrapping_mul(sums.controls[weighted].0[q]);
        let value = sums.value(which, weighted, q).wrapping_add(corrected);
        (value ^ sign).wrapping_sub(sign)
    };
    [value(0, 0), value(1, 0), value(0, 1), value(1, 1)]
}

#[cfg(test)]
mod tests {
    use quorate_crypto::{Seed, SessionId, Tccr};
    use quorate_ring::Ring;

    use super::*;
    use crate::verified::Corrections;
    use crate::{Roots, Side};

    /// Equal coins would let errors of two leaves cancel.
    #[test]
    fn every_leaf_has_a_coin_of_its_own() {
        let mut prg = Seed::from_bytes([5; 32]).prg("quorate/fss/test", b"coins");
        let coins = coins(Shape::new(9, Ring::of(64)).unwrap(), &mut prg);
        let distinct: std::collections::BTreeSet<u128> = coins.iter().copied().collect();
        assert_eq!(distinct.len(), 1 << 9);
    }

    /// This holds for any corrections, if they are the same on both sides. Child 1 is child 0 xor the node, so the
    /// control bits of a level add up to those of the one above, and at last to the root's.
    #[test]
    fn the_leaves_with_different_control_bits_are_odd_in_number() {
        let hash = Hash::new(&Tccr::new(&SessionId::from_bytes([8; 32])));
        let mut counts = std::collections::BTreeSet::new();
        for bits in 1..=9 {
            let shape = Shape::new(bits, Ring::of(64)).unwrap();
            let mut prg = Seed::from_bytes([bits as u8; 32]).prg("quorate/fss/test", b"parity");
            let mut bytes = vec![0; 9 * shape.key_bytes()];
            prg.fill(&mut bytes);
            let below = PIECE_LEVELS.min(bits as usize);
            let mut differ = [0; 9];
            let sides = [Side::First, Side::Second].map(|side| {
                let corrections = Corrections::from_bytes(shape, 9, &bytes).unwrap();
                Keys::new(Roots::draw(&mut prg, side, 9), corrections).unwrap()
            });
            let mut trees = [(); 2].map(|()| Trees::new(bits as usize, below));
            for first in [0, 4, 8] {
                trees.iter_mut().zip(&sides).for_each(|(trees, keys)| start(keys, first, trees));
                for piece in 0..1u64 << (bits as usize - below) {
                    let [one, other] = trees.each_mut().map(|trees| trees.piece(&hash, [piece; 4]));
                    for (one, other) in one.iter().zip(other) {
                        let lanes = 4.min(9 - first);
                        (0..lanes).for_each(|q| differ[first + q] += (one.0[q] ^ other.0[q]) & 1);
                    }
                }
            }
            assert!(differ.iter().all(|count| count % 2 == 1), "{bits} bits: {differ:?}");
            counts.extend(differ);
        }
        assert!(counts.len() > 20, "trees as a dishonest dealer makes them");
    }
}
