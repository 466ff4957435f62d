//! Random numbers of one party each, with their bits, by cut and choose.
//!
//! **Source**: Escudero et al. 2020 (ePrint 2020/338), private edaBits. **Deviation**: sums are checked by QuickSilver
//! ([`crate::quicksilver`]), whose circuits do not err, and the smallest safe number of numbers is opened. The argument
//! is in docs/security/spdz2k.md. **Model**: malicious, all but one. **Notation**: N numbers of w bits are to be left,
//! in buckets of B; C numbers are opened.
//!
//! | step | rounds, n = 2 | n > 2 | what |
//! |---|---|---|---|
//! | 1 | 3 | 7 | w random bits of every party for each of N B + C numbers, with MACs |
//! | 2 | 4 | 5 | every party authenticates the numbers r = sum 2^j b_j over the ring of shares |
//! | 3 | 2 | 2 | toss which numbers are opened, and which go into which bucket |
//! | 4 | 1 | 1 | open C numbers and their bits; and, of each bucket, c = r_0 + r_j mod 2^w for all j > 0 |
//! | 5 | | | opened numbers are what their bits say, or the run ends |
//! | 6 | 3 | 3 | every party proves of its bits that r_0 + r_j = c modulo 2^w |
//!
//! r_0 of each bucket is left. Openings are noted, and checked before the material is used. A wrong r_0 passes only if
//! its bucket has wrong numbers alone, and all opened numbers are right.
//!
//! Bytes to the peer for a number, w = k = s = 64: 2.5 kB where 2048 are made together, 3.8 kB for 100; each bit proven
//! ([`crate::proved`]) would take 17.1 kB.

use std::borrow::Cow;
use std::ops::Range;

use quorate_adversary::Twist;
use quorate_authenticated::macs::MacBits;
use quorate_authenticated::shared::Shared;
use quorate_authenticated::{Authenticated, Tagged};
use quorate_engine::{Ctx, Error, Linear, LinearBits, Positions, Result};
use quorate_ring::{Bits, Ring, Vector, Wiped};

use crate::authenticate::{Own, Voles};
use crate::bucket::least;
use crate::coins::Coins;
use crate::maker::Maker;
use crate::quicksilver::{MASK, SumClaim};

const SAMPLE: &str = "a party's numbers and their bits";
const NO_NUMBERS: Error = Error::Bug { what: "no party has numbers" };
/// The largest size of buckets that is tried.
const MOST: usize = 32;

/// The number of numbers that are left, the size of their buckets, and the number of numbers that are opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    pub count: usize,
    pub bucket: usize,
    pub opened: usize,
}

impl Sizes {
    /// Returns the safe sizes that make the fewest numbers.
    pub fn of(count: usize, security_bits: u32) -> Option<Sizes> {
        let with = |bucket: usize| {
            // Larger C are not tried: the argument that one bucket is the best to attack would not hold for them.
            let with = |more: usize| Sizes { count, bucket, opened: bucket + more };
            least(bucket * (bucket - 2), |more| with(more).are_safe(security_bits)).map(with)
        };
        (3..=MOST).filter_map(with).min_by_key(Sizes::all)
    }

    /// Returns the number of all numbers that are made.
    pub fn all(&self) -> usize {
        self.count * self.bucket + self.opened
    }

    /// Returns whether N / C(N B + C, B), the probability with which one bucket of wrong numbers passes, is at most
    /// 2^-bits.
    fn are_safe(&self, security_bits: u32) -> bool {
        let enough = (self.count as u128) << security_bits;
        let (mut ways, mut chosen) = (1, 0);
        // The number of ways to choose `chosen` of them. It grows until half of them are chosen.
        while ways < enough && chosen < self.bucket as u128 {
            ways = ways * (self.all() as u128 - chosen) / (chosen + 1);
            chosen += 1;
        }
        ways >= enough
    }
}

/// A batch before it is cut: every party's numbers, with their bits.
struct Uncut {
    /// The bits of every party: the lowest bits first, a number in each lane.
    bits: MacBits,
    /// The numbers, by owner.
    numbers: Vec<Shared>,
    /// Random bits that mask the proof.
    masks: MacBits,
}

/// A batch that is cut: what is left, what is opened, and what is added to what is left.
struct Cut {
    bits: [MacBits; 3],
    /// The numbers, by owner.
    numbers: Vec<[Tagged; 3]>,
}

/// Runs all steps: returns, by owner, numbers as elements of a ring, and the bits of all owners' numbers.
pub(crate) async fn chosen_numbers(
    maker: Maker<'_>,
    ctx: &Ctx,
    ring: Ring,
    sizes: Sizes,
) -> Result<(Vec<Tagged>, MacBits)> {
    let Uncut { bits, numbers, masks } = uncut(maker, ctx, ring, sizes).await?;
    let order = Coins::toss(ctx, &maker.keys.session).await?.permutation(sizes.all());
    let Cut { bits, numbers } = cut((&bits, &numbers), ring, (order, sizes));
    let [left, sample, others] = bits;
    let opened = open_cut(maker.online, ctx, &sample, &numbers).await?;
    let sums: Vec<Bits> = opened.iter().map(|all| all.slice(sizes.opened..all.len()).to_bits(0..ring.bits())).collect();
    let claim = SumClaim { x: &left, y: &others, sums: &sums, masks: &masks };
    maker.keys.one_check(async || claim.check(ctx, maker.keys.online).await).await?;
    Ok((numbers.into_iter().map(|[left, ..]| left).collect(), left))
}

/// Runs steps 1 and 2.
async fn uncut(maker: Maker<'_>, ctx: &Ctx, ring: Ring, sizes: Sizes) -> Result<Uncut> {
    let (rows, all) = (ring.bits() as usize, sizes.all());
    let masks = MASK * (maker.keys.parties - 1);
    let drawn = maker.tinyot()?.random(ctx, rows * all + masks).await?;
    let bits = drawn.slice(0..rows * all).in_rows((rows, all));
    let own = Wiped(bits.own.to_vector(maker.keys.params.shares(ring)));
    let numbers = own_numbers(maker.keys.voles(), ctx, &own).await?;
    Ok(Uncut { bits, numbers, masks: drawn.slice(rows * all..rows * all + masks) })
}

/// Runs steps 4 and 5: returns the opened sums, by owner.
async fn open_cut(online: &Authenticated, ctx: &Ctx, sample: &MacBits, numbers: &[[Tagged; 3]]) -> Result<Vec<Vector>> {
    let (rows, count) = sample.shape();
    let told = |[left, sample, others]: &[Tagged; 3]| {
        let times = others.shape().1 / left.shape().1;
        let mut sums = left.linear(&Linear::Repeat(times)).zip(others, Vector::add_assign);
        online.keys().twisted(Twist::Sum, &mut sums.share);
        Tagged::concat(&[sample, &sums])
    };
    let told: Vec<Tagged> = numbers.iter().map(told).collect();
    let parts: Vec<(usize, &Tagged)> = told.iter().enumerate().collect();
    let elements = async |ctx: Ctx| online.open_known(&ctx, &parts).await;
    let bits = async |ctx: Ctx| online.open_own_bits(&ctx, sample).await;
    let (opened, bits) = ctx.join(elements, bits).await?;
    let same =
        |(number, bits): (&Vector, &Bits)| number.slice(0..count).to_bits(0..rows as u32).to_bools() == bits.to_bools();
    match ctx.is_dry() || opened.iter().zip(&bits).all(same) {
        true => Ok(opened),
        false => Err(Error::Cheating { check: SAMPLE }),
    }
}

/// Runs step 2: returns shares of the numbers, by owner.
async fn own_numbers(voles: Voles<'_>, ctx: &Ctx, own: &Vector) -> Result<Vec<Shared>> {
    let own = voles.keys.twisted(Twist::Number, Cow::Borrowed(own));
    let mut numbers = voles.authenticate(ctx, &[Own::each(&own)]).await?.pop().ok_or(NO_NUMBERS)?;
    voles.keys.twisted(Twist::ToldNumber, &mut numbers[voles.keys.me].share);
    Ok(numbers)
}

/// Step 3: returns the first of each bucket, the opened numbers, and the others of each bucket, with all second ones
/// first.
fn cut((bits, numbers): (&MacBits, &[Shared]), ring: Ring, (order, sizes): (Option<Vec<u32>>, Sizes)) -> Cut {
    let in_buckets = sizes.count * sizes.bucket;
    let places = [0..sizes.count, in_buckets..sizes.all(), sizes.count..in_buckets];
    let part_of_bits = |range: &Range<usize>| match &order {
        Some(order) => bits.linear(&LinearBits::GatherLanes(Positions::Given(&order[range.clone()]))),
        None => bits.linear(&LinearBits::Lanes(range.clone())),
    };
    let part = |numbers: &Tagged, range: &Range<usize>| match &order {
        Some(order) => numbers.linear(&Linear::Gather(Positions::Given(&order[range.clone()]))),
        None => numbers.linear(&Linear::Slice(range.clone())),
    };
    let parts = |numbers: &Shared| {
        let numbers = Tagged::of(ring, numbers);
        places.each_ref().map(|range| part(&numbers, range))
    };
    Cut { bits: places.each_ref().map(part_of_bits), numbers: numbers.iter().map(parts).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The log2 of the number of ways to choose `count` of `of`.
    fn log_choose(of: usize, count: usize) -> f64 {
        (0..count.min(of - count)).map(|i| ((of - i) as f64 / (i + 1) as f64).log2()).sum()
    }

    /// The log2 of the probability with which a cheater passes whose wrong numbers fill `full` buckets exactly.
    fn passes(sizes: Sizes, full: usize) -> f64 {
        log_choose(sizes.count, full) - log_choose(sizes.all(), full * sizes.bucket)
    }

    #[test]
    fn sizes_are_safe_whatever_the_number_of_buckets_that_are_wrong() {
        for (bits, counts) in [58, 43, 27].into_iter().flat_map(|bits| [1, 2, 3, 17, 100, 283, 1000].map(|n| (bits, n)))
        {
            let sizes = Sizes::of(counts, bits).unwrap();
            let each: Vec<f64> = (1..=sizes.count).map(|full| passes(sizes, full)).collect();
            assert!(each.iter().all(|bound| *bound <= 1e-9 - f64::from(bits)), "{sizes:?}: {each:?}");
            // To fill one bucket is the best attack.
            assert!(each.iter().all(|bound| *bound <= each[0] + 1e-9), "{sizes:?}: {each:?}");
            // One opened number less is not safe, unless C is already as small as B.
            let fewer = Sizes { opened: sizes.opened - 1, ..sizes };
            assert!(sizes.opened == sizes.bucket || passes(fewer, 1) > -f64::from(bits), "{sizes:?}");
            assert!((sizes.bucket..=sizes.bucket * (sizes.bucket - 1)).contains(&sizes.opened), "{sizes:?}");
        }
    }

    /// The figures of the docs, and the largest counts for which a bucket has to have these sizes.
    #[test]
    fn larger_batches_take_smaller_buckets() {
        let bucket = |count, bits| Sizes::of(count, bits).map(|sizes| (sizes.bucket, sizes.opened));
        for (bits, all) in [
            (58, [(1, (28, 34)), (100, (9, 9)), (1000, (7, 7)), (2048, (6, 6)), (4096, (6, 6))]),
            (43, [(1, (20, 27)), (100, (7, 7)), (1000, (5, 5)), (2048, (5, 5)), (4096, (5, 5))]),
            (27, [(1, (14, 16)), (100, (5, 5)), (1000, (4, 4)), (2048, (4, 4)), (4096, (4, 4))]),
        ] {
            all.into_iter().for_each(|(count, sizes)| assert_eq!(bucket(count, bits), Some(sizes), "{count}"));
        }
        // The least counts for buckets of 6 to 9 and 58 bits.
        for (size, least) in LEAST {
            let is_safe = |count| Sizes { count, bucket: size, opened: size }.are_safe(58);
            assert!(is_safe(least) && !is_safe(least - 1), "{size}");
        }
    }

    const LEAST: [(usize, usize); 4] = [(6, 1348), (7, 347), (8, 132), (9, 64)];
}
