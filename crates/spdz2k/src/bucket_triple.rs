//! Triples from published parts only: buckets of triples of which b may leak, put together after a toss.
//!
//! **Source**: the triples of Cramer et al. 2018 (ePrint 2018/482), Fig. 8, in buckets as those of Nielsen et al. 2012
//! (TinyOT, ePrint 2011/091). **Model**: malicious, all but one. **Notation**: N buckets of B; leaky triples a_j, b_j,
//! c_j of a bucket, of which b_j mod 2^i may be known, with probability 2^-i where the run goes on.
//!
//! | step | rounds, n = 2 | what |
//! |---|---|---|
//! | 1 | 23 for each 4096 | N B leaky triples (`leaky_triple`); all have passed their checks |
//! | 2 | 2 | toss which go into which bucket |
//! | 3 | 5 | open d_j = a_0 - a_j modulo 2^(k+s), and check; reduce it modulo 2^k |
//! | 4 | | a = a_0, b = sum b_j, c = c_0 + sum (c_j + d_j b_j) |
//!
//! b leaks only if all of its bucket do. Of l triples that leak, all pass with probability 2^-l at most; that is N C(l,
//! B) / C(N B, B) 2^-l, and the sizes are such that it is at most 2^-sg' for every l. Of a, whose upper bits are as
//! uniform as its lower ones, differences show nothing.
//!
//! Bytes to each peer for a triple, k = s = 64: 37 kB in a batch of 200 000 or more, 56 kB in one of a thousand.

use quorate_engine::{Ctx, Result};
use quorate_ring::Ring;

use crate::coins::Coins;
use crate::keys::Keys;
use crate::shared::{Shared, joined};
use crate::triple::Triples;
use crate::twists::Twist;

/// Most buckets of one batch: of each of their triples some 100 bytes are kept, 100 MB in all for k = s = 64.
const MOST: usize = 1 << 18;

/// Leaky triples that are made together: what they take on the way is some 20 kB each, 80 MB in all.
const BATCH: usize = 4096;

const DIFFERENCES: &str = "the differences of multiplication triples";

/// More than a batch.
const NEVER: usize = usize::MAX;

/// By bits of security: the fewest buckets of 3, 4, .. 30 triples that are safe.
const LEAST: [(u32, [usize; 28]); 3] = [
    (
        58,
        [NEVER, 194_771, 7_225, 1_002, 269, 105, 53, 31, 20, 14, 11, 9, 7, 6, 5, 5, 4, 4, 4, 3, 3, 3, 3, 3, 3, 3, 3, 2],
    ),
    (43, [NEVER, 6_088, 538, 126, 48, 25, 15, 10, 8, 6, 5, 4, 4, 4, 3, 3, 3, 3, 3, 3, 2, 2, 2, 2, 2, 2, 2, 2]),
    (27, [3_054, 152, 35, 15, 8, 6, 5, 4, 3, 3, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1]),
];

/// How many buckets of how many, for at least so many triples: what makes the fewest leaky ones. Unknown bits of
/// security count as the most.
fn sizes(len: usize, security_bits: u32) -> (usize, usize) {
    let (_, least) = LEAST.iter().find(|(bits, _)| *bits == security_bits).unwrap_or(&LEAST[0]);
    let enough = (3..).zip(least).map(|(size, &least)| (len.max(least), size));
    let fitting = enough.filter(|(count, _)| *count <= MOST);
    fitting.min_by_key(|(count, size)| count * size).unwrap_or((len, 58))
}

impl Keys {
    /// Triples over Z_2^k.
    pub(crate) async fn triples_in_buckets(&self, ctx: &Ctx, ring: Ring, len: usize) -> Result<Triples> {
        let mut parts = Vec::new();
        for start in (0..len).step_by(MOST) {
            parts.push(self.batch_in_buckets(ctx, ring, MOST.min(len - start)).await?);
        }
        Ok(Triples::joined(&parts))
    }

    async fn batch_in_buckets(&self, ctx: &Ctx, ring: Ring, len: usize) -> Result<Triples> {
        let (count, size) = sizes(len, self.params.inner_bits());
        let all = count * size;
        let mut parts = Vec::new();
        for start in (0..all).step_by(BATCH) {
            parts.push(self.leaky_triples(ctx, ring, BATCH.min(all - start)).await?);
        }
        let leaky = Triples::joined(&parts);
        drop(parts);
        let made = self.combined(ctx, ring, &leaky, (count, size)).await?;
        Ok(made.map(|shared| shared.map(|vector| vector.slice(0..len))))
    }

    /// Steps 2 to 4.
    pub(crate) async fn combined(
        &self,
        ctx: &Ctx,
        ring: Ring,
        leaky: &Triples,
        (count, size): (usize, usize),
    ) -> Result<Triples> {
        let order = Coins::toss(ctx, &self.session).await?.permutation(count * size);
        let member = |part: &Shared, j: usize| {
            part.map(|vector| match &order {
                Some(order) => vector.gather(&order[j * count..(j + 1) * count]),
                None => vector.slice(0..count),
            })
        };
        let [a, mut b, mut c] = [&leaky.a, &leaky.b, &leaky.c].map(|part| member(part, 0));
        let differences: Vec<Shared> = (1..size).map(|j| a.clone().minus(&member(&leaky.a, j))).collect();
        let differences = self.twisted(Twist::Difference, joined(&differences.iter().collect::<Vec<_>>()));
        let opened = self.open_words(ctx, &differences).await?;
        self.check_words(ctx, &[&opened], DIFFERENCES).await?;
        // The check binds the lower k bits of a word: those above, which could be lied about, do not enter.
        let differences = opened.value.convert(ring).convert(a.share.ring());
        for j in 1..size {
            let [other_b, other_c] = [&leaky.b, &leaky.c].map(|part| member(part, j));
            let difference = differences.slice((j - 1) * count..j * count);
            c = c.plus(&other_c).plus(&other_b.times(&difference));
            b = b.plus(&other_b);
        }
        Ok(Triples { a, b, c })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bucket::tests::{is_safe, least};

    /// The table of the design, and that every entry is the least that is safe.
    #[test]
    fn buckets_are_as_large_as_the_bound_wants() {
        for (bits, size, from, to) in [(40, 3, 2.7e5, 2.9e5), (57, 4, 1.5e5, 1.65e5)] {
            let least = least(size, bits) as f64;
            assert!((from..to).contains(&least), "{bits} bits, buckets of {size}: {least}");
        }
        for (bits, all) in LEAST {
            // What takes more than a batch is never taken.
            let computed = (3..).zip(all).map(|(size, _)| least(size, bits)).map(|n| if n > MOST { NEVER } else { n });
            assert!(computed.eq(all), "{bits} bits");
        }
    }

    #[test]
    fn every_demand_is_safe_and_small_ones_take_larger_buckets() {
        for bits in [58, 43, 27] {
            for len in [1, 2, 3, 10, 100, 1000, 10_000, MOST] {
                let (count, size) = sizes(len, bits);
                assert!(count >= len && is_safe(count, size, bits), "{len} at {bits} bits: {count} of {size}");
            }
        }
        let all = [1, 10, 1000, 20_000, 200_000].map(|len| sizes(len, 58));
        assert_eq!(all, [(2, 30), (10, 14), (1002, 6), (20_000, 5), (200_000, 4)]);
    }
}
