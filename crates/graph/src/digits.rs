//! Results that lose digits because they are small: which steps may, and the warnings of a check that has the values.
//!
//! A column of a result is the numbers with one last index; an array of one axis is one column. A column loses digits
//! where rounding takes more than 2^-8 of it: the sum of the rounding errors against the sum of the magnitudes. It also
//! does where more than half of its numbers that are not 0 lose more than 2^-8 of themselves, however large the others
//! are, if there are at least [`MANY`]: small matrices often have most elements near 0. So there is no warning for a
//! few numbers that are nearly 0 next to others, which lose digits in any data. A mean counts with the magnitudes of
//! its terms: if they cancel, it is small, and its digits are known no better than those of the terms.
//!
//! Powers, sigmoids, logarithms and shares of a softmax are nearly 0 for many arguments: for them an array counts as a
//! whole, and only its sums. Arguments of `tanh` and `gelu` that are rounded to 16 fractional bits count in place of
//! the results, which are small where the arguments are. `gelu` of numbers below -3 is nearly 0 and does not count.

use crate::cut;
use crate::dtype::{Dtype, MAX_BITS, shown};
use crate::error::Fault;
use crate::interval::Interval;
use crate::keep::Keep;
use crate::known::Known;
use crate::node::{Node, Op};
use crate::real::{self, MAX_FINE_FRAC, MAX_FRAC, Real};
use crate::reference;

/// A column may lose its magnitude divided by this.
const SHARE: f64 = 256.0;
/// Values of at least this magnitude, in units, lose less than that.
const SAFE: i128 = 256;
/// The least number of numbers of a column of which most are looked at.
const MANY: usize = 16;
/// The largest exponent of a factor of powers, by which a double can be divided.
const MOST_POWER: i32 = 1000;
/// Bits that advice adds beyond those that are lost.
const MORE_BITS: i32 = 4;

/// Returns whether the step rounds results that may be small; `range` is their range.
pub(crate) fn may_lose(node: &Node, inputs: &[Known], range: Interval) -> bool {
    let is_large = range.lo() >= SAFE || range.hi() <= -SAFE;
    if is_large || !node.dtype.is_fixed() || node.is_public() || node.error_is_stated {
        return false;
    }
    match &node.op {
        Op::Mul | Op::MatMul { .. } | Op::Conv(_) => cut::product_shift(&node.op, inputs, node.dtype) > 0,
        Op::Scale(scale) => scale.rounds(),
        Op::FloorDiv(_) | Op::Divide | Op::Softmax(_) => true,
        Op::Real(Real::Rsqrt | Real::Reciprocal | Real::Exp | Real::Sigmoid | Real::Log) => true,
        // A user who converts states which bits are dropped.
        Op::Convert => node.room.grows && inputs[0].dtype.frac() > node.dtype.frac(),
        _ => false,
    }
}

/// Returns whether the step divides the sum `of` by at most the number of its terms.
pub(crate) fn is_mean(node: &Node, of: &Node) -> bool {
    match (&node.op, &of.op) {
        (Op::FloorDiv(divisors), Op::Sum(axis)) => {
            divisors.to_vec().iter().all(|by| (1..=axis.len as i128).contains(by))
        }
        _ => false,
    }
}

/// Returns an upper bound on the numbers that a step computes with.
pub(crate) fn work(node: &Node) -> usize {
    node.elements().saturating_mul(terms(node))
}

/// Returns the number of products that are summed for an element; 1 for other operations.
fn terms(node: &Node) -> usize {
    match &node.op {
        Op::MatMul { k, .. } => (*k).max(1),
        Op::Conv(conv) => conv.patch().max(1),
        _ => 1,
    }
}

/// The surroundings of a step.
pub(crate) struct Around<'v> {
    /// For a mean, the sums of its terms' magnitudes.
    pub magnitudes: Option<&'v [i128]>,
    /// The function that takes a conversion as its argument, if it has a form for small ones.
    pub taken_by: &'v dyn Fn() -> Option<Real>,
    /// Whether what is computed on the way takes no more than 16 fractional bits.
    pub takes_few: &'v dyn Fn() -> bool,
    /// Whether the user's line does more than this step, as that of a variance: no factor is at hand there.
    pub is_a_part: &'v dyn Fn() -> bool,
}

/// Returns the warning for the first column that loses digits.
pub(crate) fn lost(
    node: &Node,
    nodes: &[&Node],
    operands: &[&[i128]],
    result: &[i128],
    Around { magnitudes, taken_by, takes_few, is_a_part }: Around<'_>,
) -> Option<Fault> {
    let exact = exact(node, nodes, operands)?;
    let sizes = magnitudes.and_then(|magnitudes| self::exact(node, nodes, &[magnitudes]));
    let as_a_whole = is_small_by_nature(&node.op);
    let width = match node.op {
        _ if as_a_whole => 1,
        _ if node.shape.len() > 1 => node.shape.last().copied().unwrap_or(1),
        _ => 1,
    };
    let mut columns = vec![Column::default(); width];
    // Saturated and undefined results have a warning of their own.
    let counts = |i: usize| exact[i].is_finite() && result[i].abs() < node.dtype.range().hi();
    let off = |i: usize| (result[i] as f64 - exact[i]).abs();
    for i in (0..result.len()).filter(|&i| counts(i)) {
        let size = sizes.as_ref().unwrap_or(&exact)[i].abs();
        columns[i % width].add(off(i), size, exact[i] != 0.0);
    }
    let column = columns.iter().position(|column| column.loses() || !as_a_whole && column.mostly_loses())?;
    let off_by = |&i: &usize| counts(i) && off(i) * SHARE > exact[i].abs();
    let index = (column..result.len()).step_by(width).find(off_by)?;
    let usual = sizes.as_ref().unwrap_or(&exact).iter().skip(column).step_by(width).map(|size| size.abs());
    let more = columns[column].missing((!as_a_whole).then(|| median(usual))) + MORE_BITS;
    let more = more.clamp(1, if as_a_whole { MOST_POWER } else { 127 }) as u32;
    // If bits are kept for values that do not occur, a multiple has no room: in the dtype, or in the ring of a
    // product.
    let product = nodes.iter().map(|node| node.range().signed_bits()).sum::<u32>();
    let has_no_room = match &node.op {
        Op::Convert => true,
        Op::Mul | Op::MatMul { .. } | Op::Conv(_) => product + terms(node).ilog2() + more > MAX_BITS,
        _ => node.range().signed_bits() + more > MAX_BITS,
    };
    let (unit, taken_by) = (f64::from(node.dtype.frac()).exp2(), taken_by());
    Some(Fault::LosesDigits {
        op: node.op.name(),
        index,
        exact: shown(exact[index] / unit),
        becomes: shown(node.dtype.decode(result[index])),
        dtype: node.dtype,
        keep: match finer(node.dtype, more) {
            _ if as_a_whole => Keep::Instead { of: node.op.name(), more, up: raised(&node.op, &exact, unit) },
            _ if taken_by.is_some() => Keep::Instead { of: taken_by.map_or("", Real::name), more: 0, up: 0 },
            Some(dtype) if !node.room.grows && dtype.frac() > MAX_FRAC && takes_few() => Keep::NoDtype,
            Some(dtype) if magnitudes.is_some() => Keep::Dtype { dtype, more: None },
            _ if node.room.grows && (has_no_room || is_a_part()) => Keep::Known,
            _ if node.room.grows => Keep::Multiple { more },
            Some(dtype) => Keep::Dtype { dtype, more: (!is_a_part()).then_some(more) },
            None => Keep::Multiple { more },
        },
    })
}

/// The losses of a column, in units.
#[derive(Clone, Debug, Default)]
struct Column {
    off: f64,
    size: f64,
    /// Numbers that are not 0.
    count: usize,
    /// Numbers that lose more than 1 / [`SHARE`] of themselves.
    lost: usize,
}

impl Column {
    fn add(&mut self, off: f64, size: f64, is_counted: bool) {
        self.off += off;
        self.size += size;
        self.count += usize::from(is_counted);
        self.lost += usize::from(is_counted && off * SHARE > size);
    }

    fn loses(&self) -> bool {
        self.off * SHARE > self.size
    }

    fn mostly_loses(&self) -> bool {
        self.count >= MANY && 2 * self.lost > self.count
    }

    /// Returns the number of bits that are missing; `usual` is the median magnitude where each number counts.
    fn missing(&self, usual: Option<f64>) -> i32 {
        // If few digits are left, the possible error of a unit for each number is a better estimate than the measured
        // error.
        let sum = self.off.max(self.count as f64).log2() - self.size.log2();
        let each = usual.filter(|usual| self.mostly_loses() && *usual > 0.0).map_or(sum, |usual| -usual.log2());
        (sum.max(each) + SHARE.log2()).ceil().clamp(0.0, f64::from(MOST_POWER)) as i32
    }
}

/// Returns the median of the values that are not 0, or 0.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.filter(|value| *value != 0.0).collect();
    if values.is_empty() {
        return 0.0;
    }
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}

/// Returns whether many results are nearly 0 whatever the arguments' units.
fn is_small_by_nature(op: &Op) -> bool {
    matches!(op, Op::Softmax(_) | Op::Real(Real::Exp | Real::Sigmoid | Real::Log))
}

/// Returns the exponent of a factor of the powers whose shares these are, in units of 1 / `unit`, with which the powers
/// lose no digits as a whole; 0 where they lose none, and for other operations.
fn raised(op: &Op, shares: &[f64], unit: f64) -> u32 {
    let Op::Softmax(axis) = op else { return 0 };
    // The largest power is 1, so the mean of the powers is 1 / (n times the largest share).
    let largest = shares.iter().fold(0.0f64, |most, share| most.max(share / unit));
    let mean = -(largest * axis.len as f64).log2();
    let enough = f64::from(MORE_BITS as u32) + SHARE.log2() - unit.log2();
    (enough - mean).ceil().clamp(0.0, 40.0) as u32
}

/// Returns a dtype with the same whole bits and `more` additional fractional ones, in a usual width.
pub(crate) fn finer(dtype: Dtype, more: u32) -> Option<Dtype> {
    let (bits, frac) = (dtype.bits() + more, dtype.frac() + more);
    let width = [64, 96, 120].into_iter().find(|&width| width >= bits)?;
    (frac <= MAX_FINE_FRAC).then_some(Dtype::Fixed { bits: width, frac })
}

/// Returns the warning where no value of `values`, results of a quotient, has many bits.
pub(crate) fn few_bits(op: &'static str, dtype: Dtype, values: Interval) -> Option<Fault> {
    const FEWEST: u32 = 12;
    const ENOUGH: u32 = 24;
    let largest = values.lo().unsigned_abs().max(values.hi().unsigned_abs());
    let bits = 128 - largest.leading_zeros();
    let more = ENOUGH - bits.min(ENOUGH);
    let finer = finer(dtype, more);
    let keep = finer.map_or(Keep::Multiple { more }, |dtype| Keep::Dtype { dtype, more: Some(more) });
    (largest > 0 && bits < FEWEST).then(|| Fault::FewBits { op, largest: dtype.decode(largest as i128), dtype, keep })
}

/// Returns the results before they are rounded, in units; `None` where that is not defined.
fn exact(node: &Node, nodes: &[&Node], operands: &[&[i128]]) -> Option<Vec<f64>> {
    let of = |place: usize| operands.get(place).copied().unwrap_or_default();
    let (x, to) = (of(0), node.dtype.frac());
    let from = nodes.first()?.dtype.frac();
    let each = |value: &dyn Fn(f64) -> f64| x.iter().map(|&x| value(x as f64)).collect::<Vec<_>>();
    Some(match &node.op {
        Op::Mul | Op::MatMul { .. } | Op::Conv(_) => {
            let frac = nodes.iter().map(|node| node.dtype.frac()).sum::<u32>();
            let whole = Dtype::Fixed { bits: 127, frac };
            let units = f64::from(frac - to).exp2();
            let products = reference::exact(&node.op, nodes, operands, &node.shape, whole)?;
            products.into_iter().map(|product| product as f64 / units).collect()
        }
        Op::Scale(scale) => {
            let reals = scale.reals(x.len());
            x.iter().zip(reals).map(|(&x, real)| x as f64 * real).collect()
        }
        Op::FloorDiv(divisors) => {
            let divisors = divisors.expand(x.len());
            x.iter().zip(divisors).map(|(&x, divisor)| x as f64 / divisor as f64).collect()
        }
        Op::Divide => {
            let up = f64::from(to + nodes[1].dtype.frac() - from).exp2();
            x.iter().zip(of(1)).map(|(&x, &y)| x as f64 * up / y as f64).collect()
        }
        Op::Real(Real::Rsqrt) => each(&|x| f64::from(2 * to + from).exp2().sqrt() / x.sqrt()),
        Op::Real(Real::Reciprocal) => each(&|x| f64::from(to + from).exp2() / x),
        Op::Real(Real::Log) => each(&|x| f64::from(to).exp2() * (x / f64::from(from).exp2()).ln()),
        Op::Real(Real::Exp) => each(&|x| f64::from(to).exp2() * (x / f64::from(from).exp2()).exp()),
        Op::Real(Real::Sigmoid) => each(&|x| {
            let x = x / f64::from(from).exp2();
            f64::from(to).exp2() * x.min(0.0).exp() / (1.0 + (-x.abs()).exp())
        }),
        Op::Softmax(axis) => {
            let mut shares = vec![0.0; x.len()];
            reference::each_line(axis, |places| {
                let line: Vec<i128> = places.iter().map(|&i| x[i]).collect();
                let of_line = real::shares(&line, nodes[0].dtype);
                places.iter().zip(of_line).for_each(|(&i, share)| shares[i] = share * f64::from(to).exp2());
            });
            shares
        }
        Op::Convert => each(&|x| x / f64::from(from - to).exp2()),
        _ => return None,
    })
}
