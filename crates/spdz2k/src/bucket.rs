//! ANDs without a leak: buckets of leaky ones, put together after a toss.
//!
//! **Source**: Nielsen et al. 2012 (TinyOT, ePrint 2011/091), with the combination of Wang, Ranellucci, Katz 2017
//! (ePrint 2017/030). **Model**: malicious, all but one. **Notation**: N buckets of B; leaky ANDs x_j, y_j, z_j of a
//! bucket.
//!
//! | step | rounds, n = 2 | n > 2 | what |
//! |---|---|---|---|
//! | 1 | 7 | 14 | N B leaky ANDs; all have passed their check |
//! | 2 | 2 | 2 | toss which go into which bucket |
//! | 3 | 2 | 2 | open e_j = y_0 + y_j; x = sum x_j, y = y_0, z = z_0 + sum (z_j + e_j x_j) |
//!
//! A factor x leaks only if all of its bucket leak. For l cheats, each of which passes with probability 1/2, that is at
//! most N C(l, B) / C(N B, B) 2^-l; the sizes are such that this is at most 2^-sg' for every l.

use quorate_engine::{Ctx, LinearBits, Positions, Result};
use quorate_ring::Bits;

use crate::coins::Coins;
use crate::keys::Keys;
use crate::leaky::Drawn;
use crate::macs::MacBits;
use crate::tinyot::TinyOt;

/// Most buckets of one batch: some 1.2 kB each and peer on the way, 300 MB in all.
pub(crate) const MOST: usize = 1 << 18;

/// By bits of security: the fewest buckets of 3, 4, .. 12 ANDs that are safe.
const LEAST: [(u32, [usize; 10]); 3] = [
    (58, [141_477_909, 194_771, 7_225, 1_002, 269, 105, 53, 31, 20, 14]),
    (43, [781_563, 6_088, 538, 126, 48, 25, 15, 10, 8, 6]),
    (27, [3_054, 152, 35, 15, 8, 6, 5, 4, 3, 3]),
];

/// How many buckets of how many, for at least so many ANDs: what makes the fewest leaky ones. Unknown bits of security
/// count as the most.
pub(crate) fn sizes(len: usize, security_bits: u32) -> (usize, usize) {
    let (_, least) = LEAST.iter().find(|(bits, _)| *bits == security_bits).unwrap_or(&LEAST[0]);
    let enough = (3..).zip(least).map(|(size, &least)| (len.max(least), size));
    enough.min_by_key(|(count, size)| count * size).unwrap_or((len, 12))
}

impl Keys {
    /// At least `len` ANDs: x, y and x y.
    pub(crate) async fn ands(&self, ctx: &Ctx, ends: &TinyOt<'_>, len: usize) -> Result<[MacBits; 3]> {
        let (count, size) = sizes(len, self.params.inner_bits());
        let drawn = Drawn::new(ctx, ends, count * size).await?;
        let leaky = self.one_check(async || self.leaky_ands(ctx, ends, drawn).await).await?;
        let order = Coins::toss(ctx, &self.session).await?.permutation(count * size);
        let member = |part: &MacBits, j: usize| match &order {
            Some(order) => {
                let places = Positions::Given(&order[j * count..(j + 1) * count]);
                part.linear(&LinearBits::GatherLanes(places))
            }
            None => part.slice(0..count),
        };
        let members = |j: usize| leaky.each_ref().map(|part| member(part, j));
        let [mut x, y, mut z] = members(0);
        let differences = (1..size).map(|j| member(&leaky[1], j).xor(&y)).collect::<Vec<_>>();
        let all = MacBits::concat_lanes(&differences.iter().collect::<Vec<_>>());
        let opened: Bits = self.one_check(async || ends.open(ctx, &all).await).await?;
        for j in 1..size {
            let [other_x, _, other_z] = members(j);
            z.add_chosen(&other_x, &opened.slice_lanes((j - 1) * count..j * count));
            x = x.xor(&other_x);
            z = z.xor(&other_z);
        }
        Ok([x, y, z])
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The fewest buckets of a size that are safe.
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
        let choose = |of: usize| (0..size).map(|i| (of - i) as f64 / (i + 1) as f64).product::<f64>();
        let halved = |x: f64, times: usize| (0..times).fold(x, |x, _| x / 2.0);
        let bound = halved(choose(count * size), security_bits as usize);
        (size..=(count * size).min(8 * size + 64)).all(|l| halved(choose(l), l) * count as f64 <= bound)
    }

    /// The table of the design, and small batches, of which a larger one may be cheaper.
    #[test]
    fn buckets_are_as_large_as_the_bound_wants() {
        for (bits, size, from, to) in
            [(40, 3, 2.7e5, 2.9e5), (40, 4, 3.0e3, 3.2e3), (57, 4, 1.5e5, 1.65e5), (57, 5, 6.0e3, 6.2e3)]
        {
            let least = least(size, bits) as f64;
            assert!((from..to).contains(&least), "{bits} bits, buckets of {size}: {least}");
        }
        for len in [1, 100, 1000, 100_000, MOST] {
            let (count, size) = sizes(len, 58);
            assert!(count >= len && is_safe(count, size, 58), "{len}: {count} of {size}");
        }
        assert_eq!(sizes(MOST, 58).1, 4);
        for (bits, all) in LEAST {
            // What takes more than a batch is looked at elsewhere.
            let computed = (3..).zip(all).filter(|(_, least)| *least <= MOST).map(|(size, _)| least(size, bits));
            assert!(computed.eq(all.into_iter().filter(|least| *least <= MOST)), "{bits} bits");
        }
    }
}
