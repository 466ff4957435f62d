//! Rows in an order that nobody knows.

use std::rc::Rc;

use quorate_engine::{Ctx, Result};
use quorate_gadgets::Computes;
use quorate_ring::Ring;

use crate::run::executor::Executor;
use crate::work::data::Plain;
use crate::work::value::Value;

impl<S: Computes> Executor<'_, S> {
    /// The rows of all operands in one random order. Bits travel as elements of Z_2, which they are.
    pub(crate) async fn shuffle(&self, ctx: &Ctx, rows: usize, operands: &[Rc<Value<S>>]) -> Result<Value<S>> {
        let is_bits = |value: &Value<S>| matches!(value, Value::Bits(_) | Value::Public(Plain::Bits(_)));
        let mut columns = Vec::new();
        for value in operands {
            columns.push(match is_bits(value) {
                true => self.s.bit_to_msb(ctx, &self.bits(Some(value))?, Ring::of(1)).await?,
                false => self.arith(Some(value))?,
            });
        }
        let shuffled = self.s.shuffle(ctx, &columns.iter().collect::<Vec<_>>(), rows).await?;
        let mut back = Vec::new();
        for (column, operand) in shuffled.into_iter().zip(operands) {
            back.push(match is_bits(operand) {
                true => Value::Bits(self.s.lsb(ctx, &column).await?),
                false => Value::Arith(column),
            });
        }
        Ok(Value::Many(back))
    }
}
