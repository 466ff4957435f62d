//! How each operation moves proven intervals.

use crate::cut::{cut, product};
use crate::dtype::Dtype;
use crate::graph::Truncation;
use crate::interval::Interval;
use crate::node::{Division, Give, Node, Op};
use crate::real;
use crate::reference::floor_div;

/// Where a result lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Reach {
    /// Some operand's range is unknown.
    Unknown,
    /// Proven.
    Fits(Interval),
    /// Values up to these ends (saturated) are possible, and the dtype does not hold them: they would wrap.
    Leaves(Interval),
}

/// What is known of the values of an operand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Known {
    pub dtype: Dtype,
    /// Where they lie; `None`: anywhere in the dtype.
    pub interval: Option<Interval>,
}

impl Known {
    pub fn of(node: &Node) -> Known {
        Known { dtype: node.dtype, interval: node.interval }
    }

    pub fn range(self) -> Interval {
        self.interval.unwrap_or_else(|| self.dtype.range())
    }
}

/// The reach of `op` on `inputs`, its result having type `dtype`, where fixed point is truncated as `truncation` says.
pub(crate) fn reach(op: &Op, inputs: &[Known], dtype: Dtype, truncation: Truncation) -> Reach {
    match op {
        Op::Lt | Op::Eq | Op::And | Op::Or | Op::Xor | Op::Not | Op::Bits | Op::Circuit(_) => {
            return Reach::Fits(Interval::BIT);
        }
        Op::ArgMax(axis) | Op::ArgMin(axis) => return Reach::Fits(Interval::new(0, axis.len as i128 - 1)),
        Op::Cast => return Reach::Fits(Interval::new(0, 1 << dtype.frac())),
        Op::Constant(values) => return Reach::Fits(Interval::spanning(&values.to_vec())),
        Op::Input { .. } | Op::Compose | Op::Shuffle { .. } => return Reach::Unknown,
        Op::Remainder(divisors) => return Reach::Fits(remainders(inputs[0].range(), divisors)),
        Op::IntDivide(Division { give: Give::Remainder, .. }) => {
            return Reach::Fits(remainders_by_secrets(inputs[0].range(), inputs[1].range()));
        }
        Op::IntDivide(Division { give: Give::Quotient, quotient_bits }) => {
            let quotient = quotients_by_secrets(inputs[0].range(), inputs[1].range(), *quotient_bits);
            return match (inputs[0].interval, dtype.range().covers(quotient)) {
                (None, _) => Reach::Unknown,
                (_, true) => Reach::Fits(quotient),
                (_, false) => Reach::Leaves(quotient),
            };
        }
        Op::Softmax(_) => return Reach::Fits(Interval::new(0, 1 << dtype.frac())),
        Op::Divide => {
            let known = inputs[0].interval.zip(inputs[1].interval);
            let reach = known.and_then(|(x, y)| real::quotient_reach(x, y, dtype));
            return reach.map_or(Reach::Unknown, Reach::Fits);
        }
        Op::Real(function) => {
            return function.reach(inputs[0].interval, dtype).map_or(Reach::Unknown, Reach::Fits);
        }
        _ => {}
    }
    // The condition of a selection does not count: it is not among the values. Nor does the one of two that is known.
    let values = match op {
        Op::Select => &inputs[1..],
        Op::Other => &inputs[..2],
        _ => inputs,
    };
    let Some(known) = values.iter().map(|node| node.interval).collect::<Option<Vec<Interval>>>() else {
        return Reach::Unknown;
    };
    let Some(&first) = known.first() else { return Reach::Unknown };
    let union = known.iter().copied().reduce(Interval::union).unwrap_or(first);
    let last = known[known.len() - 1];
    // A cut that may round up reaches the next unit.
    let up = truncation == Truncation::Probabilistic && cut(op, inputs, dtype).is_some(); // of what is shifted below
    let down = |interval: Interval, bits: u32| if up { interval.shr_up(bits) } else { interval.shr(bits) };
    let exact = match op {
        Op::Add => first.add(last),
        Op::Sub => first.sub(last),
        Op::Neg => first.neg(),
        Op::Mul | Op::MatMul { .. } => product(op, first, last),
        Op::Sum(axis) => first.times(axis.len),
        Op::CumSum(axis) => first.union(first.times(axis.len)),
        Op::Convert => match (inputs[0].dtype.frac(), dtype.frac()) {
            (from, to) if to >= from => first.shl(to - from),
            (from, to) => down(first, from - to),
        },
        Op::Shl(bits) => first.shl(*bits),
        Op::Shr(bits) => first.shr(*bits),
        Op::FloorDiv(divisors) => quotients(first, divisors),
        Op::Scale(scale) => scale.reach(first, dtype, truncation),
        _ => union, // what only moves or picks values
    };
    if !dtype.range().covers(exact) {
        return Reach::Leaves(exact); // for products, before the shift: the ring must hold them whole
    }
    Reach::Fits(down(exact, product_shift(op, inputs)))
}

/// The reach of a product of an array with itself: nothing of it is negative.
pub(crate) fn reach_of_squares(op: &Op, inputs: &[Known], dtype: Dtype, truncation: Truncation) -> Reach {
    match reach(op, inputs, dtype, truncation) {
        Reach::Fits(all) => Reach::Fits(all.clamped(Interval::new(0, i128::MAX))),
        other => other,
    }
}

/// Where quotients lie.
fn quotients(x: Interval, divisors: &[i128]) -> Interval {
    let ends = |&d: &i128| Interval::new(floor_div(x.lo(), d), floor_div(x.hi(), d));
    divisors.iter().map(ends).reduce(Interval::union).unwrap_or(x)
}

/// Where quotients by secret numbers lie; 0 where the divisor is 0.
fn quotients_by_secrets(x: Interval, y: Interval, promised_bits: Option<u32>) -> Interval {
    let mut all = Interval::point(0);
    let ends = [y.lo(), y.hi(), -1, 1];
    for d in ends.into_iter().filter(|&d| d != 0 && y.contains(d)) {
        all = all.union(quotients(x, &[d]));
    }
    match promised_bits {
        Some(bits) if bits < 127 => {
            let most = (1i128 << bits) - 1;
            Interval::new(all.lo().clamp(-most, most), all.hi().clamp(-most, most))
        }
        _ => all,
    }
}

/// Where remainders by secret numbers lie; 0 where the divisor is 0.
fn remainders_by_secrets(x: Interval, y: Interval) -> Interval {
    let all = Interval::new((y.lo() + 1).min(0), (y.hi() - 1).max(0));
    match x.lo() >= 0 && y.lo() >= 0 {
        true => Interval::new(0, all.hi().min(x.hi())),
        false => all,
    }
}

/// Where remainders lie.
pub(crate) fn remainders(x: Interval, divisors: &[i128]) -> Interval {
    let of = |&d: &i128| {
        let (first, last) = (floor_div(x.lo(), d), floor_div(x.hi(), d));
        match first == last {
            true => Interval::new(x.lo() - first * d, x.hi() - first * d),
            false => Interval::new(0, d - d.signum()),
        }
    };
    divisors.iter().map(of).reduce(Interval::union).unwrap_or(x)
}

/// By how many bits a product is shifted right after it was formed in the ring: the fractional bits where both
/// operands are fixed point, 0 otherwise and for every other operation.
pub(crate) fn product_shift(op: &Op, inputs: &[Known]) -> u32 {
    match (op, inputs) {
        (Op::Mul | Op::MatMul { .. }, [a, b]) if a.dtype.is_fixed() && b.dtype.is_fixed() => a.dtype.frac(),
        _ => 0,
    }
}
