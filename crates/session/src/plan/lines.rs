//! Costs by the user's line: what a program's steps cost, added up where the user wrote them.

use std::collections::BTreeMap;

use quorate_graph::{Graph, NodeId, Source};
use quorate_ring::meter::Effort;

use crate::work::effort::{StepCost, Taken, covered};

/// File and number of a line.
pub type Line = (String, u32);

/// What one line costs one party, predicted or measured, in the online phase.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LineCosts {
    /// Rounds in which some step of the line is under way. Lines that do not depend on each other share rounds.
    pub rounds: u64,
    /// Payload bytes that the party sends.
    pub bytes: u64,
    /// Time in which some step of the line is under way, waiting included.
    pub seconds: f64,
    /// Time in which the party's thread works on it.
    pub busy_seconds: f64,
    /// Local work, by kind; of a prediction only.
    pub work: Effort,
    /// Correlations that it draws, by kind.
    pub correlations: BTreeMap<String, u64>,
    /// Bytes of the party's shares of its values and correlations; of a prediction only.
    pub memory_bytes: u64,
}

impl LineCosts {
    /// Another run's costs of the same line.
    pub(crate) fn add(&mut self, other: &LineCosts) {
        self.rounds += other.rounds;
        self.bytes += other.bytes;
        self.seconds += other.seconds;
        self.busy_seconds += other.busy_seconds;
        self.work += other.work;
        self.memory_bytes += other.memory_bytes;
        for (kind, count) in &other.correlations {
            *self.correlations.entry(kind.clone()).or_default() += count;
        }
    }
}

/// Adds one run's steps up by line.
pub(crate) fn by_line(graph: &Graph, steps: &Taken) -> BTreeMap<Line, LineCosts> {
    let mut groups: BTreeMap<Line, Vec<&StepCost>> = BTreeMap::new();
    let line = |source: &Source| (source.file.to_string(), source.line);
    for (&id, step) in &steps.talking {
        groups.entry(line(&graph.node(NodeId(id)).source)).or_default().push(step);
    }
    let mut lines: BTreeMap<Line, LineCosts> =
        groups.into_iter().map(|(line, steps)| (line, together(&steps))).collect();
    for (source, local) in &steps.local {
        let costs = lines.entry(line(source)).or_default();
        // They run one by one and wait for nobody.
        costs.seconds += local.busy_seconds;
        costs.busy_seconds += local.busy_seconds;
        costs.work += local.work;
        costs.memory_bytes += local.memory_bytes;
    }
    lines
}

fn together(steps: &[&StepCost]) -> LineCosts {
    let mut line = LineCosts::default();
    for step in steps {
        line.bytes += step.bytes;
        line.busy_seconds += step.busy_seconds;
        line.work += step.work;
        line.memory_bytes += step.memory_bytes;
        for (kind, count) in &step.correlations {
            *line.correlations.entry(kind.clone()).or_default() += count;
        }
    }
    let rounds = steps.iter().flat_map(|s| &s.rounds).map(|&(begun, done)| (f64::from(begun), f64::from(done)));
    line.rounds = covered(rounds.collect()) as u64;
    line.seconds = covered(steps.iter().flat_map(|s| s.spans.iter().copied()).collect());
    line
}
