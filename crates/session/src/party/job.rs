//! The commands that a session sends to its parties, and their replies.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex};

use quorate_graph::{Graph, NodeId};
use quorate_planner::{Book, Reveal};

use crate::error::SessionError;
use crate::party::program::Program;
use crate::party::queue::Part;
use crate::party::stats::{Progress, RunStats};
use crate::plan::Plan;
use crate::work::data::{Data, OwnInput};

/// A request to run what some reveals need.
pub(crate) struct Job {
    /// The program when the run was asked for.
    pub program: Program,
    pub reveals: Vec<Reveal>,
    /// Whether fixed point is revealed in ring units.
    pub units: bool,
    /// This party's inputs since the last run.
    pub inputs: BTreeMap<NodeId, Arc<OwnInput>>,
    /// Arrays that this party released since the last run.
    pub dropped: Vec<NodeId>,
    pub progress: Arc<Progress>,
    pub reply: Sender<Reply>,
}

pub(crate) enum Command {
    Run(Job, Part),
    /// A dry run of these reveals, as if the nodes `assumed` had been run already.
    Plan {
        program: Program,
        reveals: Vec<Reveal>,
        assumed: BTreeSet<NodeId>,
        /// Arrays that this party released since the last run.
        dropped: Vec<NodeId>,
        reply: Sender<std::result::Result<Plan, SessionError>>,
    },
    /// The steps that a run of these nodes would take.
    Needed {
        graph: Arc<Graph>,
        targets: Vec<NodeId>,
        reply: Sender<Vec<NodeId>>,
    },
    Leave {
        gave_up: bool,
    },
}

/// A finished run at one party.
pub(crate) struct Outcome {
    pub revealed: Vec<Option<Data>>,
    pub stats: RunStats,
    /// The nodes that this party may still need, where forgetting others is worthwhile.
    pub needs: Option<BTreeSet<NodeId>>,
}

/// The result of a job at one party.
pub(crate) struct Reply {
    pub party: usize,
    pub result: std::result::Result<Outcome, SessionError>,
}

/// A worker's ends of the channels that it shares with its session.
pub(crate) struct Desk {
    pub book: Arc<Mutex<Book>>,
    pub commands: Receiver<Command>,
    pub ready: Sender<std::result::Result<usize, SessionError>>,
}
