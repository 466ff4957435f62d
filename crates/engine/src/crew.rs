//! The workers of a party: threads that run jobs beside the session's own thread.
//!
//! A *job* is the work of one lane. Whichever worker is idle takes the oldest job, makes its future, and polls it to
//! its end: a future never moves between threads. The session's thread is a worker, too, and the only one that touches
//! the links. The others hand it whole frames, in order; a lane lives on one worker, so its messages stay in order.
//!
//! A worker that waits for messages takes no more than its share of the jobs of a stream. Otherwise one that waits for
//! the session's thread, which passes messages on between its own jobs, would take them all.
//!
//! Lanes name everything that is drawn, so results, payload bytes and rounds do not depend on the number of workers,
//! which each party chooses for itself.
//!
//! A run ends on all workers before the table of lanes is cleared ([`Crew::settle`]): no job meets the next run.

use quorate_sync::atomic::{AtomicBool, Ordering};
use quorate_sync::thread::{JoinHandle, Thread};
use quorate_sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::any::Any;
use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Poll, Wake, Waker};

use quorate_net::Interrupt;
use quorate_ring::memory::guarded;

use crate::bell::{Bell, Child};
use crate::costs::{Costs, Phase};
use crate::depth::Depth;
use crate::error::Error;
use crate::job_clock::JobSeconds;
use crate::lane::LaneId;
use crate::scheduler::Core;

/// The future of a job. It hands its result to the lane that waits for the job.
pub(crate) type Task = Pin<Box<dyn Future<Output = ()>>>;

/// Makes the future of a job on the worker that runs it.
type Begin = Box<dyn FnOnce(&Rc<Core>) -> Task + Send>;

/// A job that waits for a worker.
pub(crate) struct Job {
    /// The lane whose stream the job is a chunk of.
    pub of: LaneId,
    pub work: Begin,
}

/// The reason why a job has no result.
pub(crate) enum Failure {
    Error(Error),
    Panic(Box<dyn Any + Send>),
}

/// The jobs of one worker that are under way.
pub(crate) struct Running {
    bell: Arc<Bell>,
    tasks: BTreeMap<usize, (LaneId, Child<'static, ()>)>,
    next: usize,
    rung: Vec<usize>,
}

impl Running {
    /// Returns the state of no jobs; `waker` is woken when a job can go on.
    pub fn new(waker: &Waker) -> Running {
        let bell = Bell::new();
        bell.listen(waker);
        Running { bell, tasks: BTreeMap::new(), next: 0, rung: Vec::new() }
    }

    /// Begins a job, which makes its future when it is polled first.
    pub fn begin(&mut self, core: &Rc<Core>, job: Job) {
        let (core, Job { of, work }) = (core.clone(), job);
        let whole = async move {
            work(&core).await;
            Ok(())
        };
        let task = Child::new(&self.bell, self.next, Rc::default(), Box::pin(whole));
        self.tasks.insert(self.next, (of, task));
        self.next += 1;
    }

    /// Polls the jobs that can go on. Returns whether there were any, and the lanes of those that ended.
    ///
    /// # Errors
    /// A panic of a job, or a lack of memory.
    pub fn poll(&mut self) -> std::result::Result<(bool, Vec<LaneId>), Failure> {
        self.bell.take(&mut self.rung);
        let mut ended = Vec::new();
        for index in &self.rung {
            let Some((of, task)) = self.tasks.get_mut(index) else { continue };
            match catch_unwind(AssertUnwindSafe(|| guarded(|| task.poll()))) {
                Ok(Ok(Poll::Pending)) => {}
                Ok(Ok(Poll::Ready(_))) => {
                    ended.push(*of);
                    self.tasks.remove(index);
                }
                Ok(Err(short)) => return Err(Failure::Error(Error::OutOfMemory { bytes: short.bytes as u64 })),
                Err(panic) => return Err(Failure::Panic(panic)),
            }
        }
        Ok((!self.rung.is_empty(), ended))
    }

    /// Drops all jobs.
    ///
    /// # Errors
    /// A panic of a destructor.
    fn drop_all(&mut self) -> std::result::Result<(), Failure> {
        let tasks = std::mem::take(&mut self.tasks);
        catch_unwind(AssertUnwindSafe(|| drop(tasks))).map_err(Failure::Panic)
    }
}

/// Wakes one worker's thread.
struct ThreadWaker {
    rang: AtomicBool,
    thread: Thread,
}

impl Wake for ThreadWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.rang.swap(true, Ordering::SeqCst) {
            self.thread.unpark();
        }
    }
}

/// The state that a party's workers share, besides the table of lanes.
pub(crate) struct Crew {
    state: Mutex<State>,
    /// Signalled when a worker has dropped its jobs.
    settled: Condvar,
    /// Wakes the session's thread.
    first: Interrupt,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    /// The jobs of each stream, by its lane.
    streams: BTreeMap<LaneId, Stream>,
    workers: Vec<Worker>,
    /// Frames for the links, in order.
    outgoing: Vec<(usize, Vec<u8>)>,
    sums: Option<Sums>,
    seconds: JobSeconds,
    failure: Option<Failure>,
    /// The run is over: jobs are dropped.
    is_settling: bool,
    is_closed: bool,
}

struct Worker {
    waker: Arc<ThreadWaker>,
    is_parked: bool,
    jobs: usize,
}

impl Worker {
    fn is_idle(&self) -> bool {
        self.is_parked && !self.waker.rang.load(Ordering::SeqCst)
    }
}

/// The jobs of a stream that have not ended.
#[derive(Default)]
struct Stream {
    waiting: usize,
    /// By worker; that of the session's thread is [`FIRST`].
    under_way: BTreeMap<usize, usize>,
}

impl Stream {
    /// Returns whether a worker, one of `workers`, has less than its share under way: an equal part of all, rounded up.
    ///
    /// If a job waits, some worker has less, and is awake or is woken. So a job may wait for a worker that computes,
    /// but never for a message: jobs of all parties begin, whatever their numbers of workers.
    fn admits(&self, number: usize, workers: usize) -> bool {
        let all = self.waiting + self.under_way.values().sum::<usize>();
        self.under_way.get(&number).copied().unwrap_or_default() < all.div_ceil(workers)
    }
}

/// The number of the session's thread among the workers. The others count from 0.
const FIRST: usize = usize::MAX;

impl State {
    fn add(&mut self, job: Job) {
        self.streams.entry(job.of).or_default().waiting += 1;
        self.jobs.push_back(job);
    }

    /// Returns the place of the oldest job that a worker may take.
    fn place_of_job_for(&self, number: usize) -> Option<usize> {
        if self.is_settling {
            return None;
        }
        let workers = self.workers.len() + 1;
        // Jobs of a stream mostly lie side by side.
        let mut refused = None;
        self.jobs.iter().position(|job| {
            let admits = refused != Some(job.of)
                && self.streams.get(&job.of).is_none_or(|stream| stream.admits(number, workers));
            refused = (!admits).then_some(job.of);
            admits
        })
    }

    /// Takes the oldest job that a worker may take.
    fn take_job_for(&mut self, number: usize) -> Option<Job> {
        let job = self.jobs.remove(self.place_of_job_for(number)?)?;
        let stream = self.streams.entry(job.of).or_default();
        stream.waiting -= 1;
        *stream.under_way.entry(number).or_default() += 1;
        Some(job)
    }

    /// Notes that jobs of a worker have ended, by the lanes of their streams.
    fn end(&mut self, number: usize, ended: &[LaneId]) {
        for of in ended {
            let Some(stream) = self.streams.get_mut(of) else { continue };
            stream.under_way.entry(number).and_modify(|jobs| *jobs -= 1);
            stream.under_way.retain(|_, jobs| *jobs > 0);
            if stream.waiting == 0 && stream.under_way.is_empty() {
                self.streams.remove(of);
            }
        }
    }

    /// Returns the waker of an idle worker that may take a job that waits.
    fn idle_worker(&mut self) -> Option<Arc<ThreadWaker>> {
        if self.is_settling || self.jobs.is_empty() {
            return None;
        }
        let mut idle = (0..self.workers.len()).filter(|&number| self.workers[number].is_idle());
        let number = idle.find(|&number| self.place_of_job_for(number).is_some())?;
        self.workers[number].is_parked = false;
        Some(self.workers[number].waker.clone())
    }
}

/// The costs of jobs that have ended, and the deepest points that they reached in each phase.
pub(crate) struct Sums {
    pub costs: Costs,
    pub deepest: [Depth; 2],
}

/// The next action of an idle worker.
enum Next {
    Begin(Job),
    /// Some of its jobs can go on.
    GoOn,
    DropAll,
    End,
}

impl Crew {
    /// Returns a crew without workers, whose frames go to the links that `first` interrupts.
    pub fn new(first: Interrupt) -> Arc<Crew> {
        Arc::new(Crew { state: Mutex::default(), settled: Condvar::new(), first })
    }

    /// Adds a worker whose state `core` makes on its thread.
    ///
    /// # Errors
    /// Where the system has no thread.
    pub fn add(
        self: &Arc<Crew>,
        name: String,
        core: impl FnOnce() -> Rc<Core> + Send + 'static,
    ) -> std::io::Result<JoinHandle<()>> {
        let crew = self.clone();
        quorate_sync::thread::Builder::new().name(name).spawn(move || {
            let waker = Arc::new(ThreadWaker { rang: AtomicBool::new(false), thread: quorate_sync::thread::current() });
            let number = {
                let mut state = crew.lock();
                state.workers.push(Worker { waker: waker.clone(), is_parked: false, jobs: 0 });
                state.workers.len() - 1
            };
            crew.work(number, &waker, &core());
        })
    }

    /// Runs jobs on this thread until the crew is closed.
    fn work(&self, number: usize, waker: &Arc<ThreadWaker>, core: &Rc<Core>) {
        let mut running = Running::new(&Waker::from(waker.clone()));
        loop {
            let next = match running.poll() {
                Err(failure) => {
                    self.fail(failure);
                    Next::DropAll
                }
                Ok((true, ended)) => self.go_on(number, &ended),
                Ok((false, _)) => match self.job(number) {
                    Some(job) => Next::Begin(job),
                    None if core.lets_lanes_go_on() => Next::GoOn,
                    None => self.next(number, waker),
                },
            };
            match next {
                Next::Begin(job) => running.begin(core, job),
                Next::GoOn => {}
                Next::DropAll => {
                    running.drop_all().unwrap_or_else(|failure| self.fail(failure));
                    core.drop_lanes();
                    self.lock().workers[number].jobs = 0;
                    self.settled.notify_all();
                }
                Next::End => return,
            }
        }
    }

    /// Notes that some jobs of a worker ended. The others go on, unless jobs are being dropped.
    fn go_on(&self, number: usize, ended: &[LaneId]) -> Next {
        let mut state = self.lock();
        state.end(number, ended);
        state.workers[number].jobs -= ended.len();
        if state.is_settling && state.workers[number].jobs > 0 { Next::DropAll } else { Next::GoOn }
    }

    /// Returns the oldest job for a worker, unless it has its share, or jobs are being dropped.
    fn job(&self, number: usize) -> Option<Job> {
        let mut state = self.lock();
        let job = state.take_job_for(number)?;
        state.workers[number].jobs += 1;
        let other = state.idle_worker();
        drop(state);
        if let Some(waker) = other {
            waker.wake(); // this worker may compute for long before it looks again
        }
        Some(job)
    }

    /// Waits for something to do.
    fn next(&self, number: usize, waker: &ThreadWaker) -> Next {
        let mut state = self.lock();
        loop {
            if state.is_closed {
                return Next::End;
            }
            if state.is_settling && state.workers[number].jobs > 0 {
                return Next::DropAll;
            }
            if waker.rang.swap(false, Ordering::SeqCst) {
                return Next::GoOn;
            }
            if state.place_of_job_for(number).is_some() {
                return Next::GoOn;
            }
            state.workers[number].is_parked = true;
            let all_are = state.workers.iter().all(|worker| worker.is_parked);
            // The job that this one was woken for may be another worker's share by now.
            let (leaves_jobs, other) = (!state.jobs.is_empty(), state.idle_worker());
            drop(state);
            self.settled.notify_all();
            match other {
                Some(waker) => waker.wake(),
                None if all_are || leaves_jobs => self.first.nudge(),
                None => {}
            }
            while !waker.rang.load(Ordering::SeqCst) {
                quorate_sync::thread::park();
            }
            state = self.lock();
            state.workers[number].is_parked = false;
        }
    }

    /// Puts a job at the end of the queue.
    pub fn push(&self, job: Job) {
        let mut state = self.lock();
        state.add(job);
        let idle = state.idle_worker();
        drop(state);
        match idle {
            Some(waker) => waker.wake(),
            None => self.first.nudge(),
        }
    }

    /// Returns the oldest job for the session's thread, unless it has its share, or workers without jobs are about to
    /// take all that wait.
    pub fn take_job(&self) -> Option<Job> {
        let mut state = self.lock();
        let free = state.workers.iter().filter(|worker| worker.jobs == 0).count();
        if free < state.jobs.len()
            && let Some(job) = state.take_job_for(FIRST)
        {
            return Some(job);
        }
        let other = state.idle_worker();
        drop(state);
        if let Some(waker) = other {
            waker.wake();
        }
        None
    }

    /// Notes that jobs of the session's thread have ended, by the lanes of their streams.
    pub fn end(&self, ended: &[LaneId]) {
        if !ended.is_empty() {
            self.lock().end(FIRST, ended);
        }
    }

    /// Hands a frame to the session's thread, which sends it.
    pub fn send(&self, to: usize, frame: Vec<u8>) {
        self.lock().outgoing.push((to, frame));
        self.first.nudge();
    }

    /// Returns the frames to send.
    pub fn take_outgoing(&self) -> Vec<(usize, Vec<u8>)> {
        std::mem::take(&mut self.lock().outgoing)
    }

    /// Returns whether a worker runs or can go on, or a job or a frame waits.
    pub fn is_busy(&self) -> bool {
        let state = self.lock();
        !state.jobs.is_empty() || !state.outgoing.is_empty() || !state.workers.iter().all(Worker::is_idle)
    }

    /// Adds the costs of a job.
    pub fn add_up(&self, costs: Costs, deepest: [Depth; 2]) {
        let mut state = self.lock();
        match &mut state.sums {
            Some(sums) => {
                sums.costs.add(costs);
                sums.deepest = std::array::from_fn(|phase| sums.deepest[phase].join(deepest[phase]));
            }
            none => *none = Some(Sums { costs, deepest }),
        }
    }

    /// Adds the seconds of a job that has ended.
    pub fn add_seconds(&self, phase: Phase, step: Option<u32>, is_apart: bool, seconds: f64) {
        self.lock().seconds.add(phase, step, is_apart, seconds);
    }

    /// Returns the seconds of the jobs that have ended since the last call.
    pub fn take_seconds(&self) -> JobSeconds {
        std::mem::take(&mut self.lock().seconds)
    }

    /// Returns the costs of the jobs that have ended since the last call.
    pub fn take_sums(&self) -> Option<Sums> {
        self.lock().sums.take()
    }

    fn fail(&self, failure: Failure) {
        self.lock().failure.get_or_insert(failure);
        self.first.nudge();
    }

    /// Returns the first failure of a job.
    pub fn take_failure(&self) -> Option<Failure> {
        self.lock().failure.take()
    }

    /// Drops all jobs, each on its own worker, and waits until that is done. Returns the first failure of a job that
    /// was not taken.
    pub fn settle(&self) -> Option<Failure> {
        let mut state = self.lock();
        state.is_settling = true;
        let queued = std::mem::take(&mut state.jobs);
        let wakers: Vec<_> = state.workers.iter().map(|worker| worker.waker.clone()).collect();
        drop(state);
        drop(queued);
        wakers.into_iter().for_each(|waker| waker.wake());
        let mut state = self.lock();
        while state.workers.iter().any(|worker| worker.jobs > 0) {
            state = self.settled.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        // Jobs that ended in the meantime may have made others.
        let queued = std::mem::take(&mut state.jobs);
        state.streams.clear();
        state.is_settling = false;
        let failure = state.failure.take();
        drop(state);
        drop(queued);
        failure
    }

    /// Ends the workers' threads.
    pub fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        let wakers: Vec<_> = state.workers.iter().map(|worker| worker.waker.clone()).collect();
        drop(state);
        wakers.into_iter().for_each(|waker| waker.wake());
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
