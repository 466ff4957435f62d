//! Rows in a secret random order, and in the order of secret keys.

use std::borrow::Cow;
use std::sync::Arc;

use quorate_engine::{Ctx, Result};
use quorate_gadgets::Computes;
use quorate_gadgets::order::Keys;
use quorate_graph::NodeId;
use quorate_ring::Ring;

use crate::run::executor::Executor;
use crate::work::data::Plain;
use crate::work::value::{KINDS, Value};

impl<S: Computes> Executor<'_, S> {
    /// Puts the rows of all operands into the same random order.
    pub(crate) async fn shuffle(&self, ctx: &Ctx, rows: usize, operands: &[Arc<Value<S>>]) -> Result<Value<S>> {
        let columns = self.columns(ctx, operands).await?;
        let shuffled = self.s.shuffle(ctx, &columns.iter().collect::<Vec<_>>(), rows).await?;
        self.values(ctx, &shuffled, operands).await
    }

    /// Puts the rows of all operands but the last into the order of the last one.
    pub(crate) async fn order(
        &self,
        ctx: &Ctx,
        id: NodeId,
        descending: bool,
        operands: &[Arc<Value<S>>],
    ) -> Result<Value<S>> {
        let (Some((key, operands)), Some(&key_id)) = (operands.split_last(), self.work.graph.node(id).inputs.last())
        else {
            return Err(KINDS);
        };
        let range = self.work.graph.key_range(key_id);
        let keys = Keys { low: range.lo(), bits: range.span_bits(), descending };
        let key = match is_bits(key) {
            true => self.s.bit_to_ring(ctx, &*self.bits(Some(key))?, Ring::of(2)).await?,
            false => self.arith(Some(key))?.into_owned(),
        };
        let columns = self.columns(ctx, operands).await?;
        let ordered = self.s.order(ctx, &key, keys, &columns.iter().collect::<Vec<_>>()).await?;
        self.values(ctx, &ordered, operands).await
    }

    /// Returns the operands as columns that can be shuffled. Bits travel as elements of Z_2.
    async fn columns(&self, ctx: &Ctx, operands: &[Arc<Value<S>>]) -> Result<Vec<S::A>> {
        let column = async |ctx: Ctx, i: usize| match is_bits(&operands[i]) {
            true => self.s.bit_to_msb(&ctx, &*self.bits(Some(&operands[i]))?, Ring::of(1)).await,
            false => self.arith(Some(&operands[i])).map(Cow::into_owned),
        };
        ctx.join_all(operands.len(), column).await
    }

    /// Returns columns as values of the operands' kinds.
    async fn values(&self, ctx: &Ctx, columns: &[S::A], operands: &[Arc<Value<S>>]) -> Result<Value<S>> {
        let back = async |ctx: Ctx, i: usize| match is_bits(&operands[i]) {
            true => self.s.lsb(&ctx, &columns[i]).await.map(Value::Bits),
            false => Ok(Value::Arith(columns[i].clone())),
        };
        ctx.join_all(operands.len(), back).await.map(Value::Many)
    }
}

fn is_bits<S: Computes>(value: &Value<S>) -> bool {
    matches!(value, Value::Bits(_) | Value::Public(Plain::Bits(_)))
}
