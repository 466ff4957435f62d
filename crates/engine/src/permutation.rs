//! Uniform permutations from a stream.
//!
//! The algorithm is that of Fisher and Yates. A number below m is the first word of a stream that is below m when
//! masked to the bits of m - 1, so there is no bias. The number of words that this takes depends only on the stream.

use quorate_ring::{Ring, Vector};
use zeroize::Zeroizing;

use crate::ctx::Stream;
use crate::error::{Misuse, Result};

/// The exclusive upper limit of the elements of a shuffled array: their positions, also with a copy of each, fit words
/// of 32 bits.
pub const SHUFFLED_ELEMENTS: usize = 1 << 31;

/// Checks that columns of these lengths have `rows` rows, and that their positions fit words of 32 bits.
///
/// # Errors
/// [`Misuse::Length`], or [`Misuse::Other`] from [`SHUFFLED_ELEMENTS`] on.
pub fn check_rows(lens: impl Iterator<Item = usize>, rows: usize) -> Result<()> {
    let mut longest = rows;
    for len in lens {
        if !len.is_multiple_of(rows.max(1)) || (rows == 0 && len > 0) {
            return Err(Misuse::Length { what: "a shuffle of rows", left: rows, right: len }.into());
        }
        longest = longest.max(len);
    }
    match longest < SHUFFLED_ELEMENTS {
        true => Ok(()),
        false => Err(Misuse::Other { what: "a shuffled array has fewer than 2^31 elements" }.into()),
    }
}

impl Stream {
    /// Returns a uniform permutation of 0..count.
    ///
    /// # Panics
    /// If `count` is [`SHUFFLED_ELEMENTS`] or more, which [`check_rows`] refuses.
    pub fn permutation(&mut self, count: usize) -> Zeroizing<Vec<u32>> {
        assert!(count < SHUFFLED_ELEMENTS, "a row's number is a word of 32 bits");
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
    /// Returns a uniform number in 0..bound, for bound > 0.
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
