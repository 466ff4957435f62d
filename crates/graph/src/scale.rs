//! Multiples by public reals that the dtype does not hold, in integers precise enough that results are within 3/4 of a
//! unit.
//!
//! A real c is n + r with the nearest integer n, |r| <= 1/2, and x c is n x + r x. With m near 2^s r, the term r x is
//! floor((m x + 2^(s-1)) / 2^s), rounded to the nearest. The error of m, at most 1/2, moves it by |x| / 2^(s+1). The
//! smallest s is taken with which this is at most a quarter of a unit for every x of the proven range. So the result is
//! within 3/4 of a unit, and equals x c where that is a whole number of units. If m is exact at a smaller s, that s is
//! taken. If r is negligible, n x is precise enough by itself. A product m x may be wider than the dtype: then x
//! goes into a larger ring. If no ring holds it, x is split in two: x = 2^t x' + x'' with 0 <= x'' < 2^t. The
//! multiples of x' by 2^t c and of x'' by c are added; each product takes half of the bits.

use std::ops::Range;
use std::sync::Arc;

use crate::dtype::Dtype;
use crate::interval::Interval;
use crate::rules::Truncation;
use crate::shape::Repeats;
use crate::units::{Units, repeated};

/// The multiplication of every element: x becomes n x + floor((m x + half) / 2^shift), with 2^(shift-1) as the half
/// (where results are rounded either way, with no half). There is one n, m or limit for each element, or one for all,
/// or they are repeated.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    /// n.
    pub whole: Units,
    /// m; all are 0 if `shift` is 0.
    pub factors: Units,
    /// s.
    pub shift: u32,
    /// Bits of m x + half, with its sign.
    pub product_bits: u32,
    /// Bits of the ring in which that is computed: the dtype's or more.
    pub ring_bits: u32,
    /// Limits: beyond this magnitude, the result is the largest element with the sign of n x. A limit that is the
    /// largest element itself has no effect.
    pub limits: Option<Units>,
    /// The factors of the upper bits of x, where no ring holds m x for every x. The fields above then apply to the low
    /// bits alone.
    pub upper: Option<Box<Upper>>,
    /// The reals themselves: one, or one for each number of the lists above that have several.
    reals: Arc<[f64]>,
    /// The number of elements in a row that each of several reals stands for.
    each: usize,
}

/// The multiplication of the upper bits of each number.
#[derive(Clone, Debug, PartialEq)]
pub struct Upper {
    /// The number of low bits.
    pub from: u32,
    /// For x / 2^from, rounded down; without limits.
    pub scale: Scale,
}

/// A real number as an exact fraction: whole + rest / parts, where whole is the nearest integer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ratio {
    whole: i128,
    rest: i128,
    parts: i128,
    /// The number as a double.
    real: f64,
}

/// Returns m and e with |c| = m / 2^e for an odd m, or 0.
fn significand(c: f64) -> (i128, i32) {
    let bits = c.to_bits();
    let (exponent, fraction) = ((bits >> 52 & 0x7ff) as i32, i128::from(bits & ((1 << 52) - 1)));
    let m = if exponent == 0 { fraction } else { fraction | 1 << 52 };
    match m {
        0 => (0, 0),
        _ => (m >> m.trailing_zeros(), 1075 - exponent.max(1) - m.trailing_zeros() as i32),
    }
}

impl Ratio {
    /// Returns n with the ratio's magnitude below 2^(n + 1); far below any dtype's unit where the ratio is 0.
    pub(crate) fn size_exponent(&self) -> i32 {
        match (self.whole.unsigned_abs(), self.rest.unsigned_abs()) {
            (0, 0) => -128,
            (0, rest) => rest.ilog2() as i32 - self.parts.ilog2() as i32,
            (whole, _) => whole.ilog2() as i32,
        }
    }

    fn new(real: f64, top: i128, parts: i128) -> Ratio {
        let (whole, rest) = (top / parts, top % parts);
        let up = i128::from(rest > parts - rest);
        let sign = if real < 0.0 { -1 } else { 1 };
        Ratio { whole: sign * (whole + up), rest: sign * (rest - up * parts), parts, real }
    }

    /// Returns the ratio of c, which is below 2^64, within 2^-125.
    pub(crate) fn of(c: f64) -> Ratio {
        match significand(c) {
            (m, e @ MOST..) => Ratio::new(c, m.checked_shr((e - MOST + 1) as u32).unwrap_or(0), 1 << (MOST - 1)),
            (m, e @ 0..) => Ratio::new(c, m, 1 << e),
            (m, e) => Ratio::new(c, m << -e, 1),
        }
    }

    /// Returns the ratio of 1 / c for 0 < |c| < 2^64; `None` if |1 / c|, rounded, is 2^63 or more.
    pub(crate) fn inverse(c: f64) -> Option<Ratio> {
        let ratio = match significand(c) {
            (_, MOST..) => return None,
            (m, e @ 0..) => Ratio::new(c.recip(), 1 << e, m),
            (m, e) => Ratio::new(c.recip(), 1, m << -e),
        };
        (ratio.whole.abs() < 1 << 63).then_some(ratio)
    }

    /// Returns the ratio times 2^bits, if its nearest integer has less than 127 bits.
    fn shifted(self, bits: u32) -> Option<Ratio> {
        let Ratio { mut whole, mut rest, parts, real } = self;
        for _ in 0..bits {
            rest *= 2;
            let carry = if rest.abs() > parts - rest.abs() { rest.signum() } else { 0 };
            (whole, rest) = (whole.checked_mul(2)?.checked_add(carry)?, rest - carry * parts);
        }
        Some(Ratio { whole, rest, parts, real: real * f64::from(bits).exp2() })
    }

    /// Returns whether this is an integer.
    pub(crate) fn is_whole(self) -> bool {
        self.rest == 0
    }

    /// Returns the number of bits after the point, if it is finite.
    fn bits(self) -> Option<u32> {
        let odd = self.parts >> self.parts.trailing_zeros();
        (self.rest == 0 || odd == 1).then(|| match self.rest {
            0 => 0,
            rest => self.parts.trailing_zeros().saturating_sub(rest.trailing_zeros()),
        })
    }

    /// Returns the fraction after the integer, times 2^shift, rounded to the nearest.
    fn factor(self, shift: u32) -> i128 {
        let (mut floor, mut rest) = (0, self.rest.abs());
        if self.parts & (self.parts - 1) == 0 {
            let e = self.parts.trailing_zeros();
            (floor, rest) = match shift >= e {
                true => (rest << (shift - e), 0),
                false => (rest >> (e - shift), (rest & ((1 << (e - shift)) - 1)) << shift),
            };
        } else {
            for _ in 0..shift {
                let carry = rest >= self.parts - rest;
                (floor, rest) = (2 * floor + i128::from(carry), 2 * rest - if carry { self.parts } else { 0 });
            }
        }
        (floor + i128::from(rest >= self.parts - rest && rest > 0)) * self.rest.signum()
    }

    /// Returns whether the fraction after the integer changes products with numbers up to `size` by at most a quarter.
    fn is_near_whole(self, size: i128) -> bool {
        self.rest.abs().checked_mul(4).and_then(|rest| rest.checked_mul(size)).is_some_and(|moved| moved <= self.parts)
    }

    /// Returns the largest number whose quotient by c is at most `largest`; where all quotients fit, `most`.
    fn limit(c: f64, largest: i128, most: i128) -> i128 {
        match significand(c) {
            _ if c.abs() >= 1.0 => most,
            (m, e) => product_shr(largest, m, e as u32),
        }
    }
}

/// Returns floor(x m / 2^e) for 0 <= x < 2^120, 0 < m < 2^53, 0 <= e <= 126, where that fits.
fn product_shr(x: i128, m: i128, e: u32) -> i128 {
    const LOW_BITS: u32 = 60;
    let (high, low) = ((x >> LOW_BITS) * m, (x & ((1 << LOW_BITS) - 1)) * m);
    match e.checked_sub(LOW_BITS) {
        Some(down) => (high >> down) + ((((high & ((1 << down) - 1)) << LOW_BITS) + low) >> e),
        None => (high << (LOW_BITS - e)) + (low >> e),
    }
}

/// Numbers from 2^126 on are beyond all rings.
const MOST: i32 = 126;
/// Fractional bits that factors may lack. A result is then within 2^SPARE / 4 + 1/2 units.
const SPARE: u32 = 2;
/// The units by which a sum of two rounded products may lie below that of a smaller number.
const UNEVEN: i128 = 6;

/// Returns the number of fractional bits of a public number with which its rounding changes products with numbers of
/// this size, not 0, by at most a quarter.
pub(crate) fn enough_bits(size: i128) -> u32 {
    129 - (size - 1).leading_zeros()
}

/// Returns the fractional bits that factors need for numbers in `x`: none where their rests are negligible.
fn wanted_bits(ratios: &[Ratio], x: Interval) -> u32 {
    let size = x.lo().abs().max(x.hi().abs());
    if ratios.iter().all(|ratio| ratio.is_near_whole(size)) {
        return 0;
    }
    let needed = enough_bits(size);
    let exact = ratios.iter().map(|ratio| ratio.bits()).try_fold(0, |most, bits| bits.map(|b| most.max(b)));
    exact.unwrap_or(needed).min(needed)
}

/// Ratios, with the data that saturation of products needs.
pub(crate) struct Multiples<'a> {
    pub ratios: &'a [Ratio],
    /// The divisors, if quotients that do not fit are to be saturated.
    pub divisors: Option<&'a [f64]>,
    /// The largest number of bits of a ring for products.
    pub most_bits: u32,
}

impl Scale {
    /// Returns the scale for numbers of type `dtype` that lie in `x`.
    pub(crate) fn new(multiples: &Multiples<'_>, x: Interval, dtype: Dtype, truncation: Truncation) -> Scale {
        let (ratios, most) = (multiples.ratios, dtype.range().hi());
        // Results that may be rounded up can end a unit higher; those rounded to the nearest cannot.
        let free = u32::from(truncation == Truncation::Probabilistic);
        let limit = |&c: &f64| Ratio::limit(c, most - i128::from(free), most);
        let limits = multiples.divisors.map(|all| all.iter().map(limit).collect::<Vec<_>>());
        let reach = limits.iter().flatten().max().copied().filter(|&limit| limit < most);
        let x = reach.map_or(x, |reach| x.clamped(Interval::new(-reach, reach)));
        let room = multiples.most_bits - free;
        let scale = Scale::in_one(ratios, x, (dtype, free), room);
        let scale = match scale.lacks(x, ratios) > SPARE {
            true => Scale::in_two(ratios, x, (dtype, free), room).unwrap_or(scale),
            false => scale,
        };
        Scale { limits: limits.map(|limits| Units::from(limits.as_slice())), ..scale }
    }

    /// Returns the scale with one product for each number, as precise as `room` bits hold it. `free` bits of the ring
    /// stay unused.
    fn in_one(ratios: &[Ratio], x: Interval, (dtype, free): (Dtype, u32), room: u32) -> Scale {
        let whole: Vec<i128> = ratios.iter().map(|ratio| ratio.whole).collect();
        let mut scale = Scale {
            whole: Units::from(whole.as_slice()),
            factors: Units::from([0]),
            shift: 0,
            product_bits: 1,
            ring_bits: dtype.bits(),
            limits: None,
            upper: None,
            reals: ratios.iter().map(|ratio| ratio.real).collect(),
            each: 1,
        };
        // A product that may be rounded up takes at most a quarter of its ring.
        scale.fraction(ratios, x, wanted_bits(ratios, x), room);
        if scale.shift > 0 {
            scale.ring_bits = dtype.bits().max(scale.product_bits + free).max(scale.shift + 2);
        }
        scale
    }

    /// Returns the number of fractional bits that the factors lack; 0 where they are exact.
    fn lacks(&self, x: Interval, ratios: &[Ratio]) -> u32 {
        match wanted_bits(ratios, x) {
            wanted if self.shift == wanted => 0,
            _ => enough_bits(x.lo().abs().max(x.hi().abs())) - self.shift,
        }
    }

    /// Returns the scale with one product of the low half of each number's bits, and one of the upper half.
    fn in_two(ratios: &[Ratio], x: Interval, dtype: (Dtype, u32), room: u32) -> Option<Scale> {
        // The low bits need one bit more for a sign.
        let from = (x.signed_bits() - 1) / 2;
        let shifted = ratios.iter().map(|ratio| ratio.shifted(from)).collect::<Option<Vec<_>>>()?;
        let scale = Scale::in_one(&shifted, x.shr(from), dtype, room);
        let low = Scale::in_one(ratios, Interval::new(0, (1 << from) - 1), dtype, room);
        Some(Scale { upper: Some(Box::new(Upper { from, scale })), ..low })
    }

    /// Returns `x` / 2^shift, rounded to the nearest, for numbers whose sum with half a unit fits the dtype.
    pub(crate) fn shifted(shift: u32, x: Interval, dtype: Dtype) -> Scale {
        let product_bits = x.add(Interval::new(0, 1 << (shift - 1))).signed_bits();
        let [whole, factors] = [0, 1].map(|one| Units::from([one]));
        let reals = Arc::from([f64::from(shift).exp2().recip()]);
        let (limits, upper, each) = (None, None, 1);
        Scale { whole, factors, shift, product_bits, ring_bits: dtype.bits(), limits, upper, reals, each }
    }

    /// Sets the factors for the largest shift, from `shift` down, with which products have at most `most_bits`.
    fn fraction(&mut self, ratios: &[Ratio], x: Interval, shift: u32, most_bits: u32) {
        for shift in (1..=shift).rev() {
            let factors: Vec<i128> = ratios.iter().map(|ratio| ratio.factor(shift)).collect();
            let half = Interval::new(0, 1 << (shift - 1));
            let bits = x.mul(Interval::spanning(&factors)).add(half).signed_bits();
            if bits <= most_bits {
                (self.factors, self.shift, self.product_bits) = (Units::from(factors.as_slice()), shift, bits);
                return;
            }
        }
    }

    /// Iterates over the one or two products of a number.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &Scale> {
        std::iter::once(self).chain(self.upper.as_deref().map(|upper| &upper.scale))
    }

    /// Returns whether the parties exchange messages: results are rounded, or saturated.
    pub(crate) fn talks(&self) -> bool {
        self.limits.is_some() || self.upper.is_some() || self.shift > 0
    }

    /// Returns whether some result may differ from the exact multiple.
    pub(crate) fn rounds(&self) -> bool {
        let whole = || self.whole.to_vec().into_iter().cycle().zip(&*self.reals);
        self.upper.is_some() || self.shift > 0 || whole().any(|(whole, &real)| whole as f64 != real)
    }

    /// Returns the factors of `count` elements as doubles.
    pub fn reals(&self, count: usize) -> Vec<f64> {
        repeated(&self.reals, self.each, 0..count)
    }

    /// Returns the number of elements after which the factors come again; 1 if all elements have the same.
    pub fn period(&self) -> usize {
        self.reals.len() * self.each
    }

    /// Returns for each factor whether it is not 0, and the number of elements in a row that each stands for.
    pub(crate) fn keeps(&self) -> (Vec<bool>, usize) {
        let mut keeps = vec![false; self.reals.len()];
        for units in self.parts().flat_map(|part| [&part.whole, &part.factors]) {
            keeps.iter_mut().zip(units.to_vec().iter().cycle()).for_each(|(keeps, &unit)| *keeps |= unit != 0);
        }
        (keeps, self.each)
    }

    /// Returns an upper bound on the number of different multiples.
    fn count(&self) -> usize {
        let lens = [Some(&self.whole), Some(&self.factors), self.limits.as_ref()];
        lens.into_iter().flatten().map(Units::len).max().unwrap_or(1)
    }

    /// Returns the multiples of `x`, before they wrap.
    pub(crate) fn apply(&self, x: &[i128], most: i128) -> Vec<i128> {
        let whole = self.whole.expand(x.len());
        let limits = self.limits.as_ref().map(|limits| limits.expand(x.len()));
        let limit = |i: usize| limits.as_ref().map_or(most, |limits| limits[i]);
        let low = self.product(x.len());
        let upper = self.upper.as_ref().map(|upper| (upper.from, upper.scale.product(x.len())));
        let multiple = |i: usize, x: i128| match &upper {
            None => low(i, x),
            Some((from, upper)) => low(i, x & ((1 << from) - 1)).saturating_add(upper(i, x >> from)),
        };
        let one = |(i, &x): (usize, &i128)| match limit(i) {
            limit if limit < most && x.abs() > limit => x.signum() * whole[i].signum() * most,
            _ => multiple(i, x),
        };
        x.iter().enumerate().map(one).collect()
    }

    /// Returns a function that multiplies a number by the factor of element `i`, in one product.
    fn product(&self, count: usize) -> impl Fn(usize, i128) -> i128 + use<> {
        let shift = self.shift;
        let half = if shift == 0 { 0 } else { 1 << (shift - 1) };
        let [whole, factors] = [&self.whole, &self.factors].map(|units| units.expand(count));
        move |i, x| {
            let rest = factors[i].saturating_mul(x).saturating_add(half) >> shift;
            whole[i].saturating_mul(x).saturating_add(rest)
        }
    }

    /// Returns the range of the multiples of `x`, before they wrap; if rounded either way, they may be a unit higher or
    /// lower.
    pub(crate) fn reach(&self, x: Interval, dtype: Dtype, truncation: Truncation) -> Interval {
        let (most, count) = (dtype.range().hi(), self.count());
        // Each number once.
        let once = self.one_each();
        let ends = [x.lo(), x.hi()].map(|x| Interval::spanning(&once.apply(&vec![x; count], most)));
        let reach = ends[0].union(ends[1]);
        let either_way = match truncation {
            Truncation::Exact => 0,
            Truncation::Probabilistic => self.parts().filter(|part| part.shift > 0).count() as i128,
        };
        // After two roundings a larger number may have a lower result.
        let uneven = if self.upper.as_ref().is_some_and(|upper| upper.scale.rounds()) { UNEVEN } else { 0 };
        let reach = reach.add(Interval::new(-either_way - uneven, either_way + uneven));
        if self.limits.is_some() { reach.clamped(dtype.range()) } else { reach }
    }

    /// Returns whether some number of `x` may have a saturated result.
    pub(crate) fn saturates(&self, x: Interval, dtype: Dtype) -> bool {
        let (most, size) = (dtype.range().hi(), x.lo().abs().max(x.hi().abs()));
        self.limits.iter().flat_map(Units::to_vec).any(|limit| limit < most && size > limit)
    }

    /// Returns whether the result of element `i`, which is `x`, is saturated.
    pub(crate) fn is_saturated(&self, i: usize, x: i128, dtype: Dtype) -> bool {
        let limit = self.limits.as_ref().map(|limits| limits.part(i..i + 1)[0]);
        limit.is_some_and(|limit| limit < dtype.range().hi() && x.abs() > limit)
    }

    /// Returns whether some number of `x` has a result that is not saturated.
    pub(crate) fn fits_some(&self, x: Interval, dtype: Dtype) -> bool {
        let least = if x.contains(0) { 0 } else { x.lo().abs().min(x.hi().abs()) };
        let limits = self.limits.iter().flat_map(Units::to_vec);
        limits.max().is_none_or(|most| least <= most || most == dtype.range().hi())
    }

    /// Returns the scale for the elements of a broadcast array, of whose own elements each has a factor.
    pub(crate) fn broadcast(&self, repeats: &Repeats) -> Scale {
        let reals: Arc<[f64]> = if self.reals.len() > 1 { repeats.of(&self.reals).into() } else { self.reals.clone() };
        let each = if reals.len() > 1 { repeats.each } else { 1 };
        Scale { reals, each, ..self.mapped(&|units| repeats.units(&units.to_vec()), &|s| s.broadcast(repeats)) }
    }

    /// Returns the scale of the elements `range`.
    pub fn part(&self, range: Range<usize>) -> Scale {
        let reals = match &*self.reals {
            [_] => self.reals.clone(),
            all => repeated(all, self.each, range.clone()).into(),
        };
        let units = |units: &Units| Units::from(units.part(range.clone()).as_slice());
        Scale { reals, each: 1, ..self.mapped(&units, &|scale| scale.part(range.clone())) }
    }

    /// Returns the scale of elements of which each has the next factor.
    fn one_each(&self) -> Scale {
        let units = |units: &Units| Units::from(units.to_vec().as_slice());
        Scale { each: 1, ..self.mapped(&units, &Scale::one_each) }
    }

    /// Returns the scale with other lists of numbers, and another scale of the upper bits.
    fn mapped(&self, units: &dyn Fn(&Units) -> Units, scale: &dyn Fn(&Scale) -> Scale) -> Scale {
        let upper = self.upper.as_ref().map(|upper| Box::new(Upper { scale: scale(&upper.scale), ..**upper }));
        let limits = self.limits.as_ref().map(units);
        Scale { whole: units(&self.whole), factors: units(&self.factors), limits, upper, ..self.clone() }
    }
}

#[cfg(test)]
mod tests;
