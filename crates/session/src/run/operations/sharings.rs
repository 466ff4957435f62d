//! Conversions of values between sharings, and steps in each sharing.

use std::rc::Rc;

use quorate_engine::{Checked, Ctx, Linear, Opened, Result};
use quorate_gadgets::{Computes, convert};
use quorate_graph::{Domain, Dtype, Graph, Node, NodeId};
use quorate_planner::Reveal;
use quorate_ring::meter::{Kernel, charge};
use quorate_ring::{Bits, Ring, Wiped};

use super::world::{OnBits, OnLabels, World};
use crate::run::executor::Executor;
use crate::work::data::Plain;
use crate::work::value::{KINDS, Value};

/// The overhead of a conversion in [`Kernel::Piece`]s: dry runs, scheduling, and lanes that meet. About 20 µs, as
/// measured for this number of allocations. Nodes have this overhead, too, but in every sharing.
const PIECES_OF_A_CONVERSION: usize = 600;

impl<S: Computes> Executor<'_, S> {
    /// Computes node `id` on bits or labels, from operands that are in that sharing, or public.
    pub(crate) async fn in_domain(
        &self,
        ctx: &Ctx,
        id: NodeId,
        domain: Domain,
        operands: &[Rc<Value<S>>],
    ) -> Result<Value<S>> {
        match domain {
            Domain::A => Err(KINDS),
            Domain::B => self.on_bits::<OnBits>(ctx, id, operands).await,
            Domain::Y => self.on_bits::<OnLabels>(ctx, id, operands).await,
        }
    }

    /// Shares a party's own numbers as bits or labels.
    pub(crate) async fn input_in_bits(
        &self,
        ctx: &Ctx,
        owner: usize,
        (node, domain): (&Node, Domain),
        own: Option<&Plain>,
    ) -> Result<Value<S>> {
        let width = node.dtype.bits();
        let own = own.map(|own| {
            Wiped(match own {
                Plain::Vector(vector) => vector.to_bits(0..width),
                Plain::Bits(bits) => bits.clone(),
            })
        });
        let own = own.as_deref();
        let shape = (width as usize, node.elements());
        Ok(match domain {
            Domain::Y => Value::Labels(self.s.input_labels(ctx, owner, shape, own).await?),
            _ => Value::Rows(self.s.input_bits(ctx, owner, shape, own).await?),
        })
    }

    /// Reveals a value that is held as bits or labels.
    pub(crate) async fn reveal_rows(
        &self,
        ctx: &Ctx,
        Reveal { node, to }: Reveal,
        value: &Value<S>,
        checked: &Checked,
    ) -> Result<Option<Opened<Plain>>> {
        let rows = match value {
            Value::Labels(labels) => self.s.labels_to_bits(labels)?,
            Value::Rows(rows) => rows.clone(),
            _ => return Err(KINDS),
        };
        let bits = self.s.reveal_bits(ctx, checked, &rows, to).await?;
        Ok(bits.map(|bits| bits.map(|bits| opened(&bits, self.work.graph.node(node).dtype))))
    }
}

/// Converts the value of node `id` to another sharing; public values stay as they are. Of a number, only the bits that
/// its interval needs are extracted.
pub(crate) async fn converted<S: Computes>(
    s: &S,
    ctx: &Ctx,
    value: &Rc<Value<S>>,
    (graph, id): (&Graph, NodeId),
    to: Domain,
) -> Result<Rc<Value<S>>> {
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
    Ok(Rc::new(match (&**value, to) {
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

/// Returns opened rows as numbers.
fn opened(bits: &Bits, dtype: Dtype) -> Plain {
    match dtype {
        Dtype::Bit => Plain::Bits(bits.clone()),
        dtype => Plain::Vector(bits.to_vector(Ring::of(dtype.bits()))),
    }
}
