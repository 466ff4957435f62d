//! Branches of a deployment's session: sessions beside it that go on from its values, with their own order of requests.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use quorate_gadgets::Choices;
use quorate_graph::{Graph, Network, NodeId, Op};
use quorate_net::Net;
use quorate_protocols::Protocol;

use super::access::TICK;
use super::request::{How, Request};
use super::{Seat, Session, SharedCampaigns};
use crate::approval::Approval;
use crate::audit::Audit;
use crate::config::Named;
use crate::error::SessionError;
use crate::options::PoolMode;
use crate::party::bell::Bell;
use crate::party::job::{Agreed, Branch};
use crate::party::part::Ends;
use crate::party::program::Program;
use crate::party::queue::Queue;
use crate::party::stats::Stats;
use crate::party::tracks;

/// Connects the parties of a branch, by its name and number. Setting the flag gives up.
pub(crate) type Connects = dyn Fn(&str, u32, Arc<AtomicBool>) -> Result<Box<dyn Net>, SessionError> + Send + Sync;

/// The branches of a session, or the session of a branch.
#[derive(Clone, Default)]
pub(crate) struct Branches {
    /// The way to links for branches, in a session that can have some.
    pub connects: Option<Arc<Connects>>,
    /// The first number that no branch of the session has here.
    pub next: u32,
    /// In a branch: its name, and what it has from the session that it branched from.
    pub of: Option<Arc<Stem>>,
    /// Whether this branch is over, since a request was interrupted.
    pub is_over: bool,
}

/// What a branch has from the session that it branched from.
pub(crate) struct Stem {
    pub name: Arc<str>,
    pub number: u32,
    pub moment: Moment,
}

/// What a session had at the moment at which it branched.
pub struct Moment {
    /// The number of nodes.
    pub(super) nodes: usize,
    /// The nodes that had values.
    holds: BTreeSet<NodeId>,
}

/// A branch that is asked for: wait for its end, then pass it to [`Session::branched`].
pub struct Branching {
    request: Request,
    name: Arc<str>,
    program: Program,
}

/// A branch on which the parties have agreed.
pub struct Branched {
    agreed: Agreed,
    connects: Arc<Connects>,
    name: Arc<str>,
    session: Shell,
}

/// What a branch has in common with its session.
struct Shell {
    protocol: Protocol,
    parties: usize,
    me: Option<usize>,
    network: Option<Network>,
    choices: Choices,
    threads: Option<usize>,
    program: Program,
    approval: Approval,
    audit: Option<Arc<Mutex<Audit>>>,
    campaigns: SharedCampaigns,
}

impl Session {
    /// Asks for a branch of a deployment's session. All parties must do so at the same place of their programs. It
    /// takes a handshake, and counts no round and no payload.
    ///
    /// # Errors
    /// [`SessionError::Closed`]; [`SessionError::Busy`] where a request is under way; [`SessionError::NoBranches`]; a
    /// name that no session may have.
    pub fn branch(&mut self, name: &str) -> Result<Branching, SessionError> {
        self.check_branch(name)?;
        if self.branches.connects.is_none() {
            return Err(SessionError::NoBranches);
        }
        let name: Arc<str> = name.into();
        let branch = Branch { name: name.clone(), side: self.branches.next };
        // A copy of the whole: steps of the two programs that have one number differ from now on, and so do the counts
        // of steps on which sharings and circuits depend.
        let program = Program { graph: Arc::new(Graph::clone(&self.program.graph)), ..self.program.clone() };
        let request = self.submit_as(&[], How { branch: Some(branch), ..How::default() })?;
        Ok(Branching { request, name, program })
    }

    /// Checks that the session may have branches, and one of this name. In a local session they are this session.
    ///
    /// # Errors
    /// [`SessionError::Closed`]; [`SessionError::NoBranches`]; a name that no session may have.
    pub fn check_branch(&self, name: &str) -> Result<(), SessionError> {
        self.check_open()?;
        if self.pool_mode != PoolMode::None {
            return Err(SessionError::PoolBranch);
        }
        if !self.protocol.may_branch() || !self.overlaps || self.branches.of.is_some() {
            return Err(SessionError::NoBranches);
        }
        Named::read(name, false).map(drop)
    }

    /// Ends the request for a branch.
    ///
    /// # Errors
    /// The error that ended the request: no branch was made at this party.
    pub fn branched(&mut self, branching: Branching) -> Result<Branched, SessionError> {
        let Branching { mut request, name, program } = branching;
        request.wait_for_all();
        let outcome = request.outcomes.values_mut().next().and_then(|outcome| outcome.branch.take());
        self.finish(request)?;
        let agreed = outcome.ok_or(SessionError::WorkerGone)?;
        self.branches.next = agreed.side.saturating_add(1);
        let session = Shell {
            protocol: self.protocol,
            parties: self.parties,
            me: self.me,
            network: self.network,
            choices: self.choices.clone(),
            threads: self.threads.or(Some(1)), // as at the parties
            program,
            approval: self.approval.branch(&name, agreed.side),
            audit: self.audit.clone(),
            campaigns: self.campaigns.clone(),
        };
        let connects = self.branches.connects.clone().ok_or(SessionError::NoBranches)?;
        Ok(Branched { agreed, connects, name, session })
    }

    /// Returns what a local session has now, for a branch that begins.
    pub fn moment(&self) -> Moment {
        Moment { nodes: self.program.graph.len(), holds: self.queue.held() }
    }

    /// Returns an array of the session from which this one branched as an array of this one. The branch of a local
    /// session is that session, since it had what it had at this `moment`.
    ///
    /// # Errors
    /// [`SessionError::NotAdopted`] where the branch has neither its value nor, for an input, what its owner gave.
    pub fn adopt(&mut self, id: NodeId, moment: Option<&Moment>) -> Result<NodeId, SessionError> {
        self.check_open()?;
        let Some(moment) = self.branches.of.as_ref().map(|stem| &stem.moment).or(moment) else {
            return Err(SessionError::NoBranches);
        };
        let graph = &self.program.graph;
        let is_given = || graph.get(id).is_ok_and(|node| node.is_public() || matches!(node.op, Op::Input { .. }));
        let has = id.index() < moment.nodes && (moment.holds.contains(&id) || is_given());
        if has { Ok(id) } else { Err(SessionError::NotAdopted) }
    }

    /// Returns whether a request is under way.
    pub fn is_busy(&self) -> bool {
        Arc::strong_count(&self.in_flight) > 1
    }
}

impl Branching {
    /// Waits up to `patience`; true once the parties have agreed or failed to.
    pub fn wait(&mut self, patience: Duration) -> bool {
        self.request.wait(patience)
    }

    /// Gives up at this party, and tells the others.
    pub fn interrupt(&mut self) {
        self.request.interrupt();
    }
}

impl Branched {
    /// Connects the parties of the branch, and opens it. Setting `stop` gives up.
    ///
    /// # Errors
    /// Those of connecting; [`SessionError::WorkerGone`] where the system has no more threads.
    pub fn open(self, stop: Arc<AtomicBool>) -> Result<Session, SessionError> {
        let Branched { agreed: Agreed { side, holds, serve }, connects, name, session } = self;
        let Shell { protocol, parties, me, network, choices, threads, program, approval, audit, campaigns } = session;
        let net = connects(&name, side, stop.clone())?;
        let (party, interrupt, bell) = (net.me(), net.interrupt_handle(), Arc::<Bell>::default());
        let ((commands, inbox), (ready, opened)) = (channel(), channel());
        let ends = Ends { net, commands: inbox, bell: bell.clone(), ready };
        let thread = std::thread::Builder::new().name(format!("party {party}, branch {side}"));
        let thread = thread.spawn(move || serve(ends)).map_err(|_| SessionError::WorkerGone)?;
        let main = tracks::Seat { commands, interrupt, thread: Arc::new(Mutex::new(Some(thread))) };
        loop {
            match opened.recv_timeout(TICK) {
                Ok(opened) => break opened?,
                Err(RecvTimeoutError::Disconnected) => return Err(SessionError::WorkerGone),
                Err(RecvTimeoutError::Timeout) if stop.load(Ordering::Relaxed) => main.interrupt.raise(),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
        let nodes = program.graph.len();
        Ok(Session {
            protocol,
            parties,
            me,
            network,
            choices,
            threads,
            overlaps: false,
            program,
            seats: vec![Seat::of(party, &main)],
            queue: Queue::new(vec![main], vec![], None),
            dropped: vec![],
            jobs: 0,
            look: None,
            lost: vec![],
            in_flight: Arc::default(),
            bell,
            stating: vec![],
            stats: Stats::default(),
            approval,
            audit,
            campaigns,
            branches: Branches {
                of: Some(Arc::new(Stem { name, number: side, moment: Moment { nodes, holds } })),
                ..Branches::default()
            },
            pool_mode: PoolMode::None,
            complaint: None,
            closed: false,
            process: std::process::id(),
        })
    }
}
