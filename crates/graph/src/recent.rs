//! Nodes that were built lately, which later operations use again. The lists depend on the program alone.

use std::collections::VecDeque;

use crate::dtype::Dtype;
use crate::node::{MOST_UNPROVEN, NodeId};

/// The number of conversions that are remembered for reuse; a line of a program rarely goes back further.
const REMEMBERED: usize = 64;

/// The newest conversions, so that two operations on an array share one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recent(VecDeque<(NodeId, Dtype, NodeId)>);

impl Recent {
    pub fn find(&self, from: NodeId, dtype: Dtype) -> Option<NodeId> {
        self.0.iter().rev().find(|known| (known.0, known.1) == (from, dtype)).map(|known| known.2)
    }

    pub fn note(&mut self, from: NodeId, dtype: Dtype, to: NodeId) {
        if self.0.len() == REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back((from, dtype, to));
    }

    /// Returns the nodes and what they were converted to.
    pub fn iter(&self) -> impl Iterator<Item = (NodeId, NodeId)> {
        self.0.iter().map(|known| (known.0, known.2))
    }

    /// Forgets conversions built from node number `len` on.
    pub fn truncate(&mut self, len: usize) {
        self.0.retain(|known| known.2.index() < len);
    }
}

/// The newest proofs: values, and the same values with their proof.
#[derive(Clone, Debug, Default)]
pub(crate) struct Proofs(VecDeque<(NodeId, NodeId)>);

impl Proofs {
    pub fn find(&self, of: NodeId) -> Option<NodeId> {
        self.0.iter().rev().find(|known| known.0 == of).map(|known| known.1)
    }

    pub fn note(&mut self, of: NodeId, proof: NodeId) {
        if self.0.len() == MOST_UNPROVEN {
            self.0.pop_front();
        }
        self.0.push_back((of, proof));
    }

    /// Returns the values and their proofs.
    pub fn iter(&self) -> impl Iterator<Item = (NodeId, NodeId)> {
        self.0.iter().copied()
    }

    /// Forgets proofs built from node number `len` on.
    pub fn truncate(&mut self, len: usize) {
        self.0.retain(|known| known.1.index() < len);
    }
}
