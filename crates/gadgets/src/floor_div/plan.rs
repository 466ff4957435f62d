//! How a quotient by one public divisor is computed, proven for every number of a range.
//!
//! Let D = |d| and V = (x + 1/2) / D for d > 0, (x - 1/2) / D for d < 0. No integer lies within 1/(2D) of V, so that any
//! approximation of V which is off by less has the floor of V: that is floor(x / d) for d > 0, and -1 - floor(x / d) for
//! d < 0. With u = x - c for the middle c of the range, (2c + 1)/(2D) = j + rest, the approximation is (u m + b) / 2^S + j
//! for integers m near 2^S / D and b near rest 2^S. What it is off by is largest at an end of the range and is computed
//! there, in integers; the smallest S that is good enough is taken, because u m + b must fit the ring.

/// The most bits of a ring in which a truncation finds its random bits (which take two more).
const MOST_BITS: u32 = 126;

/// What x is proven to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Smallest.
    pub lo: i128,
    /// Largest.
    pub hi: i128,
}

/// How floor(x / d) comes about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plan {
    /// It is the same for every x.
    Constant(i128),
    /// It is `below` for x < at, and `below + step` from there on.
    Step {
        below: i128,
        step: i128,
        at: i128,
    },
    /// It is floor(x / 2^shift).
    Shift(u32),
    Multiply(Multiply),
}

/// floor((u factor + addend) / 2^shift) + offset is floor(V), or, if `late`, at most one less.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Multiply {
    pub factor: i128,
    pub addend: i128,
    pub shift: u32,
    pub offset: i128,
    /// Bits of u factor + addend with its sign.
    pub wide_bits: u32,
    pub late: bool,
    /// d < 0.
    pub negative: bool,
    /// D.
    pub divisor: i128,
}

/// Bits of the smallest two's complement integer that holds both.
pub(crate) fn signed_bits(lo: i128, hi: i128) -> u32 {
    let bits = |v: i128| 129 - if v < 0 { v.leading_ones() } else { v.leading_zeros() };
    bits(lo).max(bits(hi))
}

impl Range {
    /// The middle: what is left of a number then has the fewest bits.
    pub(super) fn center(self) -> i128 {
        (self.lo + self.hi + 1).div_euclid(2)
    }
}

/// The plan for d, which is not 0, and the numbers of `range`.
pub(super) fn plan(range: Range, d: i128) -> Plan {
    let (size, negative) = (d.abs(), d < 0);
    let floor = |x: i128| (x - i128::from(negative)).div_euclid(size);
    let quotient = |x: i128| if negative { -1 - floor(x) } else { floor(x) };
    let (first, last) = (floor(range.lo), floor(range.hi));
    if first == last {
        return Plan::Constant(quotient(range.lo));
    }
    if first + 1 == last {
        let at = last * size + i128::from(negative);
        let (below, above) = (quotient(range.lo), quotient(range.hi));
        return Plan::Step { below, step: above - below, at };
    }
    if !negative && size & (size - 1) == 0 {
        return Plan::Shift(size.trailing_zeros());
    }
    // There are three quotients or more: the divisor is less than the range is long.
    let exact = search(range, size, negative, false);
    Plan::Multiply(exact.or_else(|| search(range, size, negative, true)).unwrap_or_else(|| {
        unreachable!("a range of 64 bits and a divisor that is no power of two have a late plan of 126 bits")
    }))
}

/// 2^S n / D as S grows: the floor and the remainder.
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

    /// The nearest integer, and D times what it is too large by.
    fn nearest(&self) -> (i128, i128) {
        match 2 * self.rest >= self.by {
            true => (self.floor + 1, self.by - self.rest),
            false => (self.floor, -self.rest),
        }
    }
}

fn search(range: Range, size: i128, negative: bool, late: bool) -> Option<Multiply> {
    let center = range.center();
    let ends = [range.lo - center, range.hi - center];
    let middle = 2 * center + if negative { -1 } else { 1 };
    let offset = middle.div_euclid(2 * size);
    let mut factor = Scaled::new(1, size);
    let mut addend = Scaled::new(middle.rem_euclid(2 * size), 2 * size);
    for shift in 1..MOST_BITS {
        factor.double();
        addend.double();
        let ((m, m_error), (b, b_error)) = (factor.nearest(), addend.nearest());
        // Late: half a unit less, so that what is off by half a unit either way is never too large.
        let b = if late { b - (1 << (shift - 1)) } else { b };
        let products = ends.map(|u| u.checked_mul(m).and_then(|product| product.checked_add(b)));
        let [Some(first), Some(last)] = products else { return None };
        let wide_bits = signed_bits(first, last);
        if wide_bits > MOST_BITS {
            return None;
        }
        // All times 2D: V is off by (2 u m_error + b_error) / 2^S.
        let allowed = if late { (1i128 << shift).checked_mul(size + 1) } else { Some(1 << shift) };
        let off = |u: i128| (2 * u).checked_mul(m_error).map(|off| (off + b_error).abs());
        if ends.iter().all(|&u| matches!((off(u), allowed), (Some(off), Some(allowed)) if off < allowed)) {
            let divisor = size;
            return Some(Multiply { factor: m, addend: b, shift, offset, wide_bits, late, negative, divisor });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the plan gives in the clear, and whether it stays in its rings.
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
        }
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
                    let plan = plan(range, d);
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
                let plan = plan(range, d);
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
        let Plan::Multiply(multiply) = plan(range, 10) else { panic!("1000 // 10 is a product") };
        assert!(multiply.wide_bits <= 24 && !multiply.late);
    }
}
