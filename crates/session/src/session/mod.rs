//! A session: the program being built, and a thread for each party in this process.

mod access;
#[cfg(test)]
mod beside_tests;
#[cfg(test)]
mod bounds_tests;
mod branching;
#[cfg(test)]
mod branching_tests;
mod check;
#[cfg(test)]
mod entry_tests;
#[cfg(test)]
mod held_links_tests;
mod leaving;
mod making;
mod plans;
#[cfg(test)]
mod pool_faults_tests;
#[cfg(test)]
mod pool_lives_tests;
#[cfg(test)]
mod pool_tests;
#[cfg(test)]
mod pool_world_for_tests;
mod range_checks;
mod request;
#[cfg(test)]
mod requests_tests;
mod running;
#[cfg(test)]
mod seen_tests;
#[cfg(test)]
mod shown_values_tests;
mod start;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;

use quorate_gadgets::{Choices, Family};
use quorate_graph::{BuildError, Builder, Graph, Hash, Interval, Network, NodeId, Source};
use quorate_ring::memory::guarded;

pub use access::Access;
pub use branching::{Branched, Branching, Moment};
pub use check::check;
pub use leaving::Leaving;
pub use plans::Planning;
pub use range_checks::Checked;
pub use request::Request;
pub use running::Running;
pub use start::LocalOptions;

use crate::approval::Approval;
use crate::audit::Audit;
use crate::error::SessionError;
use crate::options::{PoolMode, default_threads};
use crate::party::bell::Bell;
use crate::party::part::Command;
use crate::party::program::Program;
use crate::party::queue::Queue;
use crate::party::stats::Stats;
use crate::party::tracks;
use crate::plan::Setting;
use crate::pool::Complaint;
use crate::session::branching::Branches;
use crate::session::range_checks::Look;
use crate::work::data::{Data, Encoded, OwnInput, Rows, encode_input, encode_part};
use crate::work::seen::{Campaigns, Seen};
use quorate_protocols::{Protocol, Visit};

struct Seat {
    party: usize,
    commands: Sender<Command>,
    /// This party's inputs since the last run.
    inputs: BTreeMap<NodeId, Arc<OwnInput>>,
}

impl Seat {
    /// Returns the seat of a party, at its main track.
    fn of(party: usize, main: &tracks::Seat) -> Seat {
        Seat { party, commands: main.commands.clone(), inputs: BTreeMap::new() }
    }
}

/// The campaigns of a session, in jobs as they were when these were asked for.
type SharedCampaigns = quorate_sync::Arc<Campaigns>;

/// Parties and their program. While a [`Request`] is under way, a local session may build on and take more requests.
pub struct Session {
    protocol: Protocol,
    parties: usize,
    me: Option<usize>,
    /// The network between the parties, for predictions and plans.
    network: Option<Network>,
    /// The values of the protocol's own options.
    choices: Choices,
    /// The number of threads of a party, where it was named.
    threads: Option<usize>,
    /// Whether runs may overlap as far as memory is concerned: with a limit, each run has all of it.
    overlaps: bool,
    program: Program,
    seats: Vec<Seat>,
    queue: Arc<Queue>,
    dropped: Vec<NodeId>,
    /// The number of runs so far.
    jobs: u64,
    /// The checker of values, in local sessions that have it on.
    look: Option<Look>,
    /// Digits that inputs of this process lost when they were encoded; kept until the user is warned.
    lost: Vec<BuildError>,
    /// Each request that has not ended has a reference to it.
    in_flight: Arc<()>,
    bell: Arc<Bell>,
    /// The threads that build results whose errors are stated, once for each call that has begun to.
    stating: Vec<ThreadId>,
    stats: Stats,
    /// The runs so far, and those that are approved.
    approval: Approval,
    audit: Option<Arc<Mutex<Audit>>>,
    /// The campaigns whose submissions the program reads.
    campaigns: SharedCampaigns,
    branches: Branches,
    pool_mode: PoolMode,
    complaint: Option<Complaint>,
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
        match (self.branches.is_over, self.closed) {
            (true, _) => Err(SessionError::BranchOver),
            (_, true) => Err(SessionError::Closed),
            _ => Ok(()),
        }
    }

    /// Checks that the program may change. In a deployment it may not while a request is under way: threads might
    /// change it, or ask for values, in another order at each party.
    ///
    /// # Errors
    /// [`SessionError::Busy`].
    fn check_alone(&self) -> Result<(), SessionError> {
        if self.me.is_some() && self.is_busy() { Err(SessionError::Busy) } else { Ok(()) }
    }

    /// Returns the bell that the parties ring when they have ended a request.
    pub fn bell(&self) -> Arc<Bell> {
        self.bell.clone()
    }

    /// Returns whether this is a copy in a fork of the process that opened the session.
    pub fn is_forked(&self) -> bool {
        self.process != std::process::id()
    }

    /// Returns a description of the parties that may cheat.
    pub fn security(&self) -> String {
        self.protocol.visit(Security(self.parties, &self.choices))
    }

    /// Returns whether values are checked before the parties compute on them.
    pub fn checks_values(&self) -> bool {
        self.look.is_some()
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
        self.check_alone()?;
        let states = self.stating.contains(&std::thread::current().id());
        let graph = self.program.graph();
        graph.set_errors_are_stated(states);
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

    /// Returns the program so far; it stays as it is while the session builds on.
    pub fn graph(&self) -> Arc<Graph> {
        self.program.graph.clone()
    }

    /// Calls `look` with the program.
    pub fn with_graph<T>(&self, look: impl FnOnce(&Graph) -> T) -> Result<T, SessionError> {
        Ok(look(&self.program.graph))
    }

    /// Notes that code in this thread begins to build results whose errors it states
    /// ([`Graph::set_errors_are_stated`]), or has ended. Such code may call such code; the calls are counted.
    pub fn set_errors_are_stated(&mut self, are_stated: bool) {
        let me = std::thread::current().id();
        if are_stated {
            self.stating.push(me);
        } else if let Some(last) = self.stating.iter().rposition(|thread| *thread == me) {
            self.stating.remove(last);
        }
    }

    /// Adds a campaign whose submissions the program reads. From the next request on, only runs of these hashes (none:
    /// any run) may reveal what depends on submissions, and each party of this process makes the mark before it sends
    /// its share.
    pub fn read_campaign(&mut self, seen: Arc<dyn Seen>, programs: BTreeSet<Hash>) {
        SharedCampaigns::make_mut(&mut self.campaigns).add(seen, programs);
    }

    /// Lets any run reveal a node that depends on submissions, without a mark: bits about bounds.
    pub fn exempt(&mut self, verdict: NodeId) {
        SharedCampaigns::make_mut(&mut self.campaigns).exempt(verdict);
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
                let own = Arc::new(OwnInput::Held(plain));
                if let Some(look) = &mut self.look {
                    look.give(id, &own, range);
                }
                self.lost.extend(lost);
                seat.inputs.insert(id, own);
                Ok(())
            }
            Err(error) => {
                self.take_back(id);
                Err(error)
            }
        }
    }

    /// Removes an input, because its values are refused. If more was built since, the input is released instead.
    pub fn take_back(&mut self, id: NodeId) {
        if id.index() + 1 != self.program.graph.len() {
            return self.release(id);
        }
        self.program.arrays().take_back(id);
        self.program.graph().take_back(id);
    }

    /// Checks a range of the values of an input that is read in parts, before [`Session::provide_rows`]; returns the
    /// range in which they lie, in units.
    ///
    /// # Errors
    /// Those of [`encode_input`](crate::work::data).
    pub fn check_rows(&mut self, id: NodeId, part: Range<usize>, data: &Data) -> Result<Interval, SessionError> {
        let encoded = guarded(|| encode_part(&self.program.graph, id, part, data))??;
        if self.lost.is_empty() {
            self.lost.extend(encoded.lost);
        }
        drop(OwnInput::Held(encoded.plain));
        Ok(encoded.range)
    }

    /// Provides the place from which the values of an input are read in parts; they were checked, and lie in `range`.
    /// At parties other than its owner this does nothing.
    pub fn provide_rows(&mut self, id: NodeId, owner: usize, rows: Arc<dyn Rows>, range: Interval) {
        let Some(seat) = self.seats.iter_mut().find(|seat| seat.party == owner) else { return };
        let own = Arc::new(OwnInput::Read(rows));
        if let Some(look) = &mut self.look {
            look.give(id, &own, range);
        }
        seat.inputs.insert(id, own);
    }

    /// Releases an array of the user's; its value is dropped once all parties have released it.
    pub fn release(&mut self, id: NodeId) {
        if self.branches.of.as_ref().is_some_and(|stem| id.index() < stem.moment.nodes) {
            return; // it may be adopted again
        }
        self.dropped.push(id);
        if let Some(look) = &mut self.look {
            look.forget(id);
        }
    }

    /// Returns the hash of a session without runs, in a process that had `sessions_before` sessions before it.
    pub fn start_of_session(&self, sessions_before: usize) -> Hash {
        self.approval.start(sessions_before)
    }

    /// Returns the number of threads on which a party with this session's options computes in a setting.
    pub fn threads_in(&self, setting: Setting) -> usize {
        self.threads.unwrap_or_else(|| default_threads(setting.sharing()))
    }

    /// Returns the place where this session's parties run, for predictions.
    pub fn setting(&self) -> Setting {
        match self.me {
            None => Setting::Here { parties: self.parties, network: self.network },
            Some(_) => Setting::Apart { network: self.network },
        }
    }
}
