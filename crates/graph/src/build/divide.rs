//! Whole quotients and remainders by public numbers.

use super::linear::Reduce;
use super::{Builder, Operand, coerce};
use crate::dtype::Dtype;
use crate::error::Fault;
use crate::node::{Division, Give, NodeId, Op};
use crate::ranges;
use crate::shape::{self, Repeats};
use crate::units::Units;

/// A dividend and its divisors, in units of the dividend.
struct ByPublic {
    dividend: NodeId,
    divisors: Units,
    /// The dtype of the quotient.
    whole: Dtype,
    /// The digits that the divisors lose as fixed point, if any.
    lost: Option<Fault>,
}

/// Returns one divisor for all elements of shape `to`, or those of shape `from` with their repeats.
pub(super) fn each(divisors: &[i128], from: &[usize], to: &[usize]) -> Units {
    let first = divisors.first().copied().unwrap_or(1);
    match divisors.iter().all(|&divisor| divisor == first) {
        true => Units::from([first]),
        false => Repeats::new(from, to).units(divisors),
    }
}

impl Builder<'_> {
    pub(super) fn build_floor_div(&mut self, a: NodeId, by: Operand<'_>) -> Result<NodeId, Fault> {
        let ByPublic { dividend, divisors, whole, lost } = self.division("// or %", a, by)?;
        let shape = self.graph.node(dividend).shape.clone();
        let id = self.graph.push(Op::FloorDiv(divisors), vec![dividend], shape, whole, &self.at)?;
        self.graph.warn(id, lost)
    }

    /// Builds the sum over the number of summed elements, in units of the dtype, rounded towards minus infinity.
    pub(super) fn build_mean(&mut self, a: NodeId, axis: Option<i64>, keepdims: bool) -> Result<NodeId, Fault> {
        let node = self.graph.get(a)?;
        let (dtype, shape) = (node.dtype, node.shape.clone());
        if !dtype.is_fixed() {
            return Err(Fault::FixedOnly { op: "mean", dtype });
        }
        let (line, to) = shape::reduction(&shape, axis, keepdims)?;
        if line.len == 0 {
            return Err(Fault::EmptyReduction { op: "mean", shape: shape.as_slice().into() });
        }
        let total = self.build_reduce(Reduce::Sum, a, axis, keepdims)?;
        if line.len == 1 {
            return Ok(total);
        }
        let dtype = self.graph.node(total).dtype;
        let mean = self.graph.push(Op::FloorDiv([line.len as i128].into()), vec![total], to, dtype, &self.at)?;
        self.kept(mean)
    }

    /// Builds the remainder; `whole` is the quotient that [`Builder::build_floor_div`] built for the same operands.
    pub(super) fn build_remainder(&mut self, a: NodeId, whole: NodeId, by: Operand<'_>) -> Result<NodeId, Fault> {
        let ByPublic { dividend, divisors, .. } = self.division("%", a, by)?;
        let node = self.graph.node(dividend);
        let (shape, dtype, range) = (node.shape.clone(), node.dtype, node.range());
        if self.graph.get(whole)?.shape != shape {
            return Err(Fault::BroadcastTo {
                from: self.graph.node(whole).shape.as_slice().into(),
                to: shape.as_slice().into(),
            });
        }
        if !dtype.range().covers(ranges::remainders(range, &divisors.to_vec())) {
            return Err(Fault::Remainder { dtype });
        }
        self.graph.push(Op::Remainder(divisors), vec![dividend, whole], shape, dtype, &self.at)
    }

    pub(super) fn build_int_divide(
        &mut self,
        division: Division,
        a: Operand<'_>,
        b: Operand<'_>,
    ) -> Result<NodeId, Fault> {
        let op = if division.give == Give::Remainder { "%" } else { "//" };
        let b = self.proven_operand(b)?;
        let to = shape::broadcast(&self.shape_of(a)?, &self.shape_of(b)?)?;
        let dtype = coerce::summed(op, self.types([a, b])?, self.whole())?;
        if !dtype.is_integer() {
            return Err(Fault::SecretDivisor { op });
        }
        let inputs = vec![self.place(a, dtype, &to)?, self.place(b, dtype, &to)?];
        self.graph.push(Op::IntDivide(division), inputs, to, dtype, &self.at)
    }

    fn division(&mut self, op: &'static str, a: NodeId, by: Operand<'_>) -> Result<ByPublic, Fault> {
        let to = shape::broadcast(&self.graph.get(a)?.shape, &self.shape_of(by)?)?;
        let number = self.number(a)?;
        let dividend = self.broadcast_node(number, &to)?;
        let dtype = self.graph.node(dividend).dtype;
        let units = self.divisors(op, dtype, by)?;
        let lost = if let Operand::Reals { values, .. } = by { dtype.lost(values, &units) } else { None };
        if units.contains(&0) {
            return Err(lost.unwrap_or(Fault::ZeroDivisor { op }));
        }
        if dtype.is_unsigned() && units.iter().any(|&d| d < 0) {
            return Err(Fault::NegativeDivisor { op, dtype });
        }
        let divisors = each(&units, &self.shape_of(by)?, &to);
        let bits = dtype.bits();
        let whole = if dtype.is_unsigned() { dtype } else { Dtype::Int { bits } };
        Ok(ByPublic { dividend, divisors, whole, lost })
    }

    /// Returns the divisors in units of the dividend. They need not fit its dtype.
    fn divisors(&self, op: &'static str, dtype: Dtype, by: Operand<'_>) -> Result<Vec<i128>, Fault> {
        let most = 1 << self.graph.rules().rings.most_bits;
        let moved = |values: &[i128], up: u32| {
            let unit = 1i128 << up;
            let one = |(index, &d): (usize, &i128)| match d.checked_mul(unit).filter(|d| d.abs() < most) {
                Some(units) => Ok(units),
                None => Err(Fault::OutOfRange { index, value: d as f64, shown: d.to_string(), dtype, fits: None }),
            };
            values.iter().enumerate().map(one).collect::<Result<Vec<i128>, Fault>>()
        };
        let scaled = |values: &[i128]| moved(values, dtype.frac());
        match by {
            Operand::Ints { values, .. } => scaled(values),
            Operand::Reals { values, .. } => dtype.encode_reals(values),
            Operand::Node(id) => {
                let node = self.graph.get(id)?;
                let Some(values) = node.constant() else { return Err(Fault::SecretDivisor { op }) };
                match dtype.frac().checked_sub(node.dtype.frac()) {
                    _ if !node.dtype.is_fixed() => scaled(&values),
                    Some(up) if dtype.is_fixed() => moved(&values, up),
                    _ => Err(Fault::FinerDivisor { op, left: dtype, right: node.dtype }),
                }
            }
        }
    }
}
