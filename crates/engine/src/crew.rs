//! The workers of a party: threads that run jobs beside the session's own thread.
//!
//! A *job* is the work of one lane. Whichever worker is idle takes the oldest job, makes its future, and polls it to
//! its end: a future never moves between threads. The session's thread is a worker, too, and the only one that touches
//! the links. The others hand it whole frames, in order; a lane lives on one worker, so its messages stay in order.
//!
//! Lanes name everything that is drawn, so results, payload bytes and rounds do not depend on the number of workers,
//! which each party chooses for itself.
//!
//! A run ends on all workers before the table of lanes is cleared ([`Crew::settle`]): no job meets the next run.

use std::any::Any;
use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Wake, Waker};
use std::thread::{JoinHandle, Thread};

use quorate_net::Interrupt;
use quorate_ring::memory::guarded;

use crate::bell::{Bell, Child};
use crate::costs::Costs;
use crate::depth::Depth;
use crate::error::Error;
use crate::scheduler::Core;

/// The future of a job. Its result goes to whoever waits for the job.
type Task = Pin<Box<dyn Future<Output = ()>>>;

/// Makes the future of a job on the worker that runs it.
pub(crate) type Job = Box<dyn FnOnce(&Rc<Core>) -> Task + Send>;

/// The end of a job that has no result.
pub(crate) enum Failure {
    Error(Error),
    Panic(Box<dyn Any + Send>),
}

/// The jobs of one worker that are under way.
pub(crate) struct Hands {
    bell: Arc<Bell>,
    tasks: BTreeMap<usize, Child<'static, ()>>,
    next: usize,
    rung: Vec<usize>,
}

impl Hands {
    /// Returns hands without a job; `waker` is woken when a job can go on.
    pub fn new(waker: &Waker) -> Hands {
        let bell = Bell::new();
        bell.listen(waker);
        Hands { bell, tasks: BTreeMap::new(), next: 0, rung: Vec::new() }
    }

    /// Begins a job.
    pub fn begin(&mut self, core: &Rc<Core>, job: Job) {
        let task = job(core);
        let whole = async {
            task.await;
            Ok(())
        };
        self.tasks.insert(self.next, Child::new(&self.bell, self.next, Rc::default(), whole));
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

    /// Returns whether a job can go on.
    pub fn is_rung(&self) -> bool {
        self.bell.is_rung()
    }

    fn drop_all(&mut self) {
        self.tasks.clear();
    }
}

/// Wakes one worker's thread.
struct Doorbell {
    rang: AtomicBool,
    thread: Thread,
}

impl Wake for Doorbell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.rang.swap(true, Ordering::SeqCst) {
            self.thread.unpark();
        }
    }
}

/// What the workers of a party share besides the table of lanes.
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
    /// Frames for the links, in order.
    outgoing: Vec<(usize, Vec<u8>)>,
    sums: Option<Sums>,
    failure: Option<Failure>,
    /// The run is over: jobs are dropped.
    is_settling: bool,
    is_closed: bool,
}

struct Worker {
    doorbell: Arc<Doorbell>,
    is_parked: bool,
    jobs: usize,
}

/// The costs of jobs that have ended, and the deepest points that they reached in each phase.
pub(crate) struct Sums {
    pub costs: Costs,
    pub deepest: [Depth; 2],
}

/// What an idle worker does next.
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
        std::thread::Builder::new().name(name).spawn(move || {
            let doorbell = Arc::new(Doorbell { rang: AtomicBool::new(false), thread: std::thread::current() });
            let number = {
                let mut state = crew.lock();
                state.workers.push(Worker { doorbell: doorbell.clone(), is_parked: false, jobs: 0 });
                state.workers.len() - 1
            };
            crew.work(number, &doorbell, &core());
        })
    }

    /// Runs jobs on this thread until the crew is closed.
    fn work(&self, number: usize, doorbell: &Arc<Doorbell>, core: &Rc<Core>) {
        let mut hands = Hands::new(&Waker::from(doorbell.clone()));
        loop {
            match hands.poll() {
                Err(failure) => {
                    self.fail(failure);
                    hands.drop_all();
                    core.drop_lanes();
                    self.lock().workers[number].jobs = 0;
                    continue;
                }
                Ok((_, ended)) if ended > 0 => self.lock().workers[number].jobs -= ended,
                Ok((true, _)) => {}
                Ok((false, _)) => {
                    if core.rest().is_err() {
                        continue; // lanes gave way, and go on now
                    }
                    match self.next(number, doorbell) {
                        Next::Begin(job) => hands.begin(core, job),
                        Next::GoOn => {}
                        Next::DropAll => {
                            hands.drop_all();
                            core.drop_lanes();
                            self.lock().workers[number].jobs = 0;
                            self.settled.notify_all();
                        }
                        Next::End => return,
                    }
                }
            }
        }
    }

    /// Waits for something to do.
    fn next(&self, number: usize, doorbell: &Doorbell) -> Next {
        let mut state = self.lock();
        loop {
            if state.is_closed {
                return Next::End;
            }
            if state.is_settling && state.workers[number].jobs > 0 {
                return Next::DropAll;
            }
            if doorbell.rang.swap(false, Ordering::SeqCst) {
                return Next::GoOn;
            }
            if let Some(job) = state.jobs.pop_front() {
                state.workers[number].jobs += 1;
                return Next::Begin(job);
            }
            state.workers[number].is_parked = true;
            let all_are = state.workers.iter().all(|worker| worker.is_parked);
            drop(state);
            self.settled.notify_all();
            if all_are {
                self.first.nudge();
            }
            while !doorbell.rang.load(Ordering::SeqCst) {
                std::thread::park();
            }
            state = self.lock();
            state.workers[number].is_parked = false;
        }
    }

    /// Puts a job at the end of the queue.
    pub fn push(&self, job: Job) {
        let mut state = self.lock();
        state.jobs.push_back(job);
        let idle = state.workers.iter_mut().find(|worker| worker.is_parked);
        let woken = idle.map(|worker| {
            worker.is_parked = false;
            worker.doorbell.clone()
        });
        drop(state);
        match woken {
            Some(doorbell) => doorbell.wake(),
            None => self.first.nudge(),
        }
    }

    /// Returns the oldest job, for the session's thread.
    pub fn take_job(&self) -> Option<Job> {
        self.lock().jobs.pop_front()
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
        let idle = |worker: &Worker| worker.is_parked && !worker.doorbell.rang.load(Ordering::SeqCst);
        !state.jobs.is_empty() || !state.outgoing.is_empty() || !state.workers.iter().all(idle)
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

    /// Drops all jobs, each on its own worker, and waits until that is done.
    pub fn settle(&self) {
        let mut state = self.lock();
        state.is_settling = true;
        let queued = std::mem::take(&mut state.jobs);
        let doorbells: Vec<_> = state.workers.iter().map(|worker| worker.doorbell.clone()).collect();
        drop(state);
        drop(queued);
        doorbells.into_iter().for_each(|doorbell| doorbell.wake());
        let mut state = self.lock();
        while state.workers.iter().any(|worker| worker.jobs > 0) {
            state = self.settled.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        // Jobs that ended in the meantime may have made others.
        state.jobs.clear();
        (state.is_settling, state.failure) = (false, None);
    }

    /// Ends the workers' threads.
    pub fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        let doorbells: Vec<_> = state.workers.iter().map(|worker| worker.doorbell.clone()).collect();
        drop(state);
        doorbells.into_iter().for_each(|doorbell| doorbell.wake());
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
