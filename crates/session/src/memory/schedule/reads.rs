//! Inputs that are read in parts: which of them, and which values that are made of them, steps read by pieces.

use std::collections::{BTreeMap, BTreeSet};

use quorate_graph::{Domain, NodeId, Op};
use quorate_planner::Work;

use crate::memory::schedule::Given;
use crate::memory::split::{Split, near_of};

impl Given<'_> {
    /// Returns whether a value is read in parts: an input, or one in another shape.
    pub(super) fn is_read(&self, id: NodeId) -> bool {
        let node = self.graph().node(id);
        let is_read = match node.op {
            Op::Reshape => self.work.nodes.binary_search(&id).is_ok() && self.is_read(node.inputs[0]),
            _ => node.is_streamed(),
        };
        is_read && is_in_a(self.work, id)
    }

    /// Returns the products of matrices whose left factor is computed, element by element, from values that are read in
    /// parts: models of a table's rows. A product of one row is none of them: every piece of a step that used it would
    /// read all of its factors.
    pub(super) fn products_of_read(&self) -> BTreeSet<NodeId> {
        let (graph, mut from, mut products) = (self.graph(), BTreeSet::new(), BTreeSet::new());
        for &id in &self.work.nodes {
            let node = graph.node(id);
            let is_from = |place: usize| node.inputs.get(place).is_some_and(|input| from.contains(input));
            let has_rows = || matches!(Split::of(graph, id), Some(Split::Rows { m: 2.., .. }));
            match &node.op {
                Op::MatMul { .. } if is_from(0) && !is_from(1) && has_rows() => {
                    products.insert(id);
                    from.insert(id);
                }
                Op::Gather(_) | Op::Broadcast | Op::Reshape if is_from(0) => {
                    from.insert(id);
                }
                op if self.is_read(id) || op.is_elementwise() && (0..node.inputs.len()).any(is_from) => {
                    from.insert(id);
                }
                _ => {}
            }
        }
        products
    }

    /// Returns whether a step, or what is made within its pieces, reads an operand by ranges, the same ones wherever it
    /// reads it. `can`: the nodes that can be made within pieces.
    pub(super) fn takes_ranges(&self, user: NodeId, operand: NodeId, can: &BTreeMap<NodeId, usize>) -> bool {
        let graph = self.graph();
        self.work.domains.of(user) == Domain::A
            && match graph.node(user).op {
                Op::Reshape => can.contains_key(&user),
                _ => Split::of(graph, user).is_some_and(|split| split.takes_ranges(graph, user, operand)),
            }
    }

    /// Returns the values that are read in parts and that all users read by pieces, where the values `within` are made
    /// within pieces.
    pub(super) fn read_by_pieces(&self, within: &BTreeSet<NodeId>) -> BTreeSet<NodeId> {
        let (graph, work) = (self.graph(), self.work);
        let mut read: BTreeSet<NodeId> = work.nodes.iter().copied().filter(|&id| self.is_read(id)).collect();
        work.reveals.iter().for_each(|reveal| {
            read.remove(&reveal.node);
        });
        work.nodes.iter().for_each(|id| {
            if (self.keeps)(*id) {
                read.remove(id);
            }
        });
        let can: BTreeMap<NodeId, usize> = within.iter().map(|&id| (id, 1)).collect();
        // From the last user back: a value in another shape is within pieces only if its own users read it so.
        for &user in work.nodes.iter().rev() {
            let node = graph.node(user);
            for input in node.inputs.iter().filter(|input| self.is_read(**input)) {
                let takes = match node.op {
                    Op::Reshape => read.contains(&user) || can.contains_key(&user),
                    Op::Gather(_) | Op::Broadcast => is_in_a(work, user) && near_of(graph, node).is_some(),
                    _ => self.takes_ranges(user, *input, &can),
                };
                if !takes {
                    read.remove(input);
                }
            }
        }
        // From the first one on: in another shape, what is whole is whole, too.
        for &id in &work.nodes {
            let node = graph.node(id);
            if node.op == Op::Reshape && !read.contains(&node.inputs[0]) {
                read.remove(&id);
            }
        }
        read
    }
}

/// Returns whether a node and all that it reads are in the protocol's own sharing, so that nothing has to be converted
/// for it.
pub(super) fn is_in_a(work: &Work<'_>, id: NodeId) -> bool {
    let inputs = work.graph.node(id).inputs.iter();
    std::iter::once(&id).chain(inputs).all(|&id| work.domains.of(id) == Domain::A)
}
