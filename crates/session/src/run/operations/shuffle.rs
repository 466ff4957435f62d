//! Rows in a secret random order.

use std::sync::Arc;

use quorate_engine::{Ctx, Result};
use quorate_gadgets::Computes;
use quorate_ring::Ring;

use crate::run::executor::Executor;
use crate::work::data::Plain;
use crate::work::value::Value;

impl<S: Computes> Executor<'_, S> {
    /// Puts the rows of all operands into the same random order. Bits travel as elements of Z_2.
    pub(crate) async fn shuffle(&self, ctx: &Ctx, rows: usize, operands: &[Arc<Value<S>>]) -> Result<Value<S>> {
        let is_bits = |value: &Value<S>| matches!(value, Value::Bits(_) | Value::Public(Plain::Bits(_)));
        let column = async |ctx: Ctx, i: usize| match is_bits(&operands[i]) {
            true => self.s.bit_to_msb(&ctx, &self.bits(Some(&operands[i]))?, Ring::of(1)).await,
            false => self.arith(Some(&operands[i])),
        };
        let columns = ctx.join_all(operands.len(), column).await?;
        let shuffled = self.s.shuffle(ctx, &columns.iter().collect::<Vec<_>>(), rows).await?;
        let back = async |ctx: Ctx, i: usize| match is_bits(&operands[i]) {
            true => self.s.lsb(&ctx, &shuffled[i]).await.map(Value::Bits),
            false => Ok(Value::Arith(shuffled[i].clone())),
        };
        ctx.join_all(operands.len(), back).await.map(Value::Many)
    }
}
