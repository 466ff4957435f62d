//! The standard workloads as an iterator over rows.

use std::sync::Mutex;
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use quorate_engine::Error;

use quorate_bench::peers::{self, Peer};
use quorate_bench::{
    Bench as Inner, BenchError, Cell, Limits, Link, Machine, Measured, Outcome, PhaseFigures, Seconds,
};

use crate::errors;

/// How often a measurement under way checks for Ctrl-C.
const TICK: Duration = Duration::from_millis(10);
const LINKS: [Link; 2] = [Link::Memory, Link::Tls];

/// An iterator over the rows of the table. Each row is a dictionary, measured when it is asked for.
#[pyclass(module = "quorate._quorate", frozen)]
pub(crate) struct Bench {
    state: Mutex<State>,
}

struct State {
    bench: Option<Inner>,
    cells: std::vec::IntoIter<Cell>,
}

#[pymethods]
impl Bench {
    /// Selects the workloads `names` (all if there are none) under `protocol`. `parties` is the number of parties (by
    /// default, those that it is tested with). There may be options of the family, links (memory and TLS by default),
    /// and rings and batches (the usual ones by default).
    #[new]
    #[pyo3(signature = (names, protocol, parties, options, links, rings=vec![], batches=vec![]))]
    #[allow(clippy::too_many_arguments)] // the signature for Python
    fn new(
        py: Python<'_>,
        names: Vec<String>,
        protocol: &str,
        parties: Vec<usize>,
        options: Vec<(String, String)>,
        links: Vec<String>,
        rings: Vec<u32>,
        batches: Vec<usize>,
    ) -> PyResult<Self> {
        let opened = || {
            let (set, workloads) = quorate_bench::select_under(protocol, &names)?;
            let choices = set.choices(&options)?;
            let places = set.places(&parties)?;
            let named = |name: &String| Link::named(name).ok_or(BenchError::UnknownLinks { name: name.clone() });
            let links = links.iter().map(named).collect::<Result<Vec<_>, _>>()?;
            let links = if links.is_empty() { LINKS.to_vec() } else { links };
            let cells = quorate_bench::narrowed(quorate_bench::cells(&workloads, &places, &links), &rings, &batches)?;
            Ok(State { bench: Some(Inner::with(Limits::default(), choices)), cells: cells.into_iter() })
        };
        Ok(Bench { state: Mutex::new(opened().map_err(|error| raise(py, &error))?) })
    }

    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    /// Returns the next row. The interpreter is released meanwhile, and Ctrl-C stops the measurement.
    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let mut state =
            self.state.try_lock().map_err(|_| PyRuntimeError::new_err("a row is being measured already"))?;
        let (Some(cell), Some(bench)) = (state.cells.next(), state.bench.take()) else { return Ok(None) };
        let (bench, outcome) = measure(py, bench, cell)?;
        state.bench = Some(bench);
        row(py, &cell, &outcome.map_err(|error| raise(py, &error))?).map(Some)
    }

    /// Returns the number of rows still to come.
    fn __length_hint__(&self) -> usize {
        self.state.lock().map_or(0, |state| state.cells.len())
    }

    /// Returns what the figures depend on: processor, cores, bytes of memory.
    #[staticmethod]
    fn machine(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let machine = Machine::here();
        let out = PyDict::new(py);
        out.set_item("processor", machine.processor)?;
        out.set_item("cores", machine.cores)?;
        out.set_item("memory_bytes", machine.memory_bytes)?;
        Ok(out)
    }

    /// Returns the conditions of all peers' figures.
    #[staticmethod]
    fn peers() -> &'static str {
        peers::CONDITIONS
    }
}

type Answer = (Inner, Result<Outcome, BenchError>);

/// Measures in a separate thread, so that this one handles Ctrl-C.
fn measure(py: Python<'_>, mut bench: Inner, cell: Cell) -> PyResult<Answer> {
    let stopper = bench.stopper();
    let thread = std::thread::spawn(move || {
        let outcome = bench.measure(cell);
        (bench, outcome)
    });
    let mut interrupt = None;
    while !thread.is_finished() {
        py.detach(|| std::thread::sleep(TICK));
        if interrupt.is_none()
            && let Err(signal) = py.check_signals()
        {
            stopper.stop();
            interrupt = Some(signal);
        }
    }
    match (interrupt, thread.join()) {
        (Some(interrupt), _) => Err(interrupt),
        (None, Ok(answer)) => Ok(answer),
        (None, Err(_)) => Err(PyRuntimeError::new_err("a measurement ended unexpectedly; please report this defect")),
    }
}

fn raise(py: Python<'_>, error: &BenchError) -> PyErr {
    let class = match error {
        BenchError::UnknownWorkload { .. } | BenchError::UnknownProtocol { .. } | BenchError::UnderAnother { .. } => {
            "ConfigError"
        }
        BenchError::Option { .. } | BenchError::Choices(_) => "ConfigError",
        BenchError::UnknownLinks { .. } | BenchError::NoSuchRing { .. } | BenchError::NoCiphertexts { .. } => {
            "ConfigError"
        }
        BenchError::Setup(Error::Misuse { .. }) => "ConfigError",
        _ => "QuorateError",
    };
    errors::instance(py, class, error.to_string())
}

fn row<'py>(py: Python<'py>, cell: &Cell, outcome: &Outcome) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("workload", cell.workload.name())?;
    out.set_item("protocol", cell.set.name())?;
    out.set_item("k", cell.bits)?;
    out.set_item("parties", cell.parties)?;
    out.set_item("batch", cell.batch)?;
    out.set_item("link", cell.link.name())?;
    out.set_item("threads_per_party", 1)?;
    out.set_item("input_timed", false)?;
    out.set_item("reveal_timed", false)?;
    let (measured, skipped) = match outcome {
        Outcome::Measured(measured) => (Some(measured), None),
        Outcome::Skipped(skip) => (None, Some(skip.to_string())),
    };
    out.set_item("skipped", skipped)?;
    figures(&out, measured)?;
    out.set_item("target", peers::target(cell).map(|target| target.to_string()))?;
    out.set_item("target_reached", measured.and_then(|measured| measured.reaches(cell)))?;
    let peers: Vec<_> = peers::figures(cell).iter().map(|other| peer(py, other)).collect::<PyResult<_>>()?;
    out.set_item("peers", peers)?;
    Ok(out)
}

/// Adds the measured part of a row; every value is `None` where the cell was skipped.
fn figures(out: &Bound<'_, PyDict>, measured: Option<&Measured>) -> PyResult<()> {
    let py = out.py();
    let phases: Vec<&PhaseFigures> = measured.iter().flat_map(|m| m.offline.iter().chain(&m.online)).collect();
    out.set_item("runs", measured.map(|m| m.runs))?;
    out.set_item("seconds", measured.map(|m| seconds(py, m.seconds)).transpose()?)?;
    out.set_item("processor_seconds", measured.and_then(|m| m.processor_seconds))?;
    out.set_item("bytes_per_party", measured.map(Measured::bytes_per_party))?;
    out.set_item("rounds", measured.map(|_| phases.iter().map(|p| p.rounds).sum::<u32>()))?;
    out.set_item("results_per_second", measured.map(|m| m.results_per_second))?;
    out.set_item("offline", measured.and_then(|m| m.offline.as_ref()).map(|p| phase(py, p)).transpose()?)?;
    out.set_item("online", measured.and_then(|m| m.online.as_ref()).map(|p| phase(py, p)).transpose()?)?;
    let chain = measured.and_then(|m| m.chain.map(|(length, ping_pong)| (m.seconds.median, length, ping_pong)));
    let chain = chain.map(|(all, length, ping_pong)| {
        let entry = PyDict::new(py);
        entry.set_item("length", length)?;
        entry.set_item("seconds_per_round", all / length as f64)?;
        entry.set_item("ping_pong_seconds", ping_pong)?;
        PyResult::Ok(entry)
    });
    out.set_item("chain", chain.transpose()?)
}

fn seconds(py: Python<'_>, seconds: Seconds) -> PyResult<Bound<'_, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("median", seconds.median)?;
    out.set_item("min", seconds.min)?;
    Ok(out)
}

fn phase<'py>(py: Python<'py>, figures: &PhaseFigures) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("seconds", seconds(py, figures.seconds)?)?;
    out.set_item("rounds", figures.rounds)?;
    out.set_item("bytes_per_party", figures.bytes_per_party)?;
    out.set_item("wire_bytes_per_party", figures.wire_bytes_per_party)?;
    Ok(out)
}

fn peer<'py>(py: Python<'py>, peer: &Peer) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("name", peer.name)?;
    out.set_item("seconds", peer.seconds)?;
    out.set_item("bytes_per_party", peer.bytes_per_party)?;
    out.set_item("note", peer.note)?;
    Ok(out)
}
