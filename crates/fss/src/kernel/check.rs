//! What a checked leaf adds to: sums of values and of proofs, for four keys.

#[cfg(target_arch = "x86_64")]
use super::x86;
use super::{Four, Permutation, ZERO, on_kernel, portable};
use crate::hash::{Hash, Kernel};

/// Blocks of a proof.
pub(crate) const PROOF_BLOCKS: usize = 4;

/// Sums over leaves x. Values count in four limbs of 32 bits, each summed in 64 bits: at most 2^16 leaves.
#[derive(Clone, Copy)]
pub(crate) struct Sums {
    /// For H(s xor 2) and for H(s xor 4): the sum, and that of x times it; limbs 0 and 2 of each, and limbs 1 and 3.
    pub values: [[[Four; 2]; 2]; 2],
    /// The number of control bits, and the sum of their places.
    pub controls: [Four; 2],
    /// Lower, middle and upper part of the sum of c_x pi_x, for each block.
    pub proofs: [[Four; 3]; PROOF_BLOCKS],
}

impl Sums {
    pub const ZERO: Sums = Sums { values: [[[ZERO; 2]; 2]; 2], controls: [ZERO; 2], proofs: [[ZERO; 3]; PROOF_BLOCKS] };

    /// A sum of values modulo 2^128.
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

/// Adds the leaves of these nodes, whose places begin with `first`, and whose numbers with `numbers`.
pub(crate) fn check(
    hash: &Hash,
    nodes: &[Four],
    first: u64,
    numbers: &Four,
    coins: &[u128],
    corrections: &[Four; PROOF_BLOCKS],
    sums: &mut Sums,
) {
    assert!(nodes.len() == coins.len() && first + nodes.len() as u64 <= 1 << 16, "leaves beyond what sums hold");
    let permutations = [&hash.tree, &hash.proof];
    on_kernel!(hash, check(permutations, nodes, first, numbers, coins, corrections, sums));
}

/// Numbers of leaves fit 62 bits, so that twice one fits a half of a block.
pub(crate) fn check_serial(serial: u64, leaves: u64) {
    assert!(serial.saturating_add(leaves) < 1 << 62, "leaves' numbers beyond 2^62");
}

/// The proof of a node before its correction, f_j(T, s) = pi'(s xor a_j(T)) xor s.
pub(crate) fn proof(permutation: &Permutation, node: u128, number: u64) -> [u128; PROOF_BLOCKS] {
    let mut blocks = [Four(tweaks(number).map(|tweak| node ^ tweak))];
    portable::permute(permutation, &mut blocks);
    blocks[0].0.map(|block| block ^ node)
}

/// a_j(T): no shift of a node takes all four to those of another number.
#[inline(always)]
pub(super) fn tweaks(number: u64) -> [u128; PROOF_BLOCKS] {
    let (low, high) = (u128::from(number), u128::from(number) << 64);
    [low, high, low | high, low | high << 1]
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
        let expected = [t, t << 64, t << 64 | t, (2 * t) << 64 | t].map(|tweak| pi(s ^ tweak) ^ s);
        assert_eq!(proof(&permutation, s, 77), expected);
    }

    /// Why proofs are not TMMO, pi(pi(s) xor t) xor pi(s): its blocks share pi(s). Who inverts pi shifts that by the
    /// difference D of two leaves' tweaks, and has the proof of the other leaf up to D, in every block at once. Two
    /// nodes shifted so have one sum of proofs at both leaves.
    #[test]
    fn no_shift_takes_proofs_of_a_leaf_to_those_of_another() {
        let permutation = Permutation::new(&KEY);
        let tweak = |number: u64, j: usize| u128::from(number) << 8 | j as u128;
        let tmmo = |number: u64, s: u128| std::array::from_fn(|j| pi(pi(s) ^ tweak(number, j)) ^ pi(s));
        let ours = |number: u64, s: u128| proof(&permutation, s, number);
        for (one, other) in [(1u64, 2u64), (5, 9), (1 << 40, (1 << 40) + 255)] {
            let nodes = [0x0123_4567_89ab_cdef_u128 << 32, u128::MAX / 5];
            let shifted = nodes.map(|s| inverse(pi(s) ^ tweak(one, 0) ^ tweak(other, 0)));
            assert_eq!(
                sum(tmmo(one, nodes[0]), tmmo(one, nodes[1])),
                sum(tmmo(other, shifted[0]), tmmo(other, shifted[1]))
            );
            // A shift of the nodes does that to one block of ours, and to no second one.
            for j in 0..PROOF_BLOCKS {
                let shifted = nodes.map(|s| s ^ tweaks(one)[j] ^ tweaks(other)[j]);
                let sums = [
                    sum(ours(one, nodes[0]), ours(one, nodes[1])),
                    sum(ours(other, shifted[0]), ours(other, shifted[1])),
                ];
                let equal: Vec<usize> = (0..PROOF_BLOCKS).filter(|&i| sums[0][i] == sums[1][i]).collect();
                assert_eq!(equal, [j]);
            }
        }
    }

    /// Two leaves share two blocks for nothing, one of them with its sides crossed, and no third one. Three leaves
    /// would have to agree in all: the argument of docs/security/fss.md rests on their number being odd.
    #[test]
    fn two_blocks_of_two_leaves_agree_where_sides_are_crossed() {
        let permutation = Permutation::new(&KEY);
        let of = |number: u64, nodes: [u128; 2]| {
            sum(proof(&permutation, nodes[0], number), proof(&permutation, nodes[1], number))
        };
        for (one, other) in [(1u64, 2u64), (5, 9), (1 << 40, (1 << 40) + 255)] {
            let differences = sum(tweaks(one), tweaks(other));
            for (i, j) in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)] {
                let node = 0x0123_4567_89ab_cdef_u128 << 40;
                let (straight, crossed) = (differences[i], differences[j]);
                let left = of(one, [node, node ^ straight ^ crossed]);
                let right = of(other, [node ^ straight, node ^ crossed]);
                let equal: Vec<usize> = (0..PROOF_BLOCKS).filter(|&block| left[block] == right[block]).collect();
                assert_eq!(equal, [i, j]);
            }
        }
    }

    /// No two blocks of all leaves' proofs are moved by one shift.
    #[test]
    fn differences_of_tweaks_differ() {
        for one in 1..40u64 {
            for other in 1..one {
                let differences = sum(tweaks(one), tweaks(other));
                assert!((0..PROOF_BLOCKS).all(|j| differences[j] != 0 && !differences[..j].contains(&differences[j])));
            }
        }
    }
}
