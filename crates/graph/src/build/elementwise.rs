//! Arithmetic, comparisons, logic and selection, element by element.

use super::{BinaryOp, Builder, Operand, UnaryOp, coerce};
use crate::dtype::Dtype;
use crate::error::Fault;
use crate::node::{NodeId, Op};
use crate::shape;

impl Builder<'_> {
    pub(super) fn build_binary(&mut self, op: BinaryOp, a: Operand<'_>, b: Operand<'_>) -> Result<NodeId, Fault> {
        let shape = shape::broadcast(&self.shape_of(a)?, &self.shape_of(b)?)?;
        let (a, b) = match op {
            BinaryOp::Mul => (self.real_factor(a, b)?, self.real_factor(b, a)?),
            _ => (self.real_beside(a, b)?, self.real_beside(b, a)?),
        };
        if op == BinaryOp::Mul {
            for (number, by) in [(a, b), (b, a)] {
                if let Some(multiple) = self.build_multiple(number, by)? {
                    return Ok(multiple);
                }
            }
            if let Some([da, db]) = self.fine_factors(&Op::Mul, a, b)? {
                let factors = [self.place(a, da, &shape)?, self.place(b, db, &shape)?];
                return self.fine_product(Op::Mul, factors, shape);
            }
        }
        let (a, b) = if op == BinaryOp::Mul { (a, b) } else { self.level_both(a, b)? };
        let types = self.types([a, b])?;
        let name = op.name();
        let [da, db] = match op {
            BinaryOp::Add | BinaryOp::Sub => [coerce::summed(name, types, self.whole())?; 2],
            BinaryOp::Mul => coerce::multiplied(name, types, self.whole())?,
            BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => {
                let bits = coerce::only_bits(name, &types);
                if let (Err(_), Ok(dtype)) = (&bits, coerce::joined(name, &types))
                    && dtype.is_integer()
                {
                    let [a, b] = [self.place(a, dtype, &shape)?, self.place(b, dtype, &shape)?];
                    return self.bitwise(op, a, b, dtype);
                }
                bits?;
                [Dtype::Bit; 2]
            }
            _ => [coerce::joined(name, &types)?; 2],
        };
        let a = self.place(a, da, &shape)?;
        let b = self.place(b, db, &shape)?;
        self.apply_binary(op, a, b)
    }

    /// Returns the operand; as a real if it is a secret integer, or a bit, and the other operand is public reals.
    pub(super) fn real_beside<'a>(&mut self, a: Operand<'a>, other: Operand<'_>) -> Result<Operand<'a>, Fault> {
        match (a, other) {
            (Operand::Node(id), Operand::Reals { values, .. })
                if !self.graph.get(id)?.dtype.is_fixed() && values.iter().all(|v| v.is_finite()) =>
            {
                self.as_real(id).map(Operand::Node)
            }
            _ => Ok(a),
        }
    }

    /// Returns a factor; as a real with the bits that products need if it is an integer and the other factor is public
    /// reals.
    pub(super) fn real_factor<'a>(&mut self, a: Operand<'a>, other: Operand<'_>) -> Result<Operand<'a>, Fault> {
        match (a, other) {
            (Operand::Node(id), Operand::Reals { values, .. })
                if self.graph.get(id)?.dtype.is_integer() && values.iter().all(|v| v.is_finite()) =>
            {
                self.build_to_real(id).map(Operand::Node)
            }
            _ => self.real_beside(a, other),
        }
    }

    /// Builds an operation on nodes of one shape, whose types fit it.
    fn apply_binary(&mut self, op: BinaryOp, a: NodeId, b: NodeId) -> Result<NodeId, Fault> {
        use BinaryOp as B;
        let bits = [a, b].map(|id| self.graph.node(id).dtype) == [Dtype::Bit; 2];
        match op {
            B::Mul if bits => self.emit(Op::And, &[a, b]),
            B::Ne if bits => self.emit(Op::Xor, &[a, b]),
            B::Ge | B::Le | B::Ne => {
                let opposite = match op {
                    B::Ge => B::Lt,
                    B::Le => B::Gt,
                    _ => B::Eq,
                };
                let id = self.apply_binary(opposite, a, b)?;
                self.emit(Op::Not, &[id])
            }
            B::Gt => self.apply_binary(B::Lt, b, a),
            B::Lt if bits => {
                let not_a = self.emit(Op::Not, &[a])?;
                self.emit(Op::And, &[not_a, b])
            }
            B::Eq if bits => {
                let differ = self.emit(Op::Xor, &[a, b])?;
                self.emit(Op::Not, &[differ])
            }
            B::Lt => self.emit(Op::Lt, &[a, b]),
            B::Eq => self.emit(Op::Eq, &[a, b]),
            B::Add => self.emit(Op::Add, &[a, b]),
            B::Sub => self.emit(Op::Sub, &[a, b]),
            B::Mul => self.emit(Op::Mul, &[a, b]),
            B::And => self.emit(Op::And, &[a, b]),
            B::Or => self.emit(Op::Or, &[a, b]),
            B::Xor => self.emit(Op::Xor, &[a, b]),
        }
    }

    /// Builds an elementwise operation on nodes of one shape.
    fn emit(&mut self, op: Op, inputs: &[NodeId]) -> Result<NodeId, Fault> {
        let dtypes: Vec<Dtype> = inputs.iter().map(|&id| self.graph.node(id).dtype).collect();
        let last = inputs[inputs.len() - 1];
        let dtype = match op {
            Op::Lt | Op::Eq => Dtype::Bit,
            _ => dtypes.iter().copied().find(|d| d.is_fixed()).unwrap_or(self.graph.node(last).dtype),
        };
        let shape = self.graph.node(inputs[0]).shape.clone();
        self.grown(op, inputs.to_vec(), shape, dtype)
    }

    /// Builds an elementwise operation on nodes of one shape with the given dtype. That dtype holds the result, or is
    /// the only possible one.
    pub(super) fn emit_as(&mut self, op: Op, inputs: &[NodeId], dtype: Dtype) -> Result<NodeId, Fault> {
        let shape = self.graph.node(inputs[0]).shape.clone();
        self.graph.push(op, inputs.to_vec(), shape, dtype, &self.at)
    }

    pub(super) fn build_unary(&mut self, op: UnaryOp, a: Operand<'_>) -> Result<NodeId, Fault> {
        let types = self.types([a])?;
        let id = match op {
            UnaryOp::Neg => self.alone("neg", a)?,
            UnaryOp::Not => {
                coerce::only_bits("~", &types)?;
                let shape = self.shape_of(a)?;
                self.place(a, Dtype::Bit, &shape)?
            }
        };
        match op {
            // `not not x` is a new node, too: the operand of the inner one may have been run and forgotten.
            UnaryOp::Not => self.emit(Op::Not, &[id]),
            UnaryOp::Neg => {
                let id = self.number(id)?;
                self.emit(Op::Neg, &[id])
            }
        }
    }

    pub(super) fn build_shift(&mut self, a: NodeId, shift: i64, left: bool) -> Result<NodeId, Fault> {
        let id = self.number(a)?;
        let dtype = self.graph.node(id).dtype;
        let bits = u32::try_from(shift).ok().filter(|&s| s < dtype.bits()).ok_or(Fault::Shift { shift, dtype })?;
        match (bits, left) {
            (0, _) => Ok(id),
            (_, true) => self.emit(Op::Shl(bits), &[id]),
            (_, false) => self.emit(Op::Shr(bits), &[id]),
        }
    }

    pub(super) fn build_select(
        &mut self,
        condition: Operand<'_>,
        a: Operand<'_>,
        b: Operand<'_>,
    ) -> Result<NodeId, Fault> {
        let values = shape::broadcast(&self.shape_of(a)?, &self.shape_of(b)?)?;
        let shape = shape::broadcast(&self.shape_of(condition)?, &values)?;
        let [of_condition] = self.types([condition])?;
        if let Err(Fault::BitsOnly { dtype, .. }) = coerce::only_bits("select", &[of_condition]) {
            return Err(Fault::Condition { dtype });
        }
        let (a, b) = self.level_both(a, b)?;
        let dtype = coerce::joined("select", &self.types([a, b])?)?;
        let a = self.place(a, dtype, &shape)?;
        let b = self.place(b, dtype, &shape)?;
        let condition = self.place(condition, Dtype::Bit, &shape)?;
        if let Some(public) = self.graph.node(condition).constant() {
            // Both sides stand one after the other, since a public choice only moves elements.
            let count = public.len();
            let index = public.iter().enumerate().map(|(i, &c)| (if c == 1 { i } else { count + i }) as u32);
            let both = self.graph.push(Op::Concat, vec![a, b], vec![2 * count], dtype, &self.at)?;
            let index: Vec<u32> = index.collect();
            return self.graph.push(Op::Gather(index.into()), vec![both], shape, dtype, &self.at);
        }
        let id = self.graph.push(Op::Select, vec![condition, a, b], shape, dtype, &self.at)?;
        self.kept(id) // a clip to a public range needs only the bits of that range
    }

    /// Builds the second half of a swap by a bit: `one` is [`Builder::select`] of `b` and `a`, and the result is the
    /// other of the two.
    pub(super) fn build_other(&mut self, a: Operand<'_>, b: Operand<'_>, one: NodeId) -> Result<NodeId, Fault> {
        let shape = self.graph.get(one)?.shape.clone();
        // The chosen one may be in a narrower ring than the two.
        let dtype = coerce::joined("select", &self.types([a, b, one.into()])?)?;
        let inputs = vec![self.place(a, dtype, &shape)?, self.place(b, dtype, &shape)?, self.converted(one, dtype)?];
        self.graph.push(Op::Other, inputs, shape, dtype, &self.at)
    }
}
