//! Real functions of fixed point.

use super::{Builder, Operand, coerce};
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

impl Builder<'_> {
    pub(super) fn build_real(&mut self, function: Real, a: NodeId) -> Result<NodeId, Fault> {
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
        if let Some(interval) = node.interval.filter(|_| node.elements() > 0) {
            let (lo, hi) = (dtype.decode(interval.lo()), dtype.decode(interval.hi()));
            if !function.is_defined_on(interval) {
                return Err(Fault::Domain { op: function.name(), lo, hi });
            }
            if !function.fits_on(interval, dtype) {
                return Err(Fault::NoResultFits { op: function.name(), dtype, lo, hi });
            }
        }
        self.graph.push(Op::Real(function), vec![a], shape, dtype, &self.at)
    }

    pub(super) fn build_divide(&mut self, a: Operand<'_>, b: Operand<'_>) -> Result<NodeId, Fault> {
        let to = shape::broadcast(&self.shape_of(a)?, &self.shape_of(b)?)?;
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
        let a = self.place(a, dtype, &to)?;
        let b = self.place(b, dtype, &to)?;
        let (dividend, divisor) = (self.graph.node(a), self.graph.node(b));
        let only_zero = divisor.elements() > 0 && divisor.interval == Some(Interval::point(0));
        if only_zero || divisor.constant().is_some_and(|values| values.contains(&0)) {
            return Err(Fault::ZeroDivisor { op: "/" });
        }
        if let Some((x, y)) = dividend.interval.zip(divisor.interval).filter(|_| dividend.elements() > 0)
            && real::quotients(x, y, dtype.frac()).0 > dtype.range().hi().unsigned_abs()
        {
            let (lo, hi) = (dtype.decode(x.lo()), dtype.decode(x.hi()));
            return Err(Fault::NoResultFits { op: "divide", dtype, lo, hi });
        }
        self.graph.push(Op::Divide, vec![a, b], to, dtype, &self.at)
    }

    pub(super) fn build_softmax(&mut self, a: NodeId, along: i64) -> Result<NodeId, Fault> {
        let node = self.graph.get(a)?;
        let (dtype, to) = (node.dtype, node.shape.clone());
        check("softmax", dtype, usual(dtype))?;
        let (axis, _) = shape::reduction(&to, Some(along), false)?;
        if axis.len == 0 {
            return Err(Fault::EmptyReduction { op: "softmax", shape: to.as_slice().into() });
        }
        self.graph.push(Op::Softmax(axis), vec![a], to, dtype, &self.at)
    }
}
