//! Uniform permutations from a stream.
//!
//! Fisher and Yates; a number below m is the first of a stream of words, masked to the bits of m - 1, that is below m:
//! no bias. How many words that takes depends on the stream only.

use quorate_ring::{Ring, Vector};
use zeroize::Zeroizing;

use crate::ctx::Stream;

impl Stream {
    /// A uniform permutation of 0..count.
    pub fn permutation(&mut self, count: usize) -> Zeroizing<Vec<u32>> {
        let mut order = Zeroizing::new((0..count as u32).collect::<Vec<_>>());
        let mut words = Words { stream: self, buffer: Zeroizing::default(), batch: count.clamp(16, 1 << 16) };
        for i in (1..count).rev() {
            order.swap(i, words.below(i as u64 + 1) as usize);
        }
        order
    }
}

/// Words of a stream, fetched in batches.
struct Words<'s> {
    stream: &'s mut Stream,
    buffer: Zeroizing<Vec<u64>>,
    batch: usize,
}

impl Words<'_> {
    /// Uniform in 0..bound, bound > 0.
    fn below(&mut self, bound: u64) -> u64 {
        let mask = bound.next_power_of_two() - 1;
        loop {
            let word = match self.buffer.pop() {
                Some(word) => word & mask,
                None => {
                    let mut batch = self.stream.draw::<Vector>((Ring::of(64), self.batch));
                    self.buffer = Zeroizing::new(batch.to_u64s());
                    batch.wipe();
                    continue;
                }
            };
            if word < bound {
                return word;
            }
        }
    }
}
