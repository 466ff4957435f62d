//! Quotients of reals, and of integers as reals.

use super::bits_of_reals::KEPT_BITS;
use super::fine::{self, ENOUGH, FEWEST, USUAL};
use super::real::{check, usual};
use super::{Builder, Operand, coerce};
use crate::dtype::Dtype;
use crate::error::Fault;
use crate::interval::Interval;
use crate::node::{Node, NodeId, Op, Room};
use crate::real::{self, MAX_FINE_FRAC};
use crate::shape;

/// The bits of the smallest quotient of two integers, where there is room.
const LEAST_BITS: i32 = 8;

/// An operand of a division: the range of its values, in units, and its fractional bits.
#[derive(Clone, Copy)]
struct Part {
    values: Interval,
    frac: u32,
}

impl Part {
    /// Returns e with all magnitudes below 2^e.
    fn exponent(self) -> i32 {
        fine::size_bits(self.values) - self.frac as i32
    }
}

/// A division whose result is a real that may get more bits.
struct Quotient {
    x: Part,
    y: Part,
    /// Whether both are integers.
    whole: bool,
}

impl Quotient {
    /// Returns the fractional bits that quotients should have, and those for which they get a larger ring.
    fn wanted(&self) -> (u32, u32) {
        let (x, y) = (self.x.exponent(), self.y.exponent());
        if self.whole {
            let wanted = (y + LEAST_BITS).clamp(USUAL as i32, MAX_FINE_FRAC as i32);
            return (wanted as u32, wanted.min(ENOUGH) as u32);
        }
        // The exponent of the largest dividend divided by the largest divisor.
        let typical = x - y;
        let wanted = fine::enough(typical).max(self.x.frac).clamp(USUAL, MAX_FINE_FRAC);
        let least = if wanted == USUAL { USUAL as i32 } else { (FEWEST - typical).max(USUAL as i32) };
        (wanted, (least as u32).min(wanted))
    }

    /// Returns whether all quotients fit a ring of `bits` bits with `frac` fractional bits.
    fn fits(&self, bits: u32, frac: u32) -> bool {
        let Some(up) = (frac + self.y.frac).checked_sub(self.x.frac) else { return false };
        let most = real::quotients(self.x.values, self.y.values, up).1.saturating_add(3);
        up <= MAX_FINE_FRAC && most < 1 << (bits - 1)
    }

    /// Returns the fractional bits of the quotients and the bits of their ring: the first of `widths` that leaves
    /// enough fractional bits, or the last one.
    fn room(&self, widths: [u32; 3]) -> (u32, u32) {
        let (wanted, least) = self.wanted();
        let held = self.x.values.signed_bits().max(self.y.values.signed_bits());
        let enough = |&bits: &u32| bits >= held && self.fits(bits, least);
        let bits = widths.into_iter().find(enough).unwrap_or(widths[2]);
        // If a divisor may be 0, a quotient may be any number of the ring.
        let first = if self.y.values.contains(0) && wanted > USUAL { MAX_FINE_FRAC } else { wanted };
        let frac = (USUAL..=first).rev().find(|&frac| self.fits(bits, frac)).unwrap_or(USUAL);
        (frac.max(self.x.frac.saturating_sub(self.y.frac)), bits)
    }
}

impl Builder<'_> {
    pub(super) fn build_divide(&mut self, a: Operand<'_>, b: Operand<'_>) -> Result<NodeId, Fault> {
        let to = shape::broadcast(&self.shape_of(a)?, &self.shape_of(b)?)?;
        let b = self.proven_operand(b)?;
        let by_public = match b {
            Operand::Node(id) => self.graph.get(id)?.is_public(),
            _ => true,
        };
        if by_public {
            return self.build_quotient_by_public(a, b, to);
        }
        if self.stays_stated(a)? && self.stays_stated(b)? {
            let dtype = coerce::joined("divide", &self.types([a, b])?)?;
            let (a, b) = (self.place(a, dtype, &to)?, self.place(b, dtype, &to)?);
            return self.divided_as(a, b, dtype, to);
        }
        let whole = self.is_whole(a)? && self.is_whole(b)?;
        let (a, b) = if whole { (a, b) } else { (self.real_part(a)?, self.real_part(b)?) };
        let ((x, _), (y, _)) = (self.dividing(a, whole)?, self.dividing(b, whole)?);
        let quotient = Quotient { x, y, whole };
        let (frac, bits) = quotient.room(self.within(KEPT_BITS));
        let (a, b) = (self.in_ring(a, (whole, x.frac, bits), &to)?, self.in_ring(b, (whole, y.frac, bits), &to)?);
        let id = self.divided_as(a, b, Dtype::Fixed { bits, frac }, to)?;
        self.kept(id)
    }

    /// Builds quotients by public numbers, also those that only the algorithm for secret divisors gives.
    fn build_quotient_by_public(&mut self, a: Operand<'_>, b: Operand<'_>, to: Vec<usize>) -> Result<NodeId, Fault> {
        let a = self.real_part(a)?;
        let (a, b) = (self.real_beside(a, b)?, self.real_beside(b, a)?);
        if let Some(quotient) = self.build_quotient(a, b)? {
            return Ok(quotient);
        }
        let dtype = coerce::joined("divide", &self.types([a, b])?)?;
        check("divide", dtype, MAX_FINE_FRAC, usual(dtype))?;
        if let Operand::Reals { values, .. } = b {
            let units = dtype.encode_reals(values)?;
            if units.contains(&0) {
                return Err(dtype.lost(values, &units).unwrap_or(Fault::ZeroDivisor { op: "/" }));
            }
        }
        let (mut a, mut b) = (self.place(a, dtype, &to)?, self.place(b, dtype, &to)?);
        let (x, y) = (self.graph.node(a), self.graph.node(b));
        let mut dtype = dtype;
        if let Some((x, y)) = x.interval.zip(y.interval).filter(|_| x.elements() > 0)
            && self.grows(&[a, b], dtype)
        {
            let most = real::quotients(x, y, dtype.frac()).1.saturating_add(3);
            let most = i128::try_from(most).unwrap_or(i128::MAX);
            dtype = self.room_for(dtype, Interval::new(-most, most));
            let both = self.all_in(&[a, b], dtype.bits())?;
            (a, b) = (both[0], both[1]);
        }
        let quotient = self.divided_as(a, b, dtype, to)?;
        self.kept(quotient)
    }

    /// Returns whether the operand leaves the bits of the result as they are: fixed point of a stated dtype, or public.
    fn stays_stated(&self, a: Operand<'_>) -> Result<bool, Fault> {
        let Operand::Node(id) = a else { return Ok(true) };
        let node = self.graph.get(id)?;
        Ok(node.is_public() || node.dtype.is_fixed() && !node.room.grows)
    }

    /// Returns whether the operand has no fractional bits.
    fn is_whole(&self, a: Operand<'_>) -> Result<bool, Fault> {
        Ok(match a {
            Operand::Node(id) => !self.graph.get(id)?.dtype.is_fixed(),
            Operand::Ints { .. } => true,
            Operand::Reals { .. } => false,
        })
    }

    /// Returns an integer, or a bit, as a real. Reals and public numbers are returned as they are.
    fn real_part<'a>(&mut self, a: Operand<'a>) -> Result<Operand<'a>, Fault> {
        match a {
            Operand::Node(id) if !self.graph.get(id)?.dtype.is_fixed() => self.build_to_real(id).map(Operand::Node),
            other => Ok(other),
        }
    }

    /// Returns the range and fractional bits of an operand; and, for an array, the room of its results.
    fn dividing(&self, a: Operand<'_>, whole: bool) -> Result<(Part, Option<Room>), Fault> {
        Ok(match a {
            Operand::Node(id) => {
                let node = self.graph.get(id)?;
                let assumed = node.room.assumed || node.dtype.is_integer() && node.interval.is_none();
                let part = Part { values: node.range(), frac: node.dtype.frac() };
                (part, Some(Room { grows: true, assumed }))
            }
            Operand::Ints { values, .. } => {
                let frac = if whole { 0 } else { USUAL };
                (Part { values: Interval::spanning(values).shl(frac), frac }, None)
            }
            Operand::Reals { values, .. } => {
                let largest = values.iter().fold(0.0f64, |most, v| most.max(v.abs()));
                let frac = match largest {
                    0.0 => USUAL,
                    _ => fine::enough(fine::exponent_of(largest)),
                };
                let dtype = Dtype::Fixed { bits: KEPT_BITS[2], frac };
                (Part { values: Interval::spanning(&dtype.encode_reals(values)?), frac }, None)
            }
        })
    }

    /// Returns an operand of a division in a ring of `bits` bits; its results may get more bits.
    fn in_ring(
        &mut self,
        a: Operand<'_>,
        (whole, frac, bits): (bool, u32, u32),
        to: &[usize],
    ) -> Result<NodeId, Fault> {
        let Operand::Node(id) = a else {
            let dtype = if whole { Dtype::Int { bits } } else { Dtype::Fixed { bits, frac } };
            return self.place(a, dtype, to);
        };
        let (_, room) = self.dividing(a, whole)?;
        let id = self.number(id)?;
        let held = self.build_held(id)?;
        let dtype = match self.graph.node(held).dtype {
            Dtype::Fixed { frac, .. } => Dtype::Fixed { bits, frac },
            _ => Dtype::Int { bits },
        };
        let id = self.converted(held, dtype)?;
        let id = self.broadcast_node(id, to)?;
        let node = self.graph.node(id);
        if node.is_public() || node.dtype.is_fixed() && node.room.grows {
            return Ok(id);
        }
        let node = Node { room: room.unwrap_or(Room::STATED), ..node.like(Op::Reshape, vec![id], &self.at) };
        self.graph.append(node)
    }

    /// Builds the quotient of nodes in one ring, in this dtype.
    fn divided_as(&mut self, a: NodeId, b: NodeId, dtype: Dtype, to: Vec<usize>) -> Result<NodeId, Fault> {
        check("divide", dtype, MAX_FINE_FRAC, usual(dtype))?;
        let (dividend, divisor) = (self.graph.node(a), self.graph.node(b));
        let only_zero = divisor.elements() > 0 && divisor.interval == Some(Interval::point(0));
        if only_zero || matches!(&divisor.op, Op::Constant(units) if units.to_vec().contains(&0)) {
            return Err(Fault::ZeroDivisor { op: "/" });
        }
        if let Some((x, y)) = dividend.interval.zip(divisor.interval).filter(|_| dividend.elements() > 0) {
            let up = dtype.frac() + divisor.dtype.frac() - dividend.dtype.frac();
            let (least, _) = real::quotients(x, y, up);
            if least > dtype.range().hi().unsigned_abs() {
                let (lo, hi) = (dividend.dtype.decode(x.lo()), dividend.dtype.decode(x.hi()));
                return Err(Fault::NoResultFits { op: "divide", dtype, lo, hi });
            }
        }
        self.graph.push(Op::Divide, vec![a, b], to, dtype, &self.at)
    }
}
