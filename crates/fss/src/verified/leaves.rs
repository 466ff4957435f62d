//! The values of all leaves, once a batch is checked.

use quorate_ring::{memory, wipe_words};

use super::check::{PIECE_LEVELS, start};
use super::{Keys, VALUE_TWEAKS};
use crate::Hash;
use crate::hash::control;
use crate::kernel::Four;
use crate::walk::Trees;

/// Shows this side's shares of the values of all leaves, on this thread: `visit` gets the number of the first of up to
/// four keys, the first leaf's place, and for each of these keys the first and the second values from there on, below
/// 2^L.
pub fn visit(hash: &Hash, keys: &Keys, mut visit: impl FnMut(usize, usize, &[[&[u128]; 2]])) {
    let bits = keys.shape().bits() as usize;
    let below = bits.min(PIECE_LEVELS);
    let len = 1usize << below;
    let mut trees = Trees::new(bits, below);
    let mut scratch = Scratch { hashed: memory::zeros(len), values: memory::zeros(8 * len) };
    for first in (0..keys.count()).step_by(4) {
        start(keys, first, &mut trees);
        for piece in 0..1u64 << (bits - below) {
            let nodes = trees.piece(hash, [piece; 4]);
            for (which, tweak) in VALUE_TWEAKS.into_iter().enumerate() {
                scratch.fill(hash, keys, first, nodes, which, tweak);
            }
            let values = |q: usize| [2 * q, 2 * q + 1].map(|i| &scratch.values[i * len..(i + 1) * len]);
            let all = [0, 1, 2, 3].map(values);
            visit(first, piece as usize * len, &all[..4.min(keys.count() - first)]);
        }
    }
}

struct Scratch {
    hashed: Vec<Four>,
    /// For each key the first values, then the second.
    values: Vec<u128>,
}

impl Scratch {
    /// (-1)^side (H(s xor tweak) + t CW').
    fn fill(&mut self, hash: &Hash, keys: &Keys, first: usize, nodes: &[Four], which: usize, tweak: u128) {
        hash.each(nodes, tweak, &mut self.hashed);
        let payload = keys.four(first, |key| keys.corrections().payload(key, which));
        let (sign, mask) = (0u128.wrapping_sub(keys.side().is_negative().into()), keys.shape().ring().mask());
        for q in 0..4 {
            let to = &mut self.values[(2 * q + which) * nodes.len()..][..nodes.len()];
            for ((node, hashed), to) in nodes.iter().zip(&self.hashed).zip(to) {
                let value = hashed.0[q].wrapping_add(control(node.0[q]) & payload.0[q]);
                *to = (value ^ sign).wrapping_sub(sign) & mask;
            }
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        wipe_words(&mut self.hashed);
        wipe_words(&mut self.values);
    }
}
