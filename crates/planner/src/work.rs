//! The work of a run: the nodes to compute, the values to reveal, and the sharing in which each node runs.

use std::collections::{BTreeMap, BTreeSet};

use quorate_graph::{Domain, Dtype, Graph, NodeId};

/// One value to open, to all parties (`None`) or to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reveal {
    /// The node that makes the value.
    pub node: NodeId,
    /// The party that sees it; `None`: all.
    pub to: Option<usize>,
}

/// The work of a run; the same at all parties.
#[derive(Clone)]
pub struct Work<'g> {
    /// The program.
    pub graph: &'g Graph,
    /// The nodes that run: operands before the nodes that use them.
    pub nodes: Vec<NodeId>,
    /// The values that are opened.
    pub reveals: Vec<Reveal>,
    /// The sharings in which nodes run.
    pub domains: Domains,
}

impl Work<'_> {
    /// Returns the secret values that the run needs and does not compute.
    pub fn before(&self) -> BTreeSet<NodeId> {
        let operands = self.nodes.iter().flat_map(|&id| &self.graph.node(id).inputs).copied();
        let is_before = |id: &NodeId| self.nodes.binary_search(id).is_err() && !self.graph.node(*id).is_public();
        operands.filter(is_before).collect()
    }
}

/// The sharings in which the nodes of a run are computed, and in which existing values are. The default is A, and B for
/// bits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Domains(BTreeMap<NodeId, Domain>);

impl Domains {
    /// Returns the sharing in which a node runs.
    pub fn of(&self, id: NodeId) -> Domain {
        self.0.get(&id).copied().unwrap_or(Domain::A)
    }

    /// Sets the sharing in which a node runs, or in which its value is.
    pub fn set(&mut self, id: NodeId, domain: Domain) {
        self.0.insert(id, domain);
    }

    /// Returns whether everything is in A.
    pub fn is_plain(&self) -> bool {
        self.0.is_empty()
    }
}

/// Returns the sharing in which an operation that runs in `domain` takes an operand of this dtype, or returns a result.
/// Bits are never in A.
pub fn native(domain: Domain, dtype: Dtype) -> Domain {
    if domain == Domain::A && dtype == Dtype::Bit { Domain::B } else { domain }
}
