//! Triples from published parts only: buckets of triples of which b may leak, grouped after a toss.
//!
//! **Source**: the triples of Cramer et al. 2018 (ePrint 2018/482), Fig. 8, in buckets as those of Nielsen et al. 2012
//! (TinyOT, ePrint 2011/091). **Model**: malicious, all but one. **Notation**: N buckets of B; leaky triples a_j, b_j,
//! c_j of a bucket, of which b_j mod 2^i may be known, with probability 2^-i where the run goes on.
//!
//! | step | rounds, n = 2 | what |
//! |---|---|---|
//! | 1 | 23 for each 4096 | N B leaky triples (`leaky_triple`); all have passed their checks |
//! | 2 | 2 | toss which leaky triples go into which bucket |
//! | 3 | 5 | open d_j = a_0 - a_j modulo 2^(k+s), and check; reduce it modulo 2^k |
//! | 4 | | a = a_0, b = sum b_j, c = c_0 + sum (c_j + d_j b_j) |
//!
//! b leaks only if all triples of its bucket do. Of l triples that leak, all pass with probability 2^-l at most. So the
//! bound is N C(l, B) / C(N B, B) 2^-l, and the sizes are such that it is at most 2^-sg' for every l. The upper bits of
//! a are as uniform as its lower ones, so the differences show nothing of a.
//!
//! Bytes to each peer for a triple, k = s = 64: 37 kB in a batch of 200 000 or more, 56 kB in one of a thousand.

use std::ops::{Range, RangeInclusive};

use quorate_adversary::Twist;
use quorate_authenticated::shared::{Shared, joined};
use quorate_engine::{Ctx, Result};
use quorate_ring::Ring;

use crate::bucket::Sizes;
use crate::coins::Coins;
use crate::keys::Keys;
use crate::leaky_triple;
use crate::triple::{self, Triples};
use crate::word_openings::Words;

/// The largest number of buckets of one batch: about 200 bytes of each of their triples are kept, 200 MB in all for k =
/// s = 64.
pub(crate) const MOST: usize = 1 << 18;

const DIFFERENCES: &str = "the differences of multiplication triples";

/// The sizes of buckets that are tried, all of one size as published: few triples take large ones.
const SIZES: RangeInclusive<usize> = 3..=30;

/// Returns the number of leaky triples that a batch of `len` triples takes.
pub(crate) fn leaky(len: usize, security_bits: u32) -> usize {
    let Sizes { count, size, .. } = Sizes::of_one(len, SIZES, security_bits);
    count * size
}

/// Makes triples over Z_2^k.
pub(crate) async fn make(keys: Keys<'_>, ctx: &Ctx, ring: Ring, len: usize) -> Result<Triples> {
    let made = ctx.in_turn(len, MOST, async |range| batch(keys, ctx, ring, range.len()).await).await?;
    Ok(Triples::joined(&made.all()))
}

async fn batch(keys: Keys<'_>, ctx: &Ctx, ring: Ring, len: usize) -> Result<Triples> {
    let Sizes { count, size, .. } = Sizes::of_one(len, SIZES, keys.params.inner_bits());
    let all = count * size;
    let some = async |range: Range<usize>| leaky_triple::make(keys, ctx, ring, range.len()).await;
    let parts = ctx.in_turn(all, triple::BATCH, some).await?;
    let leaky = Triples::joined(&parts.all());
    drop(parts);
    let made = combined(keys.words(), ctx, ring, &leaky, (count, size)).await?;
    Ok(made.map(|shared| shared.map(|vector| vector.slice(0..len))))
}

/// Runs steps 2 to 4.
pub(crate) async fn combined(
    words: Words<'_>,
    ctx: &Ctx,
    ring: Ring,
    leaky: &Triples,
    (count, size): (usize, usize),
) -> Result<Triples> {
    let order = Coins::toss(ctx, &words.keys.session).await?.permutation(count * size);
    let member = |part: &Shared, j: usize| {
        part.map(|vector| match &order {
            Some(order) => vector.gather(&order[j * count..(j + 1) * count]),
            None => vector.slice(0..count),
        })
    };
    let [a, mut b, mut c] = [&leaky.a, &leaky.b, &leaky.c].map(|part| member(part, 0));
    let differences: Vec<Shared> = (1..size).map(|j| a.clone().minus(&member(&leaky.a, j))).collect();
    let differences = words.keys.twisted_share(Twist::Difference, joined(&differences.iter().collect::<Vec<_>>()));
    let opened = words.open(ctx, &differences).await?;
    words.check(ctx, &[&opened], DIFFERENCES).await?;
    // The check binds the lower k bits of a word. The bits above could be lies, so they do not enter.
    let differences = opened.value.convert(ring).convert(a.share.ring());
    for j in 1..size {
        let [other_b, other_c] = [&leaky.b, &leaky.c].map(|part| member(part, j));
        let difference = differences.slice((j - 1) * count..j * count);
        c = c.plus(&other_c).plus(&other_b.times(&difference));
        b = b.plus(&other_b);
    }
    Ok(Triples { a, b, c })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bucket::tests::{is_safe, least};

    fn sizes(len: usize, security_bits: u32) -> (usize, usize) {
        let Sizes { count, size, larger } = Sizes::of_one(len, SIZES, security_bits);
        assert_eq!(larger, 0);
        (count, size)
    }

    /// The table of the docs, computed in integers, and in reals as the formula is written.
    #[test]
    fn buckets_are_as_large_as_the_bound_wants() {
        let sizes = [4, 5, 6, 7, 8, 10, 30];
        for (bits, fewest) in [
            (58, [194_771, 7225, 1002, 269, 105, 31, 2]),
            (43, [6088, 538, 126, 48, 25, 10, 2]),
            (27, [152, 35, 15, 8, 6, 4, 2]),
        ] {
            for (size, fewest) in sizes.into_iter().zip(fewest) {
                assert_eq!(Sizes::of_one(1, size..=size, bits).count, fewest, "{bits} bits, buckets of {size}");
                // In integers, a batch of a single bucket may take one more.
                assert!((fewest - 1..=fewest).contains(&least(size, bits)), "{bits} bits, buckets of {size}");
            }
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
