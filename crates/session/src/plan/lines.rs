//! Costs by the user's line: the costs of a program's steps, added up for each line that made them.

use std::collections::BTreeMap;

use quorate_graph::{Graph, NodeId, Source};
use quorate_ring::meter::Effort;

use crate::work::effort::{StepCost, Taken, covered};

/// A file and the number of a line.
pub type Line = (String, u32);

/// The predicted or measured costs of one line for one party, in the online phase.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LineCosts {
    /// Rounds in which some step of the line is under way. Lines that do not depend on each other share rounds.
    pub rounds: u64,
    /// Payload bytes that the party sends.
    pub bytes: u64,
    /// Seconds in which some step of the line is under way, waiting included.
    pub seconds: f64,
    /// Seconds in which the party's thread works on the line.
    pub busy_seconds: f64,
    /// Local work, by kernel; for predictions only.
    pub work: Effort,
    /// Correlations that the line draws, by kind.
    pub correlations: BTreeMap<String, u64>,
    /// Bytes of the party's shares of the line's values and correlations; for predictions only.
    pub memory_bytes: u64,
}

impl LineCosts {
    /// Adds another run's costs of the same line.
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
        // Local steps run one after another and wait for no messages.
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
