//! The size of a request, and the nodes that it may compute: by these the queue decides which requests overlap.

use quorate_graph::{Graph, NodeId, Op};

/// The largest request that is served beside others: nodes to compute, their elements and those that are revealed, and
/// the elements of operands. A request that computes nothing is small, too.
const SMALL_NODES: usize = 500;
pub(super) const SMALL_RESULTS: usize = 5_000;
const SMALL_OPERANDS: usize = 100_000;

/// What a request takes to serve.
#[derive(Clone, Default)]
pub(super) struct Takes {
    /// The nodes that it may compute.
    pub nodes: Vec<NodeId>,
    pub is_small: bool,
}

impl Takes {
    /// Returns what a request takes that computes these nodes, of which `targets` are revealed.
    pub fn of(graph: &Graph, needed: Vec<NodeId>, targets: &[NodeId]) -> Takes {
        let elements = |id: &NodeId| graph.node(*id).shape.iter().product::<usize>();
        let results: usize = needed.iter().chain(targets).map(elements).sum();
        let operands: usize = needed.iter().flat_map(|&id| graph.node(id).inputs.iter()).map(elements).sum();
        let few = needed.len() <= SMALL_NODES && results <= SMALL_RESULTS && operands <= SMALL_OPERANDS;
        let is_small = few || needed.is_empty();
        // Public numbers are no values that a run leaves, and many requests share them.
        let is_value = |id: &NodeId| !matches!(graph.node(*id).op, Op::Constant(_));
        Takes { nodes: needed.into_iter().filter(is_value).collect(), is_small }
    }

    /// Returns whether two requests may compute the same node.
    pub fn meets(&self, other: &Takes) -> bool {
        let (few, many) = if self.nodes.len() < other.nodes.len() { (self, other) } else { (other, self) };
        let (Some(first), Some(last)) = (many.nodes.first(), many.nodes.last()) else { return false };
        few.nodes.iter().any(|id| (first..=last).contains(&id) && many.nodes.binary_search(id).is_ok())
    }
}
