//! One level of many paths, one for each of several keys: nodes, corrections and turns side by side. A turn is the
//! lowest bit of a block and may be secret.

#[cfg(target_arch = "x86_64")]
use super::x86;
use super::{Four, on_kernel, portable, sums::versions};
use crate::hash::{Hash, Kernel};

/// Moves nodes to their children, to the right ones where `turns` have their lowest bit set. There it adds the left
/// children to `sums`.
pub(crate) fn descend(hash: &Hash, nodes: &mut [Four], corrections: &[Four], turns: &[Four], sums: &mut [Four]) {
    let len = nodes.len();
    assert!(corrections.len() == len && turns.len() == len && sums.len() == len, "paths of another number");
    on_kernel!(hash, descend(&hash.tree, nodes, corrections, turns, sums));
}

/// Computes the corrections of both sides' nodes on the paths, CW = H(s_0) xor H(s_1) xor not r (s_0 xor s_1) with the
/// turns r, and moves the nodes on.
pub(crate) fn correct(hash: &Hash, sides: [&mut [Four]; 2], turns: &[Four], corrections: &mut [Four]) {
    let len = turns.len();
    assert!(sides.iter().all(|side| side.len() == len) && corrections.len() == len, "paths of another number");
    on_kernel!(hash, correct(&hash.tree, sides, turns, corrections));
}

versions! {
    fn shift_right(hash, words: &mut [u64]) {
        words.iter_mut().for_each(|word| *word >>= 1);
    }
}

/// Moves on to the turns of the next level: the next bit of each half becomes its lowest.
pub(crate) fn next_turns(hash: &Hash, turns: &mut [Four]) {
    shift_right(hash, bytemuck::cast_slice_mut(turns));
}

versions! {
    fn add_words(
        hash,
        nodes: &[[u64; 8]],
        hashed: &[[u64; 8]],
        corrections: &[[u64; 8]],
        masks: &[[u64; 8]],
        sums: &mut [[u64; 8]]
    ) {
        let parts = nodes.iter().zip(hashed).zip(corrections).zip(masks);
        for ((((node, hash), correction), mask), sum) in parts.zip(sums) {
            for i in 0..8 {
                let control = 0u64.wrapping_sub(node[i & !1] & 1);
                sum[i] ^= (hash[i] ^ (control & correction[i])) & mask[i];
            }
        }
    }
}

/// Adds the bits under `masks` of a block of terminal nodes' leaves.
pub(crate) fn add_leaves(
    hash: &Hash,
    (nodes, hashed): (&[Four], &[Four]),
    corrections: &[Four],
    masks: &[Four],
    sums: &mut [Four],
) {
    let words = |fours| -> &[[u64; 8]] { bytemuck::cast_slice(fours) };
    add_words(hash, words(nodes), words(hashed), words(corrections), words(masks), bytemuck::cast_slice_mut(sums));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::control;
    use crate::kernel::ZERO;
    use crate::kernel::tests::{defined, hashes, nodes};

    /// Returns blocks that differ from those of other names.
    fn blocks(count: usize, name: u128) -> Vec<Four> {
        nodes(count).into_iter().map(|four| Four(four.0.map(|block| block.wrapping_mul(2 * name + 3)))).collect()
    }

    #[test]
    fn paths_are_as_defined_on_every_path() {
        for hash in hashes() {
            for count in [1usize, 2, 3, 5, 8, 13, 16] {
                let [first, second, corrections, turns, masks] = [1, 2, 3, 4, 5].map(|name| blocks(count, name));
                let start = blocks(count, 6);
                let (mut moved, mut sums) = (first.clone(), start.clone());
                descend(&hash, &mut moved, &corrections, &turns, &mut sums);
                let (mut s0, mut s1, mut made) = (first.clone(), second.clone(), vec![ZERO; count]);
                correct(&hash, [&mut s0, &mut s1], &turns, &mut made);
                let (mut next, mut added, mut hashed) = (turns.clone(), start.clone(), vec![ZERO; count]);
                next_turns(&hash, &mut next);
                hash.each(&first, 6, &mut hashed);
                add_leaves(&hash, (&first, &hashed), &corrections, &masks, &mut added);
                for (i, q) in (0..count).flat_map(|i| [0, 1, 2, 3].map(|q| (i, q))) {
                    let of = |blocks: &[Four]| blocks[i].0[q];
                    let (node, other, right) = (of(&first), of(&second), control(of(&turns)));
                    let left = defined(node) ^ control(node) & of(&corrections);
                    assert_eq!(of(&moved), if right == 0 { left } else { left ^ node }, "{:?}", hash.kernel);
                    assert_eq!(of(&sums), of(&start) ^ if right == 0 { 0 } else { left });
                    let delta = if right == 0 { node ^ other } else { 0 };
                    let correction = defined(node) ^ defined(other) ^ delta;
                    let child = |node| defined(node) ^ control(node) & correction ^ right & node;
                    assert_eq!([of(&made), of(&s0), of(&s1)], [correction, child(node), child(other)]);
                    let leaf = defined(node ^ 6) ^ control(node) & of(&corrections);
                    assert_eq!(of(&added), of(&start) ^ leaf & of(&masks));
                    let halves = |block: u128| [block as u64, (block >> 64) as u64];
                    assert_eq!(halves(of(&next)), halves(of(&turns)).map(|half| half >> 1));
                }
            }
        }
    }
}
