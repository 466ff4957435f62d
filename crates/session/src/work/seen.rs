//! The reveals of what clients of campaigns gave: which programs may make them, and the mark that they were made.

use std::collections::BTreeSet;
use std::sync::Arc;

use quorate_graph::{Graph, Hash, NodeId};
use quorate_planner::Reveal;

use crate::error::SessionError;

/// Keeps the mark that results of a campaign are looked at.
pub trait Seen: Send + Sync {
    /// Makes the mark last at this party, which is about to reveal something that depends on what clients gave. After
    /// the first time it does nothing.
    ///
    /// # Errors
    /// Why the mark could not be kept, and what to do. Nothing is sent then.
    fn mark(&self, party: usize) -> Result<(), String>;
}

/// The campaigns that a session reads.
#[derive(Clone, Default)]
pub(crate) struct Campaigns {
    of: Vec<(Arc<dyn Seen>, BTreeSet<Hash>)>,
    /// Bits about bounds, whose reveal is no look at results.
    verdicts: BTreeSet<NodeId>,
}

impl Campaigns {
    /// Adds a campaign, whose results only runs of these hashes may reveal; without hashes, any run.
    pub fn add(&mut self, seen: Arc<dyn Seen>, programs: BTreeSet<Hash>) {
        self.of.push((seen, programs));
    }

    /// Lets any run reveal a node, without a mark.
    pub fn exempt(&mut self, verdict: NodeId) {
        self.verdicts.insert(verdict);
    }

    fn is_look(&self, graph: &Graph, node: NodeId) -> bool {
        !self.of.is_empty() && graph.owners(node).has_clients() && !self.verdicts.contains(&node)
    }

    /// Checks that the run with the hash `run` may make these reveals.
    ///
    /// # Errors
    /// [`SessionError::OtherProgram`].
    pub fn check(&self, graph: &Graph, reveals: &[Reveal], run: Hash) -> Result<(), SessionError> {
        if !reveals.iter().any(|reveal| self.is_look(graph, reveal.node)) {
            return Ok(());
        }
        match self.of.iter().find(|(_, programs)| !programs.is_empty() && !programs.contains(&run)) {
            Some(_) => Err(SessionError::OtherProgram { hash: run.to_string() }),
            None => Ok(()),
        }
    }

    /// Makes the marks of a party that is about to reveal `node`.
    ///
    /// # Errors
    /// That of the first mark that could not be kept.
    pub fn mark(&self, graph: &Graph, party: usize, node: NodeId) -> Result<(), String> {
        if !self.is_look(graph, node) {
            return Ok(());
        }
        self.of.iter().try_for_each(|(seen, _)| seen.mark(party))
    }
}
