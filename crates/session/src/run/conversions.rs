//! Conversions of values to another sharing, each once for all steps that need it.

use std::collections::BTreeMap;
use std::sync::Arc;

use quorate_engine::{Ctx, Error, Linear, Result, Slot};
use quorate_gadgets::{Computes, convert};
use quorate_graph::{Domain, Dtype, Graph, NodeId};
use quorate_planner::{Work, native};
use quorate_ring::meter::{Kernel, charge};
use quorate_ring::{Bits, Ring};

use crate::run::operations::world::{OnBits, OnLabels, World};
use crate::work::effort::Clock;
use crate::work::value::{KINDS, Value};

/// The overhead of a conversion in [`Kernel::Piece`]s: dry runs, scheduling, and lanes that meet. About 20 µs, as
/// measured for this number of allocations. Nodes have this overhead, too, but in every sharing.
const PIECES_OF_A_CONVERSION: usize = 600;

/// The conversions that a run may need, by value and sharing.
pub(crate) struct Conversions<S: Computes>(BTreeMap<(NodeId, Domain), Conversion<S>>);

/// The step that makes a conversion, and the slot for its result.
type Conversion<S> = (NodeId, Slot<Arc<Value<S>>>);

impl<S: Computes> Conversions<S> {
    /// Lists every value that some step may need in a sharing; the first such step in the program's order makes the
    /// conversion.
    pub fn of(work: &Work<'_>, is_value: &dyn Fn(NodeId) -> bool) -> Self {
        let mut all = BTreeMap::new();
        if work.domains.is_plain() {
            return Conversions(all);
        }
        for &id in &work.nodes {
            for &input in work.graph.node(id).inputs.iter().filter(|&&input| is_value(input)) {
                let wanted = native(work.domains.of(id), work.graph.node(input).dtype);
                all.entry((input, wanted)).or_insert_with(|| (id, Slot::default()));
            }
        }
        Conversions(all)
    }

    /// Drops the conversions of a value.
    pub fn clear(&self, id: NodeId) {
        let own = (id, Domain::A)..=(id, Domain::Y);
        self.0.range(own).for_each(|(_, (_, slot))| slot.clear());
    }

    /// Returns the values of `reads`, each in the sharing in which step `id` needs it. The conversions that this step
    /// makes run side by side.
    pub async fn where_wanted(
        &self,
        (s, run, clock): (&S, &Work<'_>, &Clock),
        ctx: &Ctx,
        id: NodeId,
        reads: &[NodeId],
        values: Vec<Arc<Value<S>>>,
    ) -> Result<Vec<Arc<Value<S>>>> {
        let wanted = |read: NodeId| native(run.domains.of(id), run.graph.node(read).dtype);
        let is_there = |at: usize| values[at].domain().is_none_or(|made| made == wanted(reads[at]));
        let conversion = |at: usize| self.0.get(&(reads[at], wanted(reads[at])));
        let is_own = |at: usize| conversion(at).is_some_and(|(first, _)| *first == id);
        let is_first = |at: usize| reads[..at].iter().all(|&earlier| earlier != reads[at]);
        let own: Vec<usize> = (0..reads.len()).filter(|&at| !is_there(at) && is_own(at) && is_first(at)).collect();
        let convert = async |ctx: Ctx, i: usize| {
            let (read, value) = (reads[own[i]], &values[own[i]]);
            let work = converted(s, &ctx, value, (run.graph, read), wanted(read));
            clock.time(&ctx, id.0, work).await
        };
        let made = if own.is_empty() { Vec::new() } else { ctx.join_all(own.len(), convert).await? };
        for (made, &at) in made.into_iter().zip(&own) {
            if let Some((_, slot)) = conversion(at) {
                slot.set(ctx, made);
            }
        }
        let mut there = Vec::with_capacity(values.len());
        for (at, value) in values.iter().enumerate() {
            there.push(match conversion(at) {
                _ if is_there(at) => value.clone(),
                Some((_, slot)) => slot.get(ctx).await,
                None => return Err(Error::Bug { what: "a step wants a value where nothing puts it" }),
            });
        }
        Ok(there)
    }
}

/// Converts the value of node `id` to another sharing; public values stay as they are. Of a number, only the bits that
/// its interval needs are extracted.
pub(crate) async fn converted<S: Computes>(
    s: &S,
    ctx: &Ctx,
    value: &Arc<Value<S>>,
    (graph, id): (&Graph, NodeId),
    to: Domain,
) -> Result<Arc<Value<S>>> {
    if value.domain().is_none_or(|from| from == to) {
        return Ok(value.clone());
    }
    if ctx.is_dry() {
        charge(Kernel::Piece, PIECES_OF_A_CONVERSION);
    }
    let dtype = graph.node(id).dtype;
    let (width, signed) = graph.width(id);
    let rows = dtype.bits() as usize;
    let narrow = |x: &S::A| s.linear(x, &Linear::Reduce(Ring::of(width as u32)));
    let number = |rows: S::B| if dtype == Dtype::Bit { Value::Bits(rows) } else { Value::Rows(rows) };
    Ok(Arc::new(match (&**value, to) {
        (Value::Arith(x), Domain::B) => {
            Value::Rows(extended::<S, OnBits>(s, ctx, &s.bit_decompose(ctx, &narrow(x)).await?, rows, signed)?)
        }
        (Value::Arith(x), Domain::Y) => {
            Value::Labels(extended::<S, OnLabels>(s, ctx, &s.ring_to_labels(ctx, &narrow(x)).await?, rows, signed)?)
        }
        (Value::Rows(x), Domain::A) => Value::Arith(composed(s, ctx, x, (width, signed)).await?),
        (Value::Rows(x) | Value::Bits(x), Domain::Y) => {
            let low = OnBits::gather_rows(s, x, &(0..width as u32).collect::<Vec<_>>());
            Value::Labels(extended::<S, OnLabels>(s, ctx, &s.bits_to_labels(ctx, &low).await?, rows, signed)?)
        }
        (Value::Labels(x), Domain::B) => number(s.labels_to_bits(x)?),
        (Value::Labels(x), Domain::A) => Value::Arith(composed(s, ctx, &s.labels_to_bits(x)?, (width, signed)).await?),
        _ => return Err(KINDS),
    }))
}

/// Returns the numbers with these bits, in a ring of one bit for each row. The lowest `width` bits determine all
/// others. Converting one bit to the whole ring costs twice the average cost of a bit that is converted at its own
/// place.
async fn composed<S: Computes>(s: &S, ctx: &Ctx, x: &S::B, (width, signed): (usize, bool)) -> Result<S::A> {
    let rows = s.bit_shape(x).0;
    let ring = Ring::of(rows as u32);
    if 2 * width > rows {
        return s.compose(ctx, x, ring).await;
    }
    let low = OnBits::gather_rows(s, x, &(0..width as u32).collect::<Vec<_>>());
    convert::weighed(s, ctx, &low, signed, ring).await
}

/// Extends numbers to `rows` rows; the new rows are copies of the sign, or 0.
fn extended<S: Computes, W: World<S>>(s: &S, ctx: &Ctx, x: &W::V, rows: usize, signed: bool) -> Result<W::V> {
    let (width, lanes) = W::shape(s, x);
    if width == rows {
        return Ok(x.clone());
    }
    if signed {
        let index: Vec<u32> = (0..rows).map(|row| row.min(width - 1) as u32).collect();
        return Ok(W::gather_rows(s, x, &index));
    }
    let shape = (rows - width, lanes);
    let zeros = if ctx.is_dry() { Bits::shape(shape.0, shape.1) } else { Bits::zeros(shape.0, shape.1) };
    Ok(W::concat_rows(s, &[x, &W::public(s, &zeros)?]))
}
