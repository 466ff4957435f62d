//! Look-ups in public tables.

use std::sync::Arc;

use super::Builder;
use crate::dtype::Dtype;
use crate::error::Fault;
use crate::lookup_table::{MOST_ENTRIES, Table};
use crate::node::{NodeId, Op};

impl Builder<'_> {
    pub(super) fn build_lookup(
        &mut self,
        a: NodeId,
        (first, entries): (i128, &[i128]),
        dtype: Dtype,
    ) -> Result<NodeId, Fault> {
        let a = self.proven(a)?;
        let node = self.graph.get(a)?;
        let (shape, range) = (node.shape.clone(), node.range());
        if entries.is_empty() || entries.len() > MOST_ENTRIES {
            return Err(Fault::TableSize { entries: entries.len() });
        }
        if entries.iter().any(|&entry| !dtype.range().contains(entry)) {
            return Err(Fault::public_result("lookup", dtype, entries));
        }
        // Entries that no number can have are left out. If no entry remains, the nearest one is kept.
        let last = entries.len() as i128 - 1;
        let place = |x: i128| x.saturating_sub(first).clamp(0, last);
        let (from, to) = (place(range.lo()), place(range.hi()));
        let (first, entries) = (first + from, &entries[from as usize..=to as usize]);
        if self.graph.node(a).dtype == Dtype::Bit {
            let of = |bit: i128| entries[(bit - first).clamp(0, to - from) as usize];
            let [zero, one] = [0, 1].map(|bit| self.graph.push_constant(vec![of(bit)], shape.clone(), dtype, &self.at));
            return self.emit_as(Op::Select, &[a, one?, zero?], dtype);
        }
        self.graph.push(Op::Lookup(Arc::new(Table::new(first, entries))), vec![a], shape, dtype, &self.at)
    }
}
