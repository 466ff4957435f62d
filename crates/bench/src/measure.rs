//! Repetitions and medians. Cells that would take too long or too much memory are skipped, and their rows state this.

use std::sync::Arc;
use std::time::Instant;

use quorate_engine::{Error, Misuse, Phase};
use quorate_gadgets::Choices;
use quorate_ring::memory;

use crate::cell::{Cell, Link, Workload};
use crate::error::BenchError;
use crate::group::{Group, Stopper};
use crate::machine::processor_seconds;
use crate::memory::memory_of;
use crate::peers::Figures;
use crate::sample::Sample;
use crate::task::Task;
use crate::{peers, pingpong};

/// The least and the largest number of executions of a short cell, after a first one that does not count.
const FEWEST_RUNS: usize = 3;
const MOST_RUNS: usize = 25;
/// Seconds from which on a first execution counts and is not a warm-up; from `VERY_LONG` on it is the only one.
const LONG: f64 = 1.0;
const VERY_LONG: f64 = 4.0;
/// The number of multiplications in a chain whose length is not known yet, and the largest number.
const FIRST_CHAIN: usize = 200;
const LONGEST_CHAIN: usize = 20_000;
const CHAIN_SECONDS: f64 = 0.2;

/// The limits of a benchmark.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The largest predicted seconds of one execution of a cell.
    pub cell_seconds: f64,
    /// Seconds for which a short cell is executed repeatedly: at least 3 times, and at most 25 times.
    pub again_seconds: f64,
    /// The largest predicted bytes of all parties of a cell together.
    pub memory_bytes: f64,
    /// Seconds for the whole table; cells that are not predicted to end within them are skipped.
    pub total_seconds: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { cell_seconds: 60.0, again_seconds: 0.5, memory_bytes: (4u64 << 30) as f64, total_seconds: 540.0 }
    }
}

/// Seconds of an execution, over all executions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seconds {
    /// The median of all executions.
    pub median: f64,
    /// The shortest execution.
    pub min: f64,
}

/// The figures of one phase of a cell.
#[derive(Clone, Debug)]
pub struct PhaseFigures {
    /// Seconds from the first party's start to the last party's end.
    pub seconds: Seconds,
    /// Causal rounds.
    pub rounds: u32,
    /// Payload bytes sent by a party, on average over the parties.
    pub bytes_per_party: f64,
    /// Bytes sent by a party including framing and TLS, on average over the parties.
    pub wire_bytes_per_party: f64,
}

/// The figures of a cell.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The number of executions that count.
    pub runs: usize,
    /// The phase of correlations; `None` where the workload needs none.
    pub offline: Option<PhaseFigures>,
    /// The phase that depends on operands; `None` where only correlations are made.
    pub online: Option<PhaseFigures>,
    /// Both phases.
    pub seconds: Seconds,
    /// Processor seconds of an execution, all parties together: the median; `None` where the system does not report
    /// them.
    pub processor_seconds: Option<f64>,
    /// Results per second, by the median.
    pub results_per_second: f64,
    /// For a chain: its length, and the bare round trip on the same links in seconds.
    pub chain: Option<(usize, f64)>,
}

/// The reason why a cell was not measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Skip {
    /// Predicted seconds of one execution.
    Seconds(f64),
    /// Predicted bytes of memory.
    Memory(f64),
    /// The table's time was used up.
    TimeIsUp,
    /// The protocol does not support this with these options.
    Refused(&'static str),
}

/// The outcome of a cell.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Executed, with correct results.
    Measured(Measured),
    /// Not executed, because of a limit.
    Skipped(Skip),
}

impl Measured {
    /// Returns the seconds of an execution, or of a round of a chain.
    pub fn seconds_each(&self) -> f64 {
        self.chain.map_or(self.seconds.median, |(length, _)| self.seconds.median / length as f64)
    }

    /// Returns the payload bytes of both phases that a party sent, on average.
    pub fn bytes_per_party(&self) -> f64 {
        self.offline.iter().chain(&self.online).map(|phase| phase.bytes_per_party).sum()
    }

    /// Returns whether the target of a cell is reached; `None` where it has none.
    pub fn reaches(&self, cell: &Cell) -> Option<bool> {
        let figures = Figures {
            seconds: self.seconds_each(),
            online: self.online.as_ref().map(|online| online.seconds.median),
            bytes_per_party: self.bytes_per_party(),
            round_trip: self.chain.map(|(_, trip)| trip),
        };
        peers::target(cell).map(|target| target.holds(&figures))
    }
}

impl std::fmt::Display for Skip {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Skip::Seconds(seconds) => write!(f, "skipped: predicted to take {seconds:.0} s"),
            Skip::Memory(bytes) => write!(f, "skipped: predicted to hold {:.1} GiB", bytes / (1u64 << 30) as f64),
            Skip::Refused(why) => write!(f, "skipped: {why}"),
            Skip::TimeIsUp => f.write_str("skipped: the time for the whole table is up; select fewer workloads"),
        }
    }
}

/// Measures cells one after another. Parties stay connected as long as their number and links stay the same.
pub struct Bench {
    limits: Limits,
    choices: Choices,
    stopper: Stopper,
    group: Option<Group>,
    started: Instant,
    /// The last cell of the series, and the measured or predicted seconds of an execution.
    last: Option<(Cell, Spent)>,
}

/// The seconds of an execution. On a slow link, a small execution mostly waits, which does not grow with the work.
#[derive(Clone, Copy)]
struct Spent {
    waiting: f64,
    working: f64,
}

impl Spent {
    fn of(measured: &Measured, link: Link) -> Spent {
        let rounds: u32 = [&measured.offline, &measured.online].into_iter().flatten().map(|phase| phase.rounds).sum();
        let trip = link.shape().map_or(0.0, |shape| shape.rtt.as_secs_f64() / 2.0);
        let waiting = (f64::from(rounds) * trip).min(measured.seconds.median);
        Spent { waiting, working: measured.seconds.median - waiting }
    }

    /// Returns the seconds for `factor` times the work.
    fn scaled(self, factor: f64) -> Spent {
        Spent { working: self.working * factor, ..self }
    }

    fn total(self) -> f64 {
        self.waiting + self.working
    }
}

impl Bench {
    /// Returns a benchmark with these limits. From now on, the allocator of this process keeps freed memory
    /// ([`memory::keep_freed`]).
    pub fn new(limits: Limits) -> Bench {
        Bench::with(limits, Choices::default())
    }

    /// Returns a benchmark like [`Bench::new`], with options of the family ([`Set::choices`](crate::Set::choices)).
    pub fn with(limits: Limits, choices: Choices) -> Bench {
        memory::keep_freed();
        Bench { limits, choices, stopper: Stopper::default(), group: None, started: Instant::now(), last: None }
    }

    /// Returns a handle with which another thread stops the measurement.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Measures one cell. Cells of one series must come in ascending order, so that the next can be predicted.
    ///
    /// # Errors
    /// [`BenchError::Wrong`] for a wrong result, and any error that ends a run; the parties are set up again
    /// afterwards.
    pub fn measure(&mut self, cell: Cell) -> Result<Outcome, BenchError> {
        self.stopper.check()?;
        if let Some(skip) = self.skip(&cell) {
            return Ok(Outcome::Skipped(skip));
        }
        let measured = self.measure_anyway(cell);
        match &measured {
            Ok(measured) => self.last = Some((cell, Spent::of(measured, cell.link))),
            Err(_) => self.group = None,
        }
        measured.map(Outcome::Measured)
    }

    fn skip(&mut self, cell: &Cell) -> Option<Skip> {
        let memory = match memory_of(cell, &self.choices) {
            Err(Error::Misuse { what: Misuse::Other { what } }) => return Some(Skip::Refused(what)),
            // The measurement returns the error.
            other => other.unwrap_or(0.0),
        };
        if memory > self.limits.memory_bytes {
            return Some(Skip::Memory(memory));
        }
        let series = self.last.filter(|(last, _)| last.same_series(cell));
        let spent = series.map(|(last, spent)| spent.scaled(cell.work() / last.work()));
        let predicted = spent.map_or(0.0, Spent::total);
        if let Some(spent) = spent.filter(|_| predicted > self.limits.cell_seconds) {
            self.last = Some((*cell, spent));
            return Some(Skip::Seconds(predicted));
        }
        (self.started.elapsed().as_secs_f64() + predicted >= self.limits.total_seconds).then_some(Skip::TimeIsUp)
    }

    fn group(&mut self, cell: Cell) -> Result<&Group, BenchError> {
        let Cell { link, parties, .. } = cell;
        let set = cell.runs();
        let is_other = |group: &Group| (group.link, group.parties, group.set) != (link, parties, set);
        if self.group.as_ref().is_some_and(is_other) {
            self.group = None;
        }
        if self.group.is_none() {
            self.group = Some(Group::open(link, parties, set, &self.choices, &self.stopper)?);
        }
        self.group.as_ref().ok_or(BenchError::PartyGone { party: 0 })
    }

    fn measure_anyway(&mut self, cell: Cell) -> Result<Measured, BenchError> {
        let again_seconds = self.limits.again_seconds;
        let ping_pong = if cell.workload == Workload::Chain { Some(pingpong::seconds(cell.link)?) } else { None };
        let group = self.group(cell)?;
        let mut task = Task { cell, rounds: FIRST_CHAIN };
        if cell.workload == Workload::Chain {
            let (_, samples) = execute(group, task, |_| 1)?;
            let per_round = total(&cell, &samples[0].parties) / FIRST_CHAIN as f64;
            task.rounds = ((CHAIN_SECONDS / per_round) as usize).clamp(FIRST_CHAIN, LONGEST_CHAIN);
        }
        let (seconds, samples) = execute(group, task, |first| runs_after(first, again_seconds))?;
        group.forget(cell)?;
        Ok(summary(cell, &seconds, &samples, ping_pong.map(|trip| (task.rounds, trip))))
    }
}

/// Returns the number of executions after a first one of `first` seconds; 0 if that one counts.
fn runs_after(first: f64, again_seconds: f64) -> usize {
    match first {
        very_long if very_long > VERY_LONG => 0,
        long if long > LONG => FEWEST_RUNS - 1,
        short => ((again_seconds / short) as usize).clamp(FEWEST_RUNS, MOST_RUNS),
    }
}

/// One execution, at every party.
struct Execution {
    parties: Vec<Sample>,
    processor_seconds: Option<f64>,
}

type Samples = Vec<Execution>;

/// Runs a task repeatedly, each time with a check; returns the seconds and samples that count.
fn execute(group: &Group, task: Task, runs: impl Fn(f64) -> usize) -> Result<(Vec<f64>, Samples), BenchError> {
    let (x, y) = task.operands();
    group.share(task, &x, &y)?;
    let expected = Arc::new(task.expected(&x, &y));
    let mut samples = Vec::new();
    let once = |samples: &mut Samples| -> Result<f64, BenchError> {
        let before = processor_seconds();
        let parties = group.run(task.cell)?;
        let processor_seconds = processor_seconds().zip(before).map(|(after, before)| after - before);
        samples.push(Execution { parties, processor_seconds });
        group.check(task.cell, &expected)?;
        Ok(samples.last().map_or(0.0, |sample| total(&task.cell, &sample.parties)))
    };
    let first = once(&mut samples)?;
    let more = runs(first);
    for _ in 0..more {
        once(&mut samples)?;
    }
    if first <= LONG && more > 1 {
        samples.remove(0);
    }
    Ok((samples.iter().map(|sample| total(&task.cell, &sample.parties)).collect(), samples))
}

/// Returns the seconds of a phase, from the first party's start to the last party's end. Waiting between the phases
/// belongs to the offline phase. If no party waits in the online phase, that of one party may end before that of
/// another begins: it is as long as the longest.
fn phase_seconds(samples: &[Sample], phase: Phase) -> f64 {
    if phase == Phase::Online && samples.iter().all(|sample| sample.costs.online.rounds == 0) {
        let own = |sample: &Sample| sample.spans[1].1.saturating_duration_since(sample.spans[1].0).as_secs_f64();
        return samples.iter().map(own).fold(0.0, f64::max);
    }
    let start = |p: usize| samples.iter().map(move |s| s.spans[p].0);
    let end = samples.iter().map(|s| s.spans[phase as usize].1).max();
    let begin = match phase {
        Phase::Offline => start(0).min(),
        Phase::Online => samples.iter().map(|s| s.spans[0].1).max().filter(|_| has_offline(samples)).or(start(1).min()),
    };
    end.zip(begin).map_or(0.0, |(end, begin)| end.saturating_duration_since(begin).as_secs_f64())
}

fn has_offline(samples: &[Sample]) -> bool {
    samples.iter().any(|sample| sample.costs.offline.rounds > 0)
}

fn total(cell: &Cell, samples: &[Sample]) -> f64 {
    let offline = if has_offline(samples) { phase_seconds(samples, Phase::Offline) } else { 0.0 };
    offline + if cell.workload.is_correlation() { 0.0 } else { phase_seconds(samples, Phase::Online) }
}

fn seconds_of(mut all: Vec<f64>) -> Seconds {
    all.sort_by(f64::total_cmp);
    Seconds { median: all[all.len() / 2], min: all[0] }
}

fn figures(samples: &Samples, phase: Phase) -> PhaseFigures {
    let last = &samples[samples.len() - 1].parties;
    let average = |of: &dyn Fn(&Sample) -> u64| last.iter().map(|s| of(s) as f64).sum::<f64>() / last.len() as f64;
    PhaseFigures {
        seconds: seconds_of(samples.iter().map(|sample| phase_seconds(&sample.parties, phase)).collect()),
        rounds: last.iter().map(|s| s.costs.phase(phase).rounds).max().unwrap_or(0),
        bytes_per_party: average(&|s| s.costs.phase(phase).bytes()),
        wire_bytes_per_party: average(&|s| s.wire_bytes[phase as usize]),
    }
}

fn summary(cell: Cell, seconds: &[f64], samples: &Samples, chain: Option<(usize, f64)>) -> Measured {
    let seconds = seconds_of(seconds.to_vec());
    let processor: Option<Vec<f64>> = samples.iter().map(|sample| sample.processor_seconds).collect();
    let results = chain.map_or(cell.results(), |(rounds, _)| rounds);
    Measured {
        runs: samples.len(),
        offline: has_offline(&samples[0].parties).then(|| figures(samples, Phase::Offline)),
        online: (!cell.workload.is_correlation()).then(|| figures(samples, Phase::Online)),
        seconds,
        processor_seconds: processor.map(|all| seconds_of(all).median),
        results_per_second: results as f64 / seconds.median,
        chain,
    }
}
