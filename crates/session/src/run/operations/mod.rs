//! The operations of a program on shares.

pub(crate) mod choices;
mod convert;
mod division;
mod entry;
pub(crate) mod in_bits;
pub(crate) mod layout;
mod lookup;
mod products;
mod real;
mod rounds;
pub(crate) mod sharings;
mod shuffle;
pub(crate) mod truncation;
pub(crate) mod world;

use std::borrow::Cow;
use std::sync::Arc;

use quorate_engine::{Ctx, Error, Form, Linear, Result};
use quorate_gadgets::Computes;
use quorate_gadgets::extremum::Best;
use quorate_graph::{Domain, Dtype, NodeId, Op};
use quorate_ring::Vector;

use crate::run::executor::Executor;
use crate::run::operations::layout::axis_of;
use crate::work::data::{Plain, ring_of};
use crate::work::value::{KINDS, Value};

const WITHIN: &str = "an owner's input lies within its stated bound";

/// The operands of an operation on two arrays; `None` if there is no such operand.
pub(crate) type Pair<'v, S> = (Option<&'v Value<S>>, Option<&'v Value<S>>);

/// Both operands, as they are or converted.
type Both<'v, T> = (Cow<'v, T>, Cow<'v, T>);

impl<S: Computes> Executor<'_, S> {
    /// Computes most operations that exchange no messages, at once; `None` for all others. The result is that of
    /// [`Executor::operation`].
    pub(crate) fn local_operation(
        &self,
        ctx: &Ctx,
        id: NodeId,
        op: &Op,
        operands: &[Arc<Value<S>>],
    ) -> Result<Option<Value<S>>> {
        let pair @ (first, _) = (operands.first().map(|v| &**v), operands.get(1).map(|v| &**v));
        match op {
            Op::Constant(_) => Ok(self.constant(ctx, id, op)),
            Op::Reshape | Op::Gather(_) | Op::Broadcast | Op::Concat => self.layout(id, op, operands).map(Some),
            Op::Add | Op::Sub | Op::Neg | Op::Sum(_) | Op::Shl(_) => Ok(Some(Value::Arith(self.linear(op, pair)?))),
            Op::Remainder(divisors) => self.remainder(ctx, divisors, pair).map(Some),
            Op::Xor | Op::Not => self.without_and(ctx, op, pair).map(Some),
            Op::Submitted(_) | Op::Masked(_) => self.submitted(self.work.graph.node(id).dtype, operands).map(Some),
            Op::Other => self.other(operands).map(Some),
            Op::CumSum(axis) => self.running_sums(*axis, first).map(Some),
            Op::To(_) | Op::Behind => operands.first().map(|value| Some((**value).clone())).ok_or(KINDS),
            Op::Part { index, .. } => match first {
                Some(Value::Many(all)) => all.get(*index).cloned().map(Some).ok_or(KINDS),
                _ => Err(KINDS),
            },
            op if op.talks() => Ok(None),
            Op::Scale(_) => Ok(None), // by whole numbers, which runs like the operations below
            _ => Err(Error::Bug { what: "an operation that is said to send nothing is not computed" }),
        }
    }

    /// Computes node `id` from its operands' values. `op` stands for the node, or for a piece of it whose operands are
    /// pieces, too.
    pub(crate) async fn operation(
        &self,
        ctx: &Ctx,
        id: NodeId,
        op: &Op,
        operands: &[Arc<Value<S>>],
    ) -> Result<Value<S>> {
        if let Some(value) = self.local_operation(ctx, id, op, operands)? {
            return Ok(value);
        }
        let node = self.work.graph.node(id);
        let pair @ (first, _) = (operands.first().map(|v| &**v), operands.get(1).map(|v| &**v));
        match op {
            Op::Mul => self.product(ctx, id, Form::Product, pair).await,
            Op::MatMul { batch: 1, m, k, n } => self.product(ctx, id, Form::MatMul { m: *m, k: *k, n: *n }, pair).await,
            Op::MatMul { batch, m, k, n } => {
                self.matrices(ctx, id, *batch, Form::MatMul { m: *m, k: *k, n: *n }, pair).await
            }
            Op::Conv(conv) => self.product(ctx, id, Form::Conv(**conv), pair).await,
            Op::Shr(shift) => self.shifted_right(ctx, id, *shift, first).await,
            Op::FloorDiv(divisors) => self.floor_div(ctx, id, divisors, first).await,
            Op::Scale(scale) => self.scale(ctx, id, scale, first).await,
            Op::IntDivide(division) => self.int_divide(ctx, id, *division, pair).await,
            Op::Lt | Op::Eq => self.compare(ctx, id, pair).await,
            Op::And | Op::Or => self.logic(ctx, op, pair).await,
            Op::Select => self.select(ctx, operands).await,
            Op::AssertOneHot(axis) => {
                let x = self.arith(first)?;
                self.s.assert_one_hot(ctx, &x, axis_of(*axis)).await.map(|()| Value::Arith(x.into_owned()))
            }
            Op::AssertWithin => self.assert_within(ctx, operands).await,
            Op::Combined { holders, rows, coin_bits } => {
                self.combined(ctx, id, operands, (*holders, *rows, *coin_bits)).await
            }
            Op::Counted => self.counted(ctx, operands).await,
            Op::AsFactor => Ok(Value::Arith(self.s.as_factor(ctx, &*self.arith(first)?, id.0).await?)),
            Op::Max(axis) => self.extreme(ctx, id, *axis, Best::Largest, false, first).await,
            Op::Min(axis) => self.extreme(ctx, id, *axis, Best::Smallest, false, first).await,
            Op::ArgMax(axis) => self.extreme(ctx, id, *axis, Best::Largest, true, first).await,
            Op::ArgMin(axis) => self.extreme(ctx, id, *axis, Best::Smallest, true, first).await,
            Op::Bits => self.bits_of(ctx, first).await,
            Op::Circuit(_) => self.in_domain(ctx, id, Domain::B, operands).await,
            Op::Compose => self.composed(ctx, id, first).await,
            Op::Convert => self.convert(ctx, id, first).await,
            Op::Shuffle { rows } => self.shuffle(ctx, *rows, operands).await,
            Op::Order { descending, .. } => self.order(ctx, id, *descending, operands).await,
            Op::Lookup(table) => self.lookup(ctx, id, table, first).await,
            Op::Real(function) => self.real(ctx, id, *function, first).await,
            Op::Divide => self.divide(ctx, id, pair).await,
            Op::Softmax(axis) => self.softmax(ctx, id, *axis, first).await,
            Op::Cast => {
                let bits = self.bits(first)?;
                let ring = ring_of(node.dtype);
                let ones = self.s.bit_to_ring(ctx, &bits, ring).await?;
                Ok(Value::Arith(shifted(self.s, &ones, node.dtype.frac())))
            }
            _ => Err(KINDS),
        }
    }

    /// Returns the first operand after checking that all bits of the second are zeros. If parties may cheat, these bits
    /// are opened; otherwise they are ignored.
    async fn assert_within(&self, ctx: &Ctx, operands: &[Arc<Value<S>>]) -> Result<Value<S>> {
        let (Some(x), Some(outside)) = (operands.first(), operands.get(1)) else { return Err(KINDS) };
        if S::CHECKED {
            let opened = self.s.open_bits(ctx, &*self.bits(Some(outside))?).await?;
            if !opened.is_shape() && opened.to_bools().contains(&true) {
                return Err(Error::Cheating { check: WITHIN });
            }
        }
        Ok((**x).clone())
    }

    /// Returns the sum of the operands in the ring of `dtype`, or their exclusive or.
    fn submitted(&self, dtype: Dtype, parts: &[Arc<Value<S>>]) -> Result<Value<S>> {
        let (first, rest) = parts.split_first().ok_or(KINDS)?;
        if dtype == Dtype::Bit {
            let sum = rest.iter().try_fold(self.bits(Some(first))?.into_owned(), |sum, part| {
                self.bits(Some(part)).map(|part| self.s.xor(&sum, &part))
            });
            return sum.map(Value::Bits);
        }
        let sum = rest.iter().try_fold(self.arith(Some(first))?.into_owned(), |sum, part| {
            self.arith(Some(part)).map(|part| self.s.add(&sum, &part))
        })?;
        Ok(Value::Arith(match dtype.bits() < self.s.shape(&sum).0.bits() {
            true => self.s.linear(&sum, &Linear::Reduce(ring_of(dtype))),
            false => sum,
        }))
    }

    /// Returns the operand as shares; public ones are converted.
    pub(crate) fn arith<'v>(&self, value: Option<&'v Value<S>>) -> Result<Cow<'v, S::A>> {
        match value {
            Some(Value::Arith(x)) => Ok(Cow::Borrowed(x)),
            Some(Value::Public(Plain::Vector(v))) => Ok(Cow::Owned(self.s.public(v))),
            _ => Err(KINDS),
        }
    }

    /// Returns both operands as shares.
    pub(crate) fn ariths<'v>(&self, (first, second): Pair<'v, S>) -> Result<Both<'v, S::A>> {
        Ok((self.arith(first)?, self.arith(second)?))
    }

    pub(crate) fn bits<'v>(&self, value: Option<&'v Value<S>>) -> Result<Cow<'v, S::B>> {
        match value {
            Some(Value::Bits(x)) => Ok(Cow::Borrowed(x)),
            Some(Value::Public(Plain::Bits(bits))) => Ok(Cow::Owned(self.s.public_bits(bits))),
            _ => Err(KINDS),
        }
    }

    fn linear(&self, op: &Op, (first, second): Pair<'_, S>) -> Result<S::A> {
        let s = self.s;
        Ok(match (op, first, second) {
            (Op::Add, Some(Value::Arith(x)), Some(Value::Arith(y))) => s.add(x, y),
            (Op::Add, Some(Value::Arith(x)), Some(Value::Public(Plain::Vector(v))))
            | (Op::Add, Some(Value::Public(Plain::Vector(v))), Some(Value::Arith(x))) => s.add_public(x, v),
            (Op::Sub, Some(Value::Arith(x)), Some(Value::Arith(y))) => s.sub(x, y),
            (Op::Sub, Some(Value::Arith(x)), Some(Value::Public(Plain::Vector(v)))) => {
                let mut negative = v.clone();
                negative.neg_assign();
                s.add_public(x, &negative)
            }
            (Op::Sub, Some(Value::Public(Plain::Vector(v))), Some(Value::Arith(x))) => {
                s.add_public(&s.linear(x, &Linear::Neg), v)
            }
            (Op::Neg, Some(Value::Arith(x)), _) => s.linear(x, &Linear::Neg),
            (Op::Sum(axis), Some(Value::Arith(x)), _) => s.linear(x, &Linear::SumAxis(axis_of(*axis))),
            (Op::Shl(shift), Some(Value::Arith(x)), _) => shifted(s, x, *shift),
            _ => return Err(KINDS),
        })
    }
}

/// Returns x plus a public number.
pub(crate) fn moved<S: Computes>(s: &S, ctx: &Ctx, x: &S::A, by: u128) -> S::A {
    let (ring, len) = s.shape(x);
    s.add_public(x, &if ctx.is_dry() { Vector::shape(ring, len) } else { Vector::constant(ring, by, len) })
}

pub(crate) fn shifted<S: Computes>(s: &S, x: &S::A, shift: u32) -> S::A {
    s.linear(x, &Linear::Shl(shift))
}
