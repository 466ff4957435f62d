//! Real functions of fixed point: their definitions, the ranges of their results, and their values in the clear.
//!
//! Intervals enter the program's hash. So they come from integers and correctly rounded arithmetic alone, which give
//! the same on every machine.

use crate::dtype::Dtype;
use crate::interval::Interval;

/// A function of one fixed-point number. Results are within two units of 2^-f, with these exceptions:
///
/// - powers of arguments above 8: in addition, within a relative 2^-27;
/// - roots of more than 64 bits, and roots and reciprocals with more than 16 fractional bits: within a relative 2^-28;
/// - logarithms with more than 16 fractional bits: within 2^-22.9.
///
/// Outside its domain a function returns the value stated here, never an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Real {
    /// 1 / (1 + e^-x).
    Sigmoid,
    /// The hyperbolic tangent.
    Tanh,
    /// x times the normal distribution function of x.
    Gelu,
    /// e^x; the largest number of the type where the power does not fit.
    Exp,
    /// The natural logarithm; the lowest number of the type where x is not positive.
    Log,
    /// The square root; 0 where x is negative.
    Sqrt,
    /// The inverse square root; the largest number of the type where x is not positive, or where the result does not
    /// fit.
    Rsqrt,
    /// 1 / x; the largest number of the type for 0, and, where the result does not fit, that number with the sign of x.
    Reciprocal,
}

/// The largest number of fractional bits.
pub const MAX_FRAC: u32 = 16;
/// The largest number of fractional bits for division, roots and logarithms.
pub const MAX_FINE_FRAC: u32 = 60;
/// Roots and quotients in rings of more than 64 bits are within 4 units, or within 2 to minus this of their size.
const WIDE_ERROR_BITS: u32 = 28;

impl Real {
    /// Returns the name in messages and plans.
    pub fn name(self) -> &'static str {
        match self {
            Real::Sigmoid => "sigmoid",
            Real::Tanh => "tanh",
            Real::Gelu => "gelu",
            Real::Exp => "exp",
            Real::Log => "log",
            Real::Sqrt => "sqrt",
            Real::Rsqrt => "rsqrt",
            Real::Reciprocal => "reciprocal",
        }
    }

    /// Returns the largest number of fractional bits of an argument.
    pub(crate) fn most_frac(self) -> u32 {
        match self {
            Real::Log | Real::Sqrt | Real::Rsqrt | Real::Reciprocal => MAX_FINE_FRAC,
            Real::Sigmoid | Real::Tanh | Real::Gelu | Real::Exp => MAX_FRAC,
        }
    }

    /// Returns the part of `argument`, numbers with `from` fractional bits, outside of which the value is that of the
    /// nearest end.
    pub(crate) fn window(self, argument: Interval, from: u32, dtype: Dtype) -> Interval {
        let frac = dtype.frac();
        let powers = |n: u32| times_ln_2(n, from);
        let (lo, hi) = match self {
            // 1 - sigmoid(x) is below e^-x. So is 1 - tanh(x), which is below 2 e^-2x. With x = (f + 2) ln 2, e^-x is a
            // quarter of a unit.
            Real::Sigmoid | Real::Tanh => (-powers(frac + 2), powers(frac + 2)),
            Real::Gelu => (-(8 << from), i128::MAX),
            Real::Exp => (-powers(frac + 2), powers(dtype.bits() - frac)),
            Real::Log | Real::Sqrt | Real::Rsqrt => (0, i128::MAX),
            Real::Reciprocal => (i128::MIN, i128::MAX),
        };
        argument.clamped(Interval::new(lo, hi))
    }

    /// Returns whether protocols compute results with `frac` fractional bits in rings of more than 64 bits.
    pub(crate) fn takes_wide(self, frac: u32) -> bool {
        matches!(self, Real::Sqrt | Real::Log) || frac > MAX_FRAC && matches!(self, Real::Rsqrt | Real::Reciprocal)
    }

    /// Returns whether some argument in `interval` (ring units) is in the function's domain.
    pub fn is_defined_on(self, interval: Interval) -> bool {
        match self {
            Real::Log | Real::Rsqrt => interval.hi() > 0,
            Real::Sqrt => interval.hi() >= 0,
            Real::Reciprocal => interval != Interval::point(0),
            _ => true,
        }
    }

    /// Returns whether the result of some argument in `interval` (units of 2^-from) fits the dtype. If not, every
    /// result would be the largest number in place of the function's.
    pub fn fits_on(self, interval: Interval, from: u32, dtype: Dtype) -> bool {
        let (one, most) = (1i128 << from, dtype.range().hi());
        let largest = interval.lo().unsigned_abs().max(interval.hi().unsigned_abs()).max(1) as i128;
        match self {
            // e^x >= 2^n for n = floor(x 1.4426), from x = 0 on.
            Real::Exp if interval.lo() > 0 => {
                let exponent = interval.lo().saturating_mul(14_426) / (10_000 * one);
                exponent < 64 && one << exponent <= most
            }
            Real::Rsqrt => inverse_root(largest.unsigned_abs(), from, dtype.frac()) <= most.unsigned_abs(),
            Real::Reciprocal => (1i128 << (from + dtype.frac())) / largest <= most,
            _ => true,
        }
    }

    /// Returns numpy's result where the function returns a stated value instead; `saturated`: the result is the largest
    /// number.
    pub(crate) fn beyond(self, units: i128, saturated: bool) -> Option<&'static str> {
        match self {
            Real::Log | Real::Rsqrt | Real::Reciprocal if units == 0 => Some("infinity"),
            Real::Log | Real::Sqrt | Real::Rsqrt if units < 0 => Some("nan"),
            Real::Exp | Real::Rsqrt | Real::Reciprocal if saturated => Some("larger number"),
            _ => None,
        }
    }

    /// Returns the proven range of results of arguments with `from` fractional bits, in ring units; `None` where they
    /// may be saturated.
    pub(crate) fn reach(self, argument: Option<Interval>, from: u32, dtype: Dtype) -> Option<Interval> {
        let one = 1i128 << dtype.frac();
        let most = dtype.range().hi();
        let fits = |interval: Interval| dtype.range().covers(interval).then_some(interval);
        match (self, argument) {
            (Real::Sigmoid, _) => fits(Interval::new(0, one)),
            (Real::Tanh, _) => fits(Interval::new(-one, one)),
            (Real::Gelu, Some(x)) => fits(Interval::new(-one / 5 - 2, x.hi().max(0) + 2)),
            (Real::Exp, Some(x)) => {
                // e^x <= 2^n for n = ceil(x 1.4427); two units more for the error.
                let exponent = x.hi().saturating_mul(14_427).div_euclid(10_000 * one) + 1;
                let power = if exponent >= 64 { most } else { shifted(one, exponent) };
                fits(Interval::new(0, power.saturating_add(power >> 20).saturating_add(2)))
            }
            (Real::Log, Some(x)) if x.lo() > 0 => {
                let at_least = i128::from(x.lo().ilog2()) - i128::from(from);
                let below = i128::from(x.hi().ilog2()) + 1 - i128::from(from);
                let times_ln2 = |n: i128| n * one * 693_147 / 1_000_000;
                fits(Interval::new(times_ln2(at_least) - one / 1000 - 2, times_ln2(below) + one / 1000 + 2))
            }
            (Real::Sqrt, Some(x)) => {
                let root = root(x.hi().max(0) as u128, from, dtype.frac()) as i128;
                let wide = if dtype.bits() > 64 { root >> WIDE_ERROR_BITS } else { coarse(root, dtype) };
                fits(Interval::new(0, root + 3 + wide))
            }
            (Real::Rsqrt, Some(x)) if x.lo() > 0 => {
                let inverse = i128::try_from(inverse_root(x.lo() as u128, from, dtype.frac())).ok()?;
                fits(Interval::new(0, inverse + 3 + coarse(inverse, dtype)))
            }
            (Real::Reciprocal, Some(x)) if x.lo() > 0 => {
                let inverse = (1i128 << (from + dtype.frac())) / x.lo();
                fits(Interval::new(0, inverse + 3 + coarse(inverse, dtype)))
            }
            _ => None,
        }
    }
}

/// Returns the error of a root or an inverse of this size, where the dtype has units that are smaller than it.
fn coarse(size: i128, dtype: Dtype) -> i128 {
    if dtype.frac() > MAX_FRAC { size >> WIDE_ERROR_BITS } else { 0 }
}

/// Returns at least n ln 2, in ring units.
fn times_ln_2(n: u32, frac: u32) -> i128 {
    ((i128::from(n) * 6932) << frac) / 10_000 + 1
}

/// Returns the part of `arguments`, none of them positive, below which e^x is less than a quarter of 2^-frac.
pub(crate) fn powers_from(frac: u32, arguments: Interval, argument_frac: u32) -> Interval {
    arguments.clamped(Interval::new(-times_ln_2(frac + 2, argument_frac), 0))
}

/// Returns at least the root of a number with `from` fractional bits, less a unit, with `to` fractional bits.
fn root(x: u128, from: u32, to: u32) -> u128 {
    // x 2^(2 to - from), in as many bits as there is room for: an even number of them is dropped.
    let up = 2 * to - from;
    let room = x.leading_zeros();
    let missing = up.saturating_sub(room).next_multiple_of(2);
    let (up, down) = (up.saturating_sub(missing), missing.saturating_sub(up));
    let root = shl(x >> down, up).isqrt() + u128::from(missing > 0);
    shl(root, missing / 2)
}

/// Returns at least the inverse root of a positive number with `from` fractional bits, less a unit, with `to`
/// fractional bits.
fn inverse_root(x: u128, from: u32, to: u32) -> u128 {
    // 2^(2 to + from) / x, of which an even number `missing` of bits is dropped.
    let up = 2 * to + from;
    let missing = up.saturating_sub(126).next_multiple_of(2);
    let inverse = ((1u128 << (up - missing)) / x).isqrt();
    shl(inverse + u128::from(missing > 0), missing / 2)
}

/// Returns bounds on the magnitudes of quotients, in units, of dividends shifted left by `frac` bits by divisors other
/// than 0. The first is a lower bound, the second an upper bound.
pub(crate) fn quotients(x: Interval, y: Interval, frac: u32) -> (u128, u128) {
    let far = |i: Interval| i.lo().unsigned_abs().max(i.hi().unsigned_abs());
    let near = |i: Interval| if i.contains(0) { 0 } else { i.lo().unsigned_abs().min(i.hi().unsigned_abs()) };
    let most = match far(x).leading_zeros() >= frac {
        true => (far(x) << frac) / near(y).max(1),
        false => shl(far(x) / near(y).max(1) + 1, frac),
    };
    (shl(near(x), frac) / far(y).max(1), most)
}

/// Returns x 2^bits, or the largest number.
fn shl(x: u128, bits: u32) -> u128 {
    if x.leading_zeros() >= bits { x << bits } else { u128::MAX }
}

/// Returns the range of quotients of dividends shifted left by `up` bits, in ring units; `None` where one may be
/// saturated.
pub(crate) fn quotient_reach(x: Interval, y: Interval, up: u32, dtype: Dtype) -> Option<Interval> {
    let largest = i128::try_from(quotients(x, y, up).1).ok()?;
    let error = 4 + if dtype.bits() > 64 { largest >> WIDE_ERROR_BITS } else { 0 };
    let largest = largest.checked_add(error)?; // those of at most 64 bits are rounded
    let (lo, hi) = match (x.lo() >= 0, y.lo() > 0, x.hi() <= 0) {
        (true, true, _) | (_, false, true) => (0, largest),
        (true, false, _) | (_, true, true) => (-largest, 0),
        _ => (-largest, largest),
    };
    (!y.contains(0) && dtype.range().covers(Interval::new(lo, hi))).then(|| Interval::new(lo, hi))
}

/// Returns x 2^up / y in the clear. If y is 0 or the quotient does not fit, returns the largest number with the
/// quotient's sign (that of x for y = 0); 0 / 0 is 0.
pub(crate) fn divide(x: i128, y: i128, up: u32, dtype: Dtype) -> i128 {
    let most = dtype.range().hi();
    match (x.signum(), y) {
        (0, _) => 0,
        (sign, 0) => sign * most,
        _ => {
            let (x_size, y_size) = (x.unsigned_abs(), y.unsigned_abs());
            let (mut magnitude, mut rest) = (x_size / y_size, x_size % y_size);
            for _ in 0..up {
                rest *= 2;
                magnitude = magnitude.saturating_mul(2).saturating_add(u128::from(rest >= y_size));
                rest -= if rest >= y_size { y_size } else { 0 };
            }
            (magnitude.min(most.unsigned_abs()) as i128) * x.signum() * y.signum()
        }
    }
}

/// Returns the softmax of one line in the clear.
pub(crate) fn softmax(line: &[i128], dtype: Dtype) -> Vec<i128> {
    let units = f64::from(dtype.frac()).exp2();
    shares(line, dtype).into_iter().map(|share| saturated(share * units, dtype.range())).collect()
}

/// Returns the softmax of one line before it is rounded.
pub(crate) fn shares(line: &[i128], dtype: Dtype) -> Vec<f64> {
    let most = line.iter().copied().max().unwrap_or(0);
    let powers: Vec<f64> = line.iter().map(|&v| dtype.decode(v - most).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.iter().map(|power| power / sum).collect()
}

fn shifted(one: i128, exponent: i128) -> i128 {
    if exponent >= 0 { one << exponent } else { one >> exponent.unsigned_abs().min(127) as u32 }
}

fn saturated(value: f64, range: Interval) -> i128 {
    let units = value.round_ties_even() as i128;
    let largest = range.hi();
    units.clamp(-largest, largest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_lie_where_it_was_proven() {
        let dtype = Dtype::FIXED64;
        let all =
            [Real::Sigmoid, Real::Tanh, Real::Gelu, Real::Exp, Real::Log, Real::Sqrt, Real::Rsqrt, Real::Reciprocal];
        for (lo, hi) in [(1, 5), (-70_000, 90_000), (-900_000, -400_000), (65_536, 1 << 20), (0, 0), (3, 1 << 40)] {
            for function in all {
                let Some(reach) = function.reach(Some(Interval::new(lo, hi)), dtype.frac(), dtype) else { continue };
                for i in 0..=64 {
                    let x = lo + (hi - lo) * i / 64;
                    let value = function.rounded(x, dtype.frac(), dtype);
                    assert!(reach.contains(value), "{}({x}) = {value} outside {reach:?}", function.name());
                }
            }
        }
    }

    #[test]
    fn quotients_lie_where_it_was_proven() {
        let dtype = Dtype::fixed(20, 4).unwrap_or(Dtype::FIXED64);
        let ends = [-7000, -40, -3, -1, 0, 1, 2, 30, 900];
        let intervals = ends.iter().flat_map(|&a| ends.map(|b| Interval::new(a, b))).collect::<Vec<_>>();
        let inside = |i: Interval| {
            [i.lo(), i.lo() / 2 + i.hi() / 2, i.hi(), i.lo() + 1, i.hi() - 1].map(|v| v.clamp(i.lo(), i.hi()))
        };
        let mut proven = 0;
        for &x in &intervals {
            for &y in &intervals {
                let (least, most) = quotients(x, y, dtype.frac());
                let reach = quotient_reach(x, y, dtype.frac(), dtype);
                proven += usize::from(reach.is_some());
                for (a, b) in inside(x).iter().flat_map(|&a| inside(y).map(|b| (a, b))).filter(|&(_, b)| b != 0) {
                    let value = divide(a, b, dtype.frac(), dtype);
                    assert!(reach.is_none_or(|reach| reach.contains(value)), "{a} / {b} = {value} outside {reach:?}");
                    assert!(value == dtype.range().hi() || value.unsigned_abs() <= most, "{a} / {b}: above {most}");
                    assert!(value.unsigned_abs() >= least.min(dtype.range().hi() as u128), "{a} / {b}: below {least}");
                }
            }
        }
        assert!(proven > 1000, "only {proven} quotients were proven to fit");
    }

    #[test]
    fn quotients_saturate() {
        let dtype = Dtype::fixed(32, 8).unwrap_or(Dtype::FIXED64);
        let most = dtype.range().hi();
        assert_eq!(divide(0, 0, 8, dtype), 0);
        assert_eq!(divide(-5, 0, 8, dtype), -most);
        assert_eq!(divide(1 << 30, -1, 8, dtype), -most);
        assert_eq!(divide(3 << 8, 2 << 8, 8, dtype), 3 << 7);
    }
}
