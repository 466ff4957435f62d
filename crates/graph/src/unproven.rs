//! What the range of a value rests on where parties may cheat: noted for each node when it is built, since what it was
//! made of may be forgotten before anybody asks.
//!
//! A range follows from the bounds that owners stated. It holds if certain values lie in theirs: each is made of inputs
//! of one party, so whether it does is a matter of that party alone. Where a value has an owner of its own, that is the
//! value itself, or what it was made of if that has no more elements; else it is what its operands rest on.

use std::sync::Arc;

use crate::dtype::Dtype;
use crate::graph::Graph;
use crate::node::{Node, NodeId, Op};

/// A range that rests on more values than this is not gone by.
pub(crate) const MOST: usize = 256;

/// The values, each of one party's inputs, that have to lie in their ranges.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Unproven {
    /// Ascending; at least one.
    These(Vec<NodeId>),
    /// More than [`MOST`].
    Many,
}

/// What the range of the next node rests on: nothing where it has none, or has it whatever its operands are.
pub(crate) fn unproven(graph: &Graph, id: NodeId, node: &Node) -> Option<Arc<Unproven>> {
    if !graph.rules().proves_bounds || node.dtype == Dtype::Bit {
        return None;
    }
    match &node.op {
        // Ranges of parts, and of selections of these, go by what they were made of.
        Op::Shuffle { .. } | Op::Select if !node.says_more_than_its_dtype() => all_of(graph, node),
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

/// What its operands rest on.
fn all_of(graph: &Graph, node: &Node) -> Option<Arc<Unproven>> {
    let operands = node.inputs.iter().filter_map(|&operand| graph.node(operand).unproven.as_ref());
    operands.cloned().reduce(|a, b| together(&a, b))
}

/// Those of both. Most operands have the same ones, which are kept once.
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
        len if len > MOST => Arc::new(Unproven::Many),
        _ => Arc::new(Unproven::These(all)),
    }
}

impl Node {
    /// Whether less is proven to be possible than its dtype can hold.
    pub(crate) fn says_more_than_its_dtype(&self) -> bool {
        self.interval.is_some_and(|range| range != self.dtype.range())
    }
}

impl Graph {
    /// The values that a proof of the range of `id` would be about: they are needed as long as `id` may be used.
    pub fn rests_on(&self, id: NodeId) -> &[NodeId] {
        match self.get(id).ok().and_then(|node| node.unproven.as_deref()) {
            Some(Unproven::These(ids)) => ids,
            _ => &[],
        }
    }

    /// The value `id` with the proof of its range, if there was one lately.
    pub fn proof_of(&self, id: NodeId) -> Option<NodeId> {
        self.proofs.find(id)
    }
}
