//! A session: the program being built, and a thread for each party in this process.

#[cfg(test)]
mod bounds;
#[cfg(test)]
mod held_links_tests;
mod leaving;
mod peek;
mod range_checks;
mod running;
#[cfg(test)]
mod shown_values_tests;
mod start;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::Arc;
use std::thread::JoinHandle;

use quorate_gadgets::{Choices, Family};
use quorate_graph::{BuildError, Builder, Graph, Hash, Network, NodeId, Source};
use quorate_net::Interrupt;
use quorate_ring::memory::guarded;

pub use leaving::Leaving;
pub use running::Running;
pub use start::LocalOptions;

use crate::approval::Approval;
use crate::audit::Audit;
use crate::error::SessionError;
use crate::party::job::{Command, Reply};
use crate::party::program::Program;
use crate::party::stats::{Progress, Stats};
use crate::plan::{Plan, Setting};
use crate::reveals::Told;
use crate::session::range_checks::Look;
use crate::work::data::{Data, Encoded, OwnInput, encode_input};
use quorate_planner::Reveal;
use quorate_protocols::{Protocol, Visit};

struct Seat {
    party: usize,
    commands: Sender<Command>,
    interrupt: Option<Interrupt>,
    progress: Arc<Progress>,
    sent: Arc<AtomicU64>,
    /// This party's inputs since the last run.
    inputs: BTreeMap<NodeId, Arc<OwnInput>>,
    thread: Option<JoinHandle<()>>,
}

/// Parties and their program. All methods are for one thread; [`Running`] may be watched from another.
pub struct Session {
    protocol: Protocol,
    parties: usize,
    me: Option<usize>,
    /// The network between the parties, for predictions and plans.
    network: Option<Network>,
    /// The values of the protocol's own options.
    choices: Choices,
    program: Program,
    seats: Vec<Seat>,
    replies: Receiver<Reply>,
    dropped: Vec<NodeId>,
    /// The number of runs so far.
    jobs: u64,
    /// The checker of values, in local sessions that have it on.
    look: Option<Look>,
    /// Digits that inputs of this process lost when they were encoded; kept until the user is warned.
    lost: Vec<BuildError>,
    /// Whether the current run opens values for a check and not for the user.
    peeking: bool,
    stats: Stats,
    /// The runs so far, and those that are approved.
    approval: Approval,
    audit: Option<Audit>,
    closed: bool,
    /// The process of the parties' threads; a fork of it has none of them.
    process: u32,
}

/// A visitor that returns a description of the parties that may cheat, for a number of parties and these options.
struct Security<'a>(usize, &'a Choices);

impl Visit for Security<'_> {
    type Out = String;

    fn family<F: Family>(self) -> String {
        F::security(self.0, self.1)
    }
}

/// The result of a reveal; `None` where the value went to another party.
pub type Revealed = Option<Data>;

impl Session {
    /// Returns the protocol that all parties run.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Returns the number of parties, those of other processes included.
    pub fn parties(&self) -> usize {
        self.parties
    }

    /// Checks that the session is open.
    ///
    /// # Errors
    /// [`SessionError::Closed`]; [`SessionError::Forked`].
    fn check_open(&self) -> Result<(), SessionError> {
        if self.is_forked() {
            return Err(SessionError::Forked);
        }
        if self.closed { Err(SessionError::Closed) } else { Ok(()) }
    }

    /// Returns whether this is a copy in a fork of the process that opened the session.
    pub fn is_forked(&self) -> bool {
        self.process != std::process::id()
    }

    /// Returns a description of the parties that may cheat.
    pub fn security(&self) -> String {
        self.protocol.visit(Security(self.parties, &self.choices))
    }

    /// Returns this party's number in a deployment; `None` in a local session.
    pub fn me(&self) -> Option<usize> {
        self.me
    }

    /// Returns the costs of the runs so far, at the parties of this process.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Builds part of the program for a line of the user's; the node becomes an array of the user's.
    ///
    /// # Errors
    /// Those of the builder, and [`SessionError::Closed`].
    pub fn build(
        &mut self,
        source: Source,
        build: impl FnOnce(Builder<'_>) -> Result<NodeId, BuildError>,
    ) -> Result<NodeId, SessionError> {
        self.check_open()?;
        let graph = self.program.graph();
        let before = graph.len();
        let id = guarded(|| build(graph.at(source.clone())))??;
        let id = graph.own(id, before, source)?;
        self.program.arrays().push(id);
        if let Some(look) = &mut self.look {
            look.hold(id);
        }
        Ok(id)
    }

    /// Returns the warnings of range analysis since the last call: results that may leave their dtype, given the stated
    /// bounds.
    pub fn take_warnings(&mut self) -> Vec<BuildError> {
        if self.program.graph.warnings().is_empty() {
            return std::mem::take(&mut self.lost);
        }
        let graph = self.program.graph();
        let fresh = graph.take_warnings();
        let at = |node: NodeId| graph.node(node).source.clone();
        let fresh = fresh.into_iter().map(|w| BuildError::new(w.fault, at(w.node)));
        fresh.chain(std::mem::take(&mut self.lost)).collect()
    }

    /// Calls `look` with the program.
    pub fn with_graph<T>(&self, look: impl FnOnce(&Graph) -> T) -> Result<T, SessionError> {
        Ok(look(&self.program.graph))
    }

    /// Sets whether the code that builds nodes from here on states the errors of their results
    /// ([`Graph::set_errors_are_stated`]).
    ///
    /// # Errors
    /// [`SessionError::WorkerGone`].
    pub fn set_errors_are_stated(&mut self, are_stated: bool) -> Result<(), SessionError> {
        self.program.graph().set_errors_are_stated(are_stated);
        Ok(())
    }

    /// Accepts the stated bound of an input without a proof, where parties may cheat and bounds are proven. All parties
    /// must call this, before anything is built from the input.
    ///
    /// # Errors
    /// [`SessionError::WorkerGone`].
    pub fn trust(&mut self, input: NodeId) -> Result<(), SessionError> {
        self.program.graph().trust(input);
        Ok(())
    }

    /// Provides the values of the input node that was built last. At parties other than its owner this does nothing. If
    /// the values are refused, the node is removed, so that the program stays that of the other parties.
    ///
    /// # Errors
    /// Those of [`encode_input`](crate::work::data).
    pub fn provide(&mut self, id: NodeId, owner: usize, data: &Data) -> Result<(), SessionError> {
        let Some(seat) = self.seats.iter_mut().find(|seat| seat.party == owner) else { return Ok(()) };
        let encoded = guarded(|| encode_input(&self.program.graph, id, data)).map_err(SessionError::from);
        match encoded.and_then(|encoded| Ok(encoded?)) {
            Ok(Encoded { plain, range, lost }) => {
                let own = Arc::new(OwnInput(plain));
                if let Some(look) = &mut self.look {
                    look.give(id, &own, range);
                }
                self.lost.extend(lost);
                seat.inputs.insert(id, own);
                Ok(())
            }
            Err(error) => {
                self.program.arrays().take_back(id);
                self.program.graph().take_back(id);
                Err(error)
            }
        }
    }

    /// Releases an array of the user's; its value is dropped once all parties have released it.
    pub fn release(&mut self, id: NodeId) {
        self.dropped.push(id);
        if let Some(look) = &mut self.look {
            look.forget(id);
        }
    }

    /// Checks that every value on which the reveals depend fits its dtype, in a local session with this check enabled.
    /// It does not run the reveals. Returns warnings of results that differ from numpy's.
    ///
    /// # Errors
    /// The first result that leaves its dtype, as a [`BuildError`] of category range, at its line.
    pub fn check(&mut self, reveals: &[(NodeId, Option<usize>)]) -> Result<Vec<BuildError>, SessionError> {
        let Some(mut look) = self.look.take() else { return Ok(vec![]) };
        let warnings = catch_unwind(AssertUnwindSafe(|| look.check(self, reveals)));
        self.look = Some(look);
        warnings.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Returns the hash of a session without runs, in a process that had `sessions_before` sessions before it.
    pub fn start_of_session(&self, sessions_before: usize) -> Hash {
        self.approval.start(sessions_before)
    }

    /// Returns the plan of a run with these reveals, from dry runs of all parties. The nodes `assumed` are taken as run
    /// already, and the last run as the one with hash `before`.
    ///
    /// # Errors
    /// [`SessionError::Closed`].
    pub fn plan(
        &mut self,
        reveals: &[(NodeId, Option<usize>)],
        assumed: &[NodeId],
        before: Option<Hash>,
    ) -> Result<Plan, SessionError> {
        self.check_open()?;
        let seat = self.seats.first().ok_or(SessionError::Closed)?;
        let reveals: Vec<Reveal> = reveals.iter().map(|&(node, to)| Reveal { node, to }).collect();
        let (told, hash) = self.with_graph(|graph| {
            (Told::all(graph, &reveals, self.parties), self.approval.hash(graph, &reveals, before))
        })?;
        let (reply, plan) = channel();
        let (assumed, dropped) = (assumed.iter().copied().collect(), self.dropped.clone());
        let program = self.program.clone();
        let plan_of = Command::Plan { program, reveals, assumed, dropped, reply };
        seat.commands.send(plan_of).map_err(|_| SessionError::WorkerGone)?;
        let plan = plan.recv().map_err(|_| SessionError::WorkerGone)??;
        Ok(Plan { told, hash: Some(hash), ..plan })
    }

    /// Returns the place where this session's parties run, for predictions.
    pub fn setting(&self) -> Setting {
        match self.me {
            None => Setting::Here { parties: self.parties, network: self.network },
            Some(_) => Setting::Apart { network: self.network },
        }
    }
}
