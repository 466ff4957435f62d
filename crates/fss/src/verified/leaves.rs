//! The values of all leaves, once a batch is checked.

use std::ops::Range;

use quorate_ring::{memory, wipe_words};

use super::check::{PIECE_LEVELS, start};
use super::{Keys, VALUE_TWEAKS};
use crate::Hash;
use crate::kernel::{self, Payload};
use crate::walk::Trees;

/// Visits this side's shares of the values of all leaves, on this thread. `visit` gets the number of the first of up to
/// four keys, and the first leaf's place. For each of these keys it also gets the first and the second values from
/// there on, below 2^L.
pub fn visit(hash: &Hash, keys: &Keys, visit: impl FnMut(usize, usize, &[[&[u128]; 2]])) {
    visit_some(hash, keys, 0..keys.count(), visit);
}

/// Visits this side's shares of the values of all leaves of some keys, on this thread.
pub(super) fn visit_some(
    hash: &Hash,
    keys: &Keys,
    range: Range<usize>,
    mut visit: impl FnMut(usize, usize, &[[&[u128]; 2]]),
) {
    let bits = keys.shape().bits() as usize;
    let below = bits.min(PIECE_LEVELS);
    let len = 1usize << below;
    let mut trees = Trees::new(bits, below);
    // The kernel writes whole groups of eight.
    let room = len.max(8);
    let mut values = Values(memory::zeros(8 * room));
    let (sign, mask) = (0u128.wrapping_sub(keys.side().is_negative().into()), keys.shape().ring().mask());
    for first in range.clone().step_by(4) {
        start(keys, first, &mut trees);
        let payload = |which: usize| {
            let corrections = keys.four(first, |key| keys.corrections().payload(key, which));
            Payload::new(VALUE_TWEAKS[which], sign, corrections, mask)
        };
        let payloads = [payload(0), payload(1)];
        for piece in 0..1u64 << (bits - below) {
            let nodes = trees.piece(hash, [piece; 4]);
            for (which, payload) in payloads.iter().enumerate() {
                kernel::payloads(hash, nodes, payload, &mut values.0[which * room..], 2 * room);
            }
            let of = |q: usize| [2 * q, 2 * q + 1].map(|i| &values.0[i * room..][..len]);
            let all = [0, 1, 2, 3].map(of);
            visit(first, piece as usize * len, &all[..4.min(range.end - first)]);
        }
    }
}

/// The first values of each of four keys, then the second ones.
struct Values(Vec<u128>);

impl Drop for Values {
    fn drop(&mut self) {
        wipe_words(&mut self.0);
    }
}
