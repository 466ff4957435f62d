//! In which sharing a program's steps run.

use std::collections::BTreeMap;

use quorate_graph::domains::Domain;
use quorate_graph::{Dtype, NodeId};

/// Where the nodes of a run are computed, and where values that exist before it are: in A, and bits in B, unless it is
/// said here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Domains(BTreeMap<NodeId, Domain>);

impl Domains {
    /// Where a node runs.
    pub fn of(&self, id: NodeId) -> Domain {
        self.0.get(&id).copied().unwrap_or(Domain::A)
    }

    /// Says where a node runs, or where its value is.
    pub fn set(&mut self, id: NodeId, domain: Domain) {
        self.0.insert(id, domain);
    }

    /// Whether everything is in A.
    pub fn is_plain(&self) -> bool {
        self.0.is_empty()
    }
}

/// The sharing in which an operation that runs in `domain` takes an operand, or gives a result: bits have no A.
pub(crate) fn native(domain: Domain, dtype: Dtype) -> Domain {
    if domain == Domain::A && dtype == Dtype::Bit { Domain::B } else { domain }
}
