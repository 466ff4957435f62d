//! The session for Python: open, run, inspect, close.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use quorate_graph::{HashError, Network, NodeId};
use quorate_session::{
    Approved, Config, LocalOptions, Named, Options, Revealed, Session as Inner, SessionError, Setting, protocol,
    truncation,
};

use crate::costs;
use crate::errors::{busy, instance, raise, warn};
use crate::hold::{Arrays, Built, Seen};
use crate::operands::to_bytes;

/// The interval at which a running program checks for Ctrl-C and reports its progress.
const TICK: Duration = Duration::from_millis(50);

#[pyclass(module = "quorate._quorate", frozen)]
pub(crate) struct Session {
    inner: Mutex<Inner>,
    arrays: Arrays,
    /// The process that opened the session. A fork finds out that it is another one, even if another thread held the
    /// lock at the fork.
    process: u32,
}

impl Session {
    fn new(inner: Inner) -> Self {
        let process = std::process::id();
        Session { inner: Mutex::new(inner), arrays: Arrays::of(process), process }
    }

    fn take_over_released(&self, inner: &mut Inner) {
        self.arrays.take_released().into_iter().for_each(|id| inner.release(id));
    }

    /// Returns a node as an array of the user's.
    pub(crate) fn hold(&self, seen: Seen) -> Built {
        seen.held(&self.arrays)
    }

    /// Locks the session, unless another thread is running a program on it.
    ///
    /// # Errors
    /// `SessionBusy` if one is; `SessionClosed` in a fork of the process.
    pub(crate) fn lock(&self) -> PyResult<MutexGuard<'_, Inner>> {
        if self.is_forked() {
            return Err(Python::attach(|py| raise(py, &SessionError::Forked)));
        }
        match self.inner.try_lock() {
            Ok(guard) => Ok(guard),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => Err(busy()),
        }
    }
}

/// The options of a session, from Python's dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Given {
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
    fn read(self) -> Result<Options, SessionError> {
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

/// Nodes, with the receiver of each (None: all parties).
type Targets = Vec<(u32, Option<usize>)>;

/// Kind and bytes of revealed values.
type Packed<'py> = (&'static str, Bound<'py, PyBytes>);

fn nodes(targets: Targets) -> Vec<(NodeId, Option<usize>)> {
    targets.into_iter().map(|(node, to)| (NodeId(node), to)).collect()
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
    #[staticmethod]
    fn connect(py: Python<'_>, path: PathBuf, options: Given, held: Held) -> PyResult<Self> {
        let options = options.read().map_err(|error| raise(py, &error))?;
        let mut config = Config::read(&path).map_err(|error| raise(py, &error))?;
        if let Some(texts) = held.approve {
            let approved =
                Approved::read(texts).map_err(|what| instance(py, "ConfigError", format!("--approve: {what}")));
            config.approve = Some(approved?);
        }
        config.audit = held.audit.or(config.audit);
        config.sessions_before = held.sessions_before;
        config.session = Named::read(&held.session, held.is_default).map_err(|error| raise(py, &error))?;
        let stop = Arc::new(AtomicBool::new(false));
        let seen = stop.clone();
        let thread = std::thread::spawn(move || Inner::connect(&config, options, seen));
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

    #[getter]
    fn me(&self) -> PyResult<Option<usize>> {
        Ok(self.lock()?.me())
    }

    #[getter]
    fn parties(&self) -> PyResult<usize> {
        Ok(self.lock()?.parties())
    }

    #[getter]
    fn whole_bits(&self, py: Python<'_>) -> PyResult<u32> {
        let whole = self.lock()?.with_graph(|graph| graph.rules().rings.whole().bits());
        whole.map_err(|error| raise(py, &error))
    }

    #[getter]
    fn protocol(&self) -> PyResult<&'static str> {
        Ok(self.lock()?.protocol().name())
    }

    #[getter]
    fn security(&self) -> PyResult<String> {
        let inner = self.lock()?;
        Ok(inner.security())
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
        let mut inner = self.lock()?;
        self.take_over_released(&mut inner);
        let targets = nodes(targets);
        let session: &mut Inner = &mut inner;
        let warnings = py.detach(|| session.check(&targets)).map_err(|error| raise(py, &error))?;
        warnings.iter().try_for_each(|warning| warn(py, warning))?;
        let started = if units { inner.run_in_units(&targets) } else { inner.run(&targets) };
        let mut running = started.map_err(|error| raise(py, &error))?;
        let mut interrupt: Option<PyErr> = None;
        while !py.detach(|| running.wait(TICK)) {
            if interrupt.is_none() {
                let shown = match (&progress, running.progress()) {
                    (Some(show), Some((phase, share))) => {
                        show.call1((phase.to_string(), share, running.predicted_bytes())).map(|_| ())
                    }
                    _ => Ok(()),
                };
                // Ctrl-C may arrive while Python shows the progress; the parties must stop then, too.
                if let Err(signal) = shown.and_then(|()| py.check_signals()) {
                    running.interrupt();
                    interrupt = Some(signal);
                }
            }
        }
        let values = running.finish();
        if let Some(interrupt) = interrupt {
            return Err(interrupt);
        }
        let values = values.map_err(|error| raise(py, &error))?;
        let shown = |value: &Revealed| value.as_ref().map(|data| to_bytes(py, data)).transpose();
        values.iter().map(shown).collect()
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
        let mut inner = self.lock()?;
        let inner: &mut Inner = &mut inner;
        self.take_over_released(inner);
        let targets = nodes(targets);
        let before = before.map(str::parse).transpose().map_err(|e: HashError| PyValueError::new_err(e.to_string()))?;
        let assumed: Vec<NodeId> = assumed.into_iter().map(NodeId).collect();
        let plan = py.detach(|| inner.plan(&targets, &assumed, before)).map_err(|error| raise(py, &error))?;
        let setting = network.map_or(inner.setting(), |network| Setting::Apart { network: Some(network) });
        costs::plan(py, &plan, setting)
    }

    /// Returns the hash before the first run of a session, in a process that had `sessions_before` sessions before it;
    /// used for plans.
    fn start_of_session(&self, sessions_before: usize) -> PyResult<String> {
        Ok(self.lock()?.start_of_session(sessions_before).to_string())
    }

    /// Returns the costs of all runs so far and their prediction, for the parties of this process.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let inner = self.lock()?;
        costs::stats(py, inner.stats(), inner.setting())
    }

    /// Returns where a node was written: (file, line, description).
    fn source(&self, py: Python<'_>, node: u32) -> PyResult<(String, u32, String)> {
        let look = |graph: &quorate_graph::Graph| {
            let source = &graph.node(NodeId(node)).source;
            (source.file.to_string(), source.line, graph.describe(NodeId(node)))
        };
        self.lock()?.with_graph(look).map_err(|error| raise(py, &error))
    }

    /// Closes the session. It waits as long as the peers take what was sent to them; Ctrl-C ends the wait.
    fn close(&self, py: Python<'_>, gave_up: bool) -> PyResult<()> {
        let mut inner = self.lock()?;
        let mut leaving = inner.leave(gave_up);
        let mut interrupt = Ok(());
        while !py.detach(|| leaving.wait(TICK)) {
            if interrupt.is_ok() {
                interrupt = py.check_signals();
                if interrupt.is_err() {
                    leaving.interrupt();
                }
            }
        }
        interrupt
    }
}
