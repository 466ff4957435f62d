//! The reveals of what clients of campaigns gave: which programs may make them, and the mark that they were made.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use quorate_graph::{Graph, Hash, NodeId, Truncation};
use quorate_planner::{Reveal, Work};

use crate::error::SessionError;

/// Keeps the marks that results of a campaign are looked at.
pub trait Seen: Send + Sync {
    /// Makes the mark last at this party, which is about to reveal something that depends on what clients gave. After
    /// the first time it does nothing, unless this is another look `again`.
    ///
    /// # Errors
    /// Why the mark could not be kept, and what to do. Nothing is sent then.
    fn mark(&self, party: usize, again: bool) -> Result<(), String>;
}

/// The looks of a session: runs that draw at random and reveal what depends on clients.
#[derive(Default)]
struct Looks {
    /// The last such run of each party, by number.
    drawn: BTreeMap<usize, u64>,
    /// The runs that have ended well.
    counted: BTreeSet<u64>,
}

/// The campaigns that a session reads.
#[derive(Clone, Default)]
pub(crate) struct Campaigns {
    of: Vec<(Arc<dyn Seen>, BTreeSet<Hash>)>,
    /// Bits about bounds, whose reveal is no look at results.
    verdicts: BTreeSet<NodeId>,
    looks: Arc<Mutex<Looks>>,
}

impl Campaigns {
    /// Adds a campaign, whose results only runs of these hashes may reveal; without hashes, any run.
    pub fn add(&mut self, seen: Arc<dyn Seen>, programs: BTreeSet<Hash>) {
        self.of.push((seen, programs));
    }

    /// Returns whether there is a campaign.
    pub fn has_any(&self) -> bool {
        !self.of.is_empty()
    }

    /// Lets any run reveal a node, without a mark.
    pub fn exempt(&mut self, verdict: NodeId) {
        self.verdicts.insert(verdict);
    }

    fn is_look(&self, graph: &Graph, id: NodeId) -> bool {
        let shows = !self.of.is_empty() && graph.owners(id).has_clients() && graph.node(id).elements() > 0;
        shows && !self.verdicts.contains(&id)
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

    /// Makes the marks of a party that is about to reveal `node` in run `number`. A run that draws at random and does
    /// not end well would show other results when it is repeated, so that the next one is another look.
    ///
    /// # Errors
    /// That of the first mark that could not be kept.
    pub fn mark(&self, work: &Work<'_>, party: usize, number: u64, node: NodeId) -> Result<(), String> {
        if !self.is_look(work.graph, node) {
            return Ok(());
        }
        let again = work.nodes.iter().any(|&id| draws(work.graph, id)) && {
            let mut looks = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
            let before = looks.drawn.insert(party, number);
            before.is_some_and(|before| before != number && !looks.counted.contains(&before))
        };
        self.of.iter().try_for_each(|(seen, _)| seen.mark(party, again))
    }

    /// Records that a run has ended well, so that its results stay what they are.
    pub fn count(&self, number: u64) {
        self.looks.lock().unwrap_or_else(PoisonError::into_inner).counted.insert(number);
    }
}

/// Returns whether a node's value may differ when it is computed again.
fn draws(graph: &Graph, id: NodeId) -> bool {
    let op = &graph.node(id).op;
    let may_round_up = graph.rules().truncation == Truncation::Probabilistic && op.talks();
    op.is_random() || op.is_approximate() || may_round_up
}
