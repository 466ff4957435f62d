//! Real functions of fixed point.

use super::linear::Reduce;
use super::{BinaryOp, Builder, Operand, coerce};
use crate::dtype::Dtype;
use crate::error::Fault;
use crate::interval::Interval;
use crate::node::{NodeId, Op};
use crate::real::{self, MAX_FRAC, Real};
use crate::shape;

/// Checks that real functions take `dtype` and that it has `least` bits, which their results need.
fn check(op: &'static str, dtype: Dtype, least: u32) -> Result<(), Fault> {
    match dtype {
        Dtype::Fixed { bits, frac } if frac <= MAX_FRAC && bits >= least => Ok(()),
        Dtype::Fixed { .. } => Err(Fault::RealDtype { op, dtype, least }),
        _ => Err(Fault::FixedOnly { op, dtype }),
    }
}

/// The bits that results of at least 1 take: a sign, a whole bit, and the fraction.
fn usual(dtype: Dtype) -> u32 {
    dtype.frac() + 2
}

/// Whether quotients by secrets are there.
pub(super) fn divides(dtype: Dtype) -> bool {
    check("divide", dtype, usual(dtype)).is_ok()
}

impl Builder<'_> {
    pub(super) fn build_real(&mut self, function: Real, a: NodeId) -> Result<NodeId, Fault> {
        let a = if function == Real::Reciprocal { self.proven(a)? } else { a };
        let node = self.graph.get(a)?;
        let (dtype, shape) = (node.dtype, node.shape.clone());
        let least = match function {
            // -f log 2 must fit.
            Real::Log => {
                let whole = (dtype.frac() * 7).div_ceil(10).next_power_of_two().trailing_zeros();
                dtype.frac() + 1 + whole.max(1)
            }
            _ => usual(dtype),
        };
        check(function.name(), dtype, least)?;
        if dtype.bits() > 64 && !function.takes_wide() {
            return self.real_of_wide(function, a);
        }
        if let Some(interval) = node.interval.filter(|_| node.elements() > 0) {
            let (lo, hi) = (dtype.decode(interval.lo()), dtype.decode(interval.hi()));
            if !function.is_defined_on(interval) {
                return Err(Fault::Domain { op: function.name(), lo, hi });
            }
            if !function.fits_on(interval, dtype) {
                return Err(Fault::NoResultFits { op: function.name(), dtype, lo, hi });
            }
        }
        let result = self.graph.push(Op::Real(function), vec![a], shape, dtype, &self.at)?;
        self.kept(result)
    }

    /// Functions that are the same for all large magnitudes, to the unit: of arguments that are cut off there, in 64
    /// bits.
    fn real_of_wide(&mut self, function: Real, a: NodeId) -> Result<NodeId, Fault> {
        let dtype = self.graph.node(a).dtype;
        // Where 2^-f and more is left of 1 / sqrt(x), or of 1 - sigmoid(x), x is below this; so is a power that fits 64
        // bits.
        let most = match function {
            Real::Rsqrt => 1i128 << (3 * dtype.frac() + 2).min(60),
            Real::Reciprocal => 1i128 << (2 * dtype.frac() + 2).min(60),
            _ => 1i128 << (dtype.frac() + 20).min(60),
        };
        let small = self.build_clip(a, -most, most)?;
        let narrow = self.converted(small, dtype.with_bits(64))?;
        let result = self.build_real(function, narrow)?;
        if function != Real::Gelu {
            return Ok(result);
        }
        // Beyond what was cut off, the function is its argument.
        let limit = self.graph.push_constant(vec![most], self.graph.node(a).shape.clone(), dtype, &self.at)?;
        let large = self.emit_as(Op::Lt, &[limit, a], Dtype::Bit)?;
        let result = self.converted(result, dtype)?;
        self.emit_as(Op::Select, &[large, a, result], dtype)
    }

    /// Each value, or the nearer of two units.
    fn build_clip(&mut self, a: NodeId, lo: i128, hi: i128) -> Result<NodeId, Fault> {
        let (dtype, shape) = (self.graph.node(a).dtype, self.graph.node(a).shape.clone());
        let low = self.graph.push_constant(vec![lo], shape.clone(), dtype, &self.at)?;
        let below = self.emit_as(Op::Lt, &[a, low], Dtype::Bit)?;
        let raised = self.emit_as(Op::Select, &[below, low, a], dtype)?;
        let high = self.graph.push_constant(vec![hi], shape, dtype, &self.at)?;
        let above = self.emit_as(Op::Lt, &[high, raised], Dtype::Bit)?;
        self.emit_as(Op::Select, &[above, high, raised], dtype)
    }

    pub(super) fn build_divide(&mut self, a: Operand<'_>, b: Operand<'_>) -> Result<NodeId, Fault> {
        let to = shape::broadcast(&self.shape_of(a)?, &self.shape_of(b)?)?;
        let b = self.proven_operand(b)?;
        let (a, b) = (self.real_beside(a, b)?, self.real_beside(b, a)?);
        if let Some(quotient) = self.build_quotient(a, b)? {
            return Ok(quotient);
        }
        let dtype = coerce::joined("divide", &self.types([a, b])?)?;
        check("divide", dtype, usual(dtype))?;
        if let Operand::Reals { values, .. } = b {
            let units = dtype.encode_reals(values)?;
            if units.contains(&0) {
                return Err(dtype.lost(values, &units).unwrap_or(Fault::ZeroDivisor { op: "/" }));
            }
        }
        let mut a = self.place(a, dtype, &to)?;
        let mut b = self.place(b, dtype, &to)?;
        let (dividend, divisor) = (self.graph.node(a), self.graph.node(b));
        let only_zero = divisor.elements() > 0 && divisor.interval == Some(Interval::point(0));
        if only_zero || divisor.constant().is_some_and(|values| values.contains(&0)) {
            return Err(Fault::ZeroDivisor { op: "/" });
        }
        let mut dtype = dtype;
        if let Some((x, y)) = dividend.interval.zip(divisor.interval).filter(|_| dividend.elements() > 0) {
            let (least, most) = real::quotients(x, y, dtype.frac());
            if self.grows(&[a, b], dtype) {
                let most = i128::try_from(most.saturating_add(3)).unwrap_or(i128::MAX);
                dtype = self.room_for(dtype, Interval::new(-most, most));
                let both = self.all_in(&[a, b], dtype.bits())?;
                (a, b) = (both[0], both[1]);
            }
            if least > dtype.range().hi().unsigned_abs() {
                let (lo, hi) = (dtype.decode(x.lo()), dtype.decode(x.hi()));
                return Err(Fault::NoResultFits { op: "divide", dtype, lo, hi });
            }
        }
        let quotient = self.graph.push(Op::Divide, vec![a, b], to, dtype, &self.at)?;
        self.kept(quotient)
    }

    pub(super) fn build_softmax(&mut self, a: NodeId, along: i64) -> Result<NodeId, Fault> {
        let node = self.graph.get(a)?;
        let (dtype, to) = (node.dtype, node.shape.clone());
        check("softmax", dtype, usual(dtype))?;
        let (axis, _) = shape::reduction(&to, Some(along), false)?;
        if axis.len == 0 {
            return Err(Fault::EmptyReduction { op: "softmax", shape: to.as_slice().into() });
        }
        if dtype.bits() > 64 {
            // Only what is near the largest counts.
            let most = self.build_reduce(Reduce::Max, a, Some(along), true)?;
            let below = self.build_binary(BinaryOp::Sub, a.into(), most.into())?;
            let near = self.build_clip(below, -1 << (dtype.frac() + 20), 0)?;
            let narrow = self.converted(near, dtype.with_bits(64))?;
            return self.build_softmax(narrow, along);
        }
        self.graph.push(Op::Softmax(axis), vec![a], to, dtype, &self.at)
    }
}
