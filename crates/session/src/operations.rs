//! What each operation of a program means on shares.

use std::rc::Rc;

use quorate_engine::{Ctx, Error, Form, Result};
use quorate_gadgets::extremum::{Best, arg_extremum, extremum};
use quorate_gadgets::{Gadgets, Width};
use quorate_graph::{Axis, Dtype, NodeId, Op, shape};
use quorate_ring::{Bits, Ring, Vector};

use crate::data::{Plain, ring_of};
use crate::executor::{Executor, Value};

pub(crate) const KINDS: Error = Error::Bug { what: "an operation met operands of a kind that building excludes" };

impl<S: Gadgets> Executor<'_, S> {
    /// Computes node `id` from its operands' values.
    pub(crate) async fn operation(&self, ctx: &Ctx, id: NodeId, operands: &[Rc<Value<S>>]) -> Result<Value<S>> {
        let node = self.work.graph.node(id);
        let (first, second) = (operands.first().map(|v| &**v), operands.get(1).map(|v| &**v));
        match &node.op {
            Op::Reshape | Op::Gather(_) | Op::Broadcast | Op::Concat => self.layout(id, operands),
            Op::Add | Op::Sub | Op::Neg | Op::Sum(_) | Op::Shl(_) => Ok(Value::Arith(self.linear(id, first, second)?)),
            Op::Mul => self.product(ctx, id, Form::Product, first, second).await,
            Op::MatMul { batch: 1, m, k, n } => {
                self.product(ctx, id, Form::MatMul { m: *m, k: *k, n: *n }, first, second).await
            }
            Op::MatMul { batch, m, k, n } => {
                self.matrices(ctx, id, *batch, Form::MatMul { m: *m, k: *k, n: *n }, first, second).await
            }
            Op::Shr(shift) => Ok(Value::Arith(self.s.trunc_exact(ctx, &self.arith(first)?, *shift).await?)),
            Op::Lt | Op::Eq => self.compare(ctx, id, first, second).await,
            Op::And | Op::Or | Op::Xor | Op::Not => self.logic(ctx, &node.op, first, second).await,
            Op::Select => self.select(ctx, operands).await,
            Op::Max(axis) => self.extreme(ctx, id, *axis, Best::Largest, false, first).await,
            Op::Min(axis) => self.extreme(ctx, id, *axis, Best::Smallest, false, first).await,
            Op::ArgMax(axis) => self.extreme(ctx, id, *axis, Best::Largest, true, first).await,
            Op::ArgMin(axis) => self.extreme(ctx, id, *axis, Best::Smallest, true, first).await,
            Op::CumSum(axis) => self.running_sums(*axis, first),
            Op::Bits => self.bits_of(ctx, first).await,
            Op::Compose => self.composed(ctx, id, first).await,
            Op::Convert => self.convert(ctx, id, first).await,
            Op::Real(function) => self.real(ctx, id, *function, first).await,
            Op::Divide => self.divide(ctx, id, first, second).await,
            Op::Softmax(axis) => self.softmax(ctx, id, *axis, first).await,
            Op::Cast => {
                let bits = self.bits(first)?;
                let ring = ring_of(node.dtype);
                let ones = self.s.bit_to_ring(ctx, &bits, ring).await?;
                Ok(Value::Arith(shifted(self.s, &ones, node.dtype.frac())))
            }
            Op::Constant(_) | Op::Input { .. } => Err(KINDS),
        }
    }

    /// The operand as shares, public ones too.
    pub(crate) fn arith(&self, value: Option<&Value<S>>) -> Result<S::A> {
        match value {
            Some(Value::Arith(x)) => Ok(x.clone()),
            Some(Value::Public(Plain::Vector(v))) => Ok(self.s.public(v)),
            _ => Err(KINDS),
        }
    }

    pub(crate) fn bits(&self, value: Option<&Value<S>>) -> Result<S::B> {
        match value {
            Some(Value::Bits(x)) => Ok(x.clone()),
            Some(Value::Public(Plain::Bits(bits))) => Ok(self.s.public_bits(bits)),
            _ => Err(KINDS),
        }
    }

    fn linear(&self, id: NodeId, first: Option<&Value<S>>, second: Option<&Value<S>>) -> Result<S::A> {
        let s = self.s;
        Ok(match (&self.work.graph.node(id).op, first, second) {
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
                s.add_public(&s.linear(x, &negated), v)
            }
            (Op::Neg, Some(Value::Arith(x)), _) => s.linear(x, &negated),
            (Op::Sum(axis), Some(Value::Arith(x)), _) => {
                s.linear(x, &|share: &Vector| share.sum_axis(axis.outer, axis.len, axis.inner))
            }
            (Op::Shl(shift), Some(Value::Arith(x)), _) => shifted(s, x, *shift),
            _ => return Err(KINDS),
        })
    }

    async fn product(
        &self,
        ctx: &Ctx,
        id: NodeId,
        form: Form,
        first: Option<&Value<S>>,
        second: Option<&Value<S>>,
    ) -> Result<Value<S>> {
        let product = self.raw_product(ctx, form, first, second).await?;
        self.truncated(ctx, id, product).await
    }

    /// A product in the ring, before fixed point drops its surplus bits.
    async fn raw_product(
        &self,
        ctx: &Ctx,
        form: Form,
        first: Option<&Value<S>>,
        second: Option<&Value<S>>,
    ) -> Result<S::A> {
        let s = self.s;
        let by_public = |x: &S::A, v: &Vector, public_first: bool| {
            s.linear(x, &|share: &Vector| {
                let mut product = Vector::zeros(share.ring(), 0);
                match form {
                    Form::Product => {
                        product = share.clone();
                        product.mul_assign(v);
                    }
                    Form::MatMul { m, k, n } if public_first => product = Vector::matmul(v, share, (m, k, n)),
                    Form::MatMul { m, k, n } => product = Vector::matmul(share, v, (m, k, n)),
                    Form::Dot { .. } => {}
                }
                product
            })
        };
        match (first, second) {
            (Some(Value::Arith(x)), Some(Value::Arith(y))) => s.bilinear(ctx, form, x, y).await,
            (Some(Value::Arith(x)), Some(Value::Public(Plain::Vector(v)))) => Ok(by_public(x, v, false)),
            (Some(Value::Public(Plain::Vector(v))), Some(Value::Arith(x))) => Ok(by_public(x, v, true)),
            _ => Err(KINDS),
        }
    }

    async fn truncated(&self, ctx: &Ctx, id: NodeId, product: S::A) -> Result<Value<S>> {
        match self.work.graph.product_shift(id) {
            0 => Ok(Value::Arith(product)),
            shift => Ok(Value::Arith(self.s.trunc_exact(ctx, &product, shift).await?)),
        }
    }

    /// A matrix product for each of `batch` pairs that stand one after the other; all in the rounds of one.
    async fn matrices(
        &self,
        ctx: &Ctx,
        id: NodeId,
        batch: usize,
        form: Form,
        first: Option<&Value<S>>,
        second: Option<&Value<S>>,
    ) -> Result<Value<S>> {
        let node = self.work.graph.node(id);
        if node.elements() == 0 {
            let ring = ring_of(node.dtype);
            let nothing = if ctx.is_dry() { Vector::shape(ring, 0) } else { Vector::zeros(ring, 0) };
            return Ok(Value::Arith(self.s.public(&nothing)));
        }
        let pair = async |ctx: Ctx, i: usize| {
            let (x, y) = (self.part(first, batch, i)?, self.part(second, batch, i)?);
            self.raw_product(&ctx, form, Some(&x), Some(&y)).await
        };
        let products = ctx.join_all(batch, pair).await?;
        let product = self.s.concat(&products.iter().collect::<Vec<_>>());
        self.truncated(ctx, id, product).await
    }

    /// The i-th of `count` parts of equal length.
    fn part(&self, value: Option<&Value<S>>, count: usize, i: usize) -> Result<Value<S>> {
        let part = |v: &Vector| {
            let len = v.len() / count;
            v.slice(i * len..(i + 1) * len)
        };
        match value {
            Some(Value::Arith(x)) => Ok(Value::Arith(self.s.linear(x, &part))),
            Some(Value::Public(Plain::Vector(v))) => Ok(Value::Public(Plain::Vector(part(v)))),
            _ => Err(KINDS),
        }
    }

    async fn compare(
        &self,
        ctx: &Ctx,
        id: NodeId,
        first: Option<&Value<S>>,
        second: Option<&Value<S>>,
    ) -> Result<Value<S>> {
        let node = self.work.graph.node(id);
        let (x, y) = (self.arith(first)?, self.arith(second)?);
        let ring = self.s.shape(&x).0;
        let bits = self.work.graph.difference_bits(node.inputs[0], node.inputs[1]);
        let bit = match node.op {
            Op::Lt => self.s.lt(ctx, &x, &y, width(bits, ring)).await?,
            _ => {
                let narrow = Ring::of(bits.min(ring.bits()));
                let difference = self.s.linear(&self.s.sub(&x, &y), &|share: &Vector| share.convert(narrow));
                self.s.eqz(ctx, &difference).await?
            }
        };
        Ok(Value::Bits(bit))
    }

    async fn logic(&self, ctx: &Ctx, op: &Op, first: Option<&Value<S>>, second: Option<&Value<S>>) -> Result<Value<S>> {
        let s = self.s;
        let x = self.bits(first)?;
        if *op == Op::Not {
            let (rows, lanes) = s.bit_shape(&x);
            return Ok(Value::Bits(s.xor_public(&x, &ones(ctx, rows, lanes))));
        }
        let y = self.bits(second)?;
        if *op == Op::Xor {
            return Ok(Value::Bits(s.xor(&x, &y)));
        }
        let both = match (first, second) {
            (Some(Value::Public(Plain::Bits(mask))), _) => masked(s, &y, mask),
            (_, Some(Value::Public(Plain::Bits(mask)))) => masked(s, &x, mask),
            _ => s.and(ctx, &x, &y).await?,
        };
        Ok(Value::Bits(if *op == Op::Or { s.xor(&s.xor(&x, &y), &both) } else { both }))
    }

    async fn select(&self, ctx: &Ctx, operands: &[Rc<Value<S>>]) -> Result<Value<S>> {
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

    async fn extreme(
        &self,
        ctx: &Ctx,
        id: NodeId,
        axis: Axis,
        best: Best,
        place: bool,
        operand: Option<&Value<S>>,
    ) -> Result<Value<S>> {
        let node = self.work.graph.node(id);
        let x = self.candidates_first(&self.arith(operand)?, axis);
        let ring = self.s.shape(&x).0;
        let width = width(self.work.graph.difference_bits(node.inputs[0], node.inputs[0]), ring);
        Ok(Value::Arith(match place {
            true => arg_extremum(self.s, ctx, &x, axis.len, best, width, ring_of(node.dtype)).await?,
            false => extremum(self.s, ctx, &x, axis.len, best, width).await?,
        }))
    }

    /// Moves the axis to the front: candidates as rows, everything else as lanes.
    pub(crate) fn candidates_first(&self, x: &S::A, axis: Axis) -> S::A {
        if axis.outer == 1 {
            return x.clone();
        }
        let index: Vec<u32> = (0..axis.len)
            .flat_map(|j| (0..axis.outer).map(move |o| (o, j)))
            .flat_map(|(o, j)| (0..axis.inner).map(move |i| ((o * axis.len + j) * axis.inner + i) as u32))
            .collect();
        self.s.linear(x, &|share: &Vector| share.gather(&index))
    }

    fn layout(&self, id: NodeId, operands: &[Rc<Value<S>>]) -> Result<Value<S>> {
        let node = self.work.graph.node(id);
        let s = self.s;
        if let Op::Concat = node.op {
            return match node.dtype {
                Dtype::Bit => {
                    let parts = operands.iter().map(|v| self.bits(Some(v))).collect::<Result<Vec<_>>>()?;
                    Ok(Value::Bits(s.concat_lanes(&parts.iter().collect::<Vec<_>>())))
                }
                _ => {
                    let parts = operands.iter().map(|v| self.arith(Some(v))).collect::<Result<Vec<_>>>()?;
                    Ok(Value::Arith(s.concat(&parts.iter().collect::<Vec<_>>())))
                }
            };
        }
        let source = self.work.graph.node(node.inputs[0]);
        let index: Vec<u32>;
        let index: &[u32] = match &node.op {
            Op::Gather(index) => index,
            Op::Broadcast if source.elements() > 1 => {
                index = shape::broadcast_index(&source.shape, &node.shape);
                &index
            }
            Op::Broadcast => {
                index = vec![0; node.elements()];
                &index
            }
            _ => &[],
        };
        let whole = matches!(node.op, Op::Reshape);
        match &*operands[0] {
            Value::Arith(x) if whole => Ok(Value::Arith(x.clone())),
            Value::Bits(x) if whole => Ok(Value::Bits(x.clone())),
            Value::Arith(x) => Ok(Value::Arith(s.linear(x, &|share: &Vector| share.gather(index)))),
            Value::Bits(x) => Ok(Value::Bits(s.linear_bits(x, &|share: &Bits| share.gather_lanes(index)))),
            Value::Public(_) => Err(KINDS),
        }
    }
}

pub(crate) fn width(bits: u32, ring: Ring) -> Width {
    if bits <= ring.bits() { Width::Difference(bits) } else { Width::Full }
}

fn negated(share: &Vector) -> Vector {
    let mut share = share.clone();
    share.neg_assign();
    share
}

pub(crate) fn shifted<S: Gadgets>(s: &S, x: &S::A, shift: u32) -> S::A {
    s.linear(x, &|share: &Vector| {
        let mut share = share.clone();
        share.shl(shift);
        share
    })
}

fn masked<S: Gadgets>(s: &S, x: &S::B, mask: &Bits) -> S::B {
    s.linear_bits(x, &|share: &Bits| {
        let mut share = share.clone();
        share.and_assign(mask);
        share
    })
}

fn ones(ctx: &Ctx, rows: usize, lanes: usize) -> Bits {
    if ctx.is_dry() { Bits::shape(rows, lanes) } else { Bits::constant(true, rows, lanes) }
}
