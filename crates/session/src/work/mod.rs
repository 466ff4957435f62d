//! What a run has to do, and what it works on.

pub(crate) mod data;
pub(crate) mod domains;
pub(crate) mod effort;
pub(crate) mod order;
pub(crate) mod value;

use quorate_graph::domains::Domain;
use quorate_graph::{Graph, NodeId};

use crate::work::domains::Domains;

/// One value to open, to everybody or to one party.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reveal {
    pub node: NodeId,
    pub to: Option<usize>,
}

/// What a run has to do; alike at all parties.
#[derive(Clone)]
pub(crate) struct Work<'g> {
    pub graph: &'g Graph,
    /// Operands before the nodes that use them.
    pub nodes: Vec<NodeId>,
    pub reveals: Vec<Reveal>,
    /// Where nodes run.
    pub domains: Domains,
}

impl Work<'_> {
    /// Whether the parties confirm that all came to the end before they hand anything out. Values that exist already
    /// stay what they are, whoever opens them.
    pub fn confirms(&self) -> bool {
        !self.nodes.is_empty()
    }

    /// Whether a step and all that it works on is in A.
    pub fn is_in_a(&self, id: NodeId) -> bool {
        let inputs = || self.graph.node(id).inputs.iter().copied();
        self.domains.is_plain() || inputs().chain([id]).all(|id| self.domains.of(id) == Domain::A)
    }
}
