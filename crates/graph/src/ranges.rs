//! How each operation moves proven intervals.

use crate::cut::{cut, product};
use crate::dtype::Dtype;
use crate::graph::Truncation;
use crate::interval::Interval;
use crate::node::{Node, Op};
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

/// The reach of `op` on `inputs`, its result having type `dtype`, where fixed point is truncated as `truncation` says.
pub(crate) fn reach(op: &Op, inputs: &[&Node], dtype: Dtype, truncation: Truncation) -> Reach {
    match op {
        Op::Lt | Op::Eq | Op::And | Op::Or | Op::Xor | Op::Not | Op::Bits => return Reach::Fits(Interval::BIT),
        Op::ArgMax(axis) | Op::ArgMin(axis) => return Reach::Fits(Interval::new(0, axis.len as i128 - 1)),
        Op::Cast => return Reach::Fits(Interval::new(0, 1 << dtype.frac())),
        Op::Constant(values) => return Reach::Fits(Interval::spanning(&values.to_vec())),
        Op::Input { .. } | Op::Compose | Op::Shuffle { .. } => return Reach::Unknown,
        Op::Remainder(divisors) => return Reach::Fits(remainders(inputs[0].range(), divisors)),
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
    // The condition of a selection does not count: it is not among the values.
    let values = if *op == Op::Select { &inputs[1..] } else { inputs };
    let Some(known) = values.iter().map(|node| node.interval).collect::<Option<Vec<Interval>>>() else {
        return Reach::Unknown;
    };
    let Some(&first) = known.first() else { return Reach::Unknown };
    let union = known.iter().copied().reduce(Interval::union).unwrap_or(first);
    let last = known[known.len() - 1];
    // A cut that may round up reaches the next unit.
    let up = truncation == Truncation::Probabilistic && cut(op, inputs, dtype).is_some();
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
        _ => union, // what only moves or picks values
    };
    if !dtype.range().covers(exact) {
        return Reach::Leaves(exact); // for products, before the shift: the ring must hold them whole
    }
    Reach::Fits(down(exact, product_shift(op, inputs)))
}

/// Where quotients lie.
fn quotients(x: Interval, divisors: &[i128]) -> Interval {
    let ends = |&d: &i128| Interval::new(floor_div(x.lo(), d), floor_div(x.hi(), d));
    divisors.iter().map(ends).reduce(Interval::union).unwrap_or(x)
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
pub(crate) fn product_shift(op: &Op, inputs: &[&Node]) -> u32 {
    match (op, inputs) {
        (Op::Mul | Op::MatMul { .. }, [a, b]) if a.dtype.is_fixed() && b.dtype.is_fixed() => a.dtype.frac(),
        _ => 0,
    }
}
