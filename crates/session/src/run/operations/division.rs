//! Quotients and remainders, and multiples by public reals.

use quorate_engine::{Ctx, Linear, Result};
use quorate_gadgets::int_div::Known;
use quorate_gadgets::scale::{Rounding, Scale, Upper};
use quorate_gadgets::{Computes, floor_div};
use quorate_graph::{Division, Give, Interval, NodeId, Units};
use quorate_ring::{Ring, Vector};

use crate::run::executor::Executor;
use crate::run::operations::Pair;
use crate::work::data::elements;
use crate::work::value::Value;

/// The factors of a scaling: one for all elements, or one for each.
struct Factors {
    whole: Vec<i128>,
    factors: Vec<i128>,
    shift: u32,
    ring: Ring,
}

impl Factors {
    fn of(by: &quorate_graph::Scale, elements: usize) -> Factors {
        let [whole, factors] = [&by.whole, &by.factors].map(|units| units.part(0..elements));
        Factors { whole, factors, shift: by.shift, ring: Ring::of(by.ring_bits) }
    }

    fn scale<'a>(&'a self, bits: u32, rounding: Rounding, limits: &'a [i128], upper: Option<Upper<'a>>) -> Scale<'a> {
        let Factors { whole, factors, shift, ring } = self;
        Scale { whole, factors, shift: *shift, ring: *ring, bits, rounding, limits, upper }
    }
}

impl<S: Computes> Executor<'_, S> {
    pub(crate) async fn floor_div(
        &self,
        ctx: &Ctx,
        id: NodeId,
        divisors: &Units,
        operand: Option<&Value<S>>,
    ) -> Result<Value<S>> {
        let range = range_of(self.work.graph.node(self.work.graph.node(id).inputs[0]).range());
        let x = self.arith(operand)?;
        let divisors = divisors.part(0..self.s.shape(&x).1);
        Ok(Value::Arith(self.s.floor_div(ctx, &x, &divisors, range).await?))
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
        let bits = graph.node(graph.node(id).inputs[0]).range().signed_bits();
        let rounding = if self.rounds_either_way(id) { Rounding::EitherWay } else { Rounding::Nearest };
        let x = self.arith(operand)?;
        let elements = self.s.shape(&x).1;
        let limits = by.limits.as_ref().map(|limits| limits.part(0..elements)).unwrap_or_default();
        let factors = Factors::of(by, elements);
        let Some(upper) = &by.upper else {
            let by = factors.scale(bits, rounding, &limits, None);
            return Ok(Value::Arith(self.s.scale(ctx, &x, &by).await?));
        };
        let of_upper = Factors::of(&upper.scale, elements);
        let of_upper = of_upper.scale(bits.saturating_sub(upper.from).max(1), rounding, &[], None);
        let upper = Upper { from: upper.from, scale: &of_upper };
        // The low bits are not negative: their sign takes one bit more.
        let by = factors.scale(upper.from + 1, rounding, &limits, Some(upper));
        Ok(Value::Arith(self.s.scale(ctx, &x, &by).await?))
    }

    /// Returns x - q d: local.
    pub(crate) fn remainder(&self, ctx: &Ctx, divisors: &Units, pair: Pair<'_, S>) -> Result<Value<S>> {
        let (x, quotient) = self.ariths(pair)?;
        let (ring, len) = self.s.shape(&quotient);
        let taken = match divisors.len() {
            1 => self.s.linear(&quotient, &Linear::Scale(divisors.to_vec()[0])),
            _ if ctx.is_dry() => self.s.linear(&quotient, &Linear::Factors(&Vector::shape(ring, len))),
            _ => self.s.linear(&quotient, &Linear::Factors(&elements(ring, divisors, len))),
        };
        Ok(Value::Arith(self.s.sub(&x, &taken)))
    }
}

fn range_of(proven: Interval) -> floor_div::Range {
    floor_div::Range { lo: proven.lo(), hi: proven.hi() }
}
