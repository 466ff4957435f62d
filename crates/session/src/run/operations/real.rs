//! Real functions on shares of fixed point.

use quorate_engine::{Ctx, Result};
use quorate_gadgets::Computes;
use quorate_graph::{Axis, NodeId, Real};

use crate::run::executor::Executor;
use crate::run::operations::Pair;
use crate::run::operations::choices::width;
use crate::work::value::Value;

impl<S: Computes> Executor<'_, S> {
    pub(crate) async fn real(
        &self,
        ctx: &Ctx,
        id: NodeId,
        function: Real,
        operand: Option<&Value<S>>,
    ) -> Result<Value<S>> {
        let (s, x) = (self.s, self.arith(operand)?);
        let node = self.work.graph.node(id);
        let frac = node.dtype.frac();
        if let Some(table) = self.work.graph.table(id, function, s.most_entries()) {
            return self.lookup(ctx, id, &table, operand).await;
        }
        Ok(Value::Arith(match function {
            Real::Sigmoid => s.sigmoid(ctx, &x, frac).await?,
            Real::Tanh => s.tanh(ctx, &x, frac).await?,
            Real::Gelu => s.gelu(ctx, &x, frac).await?,
            Real::Exp => s.exp(ctx, &x, frac).await?,
            Real::Log => s.log(ctx, &x, frac).await?,
            Real::Sqrt => s.sqrt(ctx, &x, frac, self.work.graph.value_bits(node.inputs[0])).await?,
            Real::Rsqrt => s.rsqrt(ctx, &x, frac).await?,
            Real::Reciprocal => s.reciprocal(ctx, &x, frac).await?,
        }))
    }

    pub(crate) async fn divide(&self, ctx: &Ctx, id: NodeId, pair: Pair<'_, S>) -> Result<Value<S>> {
        let (x, y) = self.ariths(pair)?;
        let node = self.work.graph.node(id);
        let bits = self.work.graph.quotient_bits(node.inputs[0], node.inputs[1]);
        Ok(Value::Arith(self.s.divide(ctx, &x, &y, node.dtype.frac(), bits).await?))
    }

    pub(crate) async fn softmax(
        &self,
        ctx: &Ctx,
        id: NodeId,
        axis: Axis,
        operand: Option<&Value<S>>,
    ) -> Result<Value<S>> {
        let node = self.work.graph.node(id);
        let x = self.candidates_first(&self.arith(operand)?, axis);
        let width = width(self.work.graph.difference_bits(node.inputs[0], node.inputs[0]), self.s.shape(&x).0);
        let result = self.s.softmax(ctx, &x, node.dtype.frac(), axis.len, width).await?;
        Ok(Value::Arith(self.candidates_back(&result, axis)))
    }
}
