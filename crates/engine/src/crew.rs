//! The workers of a party: threads that run jobs beside the session's own thread.
//!
//! A *job* is the work of one lane. Whichever worker is idle takes the oldest job, makes its future, and polls it to
//! its end: a future never moves between threads. The session's thread is a worker, too, and the only one that touches
//! the links. The others hand it whole frames, in order; a lane lives on one worker, so its messages stay in order.
//!
//! A worker that waits for messages takes no more than its share of the jobs under way. Otherwise one that waits for
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
use crate::scheduler::Core;

/// The future of a job. It hands its result to the lane that waits for the job.
type Task = Pin<Box<dyn Future<Output = ()>>>;

/// Makes the future of a job on the worker that runs it.
pub(crate) type Job = Box<dyn FnOnce(&Rc<Core>) -> Task + Send>;

/// The reason why a job has no result.
pub(crate) enum Failure {
    Error(Error),
    Panic(Box<dyn Any + Send>),
}

/// The jobs of one worker that are under way.
pub(crate) struct Running {
    bell: Arc<Bell>,
    tasks: BTreeMap<usize, Child<'static, ()>>,
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

    /// Returns the number of jobs under way.
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Begins a job, which makes its future when it is polled first.
    pub fn begin(&mut self, core: &Rc<Core>, job: Job) {
        let core = core.clone();
        let whole = async move {
            job(&core).await;
            Ok(())
        };
        self.tasks.insert(self.next, Child::new(&self.bell, self.next, Rc::default(), Box::pin(whole)));
        self.next += 1;
    }

    /// Polls the jobs that can go on. Returns whether there were any, and how many of them ended.
    ///
    /// # Errors
    /// A panic of a job, or a lack of memory.
    pub fn poll(&mut self) -> std::result::Result<(bool, usize), Failure> {
        self.bell.take(&mut self.rung);
        let mut ended = 0;
        for index in &self.rung {
            let Some(task) = self.tasks.get_mut(index) else { continue };
            match catch_unwind(AssertUnwindSafe(|| guarded(|| task.poll()))) {
                Ok(Ok(Poll::Pending)) => {}
                Ok(Ok(Poll::Ready(_))) => {
                    self.tasks.remove(index);
                    ended += 1;
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
    workers: Vec<Worker>,
    /// The number of jobs of the session's thread.
    first_jobs: usize,
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

impl State {
    /// Returns the number of jobs that each worker may have under way: an equal part of all, rounded up.
    ///
    /// If a job waits, some worker has fewer, and is awake or is woken. So a job may wait for a worker that computes,
    /// but never for a message: jobs of all parties begin, whatever their numbers of workers.
    fn share(&self) -> usize {
        let begun = self.first_jobs + self.workers.iter().map(|worker| worker.jobs).sum::<usize>();
        (self.jobs.len() + begun).div_ceil(self.workers.len() + 1)
    }

    /// Returns whether a job waits that this worker may take.
    fn has_job_for(&self, number: usize) -> bool {
        !self.is_settling && !self.jobs.is_empty() && self.workers[number].jobs < self.share()
    }

    /// Returns the waker of an idle worker that may take a job that waits.
    fn idle_worker(&mut self) -> Option<Arc<ThreadWaker>> {
        if self.is_settling || self.jobs.is_empty() {
            return None;
        }
        let share = self.share();
        let worker = self.workers.iter_mut().find(|worker| worker.is_idle() && worker.jobs < share)?;
        worker.is_parked = false;
        Some(worker.waker.clone())
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
                Ok((true, ended)) => self.go_on(number, ended),
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
    fn go_on(&self, number: usize, ended: usize) -> Next {
        let mut state = self.lock();
        state.workers[number].jobs -= ended;
        if state.is_settling && state.workers[number].jobs > 0 { Next::DropAll } else { Next::GoOn }
    }

    /// Returns the oldest job for a worker, unless it has its share, or jobs are being dropped.
    fn job(&self, number: usize) -> Option<Job> {
        let mut state = self.lock();
        if !state.has_job_for(number) {
            return None;
        }
        state.workers[number].jobs += 1;
        let (job, other) = (state.jobs.pop_front(), state.idle_worker());
        drop(state);
        if let Some(waker) = other {
            waker.wake(); // this worker may compute for long before it looks again
        }
        job
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
            if state.has_job_for(number) {
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
        state.jobs.push_back(job);
        let idle = state.idle_worker();
        drop(state);
        match idle {
            Some(waker) => waker.wake(),
            None => self.first.nudge(),
        }
    }

    /// Returns the oldest job for the session's thread, which has `own` jobs under way, unless that is its share, or
    /// workers without jobs are about to take all that wait.
    pub fn take_job(&self, own: usize) -> Option<Job> {
        let mut state = self.lock();
        state.first_jobs = own;
        let free = state.workers.iter().filter(|worker| worker.jobs == 0).count();
        if own < state.share() && free < state.jobs.len() {
            state.first_jobs += 1;
            return state.jobs.pop_front();
        }
        let other = state.idle_worker();
        drop(state);
        if let Some(waker) = other {
            waker.wake();
        }
        None
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
        (state.is_settling, state.first_jobs) = (false, 0);
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
