//! Quotients and remainders, and multiples by public reals.

use quorate_engine::{Ctx, Linear, Result};
use quorate_gadgets::int_div::Known;
use quorate_gadgets::scale::{Rounding, Scale};
use quorate_gadgets::{Computes, floor_div};
use quorate_graph::{Division, Give, Interval, NodeId, Units};
use quorate_ring::{Ring, Vector};

use crate::run::executor::Executor;
use crate::run::operations::Pair;
use crate::work::value::Value;

impl<S: Computes> Executor<'_, S> {
    pub(crate) async fn floor_div(
        &self,
        ctx: &Ctx,
        id: NodeId,
        divisors: &[i128],
        operand: Option<&Value<S>>,
    ) -> Result<Value<S>> {
        let range = range_of(self.work.graph.node(self.work.graph.node(id).inputs[0]).range());
        Ok(Value::Arith(self.s.floor_div(ctx, &self.arith(operand)?, divisors, range).await?))
    }

    /// Divides by secret numbers.
    pub(crate) async fn int_divide(
        &self,
        ctx: &Ctx,
        id: NodeId,
        division: Division,
        pair: Pair<'_, S>,
    ) -> Result<Value<S>> {
        let s = self.s;
        if let Some(pairs) = self.work.graph.pair_table(id, s.most_quotients()) {
            return self.lookup_pairs(ctx, id, &pairs, pair).await;
        }
        let (x, y) = self.ariths(pair)?;
        let [of_x, of_y] = [0, 1].map(|i| self.work.graph.node(self.work.graph.node(id).inputs[i]).range());
        let mut known = Known::of(range_of(of_x), range_of(of_y));
        known.quotient_bits = division.quotient_bits.map_or(known.quotient_bits, |bits| bits.min(known.quotient_bits));
        let quotient = s.int_quotient(ctx, &x, &y, known).await?;
        if division.give == Give::Quotient {
            return Ok(Value::Arith(quotient));
        }
        Ok(Value::Arith(s.int_remainder(ctx, &x, &y, &quotient, known).await?))
    }

    pub(crate) async fn scale(
        &self,
        ctx: &Ctx,
        id: NodeId,
        by: &quorate_graph::Scale,
        operand: Option<&Value<S>>,
    ) -> Result<Value<S>> {
        let graph = self.work.graph;
        let [whole, factors] = [&by.whole, &by.factors].map(Units::to_vec);
        let by = Scale {
            whole: &whole,
            factors: &factors,
            shift: by.shift,
            ring: Ring::of(by.ring_bits),
            bits: graph.node(graph.node(id).inputs[0]).range().signed_bits(),
            rounding: if self.rounds_either_way(id) { Rounding::EitherWay } else { Rounding::Nearest },
            limits: &by.limits.as_ref().map(Units::to_vec).unwrap_or_default(),
        };
        Ok(Value::Arith(self.s.scale(ctx, &self.arith(operand)?, &by).await?))
    }

    /// Returns x - q d: local.
    pub(crate) fn remainder(&self, ctx: &Ctx, divisors: &[i128], pair: Pair<'_, S>) -> Result<Value<S>> {
        let (x, quotient) = self.ariths(pair)?;
        let taken = match divisors {
            [d] => self.s.linear(&quotient, &Linear::Scale(*d)),
            all => {
                let ring = self.s.shape(&quotient).0;
                let factors = if ctx.is_dry() { Vector::shape(ring, all.len()) } else { Vector::from_i128s(ring, all) };
                self.s.linear(&quotient, &Linear::Factors(&factors))
            }
        };
        Ok(Value::Arith(self.s.sub(&x, &taken)))
    }
}

fn range_of(proven: Interval) -> floor_div::Range {
    floor_div::Range { lo: proven.lo(), hi: proven.hi() }
}
