//! The measured costs of runs, and the progress of the current one.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use quorate_engine::clock::own_seconds;
use quorate_engine::{JobSeconds, Making, Phase, Traffic};

use crate::plan::Predicted;
use crate::plan::lines::{Line, LineCosts};

/// The measured costs of one phase at one party.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PhaseStats {
    /// Wall-clock seconds from the phase's start to its end.
    pub seconds: f64,
    /// Seconds for which the party's thread had a core.
    pub own_seconds: f64,
    /// Causal rounds.
    pub rounds: u64,
    /// Payload bytes.
    pub bytes_sent: u64,
    /// Bytes including framing, handshakes, credit and TLS.
    pub wire_bytes: u64,
}

impl PhaseStats {
    pub(crate) fn add(&mut self, traffic: &Traffic, (elapsed, own_seconds): (Duration, f64), wire_bytes: u64) {
        self.seconds += elapsed.as_secs_f64();
        self.own_seconds += own_seconds;
        self.rounds += u64::from(traffic.rounds);
        self.bytes_sent += traffic.bytes();
        self.wire_bytes += wire_bytes;
    }

    fn merge(&mut self, other: &PhaseStats) {
        self.seconds += other.seconds;
        self.own_seconds += other.own_seconds;
        self.rounds += other.rounds;
        self.bytes_sent += other.bytes_sent;
        self.wire_bytes += other.wire_bytes;
    }
}

/// The clocks of a phase: wall-clock time and the thread's own time.
pub(crate) struct Watch {
    started: Instant,
    own_seconds: f64,
}

impl Watch {
    pub fn start() -> Watch {
        Watch { started: Instant::now(), own_seconds: own_seconds() }
    }

    pub fn read(&self) -> (Duration, f64) {
        (self.started.elapsed(), own_seconds() - self.own_seconds)
    }
}

/// The measured and predicted costs of one run at one party.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunStats {
    /// The making of correlations, which does not depend on values.
    pub offline: PhaseStats,
    /// The rest of the run, which depends on values.
    pub online: PhaseStats,
    /// Correlations made, by kind.
    pub correlations: BTreeMap<String, u64>,
    /// The measured online phase by the user's line.
    pub by_line: BTreeMap<Line, LineCosts>,
    /// The prediction of the same run by its dry run.
    pub predicted: Predicted,
}

impl RunStats {
    /// Counts the making of correlations that the online phase waited for as part of the offline phase.
    pub(crate) fn count_offline(&mut self, making: &Making) {
        self.offline.seconds += making.seconds;
        self.offline.own_seconds += making.own_seconds;
        self.online.seconds -= making.seconds;
        self.online.own_seconds -= making.own_seconds;
    }
}

impl RunStats {
    /// Adds the seconds of jobs that ran beside the party's own thread in each phase. Correlations that jobs make
    /// within the online phase belong to the offline phase.
    pub(crate) fn count_jobs(&mut self, [offline, online]: [&JobSeconds; 2]) {
        let within = |phase: Phase| online.apart[phase as usize];
        self.offline.own_seconds += offline.apart.iter().sum::<f64>() + within(Phase::Offline);
        self.online.own_seconds += within(Phase::Online);
    }
}

/// The costs of all runs of a session so far, for each party of this process.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    /// The sums over all runs, by the party's number.
    pub parties: BTreeMap<usize, RunStats>,
    /// Seconds of both phases, added up over all runs: see [`seconds_of_run`].
    pub seconds: [f64; 2],
    /// The number of runs.
    pub runs: u64,
}

/// Returns the seconds of both phases of a run, given those of each party of this process, which began together. The
/// offline phase lasts until the slowest party is done with it, and the online phase from then on.
fn seconds_of_run(parties: &[[f64; 2]]) -> [f64; 2] {
    let latest = |of: fn(&[f64; 2]) -> f64| parties.iter().map(of).fold(0.0, f64::max);
    let offline = latest(|[offline, _]| *offline);
    [offline, latest(|[offline, online]| offline + online) - offline]
}

impl Stats {
    /// Adds the seconds that the phases of a run took at each party of this process.
    pub(crate) fn took(&mut self, parties: &[[f64; 2]]) {
        let run = seconds_of_run(parties);
        self.seconds.iter_mut().zip(run).for_each(|(sum, seconds)| *sum += seconds);
    }

    pub(crate) fn add(&mut self, party: usize, run: &RunStats) {
        let total = self.parties.entry(party).or_default();
        total.offline.merge(&run.offline);
        total.online.merge(&run.online);
        for (kind, count) in &run.correlations {
            *total.correlations.entry(kind.clone()).or_default() += count;
        }
        for (line, costs) in &run.by_line {
            total.by_line.entry(line.clone()).or_default().add(costs);
        }
        total.predicted.add(&run.predicted);
    }
}

/// The progress of a run at one party; another thread reads and shows it.
#[derive(Debug, Default)]
pub struct Progress {
    phase: AtomicU8,
    expected: AtomicU64,
    /// The counter of the bytes that the party has sent in the run.
    sent: OnceLock<Arc<AtomicU64>>,
}

impl Progress {
    /// Sets the counter of the bytes that the party sends in the run, which has begun.
    pub(crate) fn counts(&self, sent: Arc<AtomicU64>) {
        self.sent.get_or_init(|| sent);
    }

    /// Returns the payload bytes that the party has sent in the run.
    pub(crate) fn sent(&self) -> u64 {
        self.sent.get().map_or(0, |sent| sent.load(Ordering::Relaxed))
    }

    pub(crate) fn enter(&self, phase: Phase, expected_bytes: u64) {
        self.expected.store(expected_bytes, Ordering::Relaxed);
        self.phase.store(1 + phase as u8, Ordering::Relaxed);
    }

    /// Returns the current phase and the payload bytes that the run will have sent at its end; `None` before the first
    /// phase.
    pub fn read(&self) -> Option<(Phase, u64)> {
        let phase = match self.phase.load(Ordering::Relaxed) {
            0 => return None,
            1 => Phase::Offline,
            _ => Phase::Online,
        };
        Some((phase, self.expected.load(Ordering::Relaxed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_of_runs_add_up() {
        let mut stats = Stats::default();
        stats.took(&[[10.0, 1.0], [2.0, 9.5]]);
        assert_eq!(stats.seconds, [10.0, 1.5], "the second waited for the first one's offline phase");
        stats.took(&[[0.5, 0.5], [3.0, 0.25]]);
        stats.took(&[]);
        assert_eq!(stats.seconds, [13.0, 1.75]);
    }
}
