//! A session: the program being built, and a thread for each party in this process.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, RwLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use quorate_crypto::Seed;
use quorate_engine::{Error, Party};
use quorate_gadgets::{Choices, Family};
use quorate_graph::{BuildError, Builder, Graph, Network, NodeId, Rules, Source, Watch};
use quorate_net::{Interrupt, Net};
use quorate_ring::memory::{guarded, keep_reserve};

use crate::config::Config;
use crate::connect;
use crate::data::{Data, Encoded, OwnInput, encode_input};
use crate::error::SessionError;
use crate::executor::Reveal;
use crate::look::Look;
use crate::mixed::Book;
use crate::options::Options;
use crate::plan::{Plan, Setting};
use quorate_protocols::{Protocol, Visit};
use crate::stats::{Progress, Stats};
use crate::worker::{Command, Desk, Job, Program, Reply, Serve};

/// How long leaving may take a party that gave up before the process goes on.
const GIVE_UP_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a party that was interrupted while it left may still take.
const HURRY_TIMEOUT: Duration = Duration::from_secs(1);
/// How often leaving looks whether the parties are done.
const LEAVE_STEP: Duration = Duration::from_millis(1);

/// How a local session is set up.
#[derive(Clone, Debug)]
pub struct LocalOptions {
    pub protocol: Protocol,
    pub parties: usize,
    /// A network to simulate, with real delays; `None` for plain memory links.
    pub network: Option<Network>,
    /// **Insecure**: grows every party's coins from this, so that runs can be repeated.
    pub insecure_seed: Option<String>,
    /// Whether [`Session::check`] looks at values, which a local session has.
    pub check: bool,
    /// What deployments can choose, too.
    pub options: Options,
}

/// Which of the parties are in this process: all, or `me`. A `seed` makes their coins known.
pub(crate) struct Place {
    pub parties: usize,
    /// What a local session simulates.
    pub network: Option<Network>,
    pub me: Option<usize>,
    pub seed: Option<Seed>,
    /// Whether values are looked at before they are computed on.
    pub check: bool,
}

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
    choices: Choices,
    /// The network between the parties, for predictions.
    network: Option<Network>,
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
    closed: bool,
    /// Where the parties' threads are: a fork of this process has none of them.
    process: u32,
}

/// What a reveal gave: `None` where the value went to another party.
pub type Revealed = Option<Data>;

impl Session {
    /// All parties in this process, each in a thread of its own, with the real protocol between them.
    ///
    /// # Errors
    /// A number of parties that the protocol cannot run with; whatever ends a setup.
    pub fn local(options: LocalOptions) -> Result<Session, SessionError> {
        options.protocol.check_parties(options.parties)?;
        let nets = connect::local(options.parties, options.network);
        let seed = options
            .insecure_seed
            .as_ref()
            .map(|seed| Seed::from_bytes(blake3::derive_key("quorate/session/insecure seed", seed.as_bytes())));
        let (parties, network) = (options.parties, options.network);
        let place = Place { parties, network, me: None, seed, check: options.check };
        Session::start(options.protocol, place, nets, options.options)
    }

    /// This process is one party of a deployment. Raising `stop` gives up connecting. A network that the file names is
    /// that of the options.
    ///
    /// # Errors
    /// Those of connecting, each naming the side at fault; different protocols or releases at two parties.
    pub fn connect(config: &Config, options: Options, stop: Arc<AtomicBool>) -> Result<Session, SessionError> {
        let protocol = config.protocol()?;
        let options = Options { network: config.network()?.or(options.network), ..options };
        let options = options.read_for(protocol)?;
        let net = connect::deployed(config, stop)?;
        let (parties, network, me) = (config.parties.len(), options.network, Some(config.me));
        let place = Place { parties, network, me, seed: None, check: false };
        Session::start(protocol, place, vec![net], options)
    }

    pub(crate) fn start(
        protocol: Protocol,
        place: Place,
        nets: Vec<Box<dyn Net>>,
        options: Options,
    ) -> Result<Session, SessionError> {
        let options = options.read_for(protocol)?;
        keep_reserve();
        let Place { parties, network, me, seed, check } = place;
        let setting = match me {
            None => Setting::Here { parties, network },
            Some(_) => Setting::Apart { network },
        };
        let watch = match me {
            Some(_) => Watch::Program,
            None if check => Watch::Values,
            None => Watch::Stated,
        };
        let graph = Graph::with(Rules { strict: options.strict, truncation: options.truncation, watch });
        let program = Arc::new(RwLock::new(Program { graph, ..Program::default() }));
        let book: Arc<Mutex<Book>> = Arc::default();
        let (reply, replies) = channel();
        let (ready, is_ready) = channel();
        let mut seats = Vec::new();
        for net in nets {
            let (commands, inbox) = channel();
            let progress = Arc::new(Progress::default());
            let party_number = net.me();
            let (program, replies, ready) = (program.clone(), reply.clone(), ready.clone());
            let desk =
                Desk { program, progress: progress.clone(), book: book.clone(), commands: inbox, ready, replies };
            let coins = seed.as_ref().map(|seed| seed.derive("quorate/session/party", &[party_number as u8]));
            let (options, (handles, handle)) = (options.clone(), channel());
            let serve_party = move || {
                let party = Party::new(net);
                let _ = handles.send((party.interrupt_handle(), party.sent_counter()));
                protocol.visit(Serve { party, protocol, options, coins, setting, desk });
            };
            let thread = std::thread::Builder::new()
                .name(format!("party {party_number}"))
                .spawn(serve_party)
                .map_err(|_| SessionError::WorkerGone)?;
            let (interrupt, sent) = handle.recv().map_err(|_| SessionError::WorkerGone)?;
            let (inputs, thread) = (BTreeMap::new(), Some(thread));
            seats.push(Seat { party: party_number, commands, interrupt, progress, sent, inputs, thread });
        }
        let mut worst: Option<SessionError> = None;
        for _ in &seats {
            if let Err(error) = is_ready.recv().map_err(|_| SessionError::WorkerGone).and_then(|r| r) {
                worst = Some(more_telling(worst, error));
            }
        }
        let session = Session {
            protocol,
            parties,
            me,
            choices: options.choices,
            network,
            program,
            seats,
            replies,
            dropped: vec![],
            jobs: 0,
            look: check.then(Look::default),
            lost: vec![],
            peeking: false,
            stats: Stats::default(),
            closed: false,
            process: std::process::id(),
        };
        match worst {
            Some(error) => Err(error),
            None => Ok(session),
        }
    }

    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

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
        struct Security<'a>(usize, &'a Choices);
        impl Visit for Security<'_> {
            type Out = String;
            fn family<F: Family>(self) -> String {
                F::security(self.0, self.1)
            }
        }
        self.protocol.visit(Security(self.parties, &self.choices))
    }

    /// This party's number in a deployment; `None` in a local session.
    pub fn me(&self) -> Option<usize> {
        self.me
    }

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

    /// Gives the values of the input node that was built last. At other parties than its owner this does nothing.
    /// Values that are refused take the node with them, so that the program stays that of the other parties.
    ///
    /// # Errors
    /// What [`encode_input`](crate::data) finds wrong with them.
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

    /// Looks, in a local session that has that on, whether every value on the way to the reveals fits its dtype; what a run
    /// of them would do is not done. Says where results are not numpy's.
    ///
    /// # Errors
    /// The first result that leaves its dtype, as [`BuildError`] of kind range, at its line.
    pub fn check(&mut self, reveals: &[(NodeId, Option<usize>)]) -> Result<Vec<BuildError>, SessionError> {
        let Some(mut look) = self.look.take() else { return Ok(vec![]) };
        let warnings = catch_unwind(AssertUnwindSafe(|| look.check(self, reveals)));
        self.look = Some(look);
        warnings.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Forgets what no array refers to any more, given what each party here still needs after a run that all ended well.
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

    /// Starts running what the reveals need. Only one run at a time: `Running` borrows the session.
    ///
    /// # Errors
    /// [`SessionError::Closed`]; [`SessionError::NoValues`] where an own input that is needed has no values.
    pub fn run(&mut self, reveals: &[(NodeId, Option<usize>)]) -> Result<Running<'_>, SessionError> {
        self.start_run(reveals, false)
    }

    /// [`Session::run`] with fixed point revealed in units of its ring, so that nothing is rounded.
    ///
    /// # Errors
    /// As there.
    pub fn run_in_units(&mut self, reveals: &[(NodeId, Option<usize>)]) -> Result<Running<'_>, SessionError> {
        self.start_run(reveals, true)
    }

    fn start_run(&mut self, reveals: &[(NodeId, Option<usize>)], units: bool) -> Result<Running<'_>, SessionError> {
        self.check_open()?;
        let reveals: Vec<Reveal> = reveals.iter().map(|&(node, to)| Reveal { node, to }).collect();
        for &Reveal { to, .. } in &reveals {
            if let Some(party) = to.filter(|&to| to >= self.parties) {
                let misuse = quorate_engine::Misuse::NoSuchParty { party, parties: self.parties };
                return Err(Error::from(misuse).into());
            }
        }
        let dropped = std::mem::take(&mut self.dropped);
        self.jobs += 1;
        for seat in &mut self.seats {
            let inputs = std::mem::take(&mut seat.inputs);
            let job = Job { number: self.jobs, reveals: reveals.clone(), units, inputs, dropped: dropped.clone() };
            seat.commands.send(Command::Run(job)).map_err(|_| SessionError::WorkerGone)?;
        }
        let waiting = self.seats.len();
        let interrupted = false;
        let (revealed, needs) = Default::default();
        Ok(Running { session: self, waiting, revealed, needs, error: None, interrupted })
    }

    /// What the reveals would cost, from dry runs of all parties, as if the nodes `assumed` had been run already.
    ///
    /// # Errors
    /// [`SessionError::Closed`].
    pub fn plan(&mut self, reveals: &[(NodeId, Option<usize>)], assumed: &[NodeId]) -> Result<Plan, SessionError> {
        self.check_open()?;
        let seat = self.seats.first().ok_or(SessionError::Closed)?;
        let reveals = reveals.iter().map(|&(node, to)| Reveal { node, to }).collect();
        let (reply, plan) = channel();
        let (assumed, dropped) = (assumed.iter().copied().collect(), self.dropped.clone());
        seat.commands.send(Command::Plan { reveals, assumed, dropped, reply }).map_err(|_| SessionError::WorkerGone)?;
        plan.recv().map_err(|_| SessionError::WorkerGone)?
    }

    /// Where this session's parties run, for predictions.
    pub fn setting(&self) -> Setting {
        match self.me {
            None => Setting::Here { parties: self.parties, network: self.network },
            Some(_) => Setting::Apart { network: self.network },
        }
    }

    /// Ends the session: goodbye, or, where it `gave_up`, word to the peers that this party failed. Waits until the peers
    /// have what was sent to them; see [`Session::leave`].
    pub fn close(&mut self, gave_up: bool) {
        let mut leaving = self.leave(gave_up);
        while !leaving.wait(Duration::from_secs(3600)) {}
    }

    /// Starts to end the session. A party that is done stays as long as its links take bytes that it sent before, however
    /// slow they are: the process must not end before. One that gave up stays for a few seconds at most.
    pub fn leave(&mut self, gave_up: bool) -> Leaving<'_> {
        if !std::mem::replace(&mut self.closed, true) {
            for seat in &mut self.seats {
                seat.inputs.clear();
                // An interrupt that came too late for the last run does not hurry this.
                seat.interrupt.as_ref().map(Interrupt::take);
                let _ = seat.commands.send(Command::Leave { gave_up });
            }
        }
        Leaving { session: self, deadline: gave_up.then(|| Instant::now() + GIVE_UP_TIMEOUT) }
    }
}

/// Parties of this process on their way out. Dropping it leaves them to themselves.
pub struct Leaving<'s> {
    session: &'s mut Session,
    deadline: Option<Instant>,
}

impl Leaving<'_> {
    /// Waits up to `patience`; true once all are gone, or have had their time.
    pub fn wait(&mut self, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        for seat in &mut self.session.seats {
            while seat.thread.as_ref().is_some_and(|thread| !thread.is_finished()) {
                let now = Instant::now();
                if self.deadline.is_some_and(|deadline| now >= deadline) {
                    return true;
                }
                if now >= until {
                    return false;
                }
                std::thread::sleep(LEAVE_STEP);
            }
            if let Some(thread) = seat.thread.take() {
                let _ = thread.join();
            }
        }
        true
    }

    /// Their user does not want to wait: what the links do not take at once is lost to the peers.
    pub fn interrupt(&mut self) {
        self.session.seats.iter().filter_map(|seat| seat.interrupt.as_ref()).for_each(Interrupt::raise);
        let hurry = Instant::now() + HURRY_TIMEOUT;
        self.deadline = Some(self.deadline.map_or(hurry, |deadline| deadline.min(hurry)));
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.is_forked() {
            // Threads, flags and links are the other process's.
            std::mem::forget(std::mem::take(&mut self.seats));
            return;
        }
        self.close(true);
    }
}

/// Of two parties' errors, the one that tells more about the reason: an abort only says who stopped.
fn more_telling(first: Option<SessionError>, second: SessionError) -> SessionError {
    let rank = |error: &SessionError| match error {
        SessionError::Engine(Error::Aborted { .. }) => 3,
        SessionError::Engine(Error::Net { reported_by: Some(_), .. }) => 2,
        SessionError::Engine(Error::Net { .. }) => 1,
        _ => 0,
    };
    match first {
        Some(first) if rank(&first) <= rank(&second) => first,
        _ => second,
    }
}

/// A run under way.
pub struct Running<'s> {
    session: &'s mut Session,
    waiting: usize,
    revealed: BTreeMap<usize, Vec<Revealed>>,
    needs: Vec<BTreeSet<NodeId>>,
    error: Option<SessionError>,
    interrupted: bool,
}

impl Running<'_> {
    /// Waits up to `patience`; true once the run is over.
    pub fn wait(&mut self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        while self.waiting > 0 {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.session.replies.recv_timeout(left) {
                Ok(reply) if reply.job != self.session.jobs => {}
                Ok(Reply { party, result, .. }) => {
                    self.waiting -= 1;
                    match result {
                        Ok(outcome) => {
                            self.session.stats.add(party, &outcome.stats);
                            self.revealed.insert(party, outcome.revealed);
                            self.needs.extend(outcome.needs);
                        }
                        Err(error) => self.error = Some(more_telling(self.error.take(), error)),
                    }
                }
                Err(RecvTimeoutError::Timeout) => return false,
                Err(RecvTimeoutError::Disconnected) => {
                    self.waiting = 0;
                    self.error.get_or_insert(SessionError::WorkerGone);
                }
            }
        }
        true
    }

    /// Stops every party of this process; they tell the others.
    pub fn interrupt(&mut self) {
        self.interrupted = true;
        self.session.seats.iter().filter_map(|seat| seat.interrupt.as_ref()).for_each(Interrupt::raise);
    }

    /// The phase, and the share of the run's bytes that were sent so far, at the first party of this process.
    pub fn progress(&self) -> Option<(quorate_engine::Phase, f64)> {
        let seat = self.session.seats.first()?;
        let (phase, expected) = seat.progress.read()?;
        let sent = seat.sent.load(Ordering::Relaxed) as f64;
        Some((phase, if expected == 0 { 1.0 } else { (sent / expected as f64).min(1.0) }))
    }

    /// Waits for all parties of this process.
    fn wait_for_all(&mut self) {
        while !self.wait(Duration::from_secs(3600)) {}
        if std::mem::take(&mut self.interrupted) {
            // A party that had finished already never looked at its flag.
            self.session.seats.iter().filter_map(|seat| seat.interrupt.as_ref()).for_each(|flag| {
                flag.take();
            });
        }
    }

    /// The values, in the order of the reveals; in a local session those of whoever got them.
    ///
    /// # Errors
    /// What ended the run. Values of earlier runs are untouched, and so are the inputs of this one.
    pub fn finish(mut self) -> Result<Vec<Revealed>, SessionError> {
        self.wait_for_all();
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        self.session.stats.runs += 1;
        if let Some(look) = &mut self.session.look {
            look.done();
        }
        self.session.forget(&std::mem::take(&mut self.needs));
        let mut merged: Vec<Revealed> = Vec::new();
        for (_, values) in std::mem::take(&mut self.revealed) {
            merged.resize_with(values.len().max(merged.len()), || None);
            merged.iter_mut().zip(values).for_each(|(slot, value)| {
                if slot.is_none() {
                    *slot = value;
                }
            });
        }
        Ok(merged)
    }
}

impl Drop for Running<'_> {
    /// A run that nobody waits for is stopped: its replies must not be taken for those of the next one.
    fn drop(&mut self) {
        if self.waiting > 0 {
            self.interrupt();
            self.wait_for_all();
        }
    }
}

mod peek;
#[cfg(test)]
mod tests;
