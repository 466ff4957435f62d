//! Range analysis: the effect of each operation on proven intervals.

use crate::cut::{cut, product, product_shift};
use crate::dtype::Dtype;
use crate::graph::Graph;
use crate::interval::Interval;
use crate::known::Known;
use crate::node::{Division, Give, NodeId, Op};
use crate::real;
use crate::reference::floor_div;
use crate::rules::Truncation;
use crate::smallest_magnitudes;
use crate::sparse::adds_one;

/// The range of a result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Reach {
    /// Some operand's range is unknown.
    Unknown,
    /// The result is proven to lie in this interval.
    Fits(Interval),
    /// Values up to these ends (saturated) are possible, and the dtype does not hold them: they would wrap.
    Leaves(Interval),
}

/// Returns the reach of `op` on `inputs` with a result of type `dtype`, where fixed point is truncated as `truncation`
/// says.
///
/// Every operation must state here what is proven of it. Otherwise its reach is [`Reach::Unknown`]. Orders open
/// comparisons of keys, which are independent of the data only if keys lie in their ranges: wrong laws leak there.
pub(crate) fn reach(op: &Op, inputs: &[Known], dtype: Dtype, truncation: Truncation) -> Reach {
    match derived(op, inputs, dtype, truncation) {
        Reach::Fits(found) => Reach::Fits(smallest_magnitudes::away_from_zero(op, inputs, dtype.frac(), found)),
        other => other,
    }
}

fn derived(op: &Op, inputs: &[Known], dtype: Dtype, truncation: Truncation) -> Reach {
    let known = |place: usize| inputs.get(place).and_then(|input: &Known| input.interval);
    let fits = |exact: Interval| match dtype.range().covers(exact) {
        true => Reach::Fits(exact),
        false => Reach::Leaves(exact),
    };
    let of_one = |law: &dyn Fn(Interval) -> Interval| known(0).map_or(Reach::Unknown, |x| fits(law(x)));
    let of_two = |law: &dyn Fn(Interval, Interval) -> Interval| match (known(0), known(1)) {
        (Some(x), Some(y)) => fits(law(x, y)),
        _ => Reach::Unknown,
    };
    // Operations that only move or pick values.
    let one_of = |values: &[Known]| {
        let all: Option<Vec<Interval>> = values.iter().map(|value| value.interval).collect();
        all.and_then(|all| all.into_iter().reduce(Interval::union)).map_or(Reach::Unknown, fits)
    };
    // A cut that may round up reaches the next unit.
    let up = truncation == Truncation::Probabilistic && cut(op, inputs, dtype).is_some();
    let down = |interval: Interval, bits: u32| if up { interval.shr_up(bits) } else { interval.shr(bits) };
    match op {
        Op::Input { .. } | Op::Submitted(_) | Op::Masked(_) | Op::Compose | Op::Shuffle { .. } => Reach::Unknown,
        Op::Combined { .. } => Reach::Unknown,
        Op::Order { .. } => Reach::Fits(dtype.range()),
        Op::Constant(values) => Reach::Fits(Interval::spanning(&values.to_vec())),
        Op::Lt | Op::Eq | Op::And | Op::Or | Op::Xor | Op::Not | Op::Bits | Op::Circuit(_) => {
            Reach::Fits(Interval::BIT)
        }
        Op::AssertOneHot(_) => Reach::Fits(Interval::BIT),
        Op::AssertWithin | Op::Behind => one_of(&inputs[..1]),
        Op::Counted => of_one(&|x| x.union(Interval::point(0))),
        Op::ArgMax(axis) | Op::ArgMin(axis) => Reach::Fits(Interval::new(0, axis.len as i128 - 1)),
        Op::Cast | Op::Softmax(_) => Reach::Fits(Interval::new(0, 1 << dtype.frac())),
        Op::Remainder(divisors) => Reach::Fits(remainders(inputs[0].range(), &divisors.to_vec())),
        Op::IntDivide(Division { give: Give::Remainder, .. }) => {
            Reach::Fits(remainders_by_secrets(inputs[0].range(), inputs[1].range()))
        }
        Op::IntDivide(Division { give: Give::Quotient, quotient_bits }) => {
            let quotient = quotients_by_secrets(inputs[0].range(), inputs[1].range(), *quotient_bits);
            if known(0).is_none() { Reach::Unknown } else { fits(quotient) }
        }
        Op::Divide => {
            let up = quotient_shift(inputs, dtype);
            let reach = known(0).zip(known(1)).and_then(|(x, y)| real::quotient_reach(x, y, up, dtype));
            reach.map_or(Reach::Unknown, Reach::Fits)
        }
        Op::Lookup(table) => Reach::Fits(table.reach(inputs[0].range())),
        Op::Real(function) => {
            let from = inputs[0].dtype.frac();
            function.reach(known(0), from, dtype).map_or(Reach::Unknown, Reach::Fits)
        }
        Op::Add => of_two(&Interval::add),
        Op::Sub => of_two(&Interval::sub),
        Op::Neg => of_one(&Interval::neg),
        // The ring must hold products whole, before the shift.
        Op::Mul | Op::MatMul { .. } | Op::Conv(_) => match of_two(&|x, y| product(op, inputs, x, y)) {
            Reach::Fits(whole) => Reach::Fits(down(whole, product_shift(op, inputs, dtype))),
            other => other,
        },
        Op::Sum(_) | Op::CumSum(_) if adds_one(op, inputs) => of_one(&|x| x.union(Interval::point(0))),
        Op::Sum(axis) => of_one(&|x| x.times(axis.len)),
        Op::CumSum(axis) => of_one(&|x| x.union(x.times(axis.len))),
        Op::Convert => of_one(&|x| match (inputs[0].dtype.frac(), dtype.frac()) {
            (from, to) if to >= from => x.shl(to - from),
            (from, to) => down(x, from - to),
        }),
        Op::Shl(bits) => of_one(&|x| x.shl(*bits)),
        Op::Shr(bits) => of_one(&|x| x.shr(*bits)),
        Op::FloorDiv(divisors) => of_one(&|x| quotients(x, &divisors.to_vec())),
        Op::Scale(scale) => of_one(&|x| scale.reach(x, dtype, truncation)),
        // The condition is not among the values. Nor is the last operand of `Other`, which is one of the first two.
        Op::Select => one_of(inputs.get(1..).unwrap_or_default()),
        Op::Other => one_of(inputs.get(..2).unwrap_or_default()),
        Op::Gather(_) | Op::Reshape | Op::To(_) | Op::Broadcast | Op::Part { .. } | Op::AsFactor => one_of(inputs),
        Op::Concat | Op::Max(_) | Op::Min(_) => one_of(inputs),
    }
}

/// Returns the reach of a product of an array with itself, which is never negative.
pub(crate) fn reach_of_squares(op: &Op, inputs: &[Known], dtype: Dtype, truncation: Truncation) -> Reach {
    match reach(op, inputs, dtype, truncation) {
        Reach::Fits(all) => Reach::Fits(all.clamped(Interval::new(0, i128::MAX))),
        other => other,
    }
}

/// Returns the range of quotients.
fn quotients(x: Interval, divisors: &[i128]) -> Interval {
    let ends = |&d: &i128| Interval::new(floor_div(x.lo(), d), floor_div(x.hi(), d));
    divisors.iter().map(ends).reduce(Interval::union).unwrap_or(x)
}

/// Returns the range of quotients by secret numbers; 0 where the divisor is 0.
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

/// Returns the range of remainders by secret numbers; 0 where the divisor is 0.
fn remainders_by_secrets(x: Interval, y: Interval) -> Interval {
    let all = Interval::new((y.lo() + 1).min(0), (y.hi() - 1).max(0));
    match x.lo() >= 0 && y.lo() >= 0 {
        true => Interval::new(0, all.hi().min(x.hi())),
        false => all,
    }
}

/// Returns the range of remainders.
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

/// Returns the number of bits by which a dividend is shifted left before it is divided, so that the quotient of units
/// is in units of `dtype`.
pub(crate) fn quotient_shift(inputs: &[Known], dtype: Dtype) -> u32 {
    match inputs {
        [x, y] => dtype.frac() + y.dtype.frac() - x.dtype.frac(),
        _ => 0,
    }
}

impl Graph {
    /// Returns the bits of the largest magnitude, in ring units, of a quotient of the division `id` by a divisor other
    /// than 0, as far as it is proven. The quotient need not fit the dtype.
    pub fn quotient_bits(&self, id: NodeId) -> u32 {
        let node = self.node(id);
        let (a, b) = (self.node(node.inputs[0]), self.node(node.inputs[1]));
        128 - real::quotients(a.range(), b.range(), self.quotient_shift(id)).1.leading_zeros()
    }

    /// Returns the number of bits by which the dividend of the division `id` is shifted left.
    pub fn quotient_shift(&self, id: NodeId) -> u32 {
        let node = self.node(id);
        quotient_shift(&self.known(&node.inputs), node.dtype)
    }
}
