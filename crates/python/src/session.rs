//! The session for Python: open, run, inspect, close.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::PyDict;

use quorate_graph::{Graph, Hash, HashError, Network, NodeId};
use quorate_session::pool::Location;
use quorate_session::{
    Access, Approved, Config, LocalOptions, Moment as InnerMoment, Named, Options, Request as Submitted, Revealed,
    Session as Inner, SessionError, Setting, check, protocol, truncation,
};

use crate::costs;
use crate::errors::{instance, raise, warn};
use crate::herald::{Herald, Request};
use crate::hold::{Arrays, Built, Seen};
use crate::operands::{Packed, to_bytes};
use crate::pools::{self, Content, Made};
use crate::turns::{TICK, Turns};

#[pyclass(module = "quorate._quorate", frozen)]
pub(crate) struct Session {
    inner: Arc<Mutex<Inner>>,
    arrays: Arrays,
    /// The herald of requests for which no thread waits, once there are any.
    herald: Mutex<Option<Arc<Herald>>>,
    /// The turns of threads that ask for values, in a session that checks values before it computes on them: each
    /// thread checks and submits its request before the next one checks.
    turns: Option<Turns>,
    /// The process that opened the session. A fork finds out that it is another one, even if another thread held the
    /// lock at the fork.
    process: u32,
}

impl Session {
    pub(crate) fn new(inner: Inner) -> Self {
        let (process, checks) = (std::process::id(), inner.checks_values());
        let turns = checks.then(Turns::default);
        Session {
            inner: Arc::new(Mutex::new(inner)),
            arrays: Arrays::of(process),
            herald: Mutex::default(),
            turns,
            process,
        }
    }

    /// Returns the user's arrays.
    pub(crate) fn arrays(&self) -> &Arrays {
        &self.arrays
    }

    /// Returns a node as an array of the user's.
    pub(crate) fn hold(&self, seen: Seen) -> Built {
        seen.held(&self.arrays)
    }

    /// Calls `with` with the session. It must run no Python code: a finalizer might use the session, and wait for ever.
    ///
    /// # Errors
    /// `SessionClosed` in a fork of the process; those of `with`.
    pub(crate) fn with<T>(
        &self,
        py: Python<'_>,
        with: impl FnOnce(&mut Inner) -> Result<T, SessionError>,
    ) -> PyResult<T> {
        if self.is_forked() {
            return Err(raise(py, &SessionError::Forked));
        }
        let result = with(&mut self.inner.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner));
        result.map_err(|error| raise(py, &error))
    }

    /// Calls `look` with the program so far.
    pub(crate) fn with_graph<T>(&self, py: Python<'_>, look: impl FnOnce(&Graph) -> T) -> PyResult<T> {
        self.with(py, |session| session.with_graph(look))
    }

    fn take_over_released(&self, inner: &mut Inner) {
        self.arrays.take_released().into_iter().for_each(|id| inner.release(id));
    }

    /// Checks values, where the session does, and submits a request of this thread as `submit` does.
    fn ask(
        &self,
        py: Python<'_>,
        targets: &[(NodeId, Option<usize>)],
        submit: impl FnOnce(&mut Inner) -> Result<Submitted, SessionError>,
    ) -> PyResult<Submitted> {
        if self.is_forked() {
            return Err(raise(py, &SessionError::Forked)); // threads that stand in line do not exist here
        }
        let turn = self.turns.as_ref().map(|turns| turns.wait(py)).transpose()?;
        self.with(py, |session| {
            self.take_over_released(session);
            Ok(())
        })?;
        let checked = self.wait(py, |access| check(access, targets))?;
        checked.warnings.iter().try_for_each(|warning| warn(py, warning))?;
        let request = self.with(py, submit)?.after(checked);
        drop(turn);
        Ok(request)
    }

    /// Returns the session's herald, which the first call starts.
    fn herald(&self, py: Python<'_>) -> PyResult<Arc<Herald>> {
        let bell = self.with(py, |session| Ok(session.bell()))?;
        let mut herald = self.herald.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        if let Some(herald) = &*herald {
            return Ok(herald.clone());
        }
        let started = Herald::start(&self.inner, bell)?;
        *herald = Some(started.clone());
        Ok(started)
    }

    /// Waits for an answer of the parties, while other threads use the session; Ctrl-C ends the wait.
    fn wait<T: Send>(
        &self,
        py: Python<'_>,
        wait: impl FnOnce(&mut Waiting<'_>) -> Result<T, SessionError> + Send,
    ) -> PyResult<T> {
        let mut waiting = Waiting { session: self, signal: None };
        let result = py.detach(|| wait(&mut waiting));
        match waiting.signal {
            Some(signal) => Err(signal),
            None => result.map_err(|error| raise(py, &error)),
        }
    }
}

/// A thread that waits, without Python, for an answer of a session's parties.
struct Waiting<'s> {
    session: &'s Session,
    /// The exception of a signal handler, which ends the wait.
    signal: Option<PyErr>,
}

impl Access<Inner> for Waiting<'_> {
    fn with<T>(&mut self, with: impl FnOnce(&mut Inner) -> T) -> Result<T, SessionError> {
        if self.session.is_forked() {
            return Err(SessionError::Forked);
        }
        Ok(with(&mut self.session.inner.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    fn goes_on(&mut self) -> bool {
        if self.signal.is_none() {
            self.signal = Python::attach(|py| py.check_signals()).err();
        }
        self.signal.is_none()
    }
}

/// The options of a session, from Python's dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Given {
    strict: bool,
    trunc: String,
    threads: Option<usize>,
    max_memory: Option<u64>,
    sharings: String,
    offline_weight: f64,
    /// The protocol's own options.
    family: BTreeMap<String, String>,
}

impl Given {
    pub(crate) fn read(self) -> Result<Options, SessionError> {
        Ok(Options {
            strict: self.strict,
            truncation: truncation(&self.trunc)?,
            network: None,
            threads: self.threads,
            max_memory: self.max_memory,
            sharings: self.sharings.parse()?,
            offline_weight: self.offline_weight,
            family: self.family,
            ..Options::default()
        })
    }
}

/// The session of a party, and the restrictions of the command line in addition to those of its file.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Held {
    approve: Option<Vec<String>>,
    audit: Option<PathBuf>,
    sessions_before: usize,
    session: String,
    is_default: bool,
}

/// What a local session had when a branch was made.
#[pyclass(module = "quorate._quorate", frozen)]
pub(crate) struct Moment(InnerMoment);

/// Nodes, with the receiver of each (None: all parties).
type Targets = Vec<(u32, Option<usize>)>;

fn nodes(targets: Targets) -> Vec<(NodeId, Option<usize>)> {
    targets.into_iter().map(|(node, to)| (NodeId(node), to)).collect()
}

/// Opens a session with peers in a separate thread. Ctrl-C sets the flag that `open` gets, and ends the wait.
fn connecting(
    py: Python<'_>,
    open: impl FnOnce(Arc<AtomicBool>) -> Result<Inner, SessionError> + Send + 'static,
) -> PyResult<Session> {
    let stop = Arc::new(AtomicBool::new(false));
    let seen = stop.clone();
    let thread = std::thread::spawn(move || open(seen));
    while !thread.is_finished() {
        py.detach(|| std::thread::sleep(TICK / 5));
        if let Err(interrupt) = py.check_signals() {
            stop.store(true, Ordering::Relaxed);
            return Err(interrupt);
        }
    }
    let opened = thread.join().unwrap_or(Err(SessionError::WorkerGone));
    opened.map(Session::new).map_err(|error| raise(py, &error))
}

/// Waits for a request, and shows its progress. Ctrl-C stops the parties, and is returned once they have stopped.
fn watched(py: Python<'_>, request: &mut Submitted, progress: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    let mut interrupt = Ok(());
    while !py.detach(|| request.wait(TICK)) {
        if interrupt.is_ok() {
            let shown = match (progress, request.progress()) {
                (Some(show), Some((phase, share))) => {
                    show.call1((phase.to_string(), share, request.predicted_bytes())).map(|_| ())
                }
                _ => Ok(()),
            };
            // Ctrl-C may arrive while Python shows the progress; the parties must stop then, too.
            interrupt = shown.and_then(|()| py.check_signals());
            if interrupt.is_err() {
                request.interrupt();
            }
        }
    }
    interrupt
}

#[pymethods]
impl Session {
    #[staticmethod]
    fn local(
        py: Python<'_>,
        protocol: &str,
        parties: Option<usize>,
        network: Option<&str>,
        options: Given,
        insecure_seed: Option<String>,
        check: bool,
    ) -> PyResult<Self> {
        let open = || -> Result<Inner, SessionError> {
            let protocol = self::protocol(protocol)?;
            let network: Option<Network> = network.map(str::parse).transpose()?;
            let parties = parties.unwrap_or(protocol.default_parties());
            let options = Options { network, ..options.read()? };
            Inner::local(LocalOptions { protocol, parties, network, insecure_seed, check, options })
        };
        py.detach(open).map(Session::new).map_err(|error| raise(py, &error))
    }

    /// Connects in a separate thread, so that Ctrl-C ends the wait for the peers.
    ///
    /// `pool`: the folder of this party's pool, the store's key, and "use" or "make".
    #[staticmethod]
    #[pyo3(signature = (path, options, held, pool = None))]
    fn connect(
        py: Python<'_>,
        path: PathBuf,
        options: Given,
        held: Held,
        pool: Option<(PathBuf, Vec<u8>, String)>,
    ) -> PyResult<Self> {
        let mut options = options.read().map_err(|error| raise(py, &error))?;
        let mut located = None;
        if let Some((folder, mut key, mode)) = pool {
            options.pool = mode.parse().map_err(|error| raise(py, &error))?;
            located = Some(Location::new(folder, &mut key).map_err(|error| raise(py, &error))?);
        }
        let mut config = Config::read(&path).map_err(|error| raise(py, &error))?;
        if let Some(texts) = held.approve {
            let approved =
                Approved::read(texts).map_err(|what| instance(py, "ConfigError", format!("--approve: {what}")));
            config.approve = Some(approved?);
        }
        config.audit = held.audit.or(config.audit);
        config.sessions_before = held.sessions_before;
        config.session = Named::read(&held.session, held.is_default).map_err(|error| raise(py, &error))?;
        connecting(py, move |stop| Inner::connect_with(&config, options, located, stop))
    }

    #[getter]
    fn me(&self, py: Python<'_>) -> PyResult<Option<usize>> {
        self.with(py, |session| Ok(session.me()))
    }

    #[getter]
    fn parties(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, |session| Ok(session.parties()))
    }

    #[getter]
    fn whole_bits(&self, py: Python<'_>) -> PyResult<u32> {
        self.with_graph(py, |graph| graph.rules().rings.whole().bits())
    }

    #[getter]
    fn protocol(&self, py: Python<'_>) -> PyResult<&'static str> {
        self.with(py, |session| Ok(session.protocol().name()))
    }

    #[getter]
    fn security(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |session| Ok(session.security()))
    }

    /// Returns whether this is a copy in a fork of the process that opened the session.
    fn is_forked(&self) -> bool {
        self.process != std::process::id()
    }

    /// Runs what `targets` need; returns one (kind, bytes) or None for each target. `progress(phase, share, bytes)` is
    /// called now and then; `bytes` is the predicted total that the first party of this process sends. With `units`,
    /// fixed point is returned in ring units.
    #[pyo3(signature = (targets, progress, units = false))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        targets: Targets,
        progress: Option<Bound<'py, PyAny>>,
        units: bool,
    ) -> PyResult<Vec<Option<Packed<'py>>>> {
        let targets = nodes(targets);
        let mut request = self.ask(py, &targets, |session| session.submit(&targets, units))?;
        let interrupted = watched(py, &mut request, progress.as_ref());
        let values = self.with(py, |session| session.finish(request));
        interrupted?;
        let shown = |value: &Revealed| value.as_ref().map(|data| to_bytes(py, data)).transpose();
        values?.iter().map(shown).collect()
    }

    /// Makes correlations for the pools of all parties, until all of them have these numbers of bundles of each
    /// content; numbers of equal contents are added. `progress` is called as by `run`. Returns, for each content, the
    /// number of bundles that were made, the number that all parties can use now, and the bytes of one on the disk of
    /// this party.
    fn preprocess(
        &self,
        py: Python<'_>,
        contents: Vec<(Py<Content>, u32)>,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Vec<Made>> {
        let mut request = self.with(py, |session| session.make_pool(pools::supplies(contents)))?;
        let interrupted = watched(py, &mut request, progress.as_ref());
        let levels = self.with(py, |session| session.made(request));
        interrupted?;
        Ok(pools::made(&levels?))
    }

    /// Submits what `run` runs, and does not wait for it.
    fn submit(&self, py: Python<'_>, targets: Targets, units: bool) -> PyResult<Request> {
        let targets = nodes(targets);
        let request = self.ask(py, &targets, |session| session.submit(&targets, units))?;
        Ok(self.herald(py)?.watch(request))
    }

    /// Returns the plan of a run of `targets` as a dictionary: its reveals and costs. The nodes `assumed` are taken as
    /// run already, and `before` as the hash of the last run. If a network is given, every party is on a machine of
    /// its own; otherwise the parties are where this session's are.
    fn plan<'py>(
        &self,
        py: Python<'py>,
        targets: Targets,
        network: Option<&str>,
        assumed: Vec<u32>,
        before: Option<&str>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let network: Option<Network> =
            network.map(str::parse).transpose().map_err(|e: quorate_graph::NetworkError| raise(py, &e.into()))?;
        let targets = nodes(targets);
        let before = before.map(str::parse).transpose().map_err(|e: HashError| PyValueError::new_err(e.to_string()))?;
        let assumed: Vec<NodeId> = assumed.into_iter().map(NodeId).collect();
        let (planning, setting, threads) = self.with(py, |session| {
            self.take_over_released(session);
            let setting = network.map_or(session.setting(), |network| Setting::Apart { network: Some(network) });
            Ok((session.ask_plan(&targets, &assumed, before)?, setting, session.threads_in(setting)))
        })?;
        let plan = self.wait(py, |access| planning.wait(access))?;
        costs::plan(py, &plan, setting, threads)
    }

    /// Returns the hash before the first run of a session, in a process that had `sessions_before` sessions before it;
    /// used for plans.
    fn start_of_session(&self, py: Python<'_>, sessions_before: usize) -> PyResult<String> {
        self.with(py, |session| Ok(session.start_of_session(sessions_before).to_string()))
    }

    /// Returns the hash before the first run of the branch of this name and number, where `before` is that of the last
    /// run of its session; used for plans.
    fn start_of_branch(&self, before: &str, name: &str, number: u32) -> PyResult<String> {
        let before: Hash = before.parse().map_err(|e: HashError| PyValueError::new_err(e.to_string()))?;
        Ok(before.then_branch(name, number).to_string())
    }

    /// Refuses a branch where the session can have none, or none of this name; `is_branch`: it is one itself.
    fn check_branch(&self, py: Python<'_>, name: &str, is_branch: bool) -> PyResult<()> {
        self.with(py, |session| if is_branch { Err(SessionError::NoBranches) } else { session.check_branch(name) })
    }

    /// Opens a branch of a session with peers: the parties agree on it, then connect in a separate thread.
    fn branch(&self, py: Python<'_>, name: &str) -> PyResult<Session> {
        let mut asked = self.with(py, |session| {
            self.take_over_released(session);
            session.branch(name)
        })?;
        let mut interrupt = Ok(());
        while !py.detach(|| asked.wait(TICK)) {
            if interrupt.is_ok() {
                interrupt = py.check_signals();
                if interrupt.is_err() {
                    asked.interrupt();
                }
            }
        }
        let agreed = self.with(py, |session| session.branched(asked));
        interrupt?;
        let agreed = agreed?;
        connecting(py, move |stop| agreed.open(stop))
    }

    /// Returns what a local session has now.
    fn moment(&self, py: Python<'_>) -> PyResult<Moment> {
        self.with(py, |session| Ok(Moment(session.moment())))
    }

    /// Returns whether a request is under way.
    fn is_busy(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |session| Ok(session.is_busy()))
    }

    /// Returns a node that a branch has from its session as an array of the branch; in a local session, if the session
    /// had it at this `moment`.
    #[pyo3(signature = (node, moment = None))]
    fn adopt(&self, py: Python<'_>, node: u32, moment: Option<&Moment>) -> PyResult<Built> {
        let seen = self.with(py, |session| {
            let id = session.adopt(NodeId(node), moment.map(|moment| &moment.0))?;
            session.with_graph(|graph| Seen::of(graph, id))
        })?;
        Ok(self.hold(seen))
    }

    /// Returns the costs of all runs so far and their prediction, for the parties of this process.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (stats, setting) = self.with(py, |session| Ok((session.stats().clone(), session.setting())))?;
        costs::stats(py, &stats, setting)
    }

    /// Returns where a node was written: (file, line, description).
    fn source(&self, py: Python<'_>, node: u32) -> PyResult<(String, u32, String)> {
        self.with_graph(py, |graph| {
            let source = &graph.node(NodeId(node)).source;
            (source.file.to_string(), source.line, graph.describe(NodeId(node)))
        })
    }

    /// Closes the session, after the requests that other threads wait for; with `gave_up`, these are interrupted. It
    /// waits as long as the peers take what was sent to them; Ctrl-C ends the wait. Returns what the session's pool has
    /// to say, if it could not be closed.
    fn close(&self, py: Python<'_>, gave_up: bool) -> PyResult<Option<String>> {
        let mut leaving = self.with(py, |session| Ok(session.leave(gave_up)))?;
        let mut interrupt = Ok(());
        while !py.detach(|| leaving.wait(TICK)) {
            if interrupt.is_ok() {
                interrupt = py.check_signals();
                if interrupt.is_err() {
                    leaving.interrupt();
                }
            }
        }
        let herald = self.herald.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner).take();
        herald.iter().for_each(|herald| herald.close(py));
        interrupt?;
        self.with(py, |session| Ok(session.complaint().map(|error| error.to_string())))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if !self.is_forked() {
            self.herald.get_mut().unwrap_or_else(PoisonError::into_inner).iter().for_each(|herald| herald.hush());
        }
    }
}
