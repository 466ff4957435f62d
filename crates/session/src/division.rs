//! Quotients and remainders by public numbers.

use quorate_engine::{Ctx, Result};
use quorate_gadgets::{Gadgets, floor_div};
use quorate_graph::NodeId;
use quorate_ring::Vector;

use crate::executor::{Executor, Value};

impl<S: Gadgets> Executor<'_, S> {
    pub(crate) async fn floor_div(
        &self,
        ctx: &Ctx,
        id: NodeId,
        divisors: &[i128],
        operand: Option<&Value<S>>,
    ) -> Result<Value<S>> {
        let proven = self.work.graph.node(self.work.graph.node(id).inputs[0]).range();
        let range = floor_div::Range { lo: proven.lo(), hi: proven.hi() };
        Ok(Value::Arith(floor_div::floor_div(self.s, ctx, &self.arith(operand)?, divisors, range).await?))
    }

    /// x - q d: local.
    pub(crate) fn remainder(
        &self,
        divisors: &[i128],
        first: Option<&Value<S>>,
        second: Option<&Value<S>>,
    ) -> Result<Value<S>> {
        let (x, quotient) = (self.arith(first)?, self.arith(second)?);
        let taken = self.s.linear(&quotient, &|share: &Vector| {
            let mut share = share.clone();
            match divisors {
                [d] => share.scale(*d as u128 & share.ring().mask()),
                _ if share.is_shape() => {}
                all => share.mul_assign(&Vector::from_i128s(share.ring(), all)),
            }
            share
        });
        Ok(Value::Arith(self.s.sub(&x, &taken)))
    }
}
