//! Plans and statistics as dictionaries, with prices in seconds.

use std::collections::BTreeMap;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use quorate_engine::Phase;
use quorate_graph::NodeId;
use quorate_session::{
    Chosen, LineCosts, PhaseStats, Plan, Predicted, Price, Pricing, RunStats, Setting, StepPlan, Told,
};

use crate::pools::Content;

const PHASES: [(&str, Phase); 2] = [("offline", Phase::Offline), ("online", Phase::Online)];

fn set_price(entry: &Bound<'_, PyDict>, price: Price) -> PyResult<()> {
    entry.set_item("compute_seconds", price.compute_seconds)?;
    entry.set_item("network_seconds", price.network_seconds)
}

/// Adds predicted rounds, bytes and seconds of both phases.
fn set_phases<'py>(out: &Bound<'py, PyDict>, pricing: &Pricing, parties: &[&Predicted]) -> PyResult<()> {
    for (name, phase) in PHASES {
        let entry = PyDict::new(out.py());
        let rounds = parties.iter().map(|p| p.phase(phase).traffic.rounds).max().unwrap_or(0);
        let bytes: Vec<u64> = parties.iter().map(|p| p.phase(phase).traffic.bytes()).collect();
        entry.set_item("rounds", rounds)?;
        entry.set_item("bytes_sent", bytes)?;
        let price = pricing.phase(phase, parties);
        set_price(&entry, price)?;
        entry.set_item("bookkeeping_seconds", price.bookkeeping_seconds)?;
        out.set_item(name, entry)?;
    }
    Ok(())
}

/// Returns a line's costs for these parties.
fn line<'py>(py: Python<'py>, parties: &[&LineCosts], price: Option<Price>) -> PyResult<Bound<'py, PyDict>> {
    let entry = PyDict::new(py);
    entry.set_item("rounds", parties.iter().map(|line| line.rounds).max().unwrap_or(0))?;
    entry.set_item("bytes_sent", parties.iter().map(|line| line.bytes).collect::<Vec<_>>())?;
    if let Some(first) = parties.first() {
        entry.set_item("correlations", first.correlations.clone())?;
        entry.set_item("memory_bytes", first.memory_bytes)?;
    }
    match price {
        Some(price) => set_price(&entry, price)?,
        None => {
            let most = |of: fn(&LineCosts) -> f64| parties.iter().map(|line| of(line)).fold(0.0, f64::max);
            entry.set_item("seconds", most(|line| line.seconds))?;
            entry.set_item("busy_seconds", most(|line| line.busy_seconds))?;
        }
    }
    Ok(entry)
}

/// Returns the lines of dry runs, with (file, number).
fn predicted_lines<'py>(py: Python<'py>, pricing: &Pricing, parties: &[&Predicted]) -> PyResult<Bound<'py, PyList>> {
    let out = PyList::empty(py);
    let nothing = LineCosts::default();
    let all: std::collections::BTreeSet<_> = parties.iter().flat_map(|party| party.by_line.keys()).collect();
    for key in all {
        let each: Vec<&LineCosts> = parties.iter().map(|party| party.by_line.get(key).unwrap_or(&nothing)).collect();
        out.append((key.clone(), line(py, &each, Some(pricing.line(&each)))?))?;
    }
    Ok(out)
}

fn step<'py>(
    py: Python<'py>,
    pricing: &Pricing,
    step: &StepPlan,
    chosen: Option<&Chosen>,
) -> PyResult<Bound<'py, PyDict>> {
    let entry = PyDict::new(py);
    entry.set_item("what", &step.what)?;
    entry.set_item("line", (&step.file, step.line))?;
    entry.set_item("bytes_sent", step.bytes_sent.clone())?;
    entry.set_item("rounds", step.rounds.clone())?;
    entry.set_item("correlations", step.correlations.clone())?;
    entry.set_item("compute_seconds", pricing.compute(step.work.iter().copied()))?;
    entry.set_item("sharing", chosen.map(|chosen| chosen.domain.to_string()))?;
    let rival = chosen.and_then(|chosen| chosen.rival);
    entry.set_item("runner_up", rival.map(|(domain, seconds)| (domain.to_string(), seconds)))?;
    Ok(entry)
}

fn told<'py>(py: Python<'py>, told: &Told) -> PyResult<Bound<'py, PyDict>> {
    let entry = PyDict::new(py);
    entry.set_item("what", &told.what)?;
    entry.set_item("shape", told.shape.clone())?;
    entry.set_item("dtype", &told.dtype)?;
    entry.set_item("to", told.to.clone())?;
    entry.set_item("depends_on", told.owners.clone())?;
    entry.set_item("inputs_of", told.own.clone())?;
    entry.set_item("clients", told.clients)?;
    entry.set_item("inputs_of_clients", told.own_clients)?;
    Ok(entry)
}

/// Returns a plan, priced in a setting where each party computes on this number of threads.
pub(crate) fn plan<'py>(
    py: Python<'py>,
    plan: &Plan,
    setting: Setting,
    threads: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let pricing = py.detach(|| Pricing::at(setting).on(threads));
    let out = PyDict::new(py);
    let parties: Vec<&Predicted> = plan.parties.iter().collect();
    set_phases(&out, &pricing, &parties)?;
    out.set_item("correlations", plan.correlations.clone())?;
    out.set_item("memory_bytes", plan.memory_bytes)?;
    out.set_item("refusal", plan.refusal.clone())?;
    let t = plan.truncations;
    let mut sharings: BTreeMap<String, usize> = BTreeMap::new();
    plan.chosen.values().for_each(|chosen| *sharings.entry(chosen.domain.to_string()).or_default() += 1);
    out.set_item("sharings", sharings)?;
    let told: PyResult<Vec<_>> = plan.told.iter().map(|told| self::told(py, told)).collect();
    out.set_item("reveals", told?)?;
    out.set_item("program", plan.hash.map(|hash| hash.to_string()))?;
    out.set_item("truncations", (t.exact, t.probabilistic, t.assumed, t.failure_probability))?;
    let orders: Vec<(&str, u32, usize)> = plan.orders.iter().map(|o| (o.file.as_str(), o.line, o.rows)).collect();
    out.set_item("orders", orders)?;
    let steps: PyResult<Vec<_>> =
        plan.steps.iter().map(|s| step(py, &pricing, s, plan.chosen.get(&NodeId(s.node)))).collect();
    out.set_item("steps", steps?)?;
    out.set_item("lines", predicted_lines(py, &pricing, &parties)?)?;
    let content = plan.content.clone().map(|content| Py::new(py, Content(content))).transpose()?;
    out.set_item("content", content)?;
    out.set_item("executed", plan.executed.iter().map(|id| id.0).collect::<Vec<_>>())?;
    Ok(out)
}

fn phase_stats<'py>(py: Python<'py>, stats: &PhaseStats) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("seconds", stats.seconds)?;
    out.set_item("rounds", stats.rounds)?;
    out.set_item("bytes_sent", stats.bytes_sent)?;
    out.set_item("wire_bytes", stats.wire_bytes)?;
    Ok(out)
}

/// Returns the costs of runs, for each party of this process; and their prediction, for these parties together.
pub(crate) fn stats<'py>(
    py: Python<'py>,
    stats: &quorate_session::Stats,
    setting: Setting,
) -> PyResult<Bound<'py, PyDict>> {
    let (out, measured) = (PyDict::new(py), PyDict::new(py));
    for (&party, run) in &stats.parties {
        let entry = PyDict::new(py);
        entry.set_item("offline", phase_stats(py, &run.offline)?)?;
        entry.set_item("online", phase_stats(py, &run.online)?)?;
        entry.set_item("correlations", run.correlations.clone())?;
        measured.set_item(party, entry)?;
    }
    out.set_item("measured", measured)?;
    out.set_item("offline_seconds", stats.seconds[0])?;
    out.set_item("online_seconds", stats.seconds[1])?;
    let runs: Vec<&RunStats> = stats.parties.values().collect();
    if runs.is_empty() {
        return Ok(out);
    }
    let pricing = py.detach(|| Pricing::at(setting));
    for (name, of) in [("offline", (|run| &run.offline) as fn(&RunStats) -> &PhaseStats), ("online", |run| &run.online)]
    {
        let computed = pricing.computed(runs.iter().map(|run| of(run).own_seconds));
        out.set_item(format!("{name}_compute_seconds"), computed)?;
    }
    let of_runs: Vec<&Predicted> = runs.iter().map(|run| &run.predicted).collect();
    let predicted = PyDict::new(py);
    set_phases(&predicted, &pricing, &of_runs)?;
    predicted.set_item("lines", predicted_lines(py, &pricing, &of_runs)?)?;
    out.set_item("predicted", predicted)?;
    let (lines, nothing) = (PyList::empty(py), LineCosts::default());
    let all: std::collections::BTreeSet<_> = runs.iter().flat_map(|run| run.by_line.keys()).collect();
    for key in all {
        let each: Vec<&LineCosts> = runs.iter().map(|run| run.by_line.get(key).unwrap_or(&nothing)).collect();
        lines.append((key.clone(), line(py, &each, None)?))?;
    }
    out.set_item("lines", lines)?;
    Ok(out)
}
