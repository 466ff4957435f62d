//! Evaluation of a side's keys: leaves, visited in order, and sums with a table, fused with the evaluation.
//!
//! Memory is that of a piece, some 100 KiB a thread, for any domain and batch.

use std::ops::Range;

use quorate_ring::threads::{side_by_side, threads};
use quorate_ring::{Bits, Vector, Wiped, memory, wipe_words};

use crate::kernel;
use crate::lookup_table::Table;
use crate::walk::{Walker, Window};
use crate::{Hash, Keys};

/// The number of leaves from which work uses several threads: some 50 us.
const GRAIN: u64 = 1 << 21;

/// Sums of the table entries where this side's leaves are 1, one for each key. Secret.
pub struct Sums {
    /// sum_j y(start + j) table_j for the first side, and the negative of that for the second. Both add up to w table_j
    /// for the j of the point, if it lies in the window, else to 0. w is 1 or -1, one for all windows of a key.
    pub values: Wiped<Vector>,
    /// sum_j y(start + j), not negated: for the whole domain, the first side's minus the second's is w.
    pub ones: Vec<u64>,
}

impl Drop for Sums {
    fn drop(&mut self) {
        wipe_words(&mut self.ones);
    }
}

/// Returns for each key k the sum of its leaves from `starts[k]` on with a table, modulo the domain. It uses as many
/// leaves as the table has entries. Batches are spread over [threads](quorate_ring::threads).
///
/// # Panics
/// Unless there is a start for each key, and if the table has more entries than the domain has points.
pub fn lookup(hash: &Hash, keys: &Keys, starts: &[u64], table: &Table) -> Sums {
    let window = Window::new(keys.shape(), table.len() as u64);
    let mut values: Vec<u64> = memory::zeros(keys.count());
    let mut ones: Vec<u64> = memory::zeros(keys.count());
    let part = part_len(keys.count(), table.len() as u64);
    let parts = values.chunks_mut(part).zip(ones.chunks_mut(part)).enumerate().collect();
    side_by_side(parts, |(i, (values, ones))| {
        let range = i * part..i * part + values.len();
        walk(hash, keys, window, starts, range.clone(), |first, at, bits| {
            let at_keys = first - range.start;
            let len = 4.min(values.len() - at_keys);
            let (values, ones) = (&mut values[at_keys..at_keys + len], &mut ones[at_keys..at_keys + len]);
            let mut sums = [0; 4];
            sums[..len].copy_from_slice(values);
            table.add(hash, at, bits, &mut sums);
            values.copy_from_slice(&sums[..len]);
            wipe_words(&mut sums);
            ones.iter_mut()
                .zip(bits)
                .for_each(|(ones, bits)| *ones = ones.wrapping_add(kernel::count_ones(hash, bits)));
        });
    });
    if keys.side().is_negative() {
        values.iter_mut().for_each(|value| *value = value.wrapping_neg());
    }
    let sums = Sums { values: Wiped(Vector::from_u64s(table.ring(), &values)), ones };
    wipe_words(&mut values);
    sums
}

/// Visits every leaf of the windows of `len` leaves from `starts[k]` on, modulo the domain, on this thread. `visit`
/// gets the number of the first of up to four keys, and the place in the window of its first leaf, a multiple of 512.
/// For each of these keys it also gets the leaves from there on, 64 to a word.
///
/// # Panics
/// Unless there is a start for each key, and if the window is empty or has more leaves than the domain.
pub fn visit(hash: &Hash, keys: &Keys, starts: &[u64], len: u64, mut visit: impl FnMut(usize, usize, &[&[u64]])) {
    let window = Window::new(keys.shape(), len);
    walk(hash, keys, window, starts, 0..keys.count(), |first, at, bits| {
        visit(first, at, &bits[..4.min(keys.count() - first)]);
    });
}

/// Returns in row k the leaves of key k's window of `len` leaves from `starts[k]` on. The result takes memory for all
/// of them.
///
/// # Panics
/// Unless there is a start for each key, and if the window is empty or has more leaves than the domain.
pub fn window(hash: &Hash, keys: &Keys, starts: &[u64], len: usize) -> Wiped<Bits> {
    let mut all = Wiped(Bits::zeros(keys.count(), len));
    visit(hash, keys, starts, len as u64, |first, at, bits| {
        for (q, bits) in bits.iter().enumerate() {
            all.words_of_mut(first + q)[at / 64..][..bits.len()].copy_from_slice(bits);
        }
    });
    all
}

fn walk(
    hash: &Hash,
    keys: &Keys,
    window: Window,
    starts: &[u64],
    range: Range<usize>,
    mut visit: impl FnMut(usize, usize, [&[u64]; 4]),
) {
    assert_eq!(starts.len(), keys.count(), "a window starts somewhere in each key");
    if range.is_empty() {
        return;
    }
    let mut walker = Walker::new(window);
    for first in range.step_by(4) {
        let start = |q: usize| starts[(first + q).min(starts.len() - 1)];
        walker.visit(hash, keys, first, [0, 1, 2, 3].map(start), |at, bits| visit(first, at, bits));
    }
}

/// Returns the number of keys of a part, in whole groups of four.
fn part_len(keys: usize, leaves: u64) -> usize {
    let all = leaves.saturating_mul(keys as u64);
    let threads = if all < GRAIN { 1 } else { threads() };
    keys.div_ceil(threads).next_multiple_of(4).max(4)
}
