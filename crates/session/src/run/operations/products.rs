//! Products of arrays, element by element and of matrices.

use quorate_engine::{Ctx, Form, Linear, Result};
use quorate_gadgets::Computes;
use quorate_graph::NodeId;
use quorate_ring::Vector;

use crate::run::executor::Executor;
use crate::run::operations::Pair;
use crate::work::data::{Plain, ring_of};
use crate::work::value::{KINDS, Value};

impl<S: Computes> Executor<'_, S> {
    pub(crate) async fn product(&self, ctx: &Ctx, id: NodeId, form: Form, pair: Pair<'_, S>) -> Result<Value<S>> {
        let product = self.raw_product(ctx, form, pair).await?;
        self.truncated(ctx, id, product).await
    }

    /// Computes a product in the ring, before fixed point drops its surplus bits.
    pub(crate) async fn raw_product(&self, ctx: &Ctx, form: Form, (first, second): Pair<'_, S>) -> Result<S::A> {
        let s = self.s;
        let by_public = |x: &S::A, v: &Vector, public_first: bool| {
            Ok(match form {
                Form::Product => s.linear(x, &Linear::Factors(v)),
                Form::MatMul { m, k, n } if public_first => s.linear(x, &Linear::MatrixLeft(v, (m, k, n))),
                Form::MatMul { m, k, n } => s.linear(x, &Linear::MatrixRight(v, (m, k, n))),
                Form::Conv(conv) if public_first => s.linear(x, &Linear::Images(v, &conv)),
                Form::Conv(conv) => s.linear(x, &Linear::Filter(v, &conv)),
                Form::Dot { .. } => return Err(KINDS),
            })
        };
        match (first, second) {
            (Some(Value::Arith(x)), Some(Value::Arith(y))) => s.bilinear(ctx, form, x, y).await,
            (Some(Value::Arith(x)), Some(Value::Public(Plain::Vector(v)))) => by_public(x, v, false),
            (Some(Value::Public(Plain::Vector(v))), Some(Value::Arith(x))) => by_public(x, v, true),
            _ => Err(KINDS),
        }
    }

    async fn truncated(&self, ctx: &Ctx, id: NodeId, product: S::A) -> Result<Value<S>> {
        Ok(Value::Arith(self.cut(ctx, id, product).await?))
    }

    /// Computes a matrix product for each of `batch` pairs that stand one after the other; all in the rounds of one.
    pub(crate) async fn matrices(
        &self,
        ctx: &Ctx,
        id: NodeId,
        batch: usize,
        form: Form,
        (first, second): Pair<'_, S>,
    ) -> Result<Value<S>> {
        if self.work.graph.node(id).elements() == 0 {
            let ring = ring_of(self.work.graph.node(id).dtype);
            let nothing = if ctx.is_dry() { Vector::shape(ring, 0) } else { Vector::zeros(ring, 0) };
            return Ok(Value::Arith(self.s.public(&nothing)));
        }
        let pair = async |ctx: Ctx, i: usize| {
            let (x, y) = (self.part(first, batch, i)?, self.part(second, batch, i)?);
            self.raw_product(&ctx, form, (Some(&x), Some(&y))).await
        };
        let products = ctx.join_all(batch, pair).await?;
        let product = self.s.concat(&products.iter().collect::<Vec<_>>());
        self.truncated(ctx, id, product).await
    }

    /// Returns the i-th of `count` parts of equal length.
    fn part(&self, value: Option<&Value<S>>, count: usize, i: usize) -> Result<Value<S>> {
        let part = |len: usize| Linear::Slice(i * (len / count)..(i + 1) * (len / count));
        match value {
            Some(Value::Arith(x)) => Ok(Value::Arith(self.s.linear(x, &part(self.s.shape(x).1)))),
            Some(Value::Public(Plain::Vector(v))) => Ok(Value::Public(Plain::Vector(part(v.len()).apply(v)))),
            _ => Err(KINDS),
        }
    }
}
