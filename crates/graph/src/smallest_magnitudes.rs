//! Lower bounds on the magnitude of quotients and results of real functions, so that sums of them are proven not to be
//! 0.
//!
//! The bounds come from powers of two and integer roots, which every machine computes alike, less the error of the
//! results.

use crate::interval::Interval;
use crate::known::Known;
use crate::node::Op;
use crate::real::Real;

/// Upper bounds on the error of every function: units, and 2 to minus this of the result.
const ERROR_UNITS: i128 = 4;
const ERROR_BITS: u32 = 20;

/// Returns the range of results that are proven to lie in `found`, narrowed as far as the operands prove a distance
/// from 0.
pub(crate) fn away_from_zero(op: &Op, inputs: &[Known], to: u32, found: Interval) -> Interval {
    let interval = |place: usize| inputs.get(place).and_then(|input: &Known| input.interval);
    let frac = |place: usize| inputs.get(place).map_or(0, |input| input.dtype.frac());
    let least = match (op, interval(0), interval(1)) {
        (Op::Real(function), Some(x), _) => of_function(*function, x, frac(0), to),
        (Op::Divide, Some(x), Some(y)) if !x.contains(0) && !y.contains(0) => {
            let (near, far) = (smallest(x), largest(y));
            let up = (to + frac(1)).saturating_sub(frac(0));
            if near.leading_zeros() > up { (near << up) / far } else { (near / far) << up.min(near.leading_zeros()) }
        }
        _ => 0,
    };
    let least = i128::try_from(least).unwrap_or(i128::MAX);
    let least = (least - (least >> ERROR_BITS) - ERROR_UNITS).max(0);
    match (found.lo() >= 0, found.hi() <= 0) {
        (true, _) => Interval::new(found.lo().max(least.min(found.hi())), found.hi()),
        (_, true) => Interval::new(found.lo(), found.hi().min((-least).max(found.lo()))),
        _ => found,
    }
}

fn smallest(x: Interval) -> u128 {
    x.lo().unsigned_abs().min(x.hi().unsigned_abs())
}

fn largest(x: Interval) -> u128 {
    x.lo().unsigned_abs().max(x.hi().unsigned_abs())
}

/// Returns a lower bound on the results for numbers with `from` fractional bits, in units of 2^-to.
fn of_function(function: Real, x: Interval, from: u32, to: u32) -> u128 {
    // e^v >= 2^n for n = floor(v 1.4427), or floor(v 1.4426) from v = 0 on.
    let exponent = |v: i128| v.saturating_mul(if v < 0 { 14_427 } else { 14_426 }).div_euclid(10_000 << from);
    match function {
        Real::Exp => power(exponent(x.lo()) + i128::from(to)),
        // 1 / (1 + e^-v) is at least half of e^v, and half of 1.
        Real::Sigmoid => power(exponent(x.lo().min(0)) - 1 + i128::from(to)),
        Real::Sqrt if x.lo() > 0 => root(x.lo().unsigned_abs(), (2 * to).saturating_sub(from)),
        Real::Rsqrt if x.lo() > 0 => {
            let up = 2 * to + from;
            (((1u128 << up.min(126)) / x.hi().unsigned_abs()).isqrt()) << (up.saturating_sub(126) / 2)
        }
        Real::Reciprocal if x.lo() > 0 => (1u128 << (from + to).min(126)) / x.hi().unsigned_abs(),
        _ => 0,
    }
}

/// Returns 2^n, rounded down to a whole number; at most 2^126.
fn power(n: i128) -> u128 {
    if n < 0 { 0 } else { 1 << n.min(126) }
}

/// Returns a lower bound on the root of x 2^up: rounded down where it fits, less elsewhere.
fn root(x: u128, up: u32) -> u128 {
    let room = up.min(x.leading_zeros());
    (x << room).isqrt() << ((up - room) / 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::Dtype;
    use crate::ranges::{Reach, reach};
    use crate::real;
    use crate::rules::Truncation;

    const ENDS: [i128; 12] = [-900_000, -262_144, -70_000, -3, 1, 5, 1_000, 65_536, 70_000, 262_144, 1 << 24, 1 << 38];

    fn known(lo: i128, hi: i128) -> Known {
        Known { dtype: Dtype::FIXED64, interval: Some(Interval::new(lo, hi)), sparse: None }
    }

    #[test]
    fn functions_are_as_large_as_it_is_proven() {
        let all =
            [Real::Sigmoid, Real::Tanh, Real::Gelu, Real::Exp, Real::Log, Real::Sqrt, Real::Rsqrt, Real::Reciprocal];
        let mut positive = 0;
        for (i, &lo) in ENDS.iter().enumerate() {
            for &hi in &ENDS[i..] {
                for function in all {
                    let found = reach(&Op::Real(function), &[known(lo, hi)], Dtype::FIXED64, Truncation::Exact);
                    let Reach::Fits(found) = found else { continue };
                    positive += usize::from(found.lo() > 0);
                    for x in [lo, hi, lo + (hi - lo) / 2, lo + (hi - lo) / 7, hi - (hi - lo) / 9] {
                        let value = function.rounded(x, 16, Dtype::FIXED64);
                        assert!(found.contains(value), "{}({x}) = {value} outside {found:?}", function.name());
                    }
                }
            }
        }
        assert!(positive > 100, "only {positive} results were proven to be positive");
    }

    #[test]
    fn quotients_are_as_far_from_zero_as_it_is_proven() {
        let mut away = 0;
        let spans = ENDS.iter().enumerate().flat_map(|(i, &lo)| ENDS[i..].iter().map(move |&hi| (lo, hi)));
        let spans: Vec<(i128, i128)> = spans.collect();
        for &(a, b) in &spans {
            for &(c, d) in &spans {
                let found = reach(&Op::Divide, &[known(a, b), known(c, d)], Dtype::FIXED64, Truncation::Exact);
                let Reach::Fits(found) = found else { continue };
                away += usize::from(!found.contains(0));
                for (x, y) in [(a, c), (a, d), (b, c), (b, d)] {
                    let value = real::divide(x, y, 16, Dtype::FIXED64);
                    assert!(found.contains(value), "{x} / {y} = {value} outside {found:?}");
                }
            }
        }
        assert!(away > 100, "only {away} quotients were proven not to be 0");
    }
}
