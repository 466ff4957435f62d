//! The extremum of many candidates, a few rows at a time; the winners of the pieces meet afterwards.
//!
//! With a power of two of rows at a time, candidates meet in the same pairs as without pieces, in the same number of
//! rounds.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use quorate_engine::{Chunks, Ctx, Linear, Result, Update};
use quorate_gadgets::Computes;
use quorate_gadgets::extremum::{Best, Field, places};
use quorate_graph::{Axis, NodeId, Op};
use quorate_ring::Vector;

use crate::run::executor::Executor;
use crate::run::operations::choices::width;
use crate::run::pieces::Sources;
use crate::work::data::ring_of;
use crate::work::value::{KINDS, Value};

impl<S: Computes> Executor<'_, S> {
    /// Computes the extremum node `id`, `rows` rows of its operand at a time; there are no outer blocks. An operand
    /// that is within the step's pieces is made for each of them.
    pub(crate) async fn in_rounds(
        &self,
        ctx: &Ctx,
        id: NodeId,
        axis: Axis,
        (rows, window): (usize, usize),
        sources: &Sources<S>,
    ) -> Result<Value<S>> {
        let (s, node, lanes) = (self.s, self.work.graph.node(id), axis.inner);
        let (best, place) = match node.op {
            Op::Max(_) => (Best::Largest, false),
            Op::Min(_) => (Best::Smallest, false),
            Op::ArgMax(_) => (Best::Largest, true),
            Op::ArgMin(_) => (Best::Smallest, true),
            _ => return Err(KINDS),
        };
        let input = node.inputs[0];
        let bits = self.work.graph.difference_bits(input, input);
        let width = width(bits, ring_of(self.work.graph.node(input).dtype));
        let work = async |ctx: Ctx, range: Range<usize>| {
            let candidates = range.start * lanes..range.end * lanes;
            let made = self.candidates(&ctx, input, candidates.clone(), sources).await?;
            let meet = async {
                let values = match (&made, sources.get(&input)) {
                    (Some(made), _) => self.arith(Some(&**made))?,
                    (None, operand) => {
                        let operand = self.arith(operand.map(|value| &**value))?;
                        Cow::Owned(s.linear(&operand, &Linear::Slice(candidates)))
                    }
                };
                let values = self.with_sign(&ctx, input, bits, values).into_owned();
                let places = place.then(|| places(s, &ctx, ring_of(node.dtype), range.clone(), lanes));
                s.best(&ctx, Field { values, places, rows: range.len() }, best, width).await
            };
            self.clock.time(&ctx, id.0, meet).await
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
        match self.is_alike(id, sources, rows) {
            true => ctx.stream_alike(chunks, work, write).await?,
            false => ctx.stream(chunks, work, write).await?,
        }
        let best = self.clock.time(ctx, id.0, s.best(ctx, winners.ok_or(KINDS)?, best, width)).await?;
        Ok(Value::Arith(match best.places {
            Some(places) => places,
            None => self.with_sign(ctx, input, bits, Cow::Owned(best.values)).into_owned(),
        }))
    }

    /// Makes a range of an operand that is within the step's pieces; `None` if the operand exists.
    async fn candidates(
        &self,
        ctx: &Ctx,
        input: NodeId,
        range: Range<usize>,
        sources: &Sources<S>,
    ) -> Result<Option<Arc<Value<S>>>> {
        if sources.contains_key(&input) {
            return Ok(None);
        }
        let make = async |ctx: Ctx, _: usize| self.make(ctx, input, range.clone(), sources).await;
        Ok(ctx.join_steps(1, |_| self.step_of(input), make).await?.pop())
    }
}
