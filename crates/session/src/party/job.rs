//! What a session asks of its parties, and their replies.

use quorate_sync::Arc;
use quorate_sync::mpsc::Sender;
use std::collections::{BTreeMap, BTreeSet};

use quorate_graph::NodeId;
use quorate_planner::Reveal;

use super::part::Ends;
use crate::error::SessionError;
use crate::party::program::Program;
use crate::party::stats::{Progress, RunStats};
use crate::pool::{Level, Supply};
use crate::work::data::{Data, OwnInput};
use crate::work::seen::Campaigns;

/// A request to run what some reveals need.
#[derive(Clone)]
pub(crate) struct Job {
    /// The request's number in the session.
    pub number: u64,
    /// The program when the run was asked for.
    pub program: Program,
    pub reveals: Vec<Reveal>,
    /// Whether fixed point is revealed in ring units.
    pub units: bool,
    /// This party's inputs since the last run.
    pub inputs: BTreeMap<NodeId, Arc<OwnInput>>,
    /// Arrays that this party released since the last run.
    pub dropped: Vec<NodeId>,
    /// The branch that the request asks for, of a session with peers.
    pub branch: Option<Branch>,
    /// The bundles that the request asks for, of a session that makes them for a pool.
    pub supplies: Option<Arc<Vec<Supply>>>,
    /// The campaigns whose submissions the program reads.
    pub campaigns: Arc<Campaigns>,
    pub progress: Arc<Progress>,
    pub reply: Sender<Reply>,
}

impl Job {
    /// Returns the nodes that it reveals.
    pub fn targets(&self) -> Vec<NodeId> {
        self.reveals.iter().map(|reveal| reveal.node).collect()
    }
}

/// A branch that is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Branch {
    pub name: Arc<str>,
    /// The first number that no branch has at this party.
    pub side: u32,
}

/// A branch on which all parties have agreed, at one of them.
pub(crate) struct Agreed {
    pub side: u32,
    /// The nodes whose values exist in it.
    pub holds: BTreeSet<NodeId>,
    /// Serves the requests of the branch, in the thread that calls it, once all parties have connected.
    pub serve: Box<dyn FnOnce(Ends) + Send>,
}

/// A finished run at one party.
pub(crate) struct Outcome {
    pub revealed: Vec<Option<Data>>,
    pub stats: RunStats,
    /// The nodes that this party of a deployment may still need, where forgetting others is worthwhile.
    pub needs: Option<BTreeSet<NodeId>>,
    /// The branch that the request asked for.
    pub branch: Option<Agreed>,
    /// The bundles that were made, in the order of the request.
    pub made: Vec<Level>,
}

impl Outcome {
    /// Returns the outcome of a run that computed nothing, but made a branch.
    pub fn of_branch(branch: Agreed) -> Outcome {
        Outcome { branch: Some(branch), ..Outcome::of_bundles(vec![], Default::default()) }
    }

    /// Returns the outcome of a run that made bundles for a pool.
    pub fn of_bundles(made: Vec<Level>, stats: RunStats) -> Outcome {
        Outcome { revealed: vec![], stats, needs: None, branch: None, made }
    }
}

/// The result of a job at one party.
pub(crate) struct Reply {
    pub party: usize,
    pub result: std::result::Result<Outcome, SessionError>,
}
