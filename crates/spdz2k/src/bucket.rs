//! ANDs without a leak: buckets of leaky ANDs, which are grouped after a toss.
//!
//! **Source**: Nielsen et al. 2012 (TinyOT, ePrint 2011/091), with the combination of Wang, Ranellucci, Katz 2017
//! (ePrint 2017/030). **Deviation**: buckets of two sizes, so that a larger batch always takes less for each AND; the
//! argument is in docs/security/spdz2k.md. **Model**: malicious, all but one. **Notation**: N buckets of B, some of
//! them of B + 1; leaky ANDs x_j, y_j, z_j of a bucket.
//!
//! | step | rounds, n = 2 | n > 2 | what |
//! |---|---|---|---|
//! | 1 | 7 | 14 | leaky ANDs for all buckets; all have passed their check |
//! | 2 | 2 | 2 | toss which leaky ANDs go into which bucket |
//! | 3 | 2 | 2 | open e_j = y_0 + y_j; x = sum x_j, y = y_0, z = z_0 + sum (z_j + e_j x_j) |
//!
//! A factor x leaks only if all leaky ANDs of its bucket leak. Let l be the number of cheats, each of which passes with
//! probability 1/2, and M the number of all leaky ANDs. The probability of a leak is at most the sum over the buckets,
//! of B or B + 1, of C(l, B) / C(M, B) 2^-l. The sizes are such that this is at most 2^-sg' for every l.

use std::ops::RangeInclusive;

use quorate_authenticated::macs::MacBits;
use quorate_engine::{Ctx, Result};
use quorate_ring::Bits;

use crate::coins::Coins;
use crate::leaky::Leaky;
use crate::tinyot::TinyOt;

/// The largest number of buckets of one batch: each takes about 0.7 kB with each peer while it is made, 180 MB in all.
pub(crate) const MOST: usize = 1 << 18;
/// The sizes of buckets that are tried.
const SIZES: RangeInclusive<usize> = 3..=12;
/// A number of buckets of one size that counts as unlimited.
const ENOUGH: u128 = 1 << 60;

/// The number of buckets, and the numbers of ANDs in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    pub count: usize,
    /// The size of the last buckets.
    pub size: usize,
    /// The number of the first buckets, which have one AND more.
    pub larger: usize,
}

impl Sizes {
    /// Returns the sizes with the fewest leaky ANDs, for at least `len` buckets.
    pub fn of(len: usize, security_bits: u32) -> Sizes {
        let of = |count: usize| {
            let of_sizes = |size: usize| {
                let with = |larger: usize| Sizes { count, size, larger };
                least(count, |larger| with(larger).are_safe(security_bits)).map(with)
            };
            // Larger buckets never take fewer: all of them with one AND more are the next size.
            let mut sizes = SIZES;
            sizes.find_map(of_sizes)
        };
        // For few ANDs, more buckets are made than are wanted: none of the tried sizes is safe for fewer buckets.
        (len..len + MOST).find_map(of).unwrap_or(Sizes { count: len + MOST, size: *SIZES.end(), larger: 0 })
    }

    /// Returns the sizes with the fewest leaky ANDs, or leaky triples, where all buckets have one size.
    pub fn of_one(len: usize, sizes: RangeInclusive<usize>, security_bits: u32) -> Sizes {
        let of = |size: usize| {
            let with = |more: usize| Sizes { count: len + more, size, larger: 0 };
            least(MOST.saturating_sub(len), |more| with(more).are_safe(security_bits)).map(with)
        };
        let largest = Sizes { count: len, size: security_bits as usize, larger: 0 };
        sizes.filter_map(of).min_by_key(Sizes::all).unwrap_or(largest)
    }

    /// Returns the number of leaky ANDs in all buckets.
    pub fn all(&self) -> usize {
        self.count * self.size + self.larger
    }

    /// Returns whether the bound is at most 2^-bits.
    fn are_safe(&self, security_bits: u32) -> bool {
        let allowed = |size: usize| (buckets_for_one(self.all(), size) >> security_bits).min(ENOUGH);
        let counts = [(self.count - self.larger, self.size), (self.larger, self.size + 1)];
        // Each size uses a part of what it is allowed; all parts add up to one at most.
        let [(few, of_few), (more, of_more)] = counts.map(|(count, size)| (count as u128, allowed(size)));
        match (few, more) {
            (0, _) => more <= of_more,
            (_, 0) => few <= of_few,
            _ => few * of_more + more * of_few <= of_few * of_more && of_few > 0,
        }
    }
}

/// Returns a number, rounded down, whose inverse bounds the probability that one bucket of `size` ANDs out of `all`
/// leaks. Over all l the largest value of C(l, B) 2^-l is at l = 2 B, the product of (2 i + 1) / (2 i + 2) for i < B.
/// So the inverse of the bound is the product of 2 (M - i) / (2 i + 1).
fn buckets_for_one(all: usize, size: usize) -> u128 {
    (0..size as u128).fold(1, |ways: u128, i| ways.saturating_mul(2 * (all as u128).saturating_sub(i)) / (2 * i + 1))
}

/// Returns the least number up to `most` for which a property holds that also holds for all larger numbers.
pub(crate) fn least(most: usize, holds: impl Fn(usize) -> bool) -> Option<usize> {
    if !holds(most) {
        return None;
    }
    let (mut from, mut to) = (0, most);
    while from < to {
        let middle = from.midpoint(to);
        if holds(middle) { to = middle } else { from = middle + 1 }
    }
    Some(to)
}

/// Makes at least `len` ANDs: x, y and x y.
pub(crate) async fn ands(ctx: &Ctx, ends: &TinyOt<'_>, len: usize) -> Result<[MacBits; 3]> {
    let sizes = Sizes::of(len, ends.keys.params.inner_bits());
    let (count, all) = (sizes.count, sizes.all());
    let drawn = Leaky::draw(ctx, ends, all).await?;
    let leaky = ends.keys.one_check(async || drawn.ands(ctx, ends).await).await?.bits;
    let [x_at, y_at, z_at] = [0, all, 2 * all];
    let order = Coins::toss(ctx, &ends.keys.session).await?.permutation(all).unwrap_or_else(|| vec![0; all]);
    let (first, others) = order.split_at(count);
    let [mut x, y, mut z] = [x_at, y_at, z_at].map(|start| leaky.gathered(start, first));
    let mut differences = leaky.gathered(y_at, others);
    differences.add_to_each(&y);
    let opened: Bits = ends.keys.one_check(async || ends.open(ctx, &differences).await).await?;
    for (places, start) in others.chunks(count).zip((0..).step_by(count)) {
        let opened = opened.slice_lanes(start..start + places.len());
        x.add_gathered((&leaky, x_at), places, None);
        z.add_gathered((&leaky, z_at), places, None);
        z.add_gathered((&leaky, x_at), places, Some(&opened));
    }
    Ok([x, y, z])
}

#[cfg(test)]
pub(crate) mod tests {
    use quorate_crypto::Seed;
    use quorate_engine::Phase;
    use quorate_engine::testing::parties;

    use super::*;
    use crate::params::Params;
    use crate::party::Spdz2k;

    /// Returns a party's own bits y of the leaky ANDs and of the ANDs, in two sessions that grow from one seed. Only
    /// the tosses differ. So the leaky ANDs are the same, and the ones that come first in their buckets are not.
    #[test]
    fn which_leaky_ands_go_into_a_bucket_is_tossed() {
        let own = |_: usize| {
            let mut ends = parties(2, |mut party| {
                let mut run = party.begin_alone().unwrap();
                let done = run.phase(Phase::Offline, async |ctx| {
                    let coins = Seed::from_bytes([party_seed(ctx.me()); 32]);
                    let s = Spdz2k::set_up(ctx, Params::new(32, true)?, Some(&coins)).await?;
                    let ends = TinyOt::new(s.keys().ots())?;
                    let random = ends.random(ctx, 60).await?.own.to_bools();
                    Ok((random, ands(ctx, &ends, 60).await?[1].own.to_bools()))
                });
                run.finish();
                done.unwrap()
            });
            ends.swap_remove(0)
        };
        let [first, second] = [0, 1].map(own);
        assert!(first.0 == second.0 && first.1 != second.1);
    }

    fn party_seed(me: usize) -> u8 {
        7 + me as u8
    }

    /// The smallest number of buckets of a size that is safe.
    pub(crate) fn least(size: usize, security_bits: u32) -> usize {
        let (mut below, mut above) = (0, 1);
        while !is_safe(above, size, security_bits) {
            (below, above) = (above, 2 * above);
        }
        while above - below > 1 {
            let middle = below.midpoint(above);
            if is_safe(middle, size, security_bits) { above = middle } else { below = middle }
        }
        above
    }

    /// Whether N C(l, B) 2^-l is at most C(N B, B) 2^-bits for every l.
    pub(crate) fn is_safe(count: usize, size: usize, security_bits: u32) -> bool {
        are_safe(&[(count, size)], security_bits)
    }

    /// Whether the sum of this bound over several sizes is at most 2^-bits for every l.
    fn are_safe(buckets: &[(usize, usize)], security_bits: u32) -> bool {
        let all: usize = buckets.iter().map(|(count, size)| count * size).sum();
        let choose =
            |of: usize, size: usize| (0..size).map(|i| of.saturating_sub(i) as f64 / (i + 1) as f64).product::<f64>();
        let halved = |x: f64, times: usize| (0..times).fold(x, |x, _| x / 2.0);
        let bound = halved(1.0, security_bits as usize);
        let leaks = |l: usize| {
            let of = |&(count, size): &(usize, usize)| count as f64 * halved(choose(l, size), l) / choose(all, size);
            buckets.iter().map(of).sum::<f64>()
        };
        let most = buckets.iter().map(|(_, size)| 8 * size + 64).max().unwrap_or_default();
        (1..=all.min(most)).all(|l| leaks(l) <= bound)
    }

    /// The table of the design; and small batches, for which a larger one may be cheaper.
    #[test]
    fn buckets_are_as_large_as_the_bound_wants() {
        for (bits, size, from, to) in
            [(40, 3, 2.7e5, 2.9e5), (40, 4, 3.0e3, 3.2e3), (57, 4, 1.5e5, 1.65e5), (57, 5, 6.0e3, 6.2e3)]
        {
            let least = least(size, bits) as f64;
            assert!((from..to).contains(&least), "{bits} bits, buckets of {size}: {least}");
        }
        for bits in [58, 43, 27] {
            for len in [1, 2, 3, 10, 53, 100, 1000, 10_000, 94_000, 151_000, MOST] {
                let sizes = Sizes::of(len, bits);
                let buckets =
                    |sizes: &Sizes| [(sizes.count - sizes.larger, sizes.size), (sizes.larger, sizes.size + 1)];
                assert!(sizes.count >= len && are_safe(&buckets(&sizes), bits), "{len}, {bits} bits: {sizes:?}");
                // Buckets of one size would not be safe with fewer leaky ANDs.
                let fewer = (3..=12).map(|size| size * least(size, bits).max(len)).min().unwrap();
                assert!(sizes.all() <= fewer, "{len}, {bits} bits: {sizes:?}, {fewer}");
                // Nor would one AND fewer in a larger bucket be safe.
                if sizes.larger > 0 {
                    let fewer = Sizes { larger: sizes.larger - 1, ..sizes };
                    assert!(
                        !are_safe(&buckets(&fewer), bits) || !fewer.are_safe(bits),
                        "{len}, {bits} bits: {sizes:?}"
                    );
                }
            }
        }
        assert_eq!(Sizes::of(MOST, 58).all().div_ceil(MOST), 4);
    }

    /// The figures of the docs: no batch takes fewer leaky ANDs, and none takes fewer than a smaller batch.
    #[test]
    fn few_ands_take_the_least_that_any_batch_does() {
        for (bits, fewest) in [(58, 143), (43, 64), (27, 32)] {
            let all: Vec<usize> = (1..=300).map(|len| Sizes::of(len, bits).all()).collect();
            assert_eq!(all[0], fewest, "{bits} bits");
            assert!(all.is_sorted(), "{bits} bits: {all:?}");
        }
    }
}
