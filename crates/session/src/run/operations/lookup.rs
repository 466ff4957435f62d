//! Look-ups in public tables.

use std::borrow::Cow;
use std::sync::Arc;

use quorate_engine::{Ctx, Linear, Result};
use quorate_gadgets::Computes;
use quorate_gadgets::lookup::{Entries, Lookup, Operand};
use quorate_graph::{Dtype, NodeId, PairTable, Table};
use quorate_ring::{Ring, Vector};

use crate::run::executor::Executor;
use crate::run::operations::Pair;
use crate::run::operations::choices::width;
use crate::run::operations::convert::sign_of;
use crate::work::data::ring_of;
use crate::work::value::Value;

impl<S: Computes> Executor<'_, S> {
    pub(crate) async fn lookup(
        &self,
        ctx: &Ctx,
        id: NodeId,
        table: &Table,
        operand: Option<&Value<S>>,
    ) -> Result<Value<S>> {
        let graph = self.work.graph;
        let node = graph.node(id);
        let (of, input) = (node.inputs[0], graph.node(node.inputs[0]));
        let (mut x, mut first) = (self.arith(operand)?, table.first());
        let operand = match table.leaves_out(input.range()) {
            (false, false) => Operand::Within,
            (below, above) => {
                let bits = graph.difference_bits(of, of);
                // Comparisons move unsigned numbers, so the table's first key is moved with them.
                x = self.with_sign(ctx, of, bits, x);
                if input.dtype.is_unsigned() && bits > input.dtype.bits() {
                    first -= 1 << (input.dtype.bits() - 1);
                }
                Operand::Outside { below, above, width: width(bits, self.s.shape(&x).0) }
            }
        };
        let entries = entries_of(table, ring_of(node.dtype));
        let lookup = Lookup { entries: entries.clone(), first, operand };
        Ok(match node.dtype {
            Dtype::Bit => Value::Bits(self.s.lookup_bit(ctx, &x, &lookup).await?),
            _ => Value::Arith(self.s.lookup(ctx, &x, &lookup).await?),
        })
    }
}

impl<S: Computes> Executor<'_, S> {
    /// Looks up pairs of numbers, each of which has an entry.
    pub(crate) async fn lookup_pairs(
        &self,
        ctx: &Ctx,
        id: NodeId,
        pairs: &PairTable,
        pair: Pair<'_, S>,
    ) -> Result<Value<S>> {
        let (s, (mut x, mut y)) = (self.s, self.ariths(pair)?);
        let node = self.work.graph.node(id);
        let entries = entries_of(&pairs.table, ring_of(node.dtype));
        let table = Lookup { entries: entries.clone(), first: pairs.table.first(), operand: Operand::Within };
        let ((ring, len), needed) = (s.shape(&x), table.place_bits());
        if needed > ring.bits() {
            let sign = sign_of(self.work.graph.node(node.inputs[0]).dtype);
            let both = s.convert(ctx, &s.concat(&[&x, &y]), Ring::of(needed), sign).await?;
            [x, y] = [0..len, len..2 * len].map(|part| Cow::Owned(s.linear(&both, &Linear::Slice(part))));
        }
        let place = s.add(&s.linear(&x, &Linear::Scale(pairs.columns)), &y);
        Ok(Value::Arith(s.lookup(ctx, &place, &table).await?))
    }
}

/// Returns the entries as ring elements, made once for each table.
pub(super) fn entries_of(table: &Table, ring: Ring) -> Arc<Entries> {
    table.kept(|| Entries::new(Vector::from_i128s(ring, &table.entries().to_vec())))
}
