//! A session: the program being built, and a thread for each party in this process.

#[cfg(test)]
mod bounds;
#[cfg(test)]
mod held;
mod leaving;
mod look;
mod peek;
mod running;
#[cfg(test)]
mod seen;
mod start;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, RwLock};
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
use crate::party::job::{Command, Program, Reply};
use crate::party::stats::{Progress, Stats};
use crate::plan::{Plan, Setting};
use crate::session::look::Look;
use crate::told::Told;
use crate::work::Reveal;
use crate::work::data::{Data, Encoded, OwnInput, encode_input};
use quorate_protocols::{Protocol, Visit};

struct Seat {
    party: usize,
    commands: Sender<Command>,
    interrupt: Option<Interrupt>,
    progress: Arc<Progress>,
    sent: Arc<AtomicU64>,
    /// Inputs since the last run.
    inputs: BTreeMap<NodeId, Arc<OwnInput>>,
    thread: Option<JoinHandle<()>>,
}

/// Parties and their program. All methods are for one thread; [`Running`] may be watched from another.
pub struct Session {
    protocol: Protocol,
    parties: usize,
    me: Option<usize>,
    /// The network between the parties, by which costs are predicted and plans made.
    network: Option<Network>,
    /// What was chosen of the protocol's own options.
    choices: Choices,
    program: Arc<RwLock<Program>>,
    seats: Vec<Seat>,
    replies: Receiver<Reply>,
    dropped: Vec<NodeId>,
    /// Runs asked for so far.
    jobs: u64,
    /// What is known of values, where they are looked at.
    look: Option<Look>,
    /// What inputs of this process lost on their way in, until it is told.
    lost: Vec<BuildError>,
    /// While values are looked at that no run of the user's opens.
    peeking: bool,
    stats: Stats,
    /// The runs so far, and whether there may be others.
    approval: Approval,
    audit: Option<Audit>,
    closed: bool,
    /// Where the parties' threads are: a fork of this process has none of them.
    process: u32,
}

/// Who may cheat, in words, among so many parties with these options.
struct Security<'a>(usize, &'a Choices);

impl Visit for Security<'_> {
    type Out = String;

    fn family<F: Family>(self) -> String {
        F::security(self.0, self.1)
    }
}

/// What a reveal gave: `None` where the value went to another party.
pub type Revealed = Option<Data>;

impl Session {
    /// The protocol that all of its parties run.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// How many parties there are, those of other processes too.
    pub fn parties(&self) -> usize {
        self.parties
    }

    /// Whether something can be asked of the parties.
    ///
    /// # Errors
    /// [`SessionError::Closed`]; [`SessionError::Forked`].
    fn check_open(&self) -> Result<(), SessionError> {
        if self.is_forked() {
            return Err(SessionError::Forked);
        }
        if self.closed { Err(SessionError::Closed) } else { Ok(()) }
    }

    /// Whether this is a copy in a fork of the process that opened the session.
    pub fn is_forked(&self) -> bool {
        self.process != std::process::id()
    }

    /// Who may cheat, in words.
    pub fn security(&self) -> String {
        self.protocol.visit(Security(self.parties, &self.choices))
    }

    /// This party's number in a deployment; `None` in a local session.
    pub fn me(&self) -> Option<usize> {
        self.me
    }

    /// What the runs so far took, at the parties of this process.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Builds part of the program on behalf of the user's line; the node becomes an array of the user's.
    ///
    /// # Errors
    /// Those of the builder, and [`SessionError::Closed`].
    pub fn build(
        &mut self,
        source: Source,
        build: impl FnOnce(Builder<'_>) -> Result<NodeId, BuildError>,
    ) -> Result<NodeId, SessionError> {
        self.check_open()?;
        let mut program = self.program.write().map_err(|_| SessionError::WorkerGone)?;
        let before = program.graph.len();
        let id = guarded(|| build(program.graph.at(source.clone())))??;
        let id = program.graph.own(id, before, source)?;
        program.arrays.push(id);
        if let Some(look) = &mut self.look {
            look.hold(id);
        }
        Ok(id)
    }

    /// What range analysis found since the last call: results that may leave their dtype, given the stated bounds.
    pub fn take_warnings(&mut self) -> Vec<BuildError> {
        let Ok(mut program) = self.program.write() else { return Vec::new() };
        let fresh = program.graph.take_warnings();
        let at = |node: NodeId| program.graph.node(node).source.clone();
        let fresh = fresh.into_iter().map(|w| BuildError { fault: w.fault, at: at(w.node) });
        fresh.chain(std::mem::take(&mut self.lost)).collect()
    }

    /// Looks at the program.
    pub fn with_graph<T>(&self, look: impl FnOnce(&Graph) -> T) -> Result<T, SessionError> {
        Ok(look(&self.program.read().map_err(|_| SessionError::WorkerGone)?.graph))
    }

    /// Takes the stated bound of an input as it is, where parties may cheat and bounds are proven. Alike at all
    /// parties, and before anything is built of the input.
    ///
    /// # Errors
    /// [`SessionError::WorkerGone`].
    pub fn trust(&mut self, input: NodeId) -> Result<(), SessionError> {
        self.program.write().map_err(|_| SessionError::WorkerGone)?.graph.trust(input);
        Ok(())
    }

    /// Gives the values of the input node that was built last. At other parties than its owner this does nothing.
    /// Values that are refused take the node with them, so that the program stays that of the other parties.
    ///
    /// # Errors
    /// What [`encode_input`](crate::work::data) finds wrong with them.
    pub fn provide(&mut self, id: NodeId, owner: usize, data: &Data) -> Result<(), SessionError> {
        let Some(seat) = self.seats.iter_mut().find(|seat| seat.party == owner) else { return Ok(()) };
        let mut program = self.program.write().map_err(|_| SessionError::WorkerGone)?;
        let encoded = guarded(|| encode_input(&program.graph, id, data)).map_err(SessionError::from);
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
                program.arrays.take_back(id);
                program.graph.take_back(id);
                Err(error)
            }
        }
    }

    /// An array of the user's is gone; its value goes once all parties let go of it.
    pub fn release(&mut self, id: NodeId) {
        self.dropped.push(id);
        if let Some(look) = &mut self.look {
            look.forget(id);
        }
    }

    /// Looks, in a local session that has that on, whether every value on the way to the reveals fits its dtype; what a
    /// run of them would do is not done. Says where results are not numpy's.
    ///
    /// # Errors
    /// The first result that leaves its dtype, as [`BuildError`] of kind range, at its line.
    pub fn check(&mut self, reveals: &[(NodeId, Option<usize>)]) -> Result<Vec<BuildError>, SessionError> {
        let Some(mut look) = self.look.take() else { return Ok(vec![]) };
        let warnings = catch_unwind(AssertUnwindSafe(|| look.check(self, reveals)));
        self.look = Some(look);
        warnings.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Forgets what no array refers to any more, given what each party here still needs after a run that all ended
    /// well.
    fn forget(&mut self, needs: &[BTreeSet<NodeId>]) {
        if self.peeking {
            return;
        }
        let Ok(mut program) = self.program.write() else { return };
        program.arrays.forget();
        if needs.len() == self.seats.len() {
            let roots = needs.iter().flatten().copied().collect();
            let end = program.graph.len();
            program.graph.forget(end, &roots);
        }
    }

    /// The hash of no runs of a session, where this process had so many before.
    pub fn start_of_session(&self, sessions_before: usize) -> Hash {
        self.approval.start(sessions_before)
    }

    /// What the reveals would tell and cost, from dry runs of all parties, as if the nodes `assumed` had been run
    /// already, and the last run were the one with hash `before`.
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
        seat.commands.send(Command::Plan { reveals, assumed, dropped, reply }).map_err(|_| SessionError::WorkerGone)?;
        let plan = plan.recv().map_err(|_| SessionError::WorkerGone)??;
        Ok(Plan { told, hash: Some(hash), ..plan })
    }

    /// Where this session's parties run, for predictions.
    pub fn setting(&self) -> Setting {
        match self.me {
            None => Setting::Here { parties: self.parties, network: self.network },
            Some(_) => Setting::Apart { network: self.network },
        }
    }
}
