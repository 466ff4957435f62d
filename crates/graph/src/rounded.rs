//! Real functions rounded correctly to the nearest unit: the entries of tables, and the reference values.
//!
//! Roots and reciprocals use integer arithmetic. For the other functions a double is within a relative 2^-44 of the
//! value. If that leaves two units, which is rare, fixed point of [`PLACES`] bits decides. None of these functions
//! has a value half-way between two units except at 0: e^x is transcendental for an algebraic x other than 0
//! (Lindemann), and so are the others. So all machines return the same result, whatever their own exponentials return.

use std::cmp::Ordering;
use std::sync::LazyLock;

use num_bigint::BigInt;

use crate::dtype::Dtype;
use crate::real::{Real, divide};

/// A bound on the relative error of a double. It is a few units of its last place; more for the error function's
/// complement, for which an error of the argument counts up to 2^7 times.
const SHARE: f64 = 1.0 / (1u64 << 44) as f64;

/// The fractional bits of long fixed point.
const PLACES: u32 = 192;

impl Real {
    /// Returns the value at an argument, rounded to the nearest unit, halves to even. For arguments outside of the
    /// domain and values that do not fit, returns the stated value.
    pub(crate) fn rounded(self, units: i128, from: u32, dtype: Dtype) -> i128 {
        let (range, to) = (dtype.range(), dtype.frac());
        let largest = range.hi();
        match self {
            Real::Log if units <= 0 => return range.lo(),
            Real::Sqrt if units <= 0 => return 0,
            Real::Rsqrt if units <= 0 => return largest,
            Real::Reciprocal if units == 0 => return largest,
            _ => {}
        }
        let value = match self {
            Real::Sqrt => root(units.unsigned_abs(), 2 * to - from),
            Real::Rsqrt => inverse_root(units.unsigned_abs(), 2 * to + from),
            Real::Reciprocal => {
                let size = quotient(1 << (to + from), units.unsigned_abs());
                if units < 0 { -size } else { size }
            }
            _ => self.nearest(units, (from, to), largest),
        };
        value.clamp(-largest, largest)
    }

    /// Returns the value of functions other than roots and reciprocals.
    fn nearest(self, units: i128, (from, to): (u32, u32), largest: i128) -> i128 {
        let one = f64::from(to).exp2();
        let x = units as f64 / f64::from(from).exp2();
        // Arguments where e^|x| is larger than any number, or its inverse is 0.
        let far = x.abs() > 128.0;
        match self {
            Real::Sigmoid if far => return i128::from(x > 0.0) << to,
            Real::Tanh if far => return units.signum() << to,
            // 1 less the normal distribution of 16 is below 2^-180.
            Real::Gelu if x.abs() > 16.0 => return units.max(0),
            Real::Exp if far => return if x > 0.0 { largest } else { 0 },
            _ => {}
        }
        let value = one
            * match self {
                Real::Sigmoid => 1.0 / (1.0 + libm::exp(-x)),
                Real::Tanh => libm::tanh(x),
                Real::Gelu => 0.5 * x * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2),
                Real::Exp => libm::exp(x),
                _ => libm::log(x),
            };
        surely(value).unwrap_or_else(|| self.decided(units, from, to))
    }

    /// Returns the value in long fixed point, for arguments where a double is not precise enough.
    fn decided(self, units: i128, from: u32, to: u32) -> i128 {
        let x = BigInt::from(units) << (PLACES - from);
        let size = BigInt::from(units.unsigned_abs()) << (PLACES - from);
        let value = match self {
            Real::Sigmoid => {
                let power = power(&-&size);
                let above = over(&one(), &(one() + &power));
                if units < 0 { times(&above, &power) } else { above }
            }
            Real::Tanh => {
                let power = power(&-(size << 1u32));
                let above = over(&(one() - &power), &(one() + &power));
                if units < 0 { -above } else { above }
            }
            Real::Gelu => {
                let above = (one() >> 1) + normal_from_zero(&size);
                times(&x, &if units < 0 { one() - above } else { above })
            }
            Real::Exp => power(&x),
            _ => logarithm(units.unsigned_abs()) - BigInt::from(from) * &*LN_2,
        };
        in_units(&value, to)
    }
}

/// Returns the nearest unit of a value that a double approximates, if only one is possible.
fn surely(value: f64) -> Option<i128> {
    let near = value.round_ties_even();
    // The distance to half a unit is that to the other unit.
    let doubt = value.abs() * SHARE + f64::MIN_POSITIVE;
    (0.5 - (value - near).abs() > doubt && value.abs() < 2f64.powi(50)).then_some(near as i128)
}

/// Returns the unit nearest to a value; a tie is only possible at 0, for 1/2.
fn in_units(value: &BigInt, frac: u32) -> i128 {
    let (whole, half) = (value >> (PLACES - frac), BigInt::from(1) << (PLACES - frac - 1));
    let rest = value - (&whole << (PLACES - frac));
    let whole = i128::try_from(whole).unwrap_or(i128::MAX - 1);
    match rest.cmp(&half) {
        Ordering::Less => whole,
        Ordering::Equal => whole + (whole & 1),
        Ordering::Greater => whole + 1,
    }
}

/// Returns e^x with `frac` fractional bits, rounded to the nearest; x is in units of 2^-`argument_frac` and not
/// positive.
pub(crate) fn exponential(units: i128, argument_frac: u32, frac: u32) -> i128 {
    let double = libm::exp(units as f64 / f64::from(argument_frac).exp2()) * f64::from(frac).exp2();
    surely(double).unwrap_or_else(|| in_units(&power(&(BigInt::from(units) << (PLACES - argument_frac))), frac))
}

/// Returns x 2^up / y, to the nearest unit; where y is 0 or the quotient does not fit, the result of `real::divide`.
pub(crate) fn fixed_quotient(x: i128, y: i128, up: u32, dtype: Dtype) -> i128 {
    if y == 0 || x.unsigned_abs().leading_zeros() < up {
        return divide(x, y, up, dtype);
    }
    let size = quotient(x.unsigned_abs() << up, y.unsigned_abs());
    size.min(dtype.range().hi()) * x.signum() * y.signum()
}

fn one() -> BigInt {
    BigInt::from(1) << PLACES
}

/// Returns the nearest integer to x / y, halves to even.
fn quotient(x: u128, y: u128) -> i128 {
    let (whole, rest) = ((x / y) as i128, x % y);
    match rest.cmp(&(y - rest)) {
        Ordering::Less => whole,
        Ordering::Equal => whole + (whole & 1),
        Ordering::Greater => whole + 1,
    }
}

/// Returns the nearest integer to sqrt(x 2^up), which is never half-way.
fn root(x: u128, up: u32) -> i128 {
    let long = num_bigint::BigUint::from(x) << up;
    let whole = long.sqrt();
    let up = &long - &whole * &whole > whole;
    i128::try_from(whole).unwrap_or(i128::MAX - 1) + i128::from(up)
}

/// Returns the nearest integer to sqrt(2^up / x), halves to even.
fn inverse_root(x: u128, up: u32) -> i128 {
    let power = num_bigint::BigUint::from(1u8) << up;
    let whole = (&power / x).sqrt();
    // Compares with (whole + 1/2)^2 = (2 whole + 1)^2 / 4.
    let twice: num_bigint::BigUint = (&whole << 1u32) + 1u8;
    let below = &twice * &twice * x < power << 2u32;
    i128::try_from(whole).map_or(i128::MAX, |whole| whole + i128::from(below))
}

fn times(x: &BigInt, y: &BigInt) -> BigInt {
    (x * y) >> PLACES
}

fn over(x: &BigInt, y: &BigInt) -> BigInt {
    (x << PLACES) / y
}

/// Returns the sum of a series; `next` makes a term from the one before and its number, counted from 1.
fn series(first: BigInt, next: impl Fn(&BigInt, u32) -> BigInt, weight: impl Fn(&BigInt, u32) -> BigInt) -> BigInt {
    let (mut sum, mut term, mut n) = (weight(&first, 0), first, 0);
    while term.magnitude().bits() > 1 {
        n += 1;
        term = next(&term, n);
        sum += weight(&term, n);
    }
    sum
}

/// Returns artanh(x), for small x.
fn artanh(x: &BigInt) -> BigInt {
    let square = times(x, x);
    series(x.clone(), |term, _| times(term, &square), |term, n| term / (2 * n + 1))
}

/// ln 2 = 2 artanh(1/3).
static LN_2: LazyLock<BigInt> = LazyLock::new(|| artanh(&(one() / 3)) << 1);

/// pi = 16 arctan(1/5) - 4 arctan(1/239) (Machin).
static PI: LazyLock<BigInt> = LazyLock::new(|| {
    let arctan = |inverse: u32| {
        let x = one() / inverse;
        series(x, |term, _| -(term / (inverse * inverse)), |term, n| term / (2 * n + 1))
    };
    (arctan(5) << 4) - (arctan(239) << 2)
});

/// Returns e^x = 2^n e^(x - n ln 2).
fn power(x: &BigInt) -> BigInt {
    let n = x / &*LN_2;
    let rest = x - &n * &*LN_2;
    let sum = series(one(), |term, k| times(term, &rest) / k, |term, _| term.clone());
    let n = i64::try_from(n).unwrap_or(i64::MIN);
    if n >= 0 { sum << n } else { sum >> n.unsigned_abs() }
}

/// Returns ln of a positive integer: for 2^e m, with m from 1 to 2, e ln 2 + 2 artanh((m - 1) / (m + 1)).
fn logarithm(x: u128) -> BigInt {
    let e = x.ilog2();
    let m = (BigInt::from(x) << PLACES) >> e;
    (artanh(&over(&(&m - one()), &(&m + one()))) << 1) + BigInt::from(e) * &*LN_2
}

/// Returns the normal distribution from 0 to x >= 0: e^(-x^2/2) / sqrt(2 pi) times the sum of x^(2n+1) / (1 3 ..
/// (2n+1)).
fn normal_from_zero(x: &BigInt) -> BigInt {
    let square = times(x, x);
    let sum = series(x.clone(), |term, n| times(term, &square) / (2 * n + 1), |term, _| term.clone());
    let scale = (&*PI << (PLACES + 1)).sqrt();
    over(&times(&power(&-(&square >> 1u32)), &sum), &scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Real; 8] =
        [Real::Sigmoid, Real::Tanh, Real::Gelu, Real::Exp, Real::Log, Real::Sqrt, Real::Rsqrt, Real::Reciprocal];

    fn fixed(bits: u32, frac: u32) -> Dtype {
        Dtype::Fixed { bits, frac }
    }

    #[test]
    fn known_values() {
        let units = |f: Real, x: f64, frac: u32| f.rounded((x * f64::from(frac).exp2()) as i128, frac, fixed(64, frac));
        assert_eq!(units(Real::Sigmoid, 1.0, 16), 47911); // 0.7310585786 2^16 = 47910.65
        assert_eq!(units(Real::Tanh, -0.5, 16), -30285); // 0.4621171573 2^16 = 30285.31
        assert_eq!(units(Real::Gelu, 1.0, 16), 55138); // 0.8413447461 2^16 = 55138.37
        assert_eq!(units(Real::Exp, 1.0, 16), 178_145); // 2.7182818285 2^16 = 178145.3
        assert_eq!(units(Real::Log, 10.0, 16), 150_902); // 2.3025850930 2^16 = 150902.2
        assert_eq!(units(Real::Sqrt, 2.0, 16), 92_682); // 1.4142135624 2^16 = 92681.9
        assert_eq!(units(Real::Rsqrt, 2.0, 16), 46_341);
        assert_eq!(units(Real::Reciprocal, -3.0, 16), -21_845);
        assert_eq!((Real::Sigmoid.rounded(0, 0, fixed(8, 0)), Real::Sigmoid.rounded(1, 0, fixed(8, 0))), (0, 1));
        assert_eq!(Real::Reciprocal.rounded(2, 0, fixed(8, 0)), 0, "a half goes to the even one");
        assert_eq!(Real::Rsqrt.rounded(4, 0, fixed(8, 0)), 0);
        let outside = [(Real::Log, 0), (Real::Sqrt, -1), (Real::Rsqrt, 0), (Real::Reciprocal, 0)];
        assert_eq!(outside.map(|(f, x)| f.rounded(x, 2, fixed(8, 2))), [-128, 0, 127, 127]);
        assert_eq!(Real::Exp.rounded(1 << 12, 2, fixed(64, 2)), Dtype::Fixed { bits: 64, frac: 2 }.range().hi());
    }

    /// Long fixed point and doubles agree wherever a double is precise enough; roots agree with their squares.
    #[test]
    fn two_ways_agree() {
        for function in ALL {
            for frac in [0, 3, 8, 12, 16] {
                let dtype = fixed(64, frac);
                for i in 0i128..400 {
                    let x = (i * i * i * 31 + i) % (12 << frac) + i128::from(i % 3 == 0 && function != Real::Gelu) * i;
                    for x in [x + 1, -x] {
                        let value = function.rounded(x, frac, dtype);
                        match function {
                            Real::Sigmoid | Real::Tanh | Real::Gelu | Real::Exp => {
                                let decided = function.decided(x, frac, frac).min(dtype.range().hi());
                                assert_eq!(value, decided, "{function:?} {x} {frac}");
                            }
                            Real::Log if x > 0 => assert_eq!(value, function.decided(x, frac, frac), "{x} {frac}"),
                            Real::Sqrt if x > 0 => {
                                let middle = |v: i128| (2 * v + 1) * (2 * v + 1);
                                let wanted = 4 * (x << frac);
                                assert!(middle(value - 1) < wanted && wanted < middle(value), "{x} {frac}");
                            }
                            Real::Reciprocal if x != 0 => {
                                assert!((2 * (value * x - (1 << (2 * frac)))).abs() <= x.abs(), "{x} {frac}");
                            }
                            _ => {}
                        }
                    }
                }
            }
        }
    }

    /// 2^20 arguments with 16 fractional bits, for every function: the entries of a table are within half a unit.
    #[test]
    fn whole_domains_are_within_half_a_unit() {
        let (dtype, one) = (fixed(64, 16), 65536.0);
        for function in ALL {
            let positive = matches!(function, Real::Log | Real::Sqrt | Real::Rsqrt | Real::Reciprocal);
            let first = if positive { 1 } else { -(1i128 << 19) };
            for units in first..first + (1 << 20) {
                let x = units as f64 / one;
                let exact = match function {
                    Real::Sigmoid => 1.0 / (1.0 + (-x).exp()),
                    Real::Tanh => x.tanh(),
                    Real::Gelu => 0.5 * x * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2),
                    Real::Exp => x.exp(),
                    Real::Log => x.ln(),
                    Real::Sqrt => x.sqrt(),
                    Real::Rsqrt => 1.0 / x.sqrt(),
                    Real::Reciprocal => 1.0 / x,
                };
                let off = (function.rounded(units, 16, dtype) as f64 - exact * one).abs();
                // 1e-6 is the error of a double for values up to 2^32 units.
                assert!(off <= 0.5 + 1e-6, "{function:?} of {units} units is {off} units off");
            }
        }
    }

    #[test]
    fn powers_and_quotients_are_within_half_a_unit() {
        for frac in [30, 33, 36] {
            for units in 0..=(22i128 << 10) {
                let (value, exact) = (exponential(-units, 10, frac), (-units as f64 / 1024.0).exp());
                assert!((value as f64 - exact * f64::from(frac).exp2()).abs() <= 0.5 + 1e-3, "{units} {frac}");
            }
        }
        let dtype = fixed(16, 3);
        let most = dtype.range().hi();
        for (x, y) in (-40..40).flat_map(|x| (-40..40).map(move |y| (x, y))) {
            let value = fixed_quotient(x, y, 3, dtype);
            match y {
                0 => assert_eq!(value, x.signum() * most),
                _ => assert!((2 * (value * y - 8 * x)).abs() <= y.abs(), "{x} / {y} = {value}"),
            }
        }
        assert_eq!(fixed_quotient(most, 1, 3, dtype), most, "what does not fit is the largest number");
    }

    #[test]
    fn constants_are_those_of_doubles() {
        let double = |x: &BigInt| (x >> (PLACES - 52)).to_string().parse::<f64>().unwrap() / f64::from(52).exp2();
        assert!((double(&LN_2) - std::f64::consts::LN_2).abs() < 1e-15);
        assert!((double(&PI) - std::f64::consts::PI).abs() < 1e-15);
    }
}
