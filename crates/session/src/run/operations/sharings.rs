//! Steps in each sharing.

use std::sync::Arc;

use quorate_engine::{Checked, Ctx, Opened, Result};
use quorate_gadgets::Computes;
use quorate_graph::{Domain, Dtype, Node, NodeId};
use quorate_planner::Reveal;
use quorate_ring::{Bits, Ring, Wiped};

use super::world::{OnBits, OnLabels};
use crate::run::executor::Executor;
use crate::work::data::Plain;
use crate::work::value::{KINDS, Value};

impl<S: Computes> Executor<'_, S> {
    /// Computes node `id` on bits or labels, from operands that are in that sharing, or public.
    pub(crate) async fn in_domain(
        &self,
        ctx: &Ctx,
        id: NodeId,
        domain: Domain,
        operands: &[Arc<Value<S>>],
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

/// Returns opened rows as numbers.
fn opened(bits: &Bits, dtype: Dtype) -> Plain {
    match dtype {
        Dtype::Bit => Plain::Bits(bits.clone()),
        dtype => Plain::Vector(bits.to_vector(Ring::of(dtype.bits()))),
    }
}
