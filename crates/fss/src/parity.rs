//! Shares of whether a point lies in a public interval, for the nodes of two paths.
//!
//! **Source**: Storrier, Vadapalli, Lyons, Henry, "Grotto: Screaming fast (2+1)-PC or Z_2^n via (2,2)-DPFs", CCS 2023:
//! the control bits of a node are the shares of the parity of all leaves below it. **Deviation**: on the half-tree, and
//! the last leaf's bits are summed themselves. **Cost**: d + B hashes for each end.
//!
//! [r < x] is the sum of the left siblings' control bits on the way to x, where it turns right, and of the leaf's bits
//! before x.

use quorate_ring::{Bits, Wiped, memory, wipe_words};

use crate::hash::{Hash, control, leaf_tweak};
use crate::kernel::{Four, ZERO};
use crate::keys::child;
use crate::{Keys, Shape};

/// Paths that are walked together.
const TOGETHER: usize = 64;

/// Row i, lane k: this side's xor share of whether key k's point lies in the interval `ends(i, k)`, from the first of
/// both up to but without the second, modulo 2^n. Equal ends are the empty interval.
///
/// # Panics
/// If an end lies outside of the domain.
pub fn intervals(hash: &Hash, keys: &Keys, rows: usize, ends: impl Fn(usize, usize) -> [u64; 2]) -> Wiped<Bits> {
    let mut shares = Wiped(Bits::zeros(rows, keys.count()));
    let mut paths = Paths::new(keys.shape());
    // Two ends an interval: half as many keys at once.
    let lanes = TOGETHER / 2;
    for row in 0..rows {
        for first in (0..keys.count()).step_by(lanes) {
            let len = lanes.min(keys.count() - first);
            let ends: Vec<[u64; 2]> = (first..first + len).map(|key| ends(row, key)).collect();
            paths.start(ends.iter().enumerate().flat_map(|(i, ends)| ends.map(|end| (first + i, end))));
            paths.walk(hash, keys);
            let mut word = 0;
            for (i, [from, to]) in ends.into_iter().enumerate() {
                // What goes around the end is everything but what lies between.
                let whole = u64::from(from > to) & keys.side().bit() as u64;
                word |= (paths.shares[2 * i] ^ paths.shares[2 * i + 1] ^ whole) << i;
            }
            shares.words_of_mut(row)[first / 64] |= word << (first % 64);
        }
    }
    shares
}

/// Paths to public places in some keys.
struct Paths {
    shape: Shape,
    places: Vec<(usize, u64)>,
    nodes: Vec<Four>,
    hashed: Vec<Four>,
    shares: Vec<u64>,
}

impl Paths {
    fn new(shape: Shape) -> Paths {
        let blocks = || memory::zeros(TOGETHER / 4);
        let places = Vec::with_capacity(TOGETHER);
        Paths { shape, places, nodes: blocks(), hashed: blocks(), shares: vec![0; TOGETHER] }
    }

    fn start(&mut self, places: impl Iterator<Item = (usize, u64)>) {
        self.places.clear();
        self.places.extend(places);
        let shape = self.shape;
        assert!(self.places.iter().all(|(_, place)| *place <= shape.mask()), "an interval's end outside of the domain");
    }

    fn walk(&mut self, hash: &Hash, keys: &Keys) {
        let (shape, corrections) = (self.shape, keys.corrections());
        let fours = self.places.len().div_ceil(4);
        let (fours_of_nodes, fours_of_hashes) = (&mut self.nodes[..fours], &mut self.hashed[..fours]);
        fours_of_nodes.fill(ZERO);
        let roots: &mut [u128] = bytemuck::cast_slice_mut(fours_of_nodes);
        roots.iter_mut().zip(&self.places).for_each(|(node, (key, _))| *node = keys.roots.nodes()[*key]);
        self.shares.fill(0);
        for level in 0..shape.levels() {
            hash.each(fours_of_nodes, 0, fours_of_hashes);
            let nodes: &mut [u128] = bytemuck::cast_slice_mut(fours_of_nodes);
            let hashed: &[u128] = bytemuck::cast_slice(fours_of_hashes);
            for (i, (key, place)) in self.places.iter().enumerate() {
                let turn = place >> (shape.bits() as usize - 1 - level) & 1;
                let correction = corrections.level(*key, level);
                let left = child(nodes[i], hashed[i], correction, 0);
                self.shares[i] ^= left as u64 & turn;
                nodes[i] = left ^ (nodes[i] & 0u128.wrapping_sub(turn.into()));
            }
        }
        for block in 0..shape.blocks() {
            hash.each(fours_of_nodes, leaf_tweak(block), fours_of_hashes);
            let (nodes, hashed): (&[u128], &[u128]) =
                (bytemuck::cast_slice(fours_of_nodes), bytemuck::cast_slice(fours_of_hashes));
            for (i, (key, place)) in self.places.iter().enumerate() {
                let leaf = hashed[i] ^ (control(nodes[i]) & corrections.leaf(*key, block));
                let before = (place & (shape.leaf_bits() - 1)).saturating_sub(128 * block as u64).min(128);
                let before = !u128::MAX.checked_shl(before as u32).unwrap_or(0);
                self.shares[i] ^= u64::from((leaf & before).count_ones() & 1);
            }
        }
    }
}

impl Drop for Paths {
    fn drop(&mut self) {
        wipe_words(&mut self.nodes);
        wipe_words(&mut self.hashed);
        wipe_words(&mut self.shares);
    }
}
