//! The costs of each step of a program: its rounds, its time, and in a dry run its predicted work.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::time::Instant;

use quorate_engine::Ctx;
use quorate_graph::Source;
use quorate_ring::meter::{Effort, charged};

/// The predicted or measured costs of one step at one party.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepCost {
    /// Online payload bytes to all peers.
    pub bytes: u64,
    /// The rounds after which it began and ended; a value and its reveal may be rounds apart.
    pub rounds: Vec<(u32, u32)>,
    /// When it began and ended, in seconds of its phase; waiting for peers and for other steps included.
    pub spans: Vec<(f64, f64)>,
    /// Seconds in which the party's thread worked on it.
    pub busy_seconds: f64,
    /// The work that a dry run counted.
    pub work: Effort,
    /// Correlations that it draws, by kind.
    pub correlations: BTreeMap<String, u64>,
    /// Bytes of this party's shares of its value, and of its correlations.
    pub memory_bytes: u64,
}

impl StepCost {
    /// Returns whether it takes part in any exchange.
    pub fn talks(&self) -> bool {
        self.bytes > 0 || self.rounds.iter().any(|(begun, done)| begun < done)
    }
}

/// The costs of the steps of a run: single steps for those that talk, sums by the user's line for all others. So
/// programs of many small steps take little memory here.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    pub talking: BTreeMap<u32, StepCost>,
    pub local: BTreeMap<Source, LocalCost>,
}

/// The costs of steps that send nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LocalCost {
    pub busy_seconds: f64,
    pub work: Effort,
    pub memory_bytes: u64,
}

impl Taken {
    /// Adds the seconds that jobs took for steps, by step number.
    pub fn add_jobs(&mut self, seconds: &BTreeMap<u32, f64>) {
        for (id, seconds) in seconds {
            self.talking.entry(*id).or_default().busy_seconds += seconds;
        }
    }

    /// Returns the entry of the local steps of a line.
    pub fn line(&mut self, line: &Source) -> &mut LocalCost {
        self.local.entry(line.clone()).or_default()
    }
}

/// The clock of one phase.
pub(crate) struct Clock {
    started: Instant,
    steps: RefCell<Taken>,
}

impl Clock {
    pub fn start() -> Clock {
        Clock { started: Instant::now(), steps: RefCell::default() }
    }

    /// Runs a part of step `id`, whose operands exist, and counts its costs; those of a chunk that stands for others in
    /// a dry run are multiplied.
    pub async fn time<T>(&self, ctx: &Ctx, id: u32, work: impl Future<Output = T>) -> T {
        let (begun, since) = (ctx.depth(), self.started.elapsed().as_secs_f64());
        let mut work = pin!(work);
        let done = poll_fn(|context| {
            let (clock, tally) = (Instant::now(), charged());
            let polled = work.as_mut().poll(context);
            let steps = &mut self.steps.borrow_mut().talking;
            let step = steps.entry(id).or_default();
            let times = ctx.counted_times();
            step.busy_seconds += clock.elapsed().as_secs_f64() * times as f64;
            step.work += (charged() - tally).times(times);
            polled
        })
        .await;
        if let Some(step) = self.steps.borrow_mut().talking.get_mut(&id) {
            step.rounds.push((begun, ctx.depth()));
            step.spans.push((since, self.started.elapsed().as_secs_f64()));
        }
        done
    }

    /// Runs a step of this line that sends nothing, and counts its costs.
    pub fn time_local<T>(&self, line: &Source, work: impl FnOnce() -> T) -> T {
        let (clock, tally) = (Instant::now(), charged());
        let done = work();
        let steps = &mut self.steps.borrow_mut();
        let step = steps.line(line);
        step.busy_seconds += clock.elapsed().as_secs_f64();
        step.work += charged() - tally;
        done
    }

    pub fn into_steps(self) -> Taken {
        self.steps.into_inner()
    }
}

/// Returns the length of the union of the intervals.
pub(crate) fn covered(mut spans: Vec<(f64, f64)>) -> f64 {
    spans.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut sum, mut end) = (0.0, f64::NEG_INFINITY);
    for (from, to) in spans {
        sum += (to - from.max(end)).max(0.0);
        end = end.max(to);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::covered;

    #[test]
    fn overlaps_count_once() {
        assert_eq!(covered(vec![]), 0.0);
        assert_eq!(covered(vec![(3.0, 5.0), (0.0, 1.0), (4.0, 6.0), (4.5, 5.0)]), 4.0);
        assert_eq!(covered(vec![(0.0, 9.0), (2.0, 2.0), (9.0, 9.5)]), 9.5);
    }
}
