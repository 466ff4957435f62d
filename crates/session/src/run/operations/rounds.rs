//! The extremum of many candidates, a few rows at a time; the winners of the pieces meet afterwards.
//!
//! With a power of two of rows at a time, candidates meet in the same pairs as without pieces, in the same number of
//! rounds.

use std::ops::Range;

use quorate_engine::{Chunks, Ctx, Linear, Result};
use quorate_gadgets::Computes;
use quorate_gadgets::extremum::{Best, Field, places};
use quorate_graph::{Axis, NodeId, Op};

use crate::run::executor::Executor;
use crate::run::operations::choices::width;
use crate::work::data::ring_of;
use crate::work::value::{KINDS, Value};

impl<S: Computes> Executor<'_, S> {
    /// Computes the extremum node `id` of `operand`, `rows` rows at a time; there are no outer blocks.
    pub(crate) async fn in_rounds(
        &self,
        ctx: &Ctx,
        id: NodeId,
        axis: Axis,
        (rows, window): (usize, usize),
        operand: &Value<S>,
    ) -> Result<Value<S>> {
        let (s, node, lanes) = (self.s, self.work.graph.node(id), axis.inner);
        let (best, place) = match node.op {
            Op::Max(_) => (Best::Largest, false),
            Op::Min(_) => (Best::Smallest, false),
            Op::ArgMax(_) => (Best::Largest, true),
            Op::ArgMin(_) => (Best::Smallest, true),
            _ => return Err(KINDS),
        };
        let x = self.arith(Some(operand))?;
        let bits = self.work.graph.difference_bits(node.inputs[0], node.inputs[0]);
        let width = width(bits, s.shape(&x).0);
        let work = async |ctx: Ctx, range: Range<usize>| {
            let candidates = range.start * lanes..range.end * lanes;
            let values = s.linear(&x, &Linear::Slice(candidates.clone()));
            let values = self.with_sign(&ctx, node.inputs[0], bits, values);
            let places = place.then(|| places(s, &ctx, ring_of(node.dtype), range.clone(), lanes));
            s.best(&ctx, Field { values, places, rows: range.len() }, best, width).await
        };
        let mut winners: Vec<Field<S::A>> = Vec::new();
        let chunks = Chunks { len: axis.len, chunk: rows, window };
        ctx.stream(chunks, work, |_, winner| winners.push(winner)).await?;
        let values = s.concat(&winners.iter().map(|winner| &winner.values).collect::<Vec<_>>());
        let places: Vec<&S::A> = winners.iter().filter_map(|winner| winner.places.as_ref()).collect();
        let places = (!places.is_empty()).then(|| s.concat(&places));
        let best = s.best(ctx, Field { values, places, rows: winners.len() }, best, width).await?;
        Ok(Value::Arith(match best.places {
            Some(places) => places,
            None => self.with_sign(ctx, node.inputs[0], bits, best.values),
        }))
    }
}
