//! The loops without explicit instructions, with which the others are compared.

use aes::cipher::{Array, BlockCipherEncrypt};

use quorate_crypto::gf128;

use super::check::tweaks;
use super::{Four, PROOF_BLOCKS, Payload, Permutation, Sums, ZERO};
use crate::hash::{child, control, leaf_tweak};

/// The number of groups of four blocks encrypted together.
const CHUNK: usize = 16;

#[inline(always)]
fn sigma(x: u128) -> u128 {
    let (low, high) = (x as u64, (x >> 64) as u64);
    u128::from(low ^ high) << 64 | u128::from(high)
}

/// Applies pi to each block, with its bytes in little-endian order.
pub(super) fn permute(permutation: &Permutation, blocks: &mut [Four]) {
    let bytes: &mut [[u8; 16]] = bytemuck::cast_slice_mut(blocks);
    permutation.cipher.encrypt_blocks(Array::cast_slice_from_core_mut(bytes));
}

pub(super) fn hash(permutation: &Permutation, from: &[Four], tweak: u128, to: &mut [Four]) {
    for (from, to) in from.chunks(CHUNK).zip(to.chunks_mut(CHUNK)) {
        for (from, to) in from.iter().zip(&mut *to) {
            *to = Four(from.0.map(|block| sigma(block ^ tweak)));
        }
        permute(permutation, to);
        for (from, to) in from.iter().zip(to) {
            to.0.iter_mut().zip(from.0).for_each(|(to, block)| *to ^= sigma(block ^ tweak));
        }
    }
}

pub(super) fn level(permutation: &Permutation, from: &[Four], correction: &Four, to: &mut [Four]) {
    let mut hashed = [ZERO; CHUNK];
    for (from, to) in from.chunks(CHUNK).zip(to.chunks_mut(2 * CHUNK)) {
        hash(permutation, from, 0, &mut hashed[..from.len()]);
        for ((node, hash), children) in from.iter().zip(&hashed).zip(to.as_chunks_mut::<2>().0) {
            for q in 0..4 {
                let left = hash.0[q] ^ (control(node.0[q]) & correction.0[q]);
                children[0].0[q] = left;
                children[1].0[q] = left ^ node.0[q];
            }
        }
    }
    quorate_ring::wipe_words(&mut hashed);
}

pub(super) fn descend(
    permutation: &Permutation,
    nodes: &mut [Four],
    corrections: &[Four],
    turns: &[Four],
    sums: &mut [Four],
) {
    let mut hashed = [ZERO; CHUNK];
    for (chunk, nodes) in nodes.chunks_mut(CHUNK).enumerate() {
        hash(permutation, nodes, 0, &mut hashed[..nodes.len()]);
        for (i, (node, hash)) in nodes.iter_mut().zip(&hashed).enumerate() {
            let at = chunk * CHUNK + i;
            for q in 0..4 {
                let right = control(turns[at].0[q]);
                let left = hash.0[q] ^ (control(node.0[q]) & corrections[at].0[q]);
                sums[at].0[q] ^= left & right;
                node.0[q] = left ^ (node.0[q] & right);
            }
        }
    }
    quorate_ring::wipe_words(&mut hashed);
}

pub(super) fn correct(
    permutation: &Permutation,
    [first, second]: [&mut [Four]; 2],
    turns: &[Four],
    corrections: &mut [Four],
) {
    let mut hashed = [[ZERO; CHUNK]; 2];
    let sides = first.chunks_mut(CHUNK).zip(second.chunks_mut(CHUNK));
    for (chunk, (first, second)) in sides.enumerate() {
        let [h0, h1] = &mut hashed;
        hash(permutation, first, 0, &mut h0[..first.len()]);
        hash(permutation, second, 0, &mut h1[..first.len()]);
        for i in 0..first.len() {
            let at = chunk * CHUNK + i;
            for q in 0..4 {
                let (s0, s1) = (first[i].0[q], second[i].0[q]);
                let (right, h) = (control(turns[at].0[q]), [h0[i].0[q], h1[i].0[q]]);
                let correction = h[0] ^ h[1] ^ ((s0 ^ s1) & !right);
                corrections[at].0[q] = correction;
                first[i].0[q] = child(s0, h[0], correction, right);
                second[i].0[q] = child(s1, h[1], correction, right);
            }
        }
    }
    quorate_ring::wipe_words(hashed.as_flattened_mut());
}

pub(super) fn leaves(permutation: &Permutation, nodes: &[Four], corrections: &[Four], out: &mut [u128], stride: usize) {
    let mut hashed = [ZERO; CHUNK];
    for (chunk, nodes) in nodes.chunks(CHUNK).enumerate() {
        for (j, correction) in corrections.iter().enumerate() {
            hash(permutation, nodes, leaf_tweak(j), &mut hashed[..nodes.len()]);
            for (i, (node, hash)) in nodes.iter().zip(&hashed).enumerate() {
                let at = (chunk * CHUNK + i) * corrections.len() + j;
                for q in 0..4 {
                    out[q * stride + at] = hash.0[q] ^ (control(node.0[q]) & correction.0[q]);
                }
            }
        }
    }
    quorate_ring::wipe_words(&mut hashed);
}

pub(super) fn payloads(permutation: &Permutation, nodes: &[Four], payload: &Payload, out: &mut [u128], stride: usize) {
    let mut hashed = [ZERO; CHUNK];
    for (chunk, nodes) in nodes.chunks(CHUNK).enumerate() {
        hash(permutation, nodes, payload.tweak, &mut hashed[..nodes.len()]);
        for (i, (node, hash)) in nodes.iter().zip(&hashed).enumerate() {
            for q in 0..4 {
                let added = payload.sign & 1 ^ control(node.0[q]) & payload.flip.0[q];
                out[q * stride + chunk * CHUNK + i] = (hash.0[q] ^ payload.sign).wrapping_add(added) & payload.mask;
            }
        }
    }
    quorate_ring::wipe_words(&mut hashed);
}

/// The sum of products is kept reduced here; a later reduction leaves it unchanged.
pub(super) fn check(
    [tree, proofs]: [&Permutation; 2],
    nodes: &[Four],
    first: u64,
    coins: &[u128],
    corrections: &[Four; PROOF_BLOCKS],
    sums: &mut Sums,
) {
    let mut blocks = [ZERO; CHUNK];
    for (chunk, (nodes, coins)) in nodes.chunks(CHUNK).zip(coins.chunks(CHUNK)).enumerate() {
        let at = (chunk * CHUNK) as u64;
        let blocks = &mut blocks[..nodes.len()];
        let places = (first + at..).zip(nodes);
        for (sums, tweak) in sums.values.iter_mut().zip([2, 4]) {
            hash(tree, nodes, tweak, blocks);
            for (hashed, (place, _)) in blocks.iter().zip(places.clone()) {
                (0..4).for_each(|q| add_limbs(sums, q, hashed.0[q], place));
            }
        }
        for (place, node) in places {
            for q in 0..4 {
                let control = node.0[q] & 1;
                add(&mut sums.controls[0].0[q], control);
                add(&mut sums.controls[1].0[q], control.wrapping_mul(place.into()));
            }
        }
        for (j, sums) in sums.proofs.iter_mut().enumerate() {
            for (i, (block, node)) in blocks.iter_mut().zip(nodes).enumerate() {
                let tweak = tweaks(first + at + i as u64)[j];
                *block = Four(node.0.map(|node| node ^ tweak));
            }
            permute(proofs, blocks);
            for q in 0..4 {
                let mut own = [0; CHUNK];
                for (own, (block, node)) in own.iter_mut().zip(blocks.iter().zip(nodes)) {
                    *own = block.0[q] ^ node.0[q] ^ (control(node.0[q]) & corrections[j].0[q]);
                }
                sums[0].0[q] ^= gf128::inner_product(coins, &own[..nodes.len()]);
            }
        }
    }
    quorate_ring::wipe_words(&mut blocks);
}

/// Adds without overflow, and without a check for one: that would be a branch on a leaf.
fn add(sum: &mut u128, value: u128) {
    *sum = sum.wrapping_add(value);
}

/// Adds a value, and the value times its place.
fn add_limbs(sums: &mut [[Four; 2]; 2], q: usize, value: u128, place: u64) {
    const LIMBS: u128 = u32::MAX as u128 | (u32::MAX as u128) << 64;
    for (limbs, h) in [value & LIMBS, value >> 32 & LIMBS].into_iter().zip(0..) {
        // Limbs of 32 bits times places of 16: neither half carries into the other.
        add(&mut sums[0][h].0[q], limbs);
        add(&mut sums[1][h].0[q], limbs.wrapping_mul(place.into()));
    }
}
