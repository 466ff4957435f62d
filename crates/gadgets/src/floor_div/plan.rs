//! The choice of how to compute a quotient by one public divisor, proven for every number of a range.
//!
//! Let D = |d| and V = (x + 1/2) / D for d > 0, (x - 1/2) / D for d < 0. No integer lies within 1/(2D) of V, so any
//! approximation of V with an error below that has the floor of V. This floor is floor(x / d) for d > 0, and -1 -
//! floor(x / d) for d < 0. With u = x - c for the middle c of the range, and (2c + 1)/(2D) = j + rest, the
//! approximation is (u m + b) / 2^S + j for integers m near 2^S / D and b near rest 2^S. Its error is largest at an end
//! of the range and is computed there, in integers. The smallest S that is good enough is taken, because u m + b must
//! fit the ring.
//!
//! A plan may be *late*: its result may be one too small, and a comparison of the remainder corrects it. With range =
//! hi - lo, S is at most about log2(range D); if late, log2(range). So the product has at most about 2 log2(range)
//! bits; if late, 2 log2(range) - log2(D) + 2. A range of 64 bits always has a plan, and one of 120 has one for
//! divisors beyond 2^116. In between, the dividend gets shorter first. With u1 = floor(u / 2^s), or one more, and m the
//! integer nearest to 2^s / D, q = u1 m + floor(c / D) is near x / D, and floor(x / D) = q + floor((x - q D) / D). The
//! rest x - q D = (u - 2^s u1) + u1 (2^s - m D) + (c mod D). Its first term is below 2^s in magnitude, and its second
//! below D / 2 times u1: with 2^s near the geometric mean of range and D, so are both. A range of 120 bits becomes one
//! of at most (122 + log2(D)) / 2, which has a plan; one of 126 bits may take two steps or three. q itself is public
//! linear algebra: a step costs a truncation by s in the ring of x, and nothing else.

use quorate_engine::{Misuse, Result};

/// A proven range of x.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Range {
    /// The smallest number.
    pub lo: i128,
    /// The largest number.
    pub hi: i128,
}

/// A way to compute floor(x / d).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plan {
    /// The quotient is the same for every x.
    Constant(i128),
    /// The quotient is `below` for x < at, and `below + step` from there on.
    Step {
        below: i128,
        step: i128,
        at: i128,
    },
    /// The quotient is floor(x / 2^shift).
    Shift(u32),
    Multiply(Multiply),
    /// The quotient is q plus that of the rest, a shorter number.
    Reduce(Reduce),
}

/// q = floor(u / 2^shift) factor + whole, where either floor may also be one more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reduce {
    pub shift: u32,
    pub factor: i128,
    pub whole: i128,
    /// D, the magnitude of the divisor.
    pub divisor: i128,
    /// Whether d < 0.
    pub negative: bool,
    /// The range of x - q D.
    pub rest: Range,
}

/// floor((u factor + addend) / 2^shift) + offset is floor(V), or, if `late`, at most one less.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Multiply {
    pub factor: i128,
    pub addend: i128,
    pub shift: u32,
    pub offset: i128,
    /// Bits of u factor + addend, including its sign.
    pub wide_bits: u32,
    pub late: bool,
    /// Whether d < 0.
    pub negative: bool,
    /// D, the magnitude of the divisor.
    pub divisor: i128,
}

/// Returns the bits of the smallest two's complement integer that holds both.
pub(crate) fn signed_bits(lo: i128, hi: i128) -> u32 {
    let bits = |v: i128| 129 - if v < 0 { v.leading_ones() } else { v.leading_zeros() };
    bits(lo).max(bits(hi))
}

impl Range {
    /// Returns the middle of the range: differences to it have the fewest bits.
    pub(super) fn center(self) -> i128 {
        (self.lo + self.hi + 1).div_euclid(2)
    }
}

/// Returns the plan for a divisor d other than 0 and the numbers of `range`, in rings of at most `most_bits` bits, up
/// to 126.
///
/// # Errors
/// [`Misuse`] if there is no plan: for some divisors beyond 2^118 of ranges of more than 123 bits.
pub(super) fn plan(range: Range, d: i128, most_bits: u32) -> Result<Plan> {
    let (size, negative) = (d.abs(), d < 0);
    let floor = |x: i128| (x - i128::from(negative)).div_euclid(size);
    let quotient = |x: i128| if negative { -1 - floor(x) } else { floor(x) };
    let (first, last) = (floor(range.lo), floor(range.hi));
    if first == last {
        return Ok(Plan::Constant(quotient(range.lo)));
    }
    if first + 1 == last {
        let at = last * size + i128::from(negative);
        let (below, above) = (quotient(range.lo), quotient(range.hi));
        return Ok(Plan::Step { below, step: above - below, at });
    }
    if !negative && size & (size - 1) == 0 {
        return Ok(Plan::Shift(size.trailing_zeros()));
    }
    // There are at least three quotients: the divisor is less than the length of the range.
    let product =
        [false, true].into_iter().find_map(|late| search((range, size, negative), late, most_bits)).map(Plan::Multiply);
    let plan = product.or_else(|| reduce(range, size, negative, most_bits).map(Plan::Reduce));
    plan.ok_or_else(|| Misuse::Other { what: "a public divisor is too long for numbers of this range" }.into())
}

/// Returns the step that leaves the shortest numbers, if they are shorter by at least two bits.
fn reduce(range: Range, size: i128, negative: bool, most_bits: u32) -> Option<Reduce> {
    let center = range.center();
    let (whole, beyond) = (center.div_euclid(size), center.rem_euclid(size));
    let mut power = Scaled::new(1, size);
    let mut best: Option<(i128, Reduce)> = None;
    for shift in 1..most_bits {
        power.double();
        let (factor, error) = power.nearest();
        // u1 lies between these two, and |u - 2^shift u1| is below 2^shift.
        let leading = [(range.lo - center) >> shift, ((range.hi - center) >> shift) + 1];
        let [Some(first), Some(last)] = leading.map(|u| u.checked_mul(-error)) else { continue };
        let (low, high) = (first.min(last), first.max(last));
        let lo = low.checked_sub((1 << shift) - 1);
        let hi = high.checked_add((1 << shift) - 1 + beyond);
        let (Some(lo), Some(hi)) = (lo, hi) else { continue };
        let Some(length) = hi.checked_sub(lo) else { continue };
        if best.is_none_or(|(shortest, _)| length < shortest) {
            let rest = Range { lo, hi };
            best = Some((length, Reduce { shift, factor, whole, divisor: size, negative, rest }));
        }
    }
    best.filter(|(length, _)| *length <= (range.hi - range.lo) / 4).map(|(_, reduce)| reduce)
}

/// floor(2^S n / D) and the remainder, for growing S.
struct Scaled {
    floor: i128,
    rest: i128,
    by: i128,
}

impl Scaled {
    fn new(n: i128, by: i128) -> Scaled {
        Scaled { floor: n / by, rest: n % by, by }
    }

    fn double(&mut self) {
        self.rest *= 2;
        let carry = self.rest >= self.by;
        self.rest -= if carry { self.by } else { 0 };
        self.floor = 2 * self.floor + i128::from(carry);
    }

    /// Returns the nearest integer, and D times its excess.
    fn nearest(&self) -> (i128, i128) {
        match 2 * self.rest >= self.by {
            true => (self.floor + 1, self.by - self.rest),
            false => (self.floor, -self.rest),
        }
    }
}

/// Returns a b, as its upper and lower 128 bits.
fn product(a: u128, b: u128) -> (u128, u128) {
    let low = |x: u128| x & u128::from(u64::MAX);
    let high = |x: u128| x >> 64;
    let (a1, a0, b1, b0) = (high(a), low(a), high(b), low(b));
    let middle = high(a0 * b0) + low(a1 * b0) + low(a0 * b1);
    (a1 * b1 + high(a1 * b0) + high(a0 * b1) + high(middle), a.wrapping_mul(b))
}

/// Returns |a b + c|, or more where a b does not fit.
fn sum_of_product(a: i128, b: i128, c: i128) -> (u128, u128) {
    if let Some(sum) = a.checked_mul(b).and_then(|ab| ab.checked_add(c)) {
        return (0, sum.unsigned_abs());
    }
    let (high, low) = product(a.unsigned_abs(), b.unsigned_abs());
    let (low, carry) = low.overflowing_add(c.unsigned_abs());
    (high + u128::from(carry), low)
}

fn search((range, size, negative): (Range, i128, bool), late: bool, most_bits: u32) -> Option<Multiply> {
    let center = range.center();
    let ends = [range.lo - center, range.hi - center];
    let middle = 2 * center + if negative { -1 } else { 1 };
    let offset = middle.div_euclid(2 * size);
    let mut factor = Scaled::new(1, size);
    let mut addend = Scaled::new(middle.rem_euclid(2 * size), 2 * size);
    for shift in 1..most_bits {
        factor.double();
        addend.double();
        let ((m, m_error), (b, b_error)) = (factor.nearest(), addend.nearest());
        // Late: half a unit less, so that an error of half a unit either way never makes the result too large.
        let b = if late { b - (1 << (shift - 1)) } else { b };
        let products = ends.map(|u| u.checked_mul(m).and_then(|product| product.checked_add(b)));
        let [Some(first), Some(last)] = products else { return None };
        let wide_bits = signed_bits(first, last);
        if wide_bits > most_bits {
            return None;
        }
        // All times 2D: the error of V is (2 u m_error + b_error) / 2^S.
        let allowed = product(1 << shift, if late { size.unsigned_abs() + 1 } else { 1 });
        let off = |u: i128| sum_of_product(2 * u, m_error, b_error);
        if ends.iter().all(|&u| off(u) < allowed) {
            let divisor = size;
            return Some(Multiply { factor: m, addend: b, shift, offset, wide_bits, late, negative, divisor });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST_BITS: u32 = 126;

    /// Runs the plan in the clear, and checks that it stays in its rings.
    fn run(plan: Plan, range: Range, x: i128) -> i128 {
        match plan {
            Plan::Constant(quotient) => quotient,
            Plan::Step { below, step, at } => below + if x < at { 0 } else { step },
            Plan::Shift(shift) => x >> shift,
            Plan::Multiply(Multiply { factor, addend, shift, offset, wide_bits, late, negative, divisor }) => {
                let product = (x - range.center()) * factor + addend;
                assert!(signed_bits(product, product) <= wide_bits && wide_bits <= MOST_BITS);
                let mut floor = (product >> shift) + offset;
                let rest = x - i128::from(negative) - floor * divisor;
                assert!((0..if late { 2 * divisor } else { divisor }).contains(&rest), "{plan:?} of {x}");
                floor += i128::from(rest >= divisor);
                if negative { -1 - floor } else { floor }
            }
            Plan::Reduce(_) => unreachable!("it is divided again"),
        }
    }

    /// Returns all plans that follow each other, with their ranges.
    fn chain(range: Range, d: i128) -> Vec<(Range, Plan)> {
        let first = plan(range, d, MOST_BITS).unwrap();
        let rest = if let Plan::Reduce(reduce) = first { chain(reduce.rest, d) } else { Vec::new() };
        [vec![(range, first)], rest].concat()
    }

    /// Runs a chain of plans in the clear. Every floor inside stays or becomes one more, as the bits of `up` determine.
    fn run_all(chain: &[(Range, Plan)], x: i128, d: i128, up: u32) -> i128 {
        let (range, plan) = chain[0];
        assert!(range.lo <= x && x <= range.hi, "{x} is beyond {range:?}");
        let Plan::Reduce(Reduce { shift, factor, whole, .. }) = plan else { return run(plan, range, x) };
        let u = x - range.center();
        let up_here = up & 1 == 1 && u & ((1 << shift) - 1) != 0;
        let quotient = ((u >> shift) + i128::from(up_here)) * factor + whole;
        quotient * d.signum() + run_all(&chain[1..], x - quotient * d.abs(), d, up >> 1)
    }

    fn floor_div(x: i128, d: i128) -> i128 {
        let quotient = x / d;
        quotient - i128::from(x % d != 0 && (x < 0) != (d < 0))
    }

    #[test]
    fn every_quotient_of_small_ranges() {
        for lo in -33..=33 {
            for hi in lo..=34 {
                let range = Range { lo, hi };
                for d in (-70..=70).filter(|&d| d != 0) {
                    let plan = plan(range, d, MOST_BITS).unwrap();
                    (lo..=hi).for_each(|x| assert_eq!(run(plan, range, x), floor_div(x, d), "{x} // {d}: {plan:?}"));
                }
            }
        }
    }

    #[test]
    fn quotients_of_large_ranges_at_their_edges() {
        let mut seed = 1u64;
        let mut draw = || {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            i128::from(seed >> 1)
        };
        let full = |bits: u32| Range { lo: -(1 << (bits - 1)), hi: (1 << (bits - 1)) - 1 };
        let ranges = [full(64), full(63), full(62), full(33), Range { lo: 0, hi: (1 << 64) - 1 }];
        for range in ranges.into_iter().chain([Range { lo: 1, hi: 1 << 63 }, Range { lo: -(1 << 63), hi: 5 }]) {
            let mut divisors: Vec<i128> =
                (1..200).chain((1..64).flat_map(|e| [(1 << e) - 1, 1 << e, (1 << e) + 1])).collect();
            divisors.extend((0..300).map(|i| (draw() >> (i % 62)).max(1)));
            for d in divisors.into_iter().flat_map(|d| [d, -d]) {
                let plan = plan(range, d, MOST_BITS).unwrap();
                let mut xs = vec![range.lo, range.lo + 1, -1, 0, 1, range.hi - 1, range.hi];
                for i in 0..40 {
                    let multiple = (draw() >> i) / d * d;
                    xs.extend([multiple - 1, multiple, multiple + 1, -multiple - 1, 1 - multiple, range.lo + draw()]);
                }
                for x in xs {
                    if range.lo <= x && x <= range.hi {
                        assert_eq!(run(plan, range, x), floor_div(x, d), "{x} // {d}: {plan:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn short_numbers_stay_in_their_ring() {
        let range = Range { lo: -1000, hi: 1000 };
        let Plan::Multiply(multiply) = plan(range, 10, MOST_BITS).unwrap() else { panic!("1000 // 10 is a product") };
        assert!(multiply.wide_bits <= 24 && !multiply.late);
    }

    /// Tests where quotients change, and the ends, for ranges of up to 126 bits and divisors of every size.
    #[test]
    fn quotients_of_ranges_beyond_a_word() {
        let mut seed = 7u64;
        let mut draw = || {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let high = i128::from(seed >> 1) << 63;
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            high | i128::from(seed >> 1)
        };
        let mut count = 0;
        for bits in [65u32, 70, 96, 119, 120, 123, 126] {
            let most = 1i128 << (bits - 1);
            let ranges =
                [Range { lo: -most, hi: most - 1 }, Range { lo: 0, hi: 2 * most - 1 }, Range { lo: -5, hi: most }];
            for range in ranges {
                let top = if bits <= 123 { bits } else { 118 };
                let mut divisors: Vec<i128> =
                    (1..20).chain((1..top).flat_map(|e| [(1 << e) - 1, 1 << e, (1 << e) + 1, 5 << (e / 2)])).collect();
                divisors.extend(
                    (0..60).map(|i| (draw() & (most - 1)) >> (i % (bits - 1)).max(bits - top)).map(|d| d.max(1)),
                );
                for d in divisors.into_iter().flat_map(|d| [d, -d]) {
                    let plans = chain(range, d);
                    let mut xs = vec![range.lo, range.lo + 1, -1, 0, 1, range.hi - 1, range.hi];
                    for i in 0..8 {
                        let multiple = ((draw() & (2 * most - 1)) >> (9 * i)) / d * d;
                        xs.extend([multiple - 1, multiple, multiple + 1, -multiple - 1, 1 - multiple]);
                    }
                    for (i, x) in xs.into_iter().filter(|x| (range.lo..=range.hi).contains(x)).enumerate() {
                        assert_eq!(run_all(&plans, x, d, i as u32 % 4), floor_div(x, d), "{x} // {d} of {range:?}");
                        count += 1;
                    }
                }
            }
        }
        assert!(count > 100_000, "{count}");
    }

    #[test]
    fn divisors_that_no_ring_holds_are_refused() {
        let range = Range { lo: -(1 << 125), hi: (1 << 125) - 1 };
        let works = |d: i128| [d, -d].map(|d| plan(range, d, MOST_BITS).is_ok());
        assert_eq!(
            [works(7 << 121), works(3 << 121), works(1 << 122)].concat().iter().filter(|works| !*works).count(),
            4
        );
    }
}
