//! The extremum of many candidates, a few rows at a time; the winners of the pieces meet afterwards.
//!
//! With a power of two of rows at a time, candidates meet in the same pairs as without pieces, in the same number of
//! rounds.

use std::ops::Range;

use quorate_engine::{Chunks, Ctx, Linear, Result, Update};
use quorate_gadgets::Computes;
use quorate_gadgets::extremum::{Best, Field, places};
use quorate_graph::{Axis, NodeId, Op};
use quorate_ring::Vector;

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
        let chunks = Chunks { len: axis.len, chunk: rows, window };
        let room = |of: &S::A| {
            let (ring, len) = (s.shape(of).0, chunks.count() * lanes);
            s.public(&if ctx.is_dry() { Vector::shape(ring, len) } else { Vector::zeros(ring, len) })
        };
        let mut winners: Option<Field<S::A>> = None;
        let write = |range: Range<usize>, winner: Field<S::A>| {
            let all = winners.get_or_insert_with(|| Field {
                values: room(&winner.values),
                places: winner.places.as_ref().map(room),
                rows: chunks.count(),
            });
            let at = Update::Write(range.start / rows * lanes);
            s.update(&mut all.values, &winner.values, &at);
            if let (Some(all), Some(places)) = (&mut all.places, &winner.places) {
                s.update(all, places, &at);
            }
        };
        ctx.stream_alike(chunks, work, write).await?;
        let best = s.best(ctx, winners.ok_or(KINDS)?, best, width).await?;
        Ok(Value::Arith(match best.places {
            Some(places) => places,
            None => self.with_sign(ctx, node.inputs[0], bits, best.values),
        }))
    }
}
