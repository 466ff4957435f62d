//! Real functions on shares of fixed point.

use quorate_engine::{Ctx, Result};
use quorate_gadgets::lookup::{Lookup, Operand};
use quorate_gadgets::real::{POWER_RING, Softmax};
use quorate_gadgets::{Computes, Width};
use quorate_graph::{Axis, Interval, NodeId, Real};

use crate::run::executor::Executor;
use crate::run::operations::Pair;
use crate::run::operations::choices::width;
use crate::run::operations::lookup::entries_of;
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
        let (frac, to) = (self.work.graph.node(node.inputs[0]).dtype.frac(), node.dtype.frac());
        if let Some(table) = self.work.graph.table(id, function, s.most_entries()) {
            return self.lookup(ctx, id, &table, operand).await;
        }
        Ok(Value::Arith(match function {
            Real::Sigmoid => s.sigmoid(ctx, &x, frac).await?,
            Real::Tanh => s.tanh(ctx, &x, frac).await?,
            Real::Gelu => s.gelu(ctx, &x, frac).await?,
            Real::Exp => s.exp(ctx, &x, frac).await?,
            Real::Log => s.log(ctx, &x, (frac, to)).await?,
            Real::Sqrt => s.sqrt(ctx, &x, (frac, to), self.work.graph.value_bits(node.inputs[0])).await?,
            Real::Rsqrt => s.rsqrt(ctx, &x, (frac, to)).await?,
            Real::Reciprocal => s.reciprocal(ctx, &x, (frac, to)).await?,
        }))
    }

    pub(crate) async fn divide(&self, ctx: &Ctx, id: NodeId, pair: Pair<'_, S>) -> Result<Value<S>> {
        if let Some(pairs) = self.work.graph.pair_table(id, self.s.most_entries()) {
            return self.lookup_pairs(ctx, id, &pairs, pair).await;
        }
        let (x, y) = self.ariths(pair)?;
        let (up, bits) = (self.work.graph.quotient_shift(id), self.work.graph.quotient_bits(id));
        Ok(Value::Arith(self.s.divide(ctx, &x, &y, up, bits).await?))
    }

    pub(crate) async fn softmax(
        &self,
        ctx: &Ctx,
        id: NodeId,
        axis: Axis,
        operand: Option<&Value<S>>,
    ) -> Result<Value<S>> {
        let node = self.work.graph.node(id);
        let x = self.candidates_first(&*self.arith(operand)?, axis);
        let graph = self.work.graph;
        let width = width(graph.difference_bits(node.inputs[0], node.inputs[0]), self.s.shape(&x).0);
        let table = match width {
            Width::Difference(_) => {
                graph.powers(id, Softmax::power_frac(node.dtype.frac(), axis.len), self.s.most_entries())
            }
            // Differences may leave the ring.
            Width::Full => None,
        };
        let entries = table.as_deref().map(|table| entries_of(table, POWER_RING));
        let powers = table.as_deref().zip(entries).map(|(table, entries)| {
            let all = graph.node(node.inputs[0]).range();
            let operand = match table.leaves_out(Interval::new(all.lo() - all.hi(), 0)) {
                (false, false) => Operand::Within,
                (below, above) => Operand::Outside { below, above, width },
            };
            Lookup { entries, first: table.first(), operand }
        });
        let of = Softmax { frac: node.dtype.frac(), rows: axis.len, width, powers };
        let result = self.s.softmax(ctx, &x, &of).await?;
        Ok(Value::Arith(self.candidates_back(&result, axis)))
    }
}
