//! Look-ups in public tables.

use quorate_engine::{Ctx, Result};
use quorate_gadgets::Computes;
use quorate_gadgets::lookup::{Entries, Lookup, Operand};
use quorate_graph::{Dtype, NodeId, Table};
use quorate_ring::Vector;

use crate::run::executor::Executor;
use crate::run::operations::choices::width;
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
        let operand = match table.covers(input.range()) {
            true => Operand::Within,
            false => {
                let bits = graph.difference_bits(of, of);
                // Numbers without a sign are moved for comparisons, and the table's with them.
                x = self.with_sign(ctx, of, bits, x);
                if input.dtype.is_unsigned() && bits > input.dtype.bits() {
                    first -= 1 << (input.dtype.bits() - 1);
                }
                Operand::Anywhere(width(bits, self.s.shape(&x).0))
            }
        };
        let make = || Entries::new(Vector::from_i128s(ring_of(node.dtype), &table.entries().to_vec()));
        let entries = table.kept(make);
        let lookup = Lookup { entries: &entries, first, operand };
        Ok(match node.dtype {
            Dtype::Bit => Value::Bits(self.s.lookup_bit(ctx, &x, &lookup).await?),
            _ => Value::Arith(self.s.lookup(ctx, &x, &lookup).await?),
        })
    }
}
