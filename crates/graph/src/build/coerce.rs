//! Type coercion of operands: which dtypes mix, and how public numbers adapt to secret ones.

use super::{Builder, Operand};
use crate::dtype::{Dtype, USUAL_BITS};
use crate::error::Fault;
use crate::interval::Interval;
use crate::node::{NodeId, Op};
use crate::shape::{self, Repeats};
use crate::units::Units;

/// The type of an operand before it is combined with others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Type {
    /// A decided dtype, with the range in which values are proven to lie.
    Is(Dtype, Interval),
    /// Public integers, which take the dtype of the other operands if it holds them.
    Ints(Interval),
    /// Public real numbers of magnitudes below 2^whole_bits, which become fixed point.
    Reals { whole_bits: u32 },
}

impl Type {
    /// Returns the dtype of an array of only this operand.
    fn dtype(self) -> Dtype {
        match self {
            Type::Is(dtype, _) => dtype,
            Type::Ints(values) => Dtype::INT64.holding(values).unwrap_or(Dtype::INT64),
            Type::Reals { .. } => Dtype::FIXED64,
        }
    }

    fn is_bit(self) -> bool {
        match self {
            Type::Is(dtype, _) => dtype == Dtype::Bit,
            Type::Ints(values) => Interval::BIT.covers(values),
            Type::Reals { .. } => false,
        }
    }

    /// Returns the bits of a signed integer that holds the whole part of every value; at most those of the dtype.
    pub(super) fn whole_bits(self) -> u32 {
        match self {
            Type::Is(Dtype::Bit, _) => 2,
            Type::Is(dtype, values) => {
                let all = dtype.bits() - dtype.frac() + u32::from(dtype.is_unsigned());
                values.shr(dtype.frac()).signed_bits().min(all)
            }
            Type::Ints(values) => values.signed_bits(),
            Type::Reals { whole_bits } => whole_bits + 1,
        }
    }

    /// Returns the type of both `self` and `other` in one array. It is the narrowest of their own types that holds
    /// every value of both, or, if neither does, one that is just wide enough.
    pub(super) fn join(self, other: Type, op: &'static str) -> Result<Type, Fault> {
        use Type::{Ints, Is, Reals};
        let values = |dtype: Dtype| Is(dtype, dtype.range());
        Ok(match (self, other) {
            (Is(x, a), Is(y, b)) if x == y => Is(x, a.union(b)),
            (Is(Dtype::Bit, _), Is(number, _)) | (Is(number, _), Is(Dtype::Bit, _)) => values(number),
            (Is(Dtype::Bit, _), Ints(all)) | (Ints(all), Is(Dtype::Bit, _)) => match Interval::BIT.covers(all) {
                true => values(Dtype::Bit),
                false => values(Ints(all).dtype()),
            },
            (Ints(x), Ints(y)) => Ints(x.union(y)),
            (Reals { whole_bits: x }, Reals { whole_bits: y }) => Reals { whole_bits: x.max(y) },
            (Reals { .. }, Ints(_)) | (Ints(_), Reals { .. }) => {
                Reals { whole_bits: self.whole_bits().max(other.whole_bits()) - 1 }
            }
            (Is(x, _), Ints(all)) | (Ints(all), Is(x, _)) if !x.is_fixed() && x.range().covers(all) => values(x),
            _ => values(self.common(other, op)?),
        })
    }

    /// Returns the dtype of two numbers of different types or widths.
    fn common(self, other: Type, op: &'static str) -> Result<Dtype, Fault> {
        let (x, y) = (self.stated(), other.stated());
        let frac = [x, y].into_iter().flatten().map(Dtype::frac).max().unwrap_or(0);
        let is_fixed = [self, other].into_iter().any(|t| matches!(t, Type::Reals { .. }) || t.dtype().is_fixed());
        let frac = if is_fixed && ![x, y].into_iter().flatten().any(Dtype::is_fixed) { 16 } else { frac };
        let stated = || [x, y].into_iter().flatten();
        let made = |bits: u32, unsigned: bool| match (is_fixed, unsigned) {
            (true, _) => Dtype::Fixed { bits, frac },
            (_, true) => Dtype::Uint { bits },
            _ => Dtype::Int { bits },
        };
        let unsigned =
            !is_fixed && stated().all(Dtype::is_unsigned) && !self.may_be_negative() && !other.may_be_negative();
        let needed = self.whole_bits().max(other.whole_bits()) + frac - u32::from(unsigned);
        // Either dtype if it is wide enough, else exactly the bits that are needed; a public number leads to a usual
        // width.
        let own = stated().filter(|d| d.is_fixed() == is_fixed && d.is_unsigned() == unsigned && d.frac() == frac);
        let fits = own.clone().filter(|d| d.bits() >= needed).map(Dtype::bits).max();
        let least = own.map(Dtype::bits).max().unwrap_or(if is_fixed { Dtype::FIXED64.bits() } else { 0 });
        let bits = fits.unwrap_or(match x.is_some() && y.is_some() || is_fixed {
            true => needed.max(least),
            false => USUAL_BITS.into_iter().find(|&bits| bits >= needed.max(least)).unwrap_or(needed),
        });
        // Sums of numbers that fit must fit, too, as they would if nothing were proven.
        let bits = if is_fixed { bits } else { stated().map(Dtype::bits).fold(bits, u32::max) };
        match made(bits, unsigned).checked() {
            Ok(dtype) => Ok(dtype),
            Err(_) => Err(Fault::NoCommonDtype { op, left: self.dtype(), right: other.dtype(), bits: needed }),
        }
    }

    /// Returns the dtype, if it is decided.
    fn stated(self) -> Option<Dtype> {
        match self {
            Type::Is(dtype, _) => Some(dtype),
            _ => None,
        }
    }

    fn may_be_negative(self) -> bool {
        match self {
            Type::Is(dtype, values) => !dtype.is_unsigned() && values.lo() < 0,
            Type::Ints(values) => values.lo() < 0,
            Type::Reals { .. } => true,
        }
    }
}

/// Returns one type for values that are picked, moved or compared.
pub(super) fn joined(op: &'static str, types: &[Type]) -> Result<Dtype, Fault> {
    let Some((&first, rest)) = types.split_first() else { return Err(Fault::NothingToJoin { op }) };
    Ok(rest.iter().try_fold(first, |all, &next| all.join(next, op))?.dtype())
}

/// Returns one type for a sum. It is that of [`joined`], but bits are counted as whole numbers.
pub(super) fn summed(op: &'static str, types: [Type; 2], whole: Dtype) -> Result<Dtype, Fault> {
    let is_stated = types.iter().any(|t| t.stated().is_some_and(|dtype| dtype != Dtype::Bit));
    Ok(match joined(op, &types)? {
        Dtype::Bit => whole,
        Dtype::INT64 if !is_stated => whole,
        number => number,
    })
}

/// Returns the types of two factors. Next to fixed point, whole numbers are integers of the same ring, so that nothing
/// needs to be truncated. Two bits stay bits.
pub(super) fn multiplied(op: &'static str, [a, b]: [Type; 2], whole: Dtype) -> Result<[Dtype; 2], Fault> {
    let is_whole = |t: Type| match t {
        Type::Is(dtype, _) => !dtype.is_fixed(),
        Type::Ints(_) => true,
        Type::Reals { .. } => false,
    };
    let with_whole = |fixed: Dtype, whole: Type, other: Type| {
        let bits = fixed.bits().max(whole.whole_bits());
        let refused = |_| Fault::NoCommonDtype { op, left: fixed, right: other.dtype(), bits };
        let fixed = fixed.with_bits(bits).checked().map_err(refused)?;
        Ok((fixed, Dtype::Int { bits }))
    };
    match (a, b) {
        (Type::Is(fixed @ Dtype::Fixed { .. }, _), _) if is_whole(b) => {
            with_whole(fixed, b, b).map(|(fixed, whole)| [fixed, whole])
        }
        (_, Type::Is(fixed @ Dtype::Fixed { .. }, _)) if is_whole(a) => {
            with_whole(fixed, a, a).map(|(fixed, whole)| [whole, fixed])
        }
        _ if a.stated() == Some(Dtype::Bit) && b.stated() == Some(Dtype::Bit) => Ok([Dtype::Bit; 2]),
        _ => Ok([summed(op, [a, b], whole)?; 2]),
    }
}

/// Checks that all operands are bits, or public integers that fit a bit.
pub(super) fn only_bits(op: &'static str, types: &[Type]) -> Result<(), Fault> {
    match types.iter().find(|t| !t.is_bit()) {
        Some(other) => Err(Fault::BitsOnly { op, dtype: other.dtype() }),
        None => Ok(()),
    }
}

/// Returns the bits of the whole part of the largest magnitude.
fn whole_bits_of(values: &[f64]) -> u32 {
    let largest = values.iter().filter(|v| v.is_finite()).fold(0.0f64, |most, v| most.max(v.abs()));
    (largest.log2().floor() + 1.0).clamp(0.0, 1100.0) as u32
}

impl Builder<'_> {
    /// Returns the types of operands that are combined. Integer constants adapt where one of the operands is secret.
    pub(super) fn types<const N: usize>(&self, operands: [Operand<'_>; N]) -> Result<[Type; N], Fault> {
        let all = self.all_types(&operands)?;
        Ok(std::array::from_fn(|i| all[i]))
    }

    pub(super) fn all_types(&self, operands: &[Operand<'_>]) -> Result<Vec<Type>, Fault> {
        let secret = |operand: &Operand<'_>| match operand {
            Operand::Node(id) => self.graph.get(*id).is_ok_and(|n| !n.is_public()),
            _ => false,
        };
        let adapt = operands.iter().any(secret);
        let type_of = |operand: &Operand<'_>| match operand {
            Operand::Ints { values, .. } => Ok(Type::Ints(Interval::spanning(values))),
            Operand::Reals { values, .. } => Ok(Type::Reals { whole_bits: whole_bits_of(values) }),
            Operand::Node(id) => {
                let node = self.graph.get(*id)?;
                Ok(match &node.op {
                    Op::Constant(_) if adapt && !node.dtype.is_fixed() => Type::Ints(node.range()),
                    _ => Type::Is(node.dtype, node.range()),
                })
            }
        };
        operands.iter().map(type_of).collect()
    }

    pub(super) fn shape_of(&self, operand: Operand<'_>) -> Result<Vec<usize>, Fault> {
        match operand {
            Operand::Node(id) => Ok(self.graph.get(id)?.shape.clone()),
            Operand::Ints { shape, values } => shape::check_count(values.len(), shape).map(|()| shape.to_vec()),
            Operand::Reals { shape, values } => shape::check_count(values.len(), shape).map(|()| shape.to_vec()),
        }
    }

    /// Returns the operand as a node of type `dtype` and shape `to`, to which its own shape must broadcast.
    pub(super) fn place(&mut self, operand: Operand<'_>, dtype: Dtype, to: &[usize]) -> Result<NodeId, Fault> {
        let from = self.shape_of(operand)?;
        shape::broadcasts_to(&from, to)?;
        shape::elements(to)?;
        let (units, lost) = match operand {
            Operand::Node(id) => {
                let id = self.converted(id, dtype)?;
                return self.broadcast_node(id, to);
            }
            Operand::Ints { values, .. } => (dtype.encode_ints(values)?, None),
            Operand::Reals { values, .. } => {
                let units = dtype.encode_reals(values)?;
                let lost = dtype.lost(values, &units);
                (units, lost)
            }
        };
        let units = match from == to {
            true => Units::from(units.as_slice()),
            false => Repeats::new(&from, to).units(&units),
        };
        if lost.is_some() {
            self.graph.literals.truncate(0); // so that the warning is given for this line
        }
        let id = self.graph.push_units(&units, to.to_vec(), dtype, &self.at)?;
        self.graph.warn(id, lost)
    }

    /// Returns the node as `dtype`, which must hold its values: bits become numbers, public numbers are written anew,
    /// others are converted.
    pub(super) fn converted(&mut self, id: NodeId, dtype: Dtype) -> Result<NodeId, Fault> {
        let node = self.graph.get(id)?;
        if node.dtype == dtype {
            return Ok(id);
        }
        let (from, shape) = (node.dtype, node.shape.clone());
        if let Op::Constant(values) = &node.op
            && (!from.is_fixed() || dtype.is_fixed() && dtype.frac() >= from.frac())
        {
            let (values, each) = (values.to_vec(), values.each());
            let units = match dtype.frac() - from.frac() {
                up if from.is_fixed() => dtype.shifted_units(&values, up)?,
                _ => dtype.encode_ints(&values)?,
            };
            return self.graph.push_units(&Units::repeated(&units, each), shape, dtype, &self.at);
        }
        let fits = |up: u32| dtype.range().covers(node.range().shl(up));
        if dtype == Dtype::Bit || from != Dtype::Bit && !dtype.frac().checked_sub(from.frac()).is_some_and(fits) {
            return Err(Fault::NoCast { from, to: dtype });
        }
        if from != Dtype::Bit {
            return self.moved(id, dtype);
        }
        if !dtype.range().contains(1 << dtype.frac()) {
            return Err(Fault::OneDoesNotFit { dtype });
        }
        self.graph.push(Op::Cast, vec![id], shape, dtype, &self.at)
    }

    /// Returns the dtype of counts and positions.
    pub(super) fn whole(&self) -> Dtype {
        self.graph.rules().rings.whole()
    }

    /// Returns the node, with bits as whole numbers.
    pub(super) fn number(&mut self, id: NodeId) -> Result<NodeId, Fault> {
        match self.graph.get(id)?.dtype {
            Dtype::Bit => self.converted(id, self.whole()),
            _ => Ok(id),
        }
    }
}
