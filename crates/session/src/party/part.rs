//! The commands for a party, and its part in a request.

use quorate_sync::Arc;
use quorate_sync::mpsc::{Receiver, Sender};
use std::collections::BTreeSet;

use quorate_graph::NodeId;
use quorate_net::Net;
use quorate_planner::Reveal;

use super::bell::Bell;
use super::job::{Job, Reply};
use super::program::Program;
use crate::error::SessionError;
use crate::plan::Plan;

/// A command for a party.
pub(crate) enum Command {
    Run(Box<Job>, Part),
    Plan(Box<Asked>),
    Leave { gave_up: bool },
}

/// A branch's links at a party, and its ends of the channels that it shares with its session.
pub(crate) struct Ends {
    pub net: Box<dyn Net>,
    pub commands: Receiver<Command>,
    /// It is rung when a request has ended.
    pub bell: Arc<Bell>,
    /// The way on which the party says that the branch is open, or why not.
    pub ready: Sender<std::result::Result<(), SessionError>>,
}

/// A dry run that is asked for.
pub(crate) struct Asked {
    pub program: Program,
    pub reveals: Vec<Reveal>,
    /// Nodes that count as run already.
    pub assumed: BTreeSet<NodeId>,
    /// Arrays that this party released since the last run.
    pub dropped: Vec<NodeId>,
    pub reply: Sender<std::result::Result<Plan, SessionError>>,
}

/// The end of a request at one party; the worst of all parties counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ending {
    Well,
    /// It takes too much memory to be served beside others, and nothing was done.
    TooLarge,
    Badly,
    /// No further request can be served at this seat.
    Over,
}

/// A reply, and the way to whoever waits for it.
pub(crate) type Answer = (Sender<Reply>, Reply);

/// What learns of the end of a part.
type Told = dyn FnOnce(Ending, Option<Answer>) + Send;

/// One party's part in a request that is served. When all parts have ended, the request has; a part that is dropped
/// ends badly.
pub(crate) struct Part {
    told: Option<Box<Told>>,
    ending: Ending,
    answer: Option<Box<Answer>>,
}

impl Part {
    /// Returns a part whose end is told to the function.
    pub fn new(told: impl FnOnce(Ending, Option<Answer>) + Send + 'static) -> Part {
        Part { told: Some(Box::new(told)), ending: Ending::Badly, answer: None }
    }

    /// Drops the part, and tells nobody.
    pub fn disarm(mut self) {
        self.told = None;
    }

    /// Ends the part with this answer, which is sent when all parties have ended theirs.
    pub fn end(mut self, ending: Ending, answer: Option<Answer>) {
        (self.ending, self.answer) = (ending, answer.map(Box::new));
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if let Some(told) = self.told.take() {
            told(self.ending, self.answer.take().map(|answer| *answer));
        }
    }
}
