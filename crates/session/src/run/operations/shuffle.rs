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
        let column = |value: &Value<S>| match is_bits(value) {
            true => Ok(self.s.as_top_bit(&self.bits(Some(value))?, Ring::of(1))),
            false => self.arith(Some(value)),
        };
        let columns = operands.iter().map(|value| column(value)).collect::<Result<Vec<S::A>>>()?;
        let shuffled = self.s.shuffle(ctx, &columns.iter().collect::<Vec<_>>(), rows).await?;
        let back = |(column, operand): (S::A, &Rc<Value<S>>)| match is_bits(operand) {
            true => Value::Bits(self.s.low_bit(&column)),
            false => Value::Arith(column),
        };
        Ok(Value::Many(shuffled.into_iter().zip(operands).map(back).collect()))
    }
}
