//! Sums over checked leaves: of values and of proofs, for four keys.

#[cfg(target_arch = "x86_64")]
use super::x86;
use super::{Four, Permutation, ZERO, on_kernel, portable};
use crate::hash::{Hash, Kernel};

/// Blocks of a proof.
pub(crate) const PROOF_BLOCKS: usize = 3;

/// Sums over leaves x. Values count in four limbs of 32 bits, each summed in 64 bits: at most 2^16 leaves.
#[derive(Clone, Copy)]
pub(crate) struct Sums {
    /// For H(s xor 2) and for H(s xor 4): the sum, and the sum weighted by x; limbs 0 and 2 of each, and limbs 1 and 3.
    pub values: [[[Four; 2]; 2]; 2],
    /// The number of control bits, and the sum of their places.
    pub controls: [Four; 2],
    /// The lower, middle and upper part of the sum of c_x pi_x, for each block.
    pub proofs: [[Four; 3]; PROOF_BLOCKS],
}

impl Sums {
    pub const ZERO: Sums = Sums { values: [[[ZERO; 2]; 2]; 2], controls: [ZERO; 2], proofs: [[ZERO; 3]; PROOF_BLOCKS] };

    /// Returns a sum of values modulo 2^128.
    pub fn value(&self, which: usize, weighted: usize, key: usize) -> u128 {
        let halves = |four: Four| [four.0[key] as u64, (four.0[key] >> 64) as u64].map(u128::from);
        let [even, odd] = self.values[which][weighted].map(halves);
        even[0].wrapping_add(odd[0] << 32).wrapping_add(even[1] << 64).wrapping_add(odd[1] << 96)
    }

    pub fn wipe(&mut self) {
        quorate_ring::wipe_words(self.values.as_flattened_mut().as_flattened_mut());
        quorate_ring::wipe_words(&mut self.controls);
        quorate_ring::wipe_words(self.proofs.as_flattened_mut());
    }
}

/// Adds the leaves of these nodes, whose places begin with `first`.
pub(crate) fn check(
    hash: &Hash,
    nodes: &[Four],
    first: u64,
    coins: &[u128],
    corrections: &[Four; PROOF_BLOCKS],
    sums: &mut Sums,
) {
    assert!(nodes.len() == coins.len() && first + nodes.len() as u64 <= 1 << 16, "leaves beyond what sums hold");
    let permutations = [&hash.tree, &hash.proof];
    on_kernel!(hash, check(permutations, nodes, first, coins, corrections, sums));
}

/// Returns the proof of a leaf's node before its correction, f_j(T, s) = pi'(s xor a_j(T)) xor s.
pub(crate) fn proof(permutation: &Permutation, node: u128, place: u64) -> [u128; PROOF_BLOCKS] {
    let [a, b, c] = tweaks(place).map(|tweak| node ^ tweak);
    let mut blocks = [Four([a, b, c, 0])];
    portable::permute(permutation, &mut blocks);
    let [a, b, c, _] = blocks[0].0;
    quorate_ring::wipe_words(&mut blocks);
    [a, b, c].map(|block| block ^ node)
}

/// Returns a_j(T) for T = place + 1: linear in T, and different for each j.
#[inline(always)]
pub(super) fn tweaks(place: u64) -> [u128; PROOF_BLOCKS] {
    let (low, high) = (u128::from(place + 1), u128::from(place + 1) << 64);
    [low, high, low | high]
}

#[cfg(test)]
mod tests {
    use aes::cipher::{Array, BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};

    use super::*;

    const KEY: [u8; 16] = [0x61; 16];

    fn pi(x: u128) -> u128 {
        let mut block = Array(x.to_le_bytes());
        aes::Aes128::new(&Array(KEY)).encrypt_block(&mut block);
        u128::from_le_bytes(block.0)
    }

    fn inverse(x: u128) -> u128 {
        let mut block = Array(x.to_le_bytes());
        aes::Aes128::new(&Array(KEY)).decrypt_block(&mut block);
        u128::from_le_bytes(block.0)
    }

    fn sum(a: [u128; PROOF_BLOCKS], b: [u128; PROOF_BLOCKS]) -> [u128; PROOF_BLOCKS] {
        std::array::from_fn(|j| a[j] ^ b[j])
    }

    #[test]
    fn proofs_are_as_defined() {
        let permutation = Permutation::new(&KEY);
        let (s, t) = (0x1234_5678_9abc_def0_0fed_cba9_8765_4321, 77u128);
        let expected = [t, t << 64, t << 64 | t].map(|tweak| pi(s ^ tweak) ^ s);
        assert_eq!(proof(&permutation, s, 76), expected);
    }

    /// Shows why proofs are not TMMO, pi(pi(s) xor t) xor pi(s), whose blocks share pi(s). A cheater that inverts pi
    /// can shift pi(s) by the difference D of two leaves' tweaks. This gives the proof of the other leaf up to D, in
    /// every block at once. So two nodes with this shift have one sum of proofs at both leaves. With our proofs, a
    /// shift of both nodes does so for one block. Two crossed shifts do so for two blocks, whatever the node is. Two
    /// leaves alone would therefore not be safe: the argument needs that a forgery takes three.
    #[test]
    fn shifts_of_two_leaves_agree_in_one_block_and_crossed_ones_in_two() {
        let permutation = Permutation::new(&KEY);
        let tweak = |place: u64, j: usize| u128::from(place + 1) << 8 | j as u128;
        let tmmo = |place: u64, s: u128| std::array::from_fn(|j| pi(pi(s) ^ tweak(place, j)) ^ pi(s));
        let sums = |places: [u64; 2], nodes: [[u128; 2]; 2]| {
            let of = |leaf: usize, side: usize| proof(&permutation, nodes[leaf][side], places[leaf]);
            [sum(of(0, 0), of(0, 1)), sum(of(1, 0), of(1, 1))]
        };
        let equal =
            |[a, b]: [[u128; PROOF_BLOCKS]; 2]| -> Vec<usize> { (0..PROOF_BLOCKS).filter(|&i| a[i] == b[i]).collect() };
        let mut crossed = 0;
        for (one, other) in [(0u64, 1u64), (4, 8), (1 << 15, (1 << 16) - 1)] {
            let nodes = [0x0123_4567_89ab_cdef_u128 << 32, u128::MAX / 5];
            let shifted = nodes.map(|s| inverse(pi(s) ^ tweak(one, 0) ^ tweak(other, 0)));
            assert_eq!(
                sum(tmmo(one, nodes[0]), tmmo(one, nodes[1])),
                sum(tmmo(other, shifted[0]), tmmo(other, shifted[1]))
            );
            let shift = sum(tweaks(one), tweaks(other));
            for j in 0..PROOF_BLOCKS {
                assert_eq!(equal(sums([one, other], [nodes, nodes.map(|s| s ^ shift[j])])), [j]);
                for i in 0..j {
                    let s = nodes[0];
                    let all = [[s, s ^ shift[i] ^ shift[j]], [s ^ shift[i], s ^ shift[j]]];
                    assert_eq!(equal(sums([one, other], all)), [i, j]);
                    crossed += 1;
                }
            }
        }
        assert_eq!(crossed, 9);
    }
}
