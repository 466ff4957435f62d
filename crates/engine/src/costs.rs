//! The costs of a run: causal rounds and payload bytes, per phase and per program step.

use std::collections::BTreeMap;
use std::fmt;

/// The two phases of every program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    /// Correlations, which depend on no input.
    Offline,
    /// Everything that depends on inputs.
    Online,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Phase::Offline => "offline",
            Phase::Online => "online",
        })
    }
}

/// One party's view of one phase: causal rounds, and payload bytes sent to each peer (framing and TLS not included).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Causal rounds.
    pub rounds: u32,
    /// Payload bytes by receiver.
    pub sent: Vec<u64>,
}

impl Traffic {
    /// Creates a record of no traffic among `parties` parties.
    pub fn new(parties: usize) -> Self {
        Traffic { rounds: 0, sent: vec![0; parties] }
    }

    /// Returns the payload bytes sent to all peers together.
    pub fn bytes(&self) -> u64 {
        self.sent.iter().sum()
    }
}

/// Payload bytes that one program step sent, and the rounds after which it was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepCosts {
    /// Payload bytes to all peers together.
    pub bytes: u64,
    /// The round after which the step was done.
    pub rounds: u32,
}

/// One party's costs of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// The costs that depend on no input.
    pub offline: Traffic,
    /// The costs that depend on inputs.
    pub online: Traffic,
    /// Whether a party sent without waiting, or some parties worked without the others. If so, a dry run of one party
    /// among more than two does not give the other parties' rounds.
    pub apart: bool,
    /// The costs by step number; steps that send nothing are absent.
    pub by_step: BTreeMap<u32, StepCosts>,
    /// Bytes of opened values that the party keeps until they are checked, by step number.
    pub kept: BTreeMap<u32, u64>,
}

impl Costs {
    /// Creates a record of no costs among `parties` parties.
    pub fn new(parties: usize) -> Self {
        Costs { offline: Traffic::new(parties), online: Traffic::new(parties), ..Costs::default() }
    }

    /// Returns the costs of one phase.
    pub fn phase(&self, phase: Phase) -> &Traffic {
        match phase {
            Phase::Offline => &self.offline,
            Phase::Online => &self.online,
        }
    }

    fn phase_mut(&mut self, phase: Phase) -> &mut Traffic {
        match phase {
            Phase::Offline => &mut self.offline,
            Phase::Online => &mut self.online,
        }
    }

    /// Notes that the parties do different things from here on.
    pub(crate) fn apart(&mut self) {
        self.apart = true;
    }

    pub(crate) fn sent(&mut self, phase: Phase, to: usize, bytes: usize, step: Option<u32>) {
        self.phase_mut(phase).sent[to] += bytes as u64;
        if let Some(id) = step {
            self.by_step.entry(id).or_default().bytes += bytes as u64;
        }
    }

    /// Adds the costs of another worker of the party.
    pub(crate) fn add(&mut self, other: Costs) {
        for (sum, traffic) in [(&mut self.offline, other.offline), (&mut self.online, other.online)] {
            sum.rounds = sum.rounds.max(traffic.rounds);
            sum.sent.iter_mut().zip(traffic.sent).for_each(|(sum, sent)| *sum += sent);
        }
        self.apart |= other.apart;
        for (step, costs) in other.by_step {
            let sum = self.by_step.entry(step).or_default();
            *sum = StepCosts { bytes: sum.bytes + costs.bytes, rounds: sum.rounds.max(costs.rounds) };
        }
        for (step, bytes) in other.kept {
            *self.kept.entry(step).or_default() += bytes;
        }
    }

    pub(crate) fn kept(&mut self, phase: Phase, bytes: usize, step: Option<u32>) {
        // Openings in the making of correlations are checked as these are made.
        if let (Phase::Online, Some(id)) = (phase, step) {
            *self.kept.entry(id).or_default() += bytes as u64;
        }
    }

    pub(crate) fn reached(&mut self, phase: Phase, depth: u32, step: Option<u32>) {
        let traffic = self.phase_mut(phase);
        traffic.rounds = traffic.rounds.max(depth);
        if let Some(id) = step {
            let entry = self.by_step.entry(id).or_default();
            entry.rounds = entry.rounds.max(depth);
        }
    }
}
