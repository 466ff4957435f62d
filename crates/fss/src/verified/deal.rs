//! Generation of verified keys by the dealer.

use quorate_ring::threads::side_by_side;
use quorate_ring::wipe_words;

use super::{Corrections, PROOF_BYTES, Shape, VALUE_TWEAKS};
use crate::deal::{Pairs, check};
use crate::hash::control;
use crate::kernel;
use crate::paths::{TOGETHER, blocks, part_len};
use crate::{Hash, Roots};

/// Generates the corrections of keys at `points` with the payload (1, alpha). 2 n + 10 AES calls a key. Roots must not
/// be used for other keys.
///
/// # Panics
/// Unless each side has as many roots as there are points, and every point lies in the domain.
pub fn deal(hash: &Hash, shape: Shape, points: &[u64], alpha: u128, first: Roots, second: Roots) -> Corrections {
    check(points, shape.mask(), &first, &second);
    let mut corrections = Corrections::zeros(shape, points.len());
    let (bits, key_bytes) = (shape.bits(), shape.key_bytes());
    let part = part_len(points.len(), 2 * bits as usize + 10);
    side_by_side(corrections.bytes.chunks_mut(part * key_bytes).enumerate().collect(), |(i, bytes)| {
        let mut pairs = Pairs::new(bits as usize);
        for (piece, bytes) in bytes.chunks_mut(TOGETHER * key_bytes).enumerate() {
            let at = i * part + piece * TOGETHER;
            let points = &points[at..at + bytes.len() / key_bytes];
            pairs.descend(hash, [&first, &second], at, points, bits, bytes);
            payloads(hash, shape, [1, alpha], &mut pairs, bytes);
            proofs(hash, shape, points, &pairs, bytes);
        }
    });
    corrections
}

/// Computes CW' = (-1)^(t of the second side) (payload - H(s_0) + H(s_1)), modulo 2^L.
fn payloads(hash: &Hash, shape: Shape, values: [u128; 2], pairs: &mut Pairs, out: &mut [u8]) {
    let (bytes, start) = (shape.payload_bytes(), 16 * shape.bits() as usize);
    for (which, (value, tweak)) in values.into_iter().zip(VALUE_TWEAKS).enumerate() {
        pairs.hash(hash, tweak);
        let ([_, second], [h0, h1]) = (pairs.sides.each_ref().map(blocks), pairs.hashed.each_ref().map(blocks));
        for (lane, out) in out.chunks_exact_mut(shape.key_bytes()).enumerate() {
            let difference = value.wrapping_sub(h0[lane]).wrapping_add(h1[lane]);
            let sign = control(second[lane]);
            let correction = (difference ^ sign).wrapping_sub(sign) & shape.ring().mask();
            out[start + which * bytes..][..bytes].copy_from_slice(&correction.to_le_bytes()[..bytes]);
        }
    }
}

/// Computes cs = f(s_0) xor f(s_1).
fn proofs(hash: &Hash, shape: Shape, points: &[u64], pairs: &Pairs, out: &mut [u8]) {
    let sides = pairs.sides.each_ref().map(blocks);
    for (lane, (key, point)) in out.chunks_exact_mut(shape.key_bytes()).zip(points).enumerate() {
        let mut proofs = sides.map(|nodes| kernel::proof(&hash.proof, nodes[lane], *point));
        let start = shape.key_bytes() - PROOF_BYTES;
        for (j, to) in key[start..].as_chunks_mut().0.iter_mut().enumerate() {
            *to = (proofs[0][j] ^ proofs[1][j]).to_le_bytes();
        }
        wipe_words(proofs.as_flattened_mut());
    }
}
