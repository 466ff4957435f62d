//! The parties of a measurement: each is a thread, which keeps its shares between jobs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use quorate_engine::{Ctx, Demand, Error, Party, Phase, Result, dry};
use quorate_gadgets::{Choices, Family};
use quorate_net::{Interrupt, Net};
use quorate_protocols::Visit;
use quorate_ring::Vector;

use crate::cell::{Cell, Link};
use crate::error::{BenchError, NO_TASK};
use crate::links;
use crate::operands::{Numbers, Operands};
use crate::output::{Expected, Output};
use crate::sample::Sample;
use crate::set::Set;
use crate::task::Task;
use crate::transfers::Transfers;

/// A job that all parties do at the same time.
#[derive(Clone)]
enum Job {
    /// Shares the operands and runs the protocol dry.
    Share(Task, Arc<Numbers>),
    /// Runs the protocol once.
    Run,
    /// Opens the last result and compares it.
    Check(Arc<Expected>),
    /// Frees operands and results.
    Forget,
}

enum Answer {
    Done,
    Ran(Box<Sample>),
    Wrong(usize),
}

type Reply = (usize, std::result::Result<Answer, Error>);

/// The party that failed, with its error; `None` if its thread is gone.
type Failure = (usize, Option<Error>);

/// A handle that ends a measurement from another thread.
#[derive(Clone, Default)]
pub struct Stopper {
    raised: Arc<AtomicBool>,
    parties: Arc<Mutex<Vec<Interrupt>>>,
}

impl Stopper {
    /// Stops the current measurement, which ends with [`BenchError::Interrupted`].
    pub fn stop(&self) {
        self.raised.store(true, Ordering::SeqCst);
        self.parties.lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(Interrupt::raise);
    }

    pub(crate) fn check(&self) -> std::result::Result<(), BenchError> {
        if self.raised.load(Ordering::SeqCst) { Err(BenchError::Interrupted) } else { Ok(()) }
    }

    fn watch(&self, interrupts: Vec<Interrupt>) {
        *self.parties.lock().unwrap_or_else(PoisonError::into_inner) = interrupts;
    }
}

/// Parties that are connected and set up.
pub(crate) struct Group {
    pub link: Link,
    pub parties: usize,
    pub set: Set,
    jobs: Vec<Sender<Job>>,
    replies: Receiver<Reply>,
    threads: Vec<JoinHandle<()>>,
    stopper: Stopper,
}

impl Group {
    /// Opens links and sets up `parties` parties for the set of [`Cell::runs`].
    pub fn open(
        link: Link,
        parties: usize,
        set: Set,
        choices: &Choices,
        stopper: &Stopper,
    ) -> std::result::Result<Group, BenchError> {
        if let Set::Of(protocol) = set {
            protocol.check_parties(parties).map_err(BenchError::Setup)?;
        }
        let ends = links::open(link, parties)?;
        stopper.watch(ends.iter().map(|net| net.interrupt_handle()).collect());
        let (reply, replies) = channel();
        let start = |(me, net): (usize, Box<dyn Net>)| {
            let (sender, jobs) = channel();
            let (reply, choices) = (reply.clone(), choices.clone());
            (sender, thread::spawn(move || serve((set, choices), me, net, &jobs, &reply)))
        };
        let (jobs, threads) = ends.into_iter().enumerate().map(start).unzip();
        let group = Group { link, parties, set, jobs, replies, threads, stopper: stopper.clone() };
        group.collect().map_err(|(party, error)| group.explain(party, error, BenchError::Setup))?;
        Ok(group)
    }

    /// Shares a task's operands; every later [`Group::run`] runs that task.
    pub fn share(&self, task: Task, x: &[i64], y: &[i64]) -> std::result::Result<(), BenchError> {
        let numbers = Arc::new((task.elements(x), task.elements(y)));
        self.all(task.cell, &Job::Share(task, numbers)).map(drop)
    }

    /// Runs the task once; returns samples by party.
    pub fn run(&self, cell: Cell) -> std::result::Result<Vec<Sample>, BenchError> {
        let answers = self.all(cell, &Job::Run)?;
        let sample = |(_, answer)| if let Answer::Ran(sample) = answer { Some(*sample) } else { None };
        Ok(answers.into_iter().filter_map(sample).collect())
    }

    /// Opens the last result at every party and compares it.
    pub fn check(&self, cell: Cell, expected: &Arc<Expected>) -> std::result::Result<(), BenchError> {
        for (party, answer) in self.all(cell, &Job::Check(expected.clone()))? {
            if let Answer::Wrong(element) = answer {
                return Err(BenchError::Wrong { cell, party, element });
            }
        }
        Ok(())
    }

    /// Frees operands and results.
    pub fn forget(&self, cell: Cell) -> std::result::Result<(), BenchError> {
        self.all(cell, &Job::Forget).map(drop)
    }

    fn all(&self, cell: Cell, job: &Job) -> std::result::Result<Vec<(usize, Answer)>, BenchError> {
        self.stopper.check()?;
        for (party, jobs) in self.jobs.iter().enumerate() {
            jobs.send(job.clone()).map_err(|_| BenchError::PartyGone { party })?;
        }
        let failed = |(party, error)| self.explain(party, error, |source| BenchError::Run { cell, source });
        self.collect().map_err(failed)
    }

    /// Returns every party's answer, or the failure that caused those of the others.
    fn collect(&self) -> std::result::Result<Vec<(usize, Answer)>, Failure> {
        let (mut answers, mut failures) = (Vec::new(), Vec::new());
        for _ in 0..self.parties {
            match self.replies.recv() {
                Ok((party, Ok(answer))) => answers.push((party, answer)),
                Ok((party, Err(error))) => failures.push((party, Some(error))),
                Err(_) => return Err((0, None)),
            }
        }
        let own =
            |(_, error): &Failure| !error.as_ref().is_some_and(|error| BenchError::Setup(error.clone()).is_echo());
        let first = failures.iter().position(own).unwrap_or(0);
        answers.sort_by_key(|(party, _)| *party);
        if failures.is_empty() { Ok(answers) } else { Err(failures.swap_remove(first)) }
    }

    fn explain(&self, party: usize, error: Option<Error>, wrap: impl Fn(Error) -> BenchError) -> BenchError {
        let error = error.map_or(BenchError::PartyGone { party }, wrap);
        if error.is_interrupt() || self.stopper.check().is_err() { BenchError::Interrupted } else { error }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.jobs.clear();
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
        self.stopper.watch(Vec::new());
    }
}

/// Runs a party's thread: sets up, then does jobs until there are no more.
fn serve((set, choices): (Set, Choices), me: usize, net: Box<dyn Net>, jobs: &Receiver<Job>, reply: &Sender<Reply>) {
    const PANICKED: Error = Error::Bug { what: "a party's thread panicked" };
    let opened = catch_unwind(AssertUnwindSafe(|| open(set, choices, Party::new(net)))).unwrap_or(Err(PANICKED));
    let mut worker = match opened {
        Ok(worker) => worker,
        Err(error) => return drop(reply.send((me, Err(error)))),
    };
    let _ = reply.send((me, Ok(Answer::Done)));
    while let Ok(job) = jobs.recv() {
        let done = catch_unwind(AssertUnwindSafe(|| worker.work(job)));
        // A party that panicked leaves, so that its peers do not wait for it.
        let gone = done.is_err();
        if reply.send((me, done.unwrap_or(Err(PANICKED)))).is_err() || gone {
            return;
        }
    }
}

/// A party's data for the current task.
struct Shares<S: Family> {
    task: Task,
    operands: Operands<S>,
    demand: Demand<S::Kind>,
    output: Option<Output<S>>,
}

/// A party that does jobs.
trait Works {
    fn work(&mut self, job: Job) -> Result<Answer>;
}

fn open(set: Set, choices: Choices, party: Party) -> Result<Box<dyn Works>> {
    struct Open(Party, Choices);
    impl Visit for Open {
        type Out = Result<Box<dyn Works>>;
        fn family<F: Family>(self) -> Self::Out {
            Ok(Box::new(Worker::<F>::open(self.0, self.1)?))
        }
    }
    match set {
        Set::Of(protocol) => protocol.chosen(&choices).visit(Open(party, choices)),
        Set::Transfers => Ok(Box::new(Transfers::open(party)?)),
    }
}

impl Works for Transfers {
    fn work(&mut self, job: Job) -> Result<Answer> {
        match job {
            Job::Share(task, _) => self.begin(task)?,
            Job::Run => return self.run().map(|sample| Answer::Ran(Box::new(sample))),
            Job::Check(_) => return self.check().map(|wrong| wrong.map_or(Answer::Done, Answer::Wrong)),
            Job::Forget => self.forget(),
        }
        Ok(Answer::Done)
    }
}

struct Worker<S: Family> {
    choices: Choices,
    party: Party,
    sharing: S,
    shares: Option<Shares<S>>,
}

impl<S: Family> Works for Worker<S> {
    fn work(&mut self, job: Job) -> Result<Answer> {
        match job {
            Job::Share(task, numbers) => self.share(task, &numbers).map(|()| Answer::Done),
            Job::Run => self.run().map(|sample| Answer::Ran(Box::new(sample))),
            Job::Check(expected) => self.check(&expected),
            Job::Forget => {
                self.shares = None;
                Ok(Answer::Done)
            }
        }
    }
}

impl<S: Family> Worker<S> {
    fn open(mut party: Party, choices: Choices) -> Result<Worker<S>> {
        let mut run = party.begin_alone()?;
        let sharing = run.phase(Phase::Offline, async |ctx| S::setup(ctx, None, &choices).await)?;
        run.finish();
        Ok(Worker { choices, party, sharing, shares: None })
    }

    fn share(&mut self, task: Task, numbers: &Numbers) -> Result<()> {
        self.shares = None;
        let (me, parties, sharing) = (self.party.me(), self.party.parties(), &self.sharing);
        let demand = dry_run::<S>(task, me, parties, &self.choices)?;
        choose(sharing, task, &self.choices);
        let mut run = self.party.begin_alone()?;
        let operands = run.phase(Phase::Online, async |ctx| task.share(sharing, ctx, numbers).await)?;
        run.finish();
        self.shares = Some(Shares { task, operands, demand, output: None });
        Ok(())
    }

    fn run(&mut self) -> Result<Sample> {
        let (sharing, shares) = (&self.sharing, self.shares.as_mut().ok_or(NO_TASK)?);
        shares.output = None;
        let demand = shares.demand.clone();
        let mut run = self.party.begin_alone()?;
        let (start, wire) = (Instant::now(), run.wire_bytes());
        let mut made = None;
        if !demand.totals().is_empty() {
            let circuits = async |ctx: &Ctx| shares.task.run(sharing, ctx, &shares.operands).await;
            made = run.phase(Phase::Offline, async |ctx| sharing.prepare(ctx, demand, circuits).await)?;
        }
        let (middle, wire_offline) = (Instant::now(), run.wire_bytes());
        let output = run.phase(Phase::Online, async |ctx| shares.task.run(sharing, ctx, &shares.operands).await)?;
        let (end, wire_online) = (Instant::now(), run.wire_bytes());
        let costs = run.finish();
        sharing.forget();
        shares.output = Some(made.unwrap_or(output));
        let wire_bytes = [wire_offline - wire, wire_online - wire_offline];
        Ok(Sample { spans: [(start, middle), (middle, end)], costs, wire_bytes })
    }

    fn check(&mut self, expected: &Expected) -> Result<Answer> {
        let sharing = &self.sharing;
        let output = self.shares.as_mut().and_then(|shares| shares.output.take()).ok_or(NO_TASK)?;
        let mut run = self.party.begin_alone()?;
        let wrong = run.phase(Phase::Online, async |ctx| output.first_wrong(sharing, ctx, expected).await)?;
        run.finish();
        Ok(wrong.map_or(Answer::Done, Answer::Wrong))
    }
}

/// Chooses which of several protocols with the same result a task runs.
fn choose<S: Family>(sharing: &S, task: Task, asked: &Choices) {
    sharing.choose(&task.choices(&S::DESCRIPTOR, asked));
    sharing.set_ahead(task.garbles_ahead());
}

/// Returns the correlations that a task needs.
pub(crate) fn dry_run<S: Family>(task: Task, me: usize, parties: usize, asked: &Choices) -> Result<Demand<S::Kind>> {
    let twin = S::dry(parties, me, asked)?;
    choose(&twin, task, asked);
    let (ring, len) = task.operand_shape();
    let shapes = (Vector::shape(ring, len), Vector::shape(ring, len));
    let (phantom, _) = dry::run(me, parties, Phase::Online, async |ctx| task.share(&twin, ctx, &shapes).await)?;
    twin.record_demand();
    dry::run(me, parties, Phase::Online, async |ctx| task.run(&twin, ctx, &phantom).await)?;
    Ok(twin.take_demand())
}
