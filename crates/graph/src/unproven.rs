//! The values on which the range of a value rests, where parties may cheat. They are recorded when a node is built,
//! since the nodes that it was made of may be forgotten later.
//!
//! A range follows from the bounds that owners stated. It holds if certain values lie in their own ranges. Each of
//! these is made of inputs of one party, so whether it does depends on that party alone. If a value depends on one
//! owner only, it rests on itself, or on the values that it was made of if these have no more elements together.
//! Otherwise it rests on what its operands rest on.

use std::sync::Arc;

use crate::dtype::Dtype;
use crate::graph::Graph;
use crate::node::{MOST_UNPROVEN, Node, NodeId, Op, Unproven};

/// Returns what the range of the next node rests on; `None` if it has no range, or one that holds for all operands.
pub(crate) fn unproven(graph: &Graph, id: NodeId, node: &Node) -> Option<Arc<Unproven>> {
    if !graph.rules().proves_bounds || node.dtype == Dtype::Bit {
        return None;
    }
    match &node.op {
        // Ranges of parts, and of selections of these, rest on what they were made of.
        Op::Shuffle { .. } | Op::Order { .. } | Op::Select if !node.says_more_than_its_dtype() => all_of(graph, node),
        _ if !node.says_more_than_its_dtype() => None,
        Op::Input { .. } => (!node.room.assumed).then(|| Arc::new(Unproven::These(vec![id]))),
        Op::ArgMax(_) | Op::ArgMin(_) | Op::AssertOneHot(_) | Op::AssertWithin | Op::Behind => None,
        Op::Part { index, .. } => {
            let array = graph.node(node.inputs[0]).inputs[*index];
            graph.node(array).unproven.clone()
        }
        _ => of_operands(graph, id, node),
    }
}

fn of_operands(graph: &Graph, id: NodeId, node: &Node) -> Option<Arc<Unproven>> {
    let both = all_of(graph, node)?;
    if node.origin.owners.iter().count() > 1 {
        return Some(both);
    }
    let elements = |ids: &[NodeId]| ids.iter().map(|&id| graph.node(id).elements()).sum::<usize>();
    match &*both {
        Unproven::These(ids) if elements(ids) <= node.elements() => Some(both),
        _ => Some(Arc::new(Unproven::These(vec![id]))),
    }
}

/// Returns what all operands of a node rest on.
fn all_of(graph: &Graph, node: &Node) -> Option<Arc<Unproven>> {
    let operands = node.inputs.iter().filter_map(|&operand| graph.node(operand).unproven.as_ref());
    operands.cloned().reduce(|a, b| together(&a, b))
}

/// Returns the values of both. Most operands have the same ones, which are kept once.
fn together(a: &Arc<Unproven>, b: Arc<Unproven>) -> Arc<Unproven> {
    if Arc::ptr_eq(a, &b) {
        return b;
    }
    let (Unproven::These(first), Unproven::These(second)) = (&**a, &*b) else { return Arc::new(Unproven::Many) };
    let mut all = [first.as_slice(), second].concat();
    all.sort_unstable();
    all.dedup();
    match all.len() {
        len if len == first.len() => a.clone(),
        len if len > MOST_UNPROVEN => Arc::new(Unproven::Many),
        _ => Arc::new(Unproven::These(all)),
    }
}

impl Graph {
    /// Returns the values that a proof of the range of `id` would be about; they are needed as long as `id` may be
    /// used.
    pub fn rests_on(&self, id: NodeId) -> &[NodeId] {
        match self.get(id).ok().and_then(|node| node.unproven.as_deref()) {
            Some(Unproven::These(ids)) => ids,
            _ => &[],
        }
    }

    /// Returns the value `id` with the proof of its range, if one was built recently.
    pub fn proof_of(&self, id: NodeId) -> Option<NodeId> {
        self.proofs.find(id)
    }
}
