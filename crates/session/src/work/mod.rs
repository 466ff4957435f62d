//! The work of a run: the nodes to compute and the values to reveal.

pub(crate) mod data;
pub(crate) mod domains;
pub(crate) mod effort;
pub(crate) mod order;
pub(crate) mod value;

use quorate_graph::domains::Domain;
use quorate_graph::{Graph, NodeId};

use crate::work::domains::Domains;

/// One value to open, to all parties (`None`) or to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reveal {
    pub node: NodeId,
    pub to: Option<usize>,
}

/// The work of a run; the same at all parties.
#[derive(Clone)]
pub(crate) struct Work<'g> {
    pub graph: &'g Graph,
    /// Operands before the nodes that use them.
    pub nodes: Vec<NodeId>,
    pub reveals: Vec<Reveal>,
    /// The sharings in which nodes run.
    pub domains: Domains,
}

impl Work<'_> {
    /// Returns whether the parties confirm that all of them reached the end before they show any result. Without new
    /// nodes no confirmation is needed: values that exist already stay the same when they are opened again.
    pub fn confirms(&self) -> bool {
        !self.nodes.is_empty()
    }

    /// Returns whether a step and all its operands are in A.
    pub fn is_in_a(&self, id: NodeId) -> bool {
        let inputs = || self.graph.node(id).inputs.iter().copied();
        self.domains.is_plain() || inputs().chain([id]).all(|id| self.domains.of(id) == Domain::A)
    }
}
