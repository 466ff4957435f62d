//! Comparisons, logic on bits, and selections by them.

use std::borrow::Cow;
use std::sync::Arc;

use quorate_engine::{Ctx, Linear, LinearBits, Result};
use quorate_gadgets::extremum::{Best, arg_extremum, extremum};
use quorate_gadgets::{Computes, Width};
use quorate_graph::{Axis, NodeId, Op};
use quorate_ring::{Bits, Ring};

use crate::run::executor::Executor;
use crate::run::operations::{Pair, moved};
use crate::work::data::{Plain, ring_of};
use crate::work::value::{KINDS, Value};

impl<S: Computes> Executor<'_, S> {
    pub(crate) async fn compare(&self, ctx: &Ctx, id: NodeId, pair: Pair<'_, S>) -> Result<Value<S>> {
        let node = self.work.graph.node(id);
        let (x, y) = self.ariths(pair)?;
        let ring = self.s.shape(&x).0;
        let bits = self.work.graph.difference_bits(node.inputs[0], node.inputs[1]);
        let bit = match node.op {
            Op::Lt => {
                let [x, y] = [(x, 0), (y, 1)].map(|(v, i)| self.with_sign(ctx, node.inputs[i], bits, v));
                self.s.lt(ctx, &x, &y, width(bits, ring)).await?
            }
            _ => {
                let narrow = Ring::of(bits.min(ring.bits()));
                let difference = self.s.linear(&self.s.sub(&x, &y), &Linear::Reduce(narrow));
                self.s.eqz(ctx, &difference).await?
            }
        };
        Ok(Value::Bits(bit))
    }

    pub(crate) async fn logic(&self, ctx: &Ctx, op: &Op, (first, second): Pair<'_, S>) -> Result<Value<S>> {
        let s = self.s;
        let (x, y) = (self.bits(first)?, self.bits(second)?);
        let both = match (first, second) {
            (Some(Value::Public(Plain::Bits(mask))), _) => masked(s, &y, mask),
            (_, Some(Value::Public(Plain::Bits(mask)))) => masked(s, &x, mask),
            _ => s.and(ctx, &x, &y).await?,
        };
        Ok(Value::Bits(if *op == Op::Or { s.xor(&s.xor(&x, &y), &both) } else { both }))
    }

    /// Computes xor and not, which take no AND.
    pub(crate) fn without_and(&self, ctx: &Ctx, op: &Op, (first, second): Pair<'_, S>) -> Result<Value<S>> {
        let (s, x) = (self.s, self.bits(first)?);
        if *op == Op::Xor {
            return Ok(Value::Bits(s.xor(&x, &*self.bits(second)?)));
        }
        let (rows, lanes) = s.bit_shape(&x);
        Ok(Value::Bits(s.xor_public(&x, &ones(ctx, rows, lanes))))
    }

    pub(crate) async fn select(&self, ctx: &Ctx, operands: &[Arc<Value<S>>]) -> Result<Value<S>> {
        let [condition, x, y] = operands else { return Err(KINDS) };
        let s = self.s;
        let condition = self.bits(Some(condition))?;
        if let (Ok(x), Ok(y)) = (self.bits(Some(x)), self.bits(Some(y))) {
            let chosen = s.and(ctx, &condition, &s.xor(&x, &y)).await?;
            return Ok(Value::Bits(s.xor(&chosen, &y)));
        }
        let (x, y) = (self.arith(Some(x))?, self.arith(Some(y))?);
        Ok(Value::Arith(s.mux(ctx, &condition, &x, &y).await?))
    }

    /// Returns the other one of two values x and y, where a third value holds one of them. It is local: x + y less the
    /// third, or the xor of the three.
    pub(crate) fn other(&self, operands: &[Arc<Value<S>>]) -> Result<Value<S>> {
        let [x, y, one] = operands else { return Err(KINDS) };
        let s = self.s;
        if let (Ok(x), Ok(y), Ok(one)) = (self.bits(Some(x)), self.bits(Some(y)), self.bits(Some(one))) {
            return Ok(Value::Bits(s.xor(&s.xor(&x, &y), &one)));
        }
        let (x, y, one) = (self.arith(Some(x))?, self.arith(Some(y))?, self.arith(Some(one))?);
        Ok(Value::Arith(s.sub(&s.add(&x, &y), &one)))
    }

    pub(crate) async fn extreme(
        &self,
        ctx: &Ctx,
        id: NodeId,
        axis: Axis,
        best: Best,
        place: bool,
        operand: Option<&Value<S>>,
    ) -> Result<Value<S>> {
        let node = self.work.graph.node(id);
        let bits = self.work.graph.difference_bits(node.inputs[0], node.inputs[0]);
        let x = Cow::Owned(self.candidates_first(&*self.arith(operand)?, axis));
        let x = self.with_sign(ctx, node.inputs[0], bits, x);
        let width = width(bits, self.s.shape(&x).0);
        if place {
            let places = arg_extremum(self.s, ctx, &x, axis.len, best, width, ring_of(node.dtype)).await?;
            return Ok(Value::Arith(places));
        }
        let found = extremum(self.s, ctx, &x, axis.len, best, width).await?;
        Ok(Value::Arith(self.with_sign(ctx, node.inputs[0], bits, Cow::Owned(found)).into_owned()))
    }

    /// Gadgets compare the full range of a ring as signed numbers. If node `id` is unsigned and its differences take
    /// `bits` bits, more than the ring has, moves its numbers by half the range, which keeps their order. Applied
    /// twice, it changes nothing.
    pub(crate) fn with_sign<'v>(&self, ctx: &Ctx, id: NodeId, bits: u32, x: Cow<'v, S::A>) -> Cow<'v, S::A> {
        let dtype = self.work.graph.node(id).dtype;
        match dtype.is_unsigned() && bits > dtype.bits() {
            true => Cow::Owned(moved(self.s, ctx, &x, 1 << (dtype.bits() - 1))),
            false => x,
        }
    }
}

pub(crate) fn width(bits: u32, ring: Ring) -> Width {
    if bits <= ring.bits() { Width::Difference(bits) } else { Width::Full }
}

fn masked<S: Computes>(s: &S, x: &S::B, mask: &Bits) -> S::B {
    s.linear_bits(x, &LinearBits::Mask(mask))
}

fn ones(ctx: &Ctx, rows: usize, lanes: usize) -> Bits {
    if ctx.is_dry() { Bits::shape(rows, lanes) } else { Bits::constant(true, rows, lanes) }
}
