//! The sharing in which each step of a program runs.

use std::collections::BTreeMap;

use quorate_graph::domains::Domain;
use quorate_graph::{Dtype, NodeId};

/// The sharings in which the nodes of a run are computed, and in which existing values are. The default is A, and B for
/// bits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Domains(BTreeMap<NodeId, Domain>);

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
pub(crate) fn native(domain: Domain, dtype: Dtype) -> Domain {
    if domain == Domain::A && dtype == Dtype::Bit { Domain::B } else { domain }
}
