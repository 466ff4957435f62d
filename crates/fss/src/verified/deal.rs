//! The dealer's part.

use quorate_ring::wipe_words;

use super::{Corrections, Shape, VALUE_TWEAKS};
use crate::deal::{Pairs, Scratch, TOGETHER, Tree, check};
use crate::hash::control;
use crate::kernel::{self, PROOF_BLOCKS};
use crate::{Hash, Roots};

/// The corrections of keys at `points` with the payload (1, alpha). 2 n + 10 AES calls a key. Roots serve no other keys.
///
/// # Panics
/// Unless there are as many roots of either side as points, and every point lies in the domain.
pub fn deal(hash: &Hash, shape: Shape, points: &[u64], alpha: u128, first: Roots, second: Roots) -> Corrections {
    check(points, shape.mask(), &first, &second);
    let mut corrections = Corrections::zeros(shape, points.len());
    let (mut pairs, mut scratch) = (Pairs::new(), Scratch::new());
    let bits = shape.bits() as usize;
    let tree = Tree { bits, levels: bits, key_bytes: shape.key_bytes() };
    for (piece, points) in points.chunks(TOGETHER).enumerate() {
        let (at, len) = (piece * TOGETHER, points.len());
        pairs.start(&first, &second, at, len);
        let out = &mut corrections.bytes[at * tree.key_bytes..(at + len) * tree.key_bytes];
        tree.descend(hash, points, &mut pairs, &mut scratch, out);
        payloads(hash, shape, [1, alpha], &pairs, &mut scratch, out);
        for (key, point) in points.iter().enumerate() {
            let mut proofs = [pairs.first[key], pairs.second[key]].map(|node| kernel::proof(&hash.proof, node, *point));
            let to = &mut out[(key + 1) * tree.key_bytes - super::PROOF_BYTES..][..super::PROOF_BYTES];
            for (j, to) in (0..PROOF_BLOCKS).zip(to.chunks_exact_mut(16)) {
                to.copy_from_slice(&(proofs[0][j] ^ proofs[1][j]).to_le_bytes());
            }
            wipe_words(proofs.as_flattened_mut());
        }
    }
    corrections
}

/// CW' = (-1)^(t of the second side) (payload - H(s_0) + H(s_1)), modulo 2^L.
fn payloads(hash: &Hash, shape: Shape, values: [u128; 2], pairs: &Pairs, scratch: &mut Scratch, out: &mut [u8]) {
    let (bytes, start) = (shape.payload_bytes(), 16 * shape.bits() as usize);
    for (which, (value, tweak)) in values.into_iter().zip(VALUE_TWEAKS).enumerate() {
        let [h0, h1] = scratch.hashes(hash, pairs, tweak);
        for (key, out) in out.chunks_exact_mut(shape.key_bytes()).enumerate() {
            let difference = value.wrapping_sub(h0[key]).wrapping_add(h1[key]);
            let sign = control(pairs.second[key]);
            let correction = (difference ^ sign).wrapping_sub(sign) & shape.ring().mask();
            out[start + which * bytes..][..bytes].copy_from_slice(&correction.to_le_bytes()[..bytes]);
        }
    }
}
