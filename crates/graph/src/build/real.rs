//! Real functions of fixed point.

use super::fine::{self, USUAL};
use super::linear::Reduce;
use super::{BinaryOp, Builder};
use crate::dtype::Dtype;
use crate::error::Fault;
use crate::node::{NodeId, Op};
use crate::real::{MAX_FRAC, Real};
use crate::shape;

/// The fractional bits up to which the table of logarithms is precise enough.
const LOG_FRAC: u32 = 26;

/// Checks that real functions support `dtype`: at most `most_frac` fractional bits, and at least `least` bits, which
/// their results need.
pub(super) fn check(op: &'static str, dtype: Dtype, most_frac: u32, least: u32) -> Result<(), Fault> {
    match dtype {
        Dtype::Fixed { bits, frac } if frac <= most_frac && bits >= least => Ok(()),
        Dtype::Fixed { .. } => Err(Fault::RealDtype { op, dtype, most_frac, least }),
        _ => Err(Fault::FixedOnly { op, dtype }),
    }
}

/// Returns the bits that results of at least 1 take: a sign, a whole bit, and the fraction.
pub(super) fn usual(dtype: Dtype) -> u32 {
    dtype.frac() + 2
}

/// Returns whether quotients by secret divisors are exact.
pub(super) fn divides(dtype: Dtype) -> bool {
    check("divide", dtype, MAX_FRAC, usual(dtype)).is_ok()
}

impl Builder<'_> {
    pub(super) fn build_real(&mut self, function: Real, a: NodeId) -> Result<NodeId, Fault> {
        // Results of these two are small where arguments are.
        let counts = matches!(function, Real::Tanh | Real::Gelu);
        let a = self.argument(function.most_frac(), a, counts)?;
        let divides = matches!(function, Real::Reciprocal | Real::Rsqrt);
        let a = if divides { self.proven(a)? } else { a };
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
        check(function.name(), dtype, function.most_frac(), least)?;
        let to = self.result_frac(function, a);
        if dtype.bits() > 64 && !function.takes_wide(to) {
            return self.real_of_wide(function, a);
        }
        let node = self.graph.node(a);
        let result = Dtype::Fixed { bits: dtype.bits(), frac: to };
        if let Some(interval) = node.interval.filter(|_| node.elements() > 0) {
            let (lo, hi) = (dtype.decode(interval.lo()), dtype.decode(interval.hi()));
            if !function.is_defined_on(interval) {
                return Err(Fault::Domain { op: function.name(), lo, hi });
            }
            if !function.fits_on(interval, dtype.frac(), result) {
                return Err(Fault::NoResultFits { op: function.name(), dtype, lo, hi });
            }
        }
        let result = self.graph.push(Op::Real(function), vec![a], shape, result, &self.at)?;
        self.kept(result)
    }

    /// Returns the argument of a function with at most `most_frac` fractional bits. A real that may get more bits is
    /// rounded to the usual ones where it has more; `counts`: lost digits of the argument count.
    fn argument(&mut self, most_frac: u32, a: NodeId, counts: bool) -> Result<NodeId, Fault> {
        self.graph.get(a)?;
        if most_frac > MAX_FRAC {
            return Ok(a);
        }
        let lowered = self.lowered(a, USUAL)?;
        if lowered != a && !counts {
            self.graph.state_error(lowered);
        }
        Ok(lowered)
    }

    /// Returns the fractional bits of a function's results: the argument's; more or fewer where it may get more bits.
    fn result_frac(&self, function: Real, a: NodeId) -> u32 {
        let node = self.graph.node(a);
        let (dtype, x) = (node.dtype, node.range());
        let from = dtype.frac();
        if !self.grows(&[a], dtype) {
            return from;
        }
        // All arguments are below 2^far.
        let far = fine::size_bits(x) - from as i32;
        let usual = |to: u32| {
            let dtype = Dtype::Fixed { bits: 120, frac: to };
            function.reach(node.interval, from, dtype).map_or(to, |values| fine::enough_for(values, to))
        };
        match function {
            Real::Log => usual(USUAL).min(LOG_FRAC),
            Real::Sqrt if from > USUAL => from.div_ceil(2).max(from.min((46 - far / 2).max(16) as u32)),
            Real::Sqrt => usual(USUAL),
            Real::Rsqrt | Real::Reciprocal => {
                // The exponent of the result at 2^n: -n, or half of that.
                let of = |n: i32| if function == Real::Rsqrt { (-n).div_euclid(2) } else { -n };
                // The bits that the largest results leave.
                let near = if x.lo() > 0 { x.lo().ilog2() as i32 - from as i32 } else { -(from as i32) };
                let room = dtype.bits() as i32 - 3 - of(near);
                let wanted = fine::enough(of(far - 1)).max(from) as i32;
                wanted.min(room).max(USUAL as i32) as u32
            }
            _ => from,
        }
    }

    /// Builds functions that are constant for all large magnitudes, to the unit, in 64 bits, on arguments that are cut
    /// off there.
    fn real_of_wide(&mut self, function: Real, a: NodeId) -> Result<NodeId, Fault> {
        let dtype = self.graph.node(a).dtype;
        // If at least 2^-f of 1 / sqrt(x), or of 1 - sigmoid(x), is left, x is below this; so is the argument of a
        // power that fits 64 bits.
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
        // Beyond the cut-off, the function equals its argument.
        let limit = self.graph.push_constant(vec![most], self.graph.node(a).shape.clone(), dtype, &self.at)?;
        let large = self.emit_as(Op::Lt, &[limit, a], Dtype::Bit)?;
        let result = self.converted(result, dtype)?;
        self.emit_as(Op::Select, &[large, a, result], dtype)
    }

    /// Builds each value clipped to `lo` and `hi`, in units.
    fn build_clip(&mut self, a: NodeId, lo: i128, hi: i128) -> Result<NodeId, Fault> {
        let (dtype, shape) = (self.graph.node(a).dtype, self.graph.node(a).shape.clone());
        let low = self.graph.push_constant(vec![lo], shape.clone(), dtype, &self.at)?;
        let below = self.emit_as(Op::Lt, &[a, low], Dtype::Bit)?;
        let raised = self.emit_as(Op::Select, &[below, low, a], dtype)?;
        let high = self.graph.push_constant(vec![hi], shape, dtype, &self.at)?;
        let above = self.emit_as(Op::Lt, &[high, raised], Dtype::Bit)?;
        self.emit_as(Op::Select, &[above, high, raised], dtype)
    }

    pub(super) fn build_softmax(&mut self, a: NodeId, along: i64) -> Result<NodeId, Fault> {
        let a = self.argument(MAX_FRAC, a, false)?;
        let node = self.graph.get(a)?;
        let (dtype, to) = (node.dtype, node.shape.clone());
        check("softmax", dtype, MAX_FRAC, usual(dtype))?;
        let (axis, _) = shape::reduction(&to, Some(along), false)?;
        if axis.len == 0 {
            return Err(Fault::EmptyReduction { op: "softmax", shape: to.as_slice().into() });
        }
        if dtype.bits() > 64 {
            // Only differences near the largest element count.
            let most = self.build_reduce(Reduce::Max, a, Some(along), true)?;
            let below = self.build_binary(BinaryOp::Sub, a.into(), most.into())?;
            let near = self.build_clip(below, -1 << (dtype.frac() + 20), 0)?;
            let narrow = self.converted(near, dtype.with_bits(64))?;
            return self.build_softmax(narrow, along);
        }
        self.graph.push(Op::Softmax(axis), vec![a], to, dtype, &self.at)
    }
}
