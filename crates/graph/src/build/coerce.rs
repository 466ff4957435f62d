//! How operands come to one type: which dtypes mix, and how public numbers adapt to secret ones.

use super::{Builder, Operand};
use crate::dtype::Dtype;
use crate::error::Fault;
use crate::node::{NodeId, Op};
use crate::shape;

/// What is known of an operand's type before it meets the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Type {
    /// Decided.
    Is(Dtype),
    /// Public integers, which take the type of what they meet; `bits`: all of them are 0 or 1.
    Ints { bits: bool },
    /// Public real numbers, which become fixed point.
    Reals,
}

impl Type {
    fn dtype(self) -> Dtype {
        match self {
            Type::Is(dtype) => dtype,
            Type::Ints { .. } => Dtype::INT64,
            Type::Reals => Dtype::FIXED64,
        }
    }

    /// The type of both `self` and `other` in one array.
    pub(super) fn join(self, other: Type, op: &'static str) -> Result<Type, Fault> {
        use Type::{Ints, Is, Reals};
        match (self, other) {
            (Is(x), Is(y)) if x == y => Ok(self),
            (Is(Dtype::Bit), Is(number)) | (Is(number), Is(Dtype::Bit)) => Ok(Is(number)),
            (Is(left), Is(right)) => Err(Fault::MixedDtypes { op, left, right }),
            (Is(Dtype::Bit), Ints { bits: false }) | (Ints { bits: false }, Is(Dtype::Bit)) => Ok(Is(Dtype::INT64)),
            (Is(dtype), Ints { .. }) | (Ints { .. }, Is(dtype)) => Ok(Is(dtype)),
            (Is(dtype), Reals) | (Reals, Is(dtype)) if dtype.is_fixed() => Ok(Is(dtype)),
            (Is(dtype), Reals) | (Reals, Is(dtype)) => Err(Fault::FloatWithInt { dtype }),
            (Ints { bits: x }, Ints { bits: y }) => Ok(Ints { bits: x && y }),
            (Reals, _) | (_, Reals) => Ok(Reals),
        }
    }
}

/// One type for values that are picked, moved or compared.
pub(super) fn joined(op: &'static str, types: &[Type]) -> Result<Dtype, Fault> {
    let Some((&first, rest)) = types.split_first() else { return Err(Fault::NothingToJoin { op }) };
    Ok(rest.iter().try_fold(first, |all, &next| all.join(next, op))?.dtype())
}

/// One type for a sum: as [`joined`], but bits are counted as int(64).
pub(super) fn summed(op: &'static str, types: [Type; 2]) -> Result<Dtype, Fault> {
    Ok(match joined(op, &types)? {
        Dtype::Bit => Dtype::INT64,
        number => number,
    })
}

/// The types of two factors. Fixed point meets whole numbers as integers of its own ring, so that nothing needs to be
/// truncated; two bits stay bits.
pub(super) fn multiplied(op: &'static str, [a, b]: [Type; 2]) -> Result<[Dtype; 2], Fault> {
    let whole_of = |fixed: Dtype, other: Type| match other {
        Type::Ints { .. } | Type::Is(Dtype::Bit) => Some(Dtype::Int { bits: fixed.bits() }),
        Type::Is(Dtype::Int { bits }) if bits == fixed.bits() => Some(Dtype::Int { bits }),
        _ => None,
    };
    if let (Type::Is(fixed @ Dtype::Fixed { .. }), Some(whole)) = (a, whole_of(a.dtype(), b)) {
        return Ok([fixed, whole]);
    }
    if let (Type::Is(fixed @ Dtype::Fixed { .. }), Some(whole)) = (b, whole_of(b.dtype(), a)) {
        return Ok([whole, fixed]);
    }
    if (a, b) == (Type::Is(Dtype::Bit), Type::Is(Dtype::Bit)) {
        return Ok([Dtype::Bit; 2]);
    }
    Ok([summed(op, [a, b])?; 2])
}

/// Checks that all operands are bits, or public integers that can be.
pub(super) fn only_bits(op: &'static str, types: &[Type]) -> Result<(), Fault> {
    let is_bit = |t: &&Type| matches!(t, Type::Is(Dtype::Bit) | Type::Ints { bits: true });
    match types.iter().find(|t| !is_bit(t)) {
        Some(other) => Err(Fault::BitsOnly { op, dtype: other.dtype() }),
        None => Ok(()),
    }
}

fn are_bits(values: &[i128]) -> bool {
    values.iter().all(|v| matches!(v, 0 | 1))
}

impl Builder<'_> {
    /// The types of operands that meet. Integer constants adapt where something secret is among them.
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
            Operand::Ints { values, .. } => Ok(Type::Ints { bits: are_bits(values) }),
            Operand::Reals { .. } => Ok(Type::Reals),
            Operand::Node(id) => {
                let node = self.graph.get(*id)?;
                Ok(match &node.op {
                    Op::Constant(values) if adapt && !node.dtype.is_fixed() => {
                        Type::Ints { bits: are_bits(&values.to_vec()) }
                    }
                    _ => Type::Is(node.dtype),
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

    /// The operand as a node of type `dtype` and shape `to`, to which its own shape broadcasts.
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
        let spread = if units.len() == 1 || from == to {
            units
        } else {
            shape::broadcast_index(&from, to).iter().map(|&i| units[i as usize]).collect()
        };
        let id = self.graph.push_constant(spread, to.to_vec(), dtype, &self.at)?;
        self.graph.warn(id, lost)
    }

    /// The node as `dtype`: bits become numbers, integer constants whatever holds them; nothing else converts.
    pub(super) fn converted(&mut self, id: NodeId, dtype: Dtype) -> Result<NodeId, Fault> {
        let node = self.graph.get(id)?;
        if node.dtype == dtype {
            return Ok(id);
        }
        let (from, shape) = (node.dtype, node.shape.clone());
        if let (Op::Constant(values), false) = (&node.op, from.is_fixed()) {
            let units = dtype.encode_ints(&values.to_vec())?;
            return self.graph.push_constant(units, shape, dtype, &self.at);
        }
        if from != Dtype::Bit {
            return Err(Fault::NoCast { from, to: dtype });
        }
        if !dtype.range().contains(1 << dtype.frac()) {
            return Err(Fault::OneDoesNotFit { dtype });
        }
        self.graph.push(Op::Cast, vec![id], shape, dtype, &self.at)
    }

    /// The node with bits as int(64).
    pub(super) fn number(&mut self, id: NodeId) -> Result<NodeId, Fault> {
        match self.graph.get(id)?.dtype {
            Dtype::Bit => self.converted(id, Dtype::INT64),
            _ => Ok(id),
        }
    }
}
