//! Requests for which no thread waits, and the thread that hears of their ends. Parties' threads never wait for Python:
//! they ring a bell, and the herald of the session calls those who want to know.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use quorate_engine::Error;
use quorate_session::{Bell, Request as Submitted, Revealed, Session as Inner, SessionError};

use crate::errors::{cancelled, raise};
use crate::operands::{Packed, to_bytes};
use crate::turns::TICK;

/// The time that the herald may take to end, after its session was closed.
const END_TIMEOUT: Duration = Duration::from_secs(1);
/// The interval at which the herald looks for the ends of requests, if there are none.
const REST: Duration = Duration::from_secs(3600);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The result of a request that has ended.
type Ended = Arc<Result<Vec<Revealed>, SessionError>>;

/// A request under way, or its result.
struct Pending {
    state: Mutex<State>,
    has_ended: Condvar,
    number: u64,
    bell: Arc<Bell>,
    /// The process that asked; a fork has neither the herald nor the parties' threads.
    process: u32,
}

#[derive(Default)]
struct State {
    submitted: Option<Submitted>,
    is_cancelled: bool,
    result: Option<Ended>,
    /// Python's functions to call at the end.
    then: Vec<Py<PyAny>>,
}

impl Pending {
    fn is_forked(&self) -> bool {
        self.process != std::process::id()
    }

    /// Ends the request if it is over. Returns the functions to call.
    fn end(&self, session: &Weak<Mutex<Inner>>) -> Vec<Py<PyAny>> {
        let submitted = {
            let mut state = lock(&self.state);
            let is_over = state.submitted.as_mut().is_some_and(|submitted| submitted.wait(Duration::ZERO));
            state.submitted.take_if(|_| is_over)
        };
        let Some(submitted) = submitted else { return vec![] };
        // Whoever waits is told, whatever happens here.
        let finished = catch_unwind(AssertUnwindSafe(|| match session.upgrade() {
            Some(session) => lock(&session).finish(submitted),
            None => Err(SessionError::Closed),
        }));
        let result = finished.unwrap_or(Err(SessionError::WorkerGone));
        let mut state = lock(&self.state);
        state.result = Some(Arc::new(result));
        self.has_ended.notify_all();
        std::mem::take(&mut state.then)
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if !self.is_forked() {
            self.bell.ring(self.number); // the herald forgets it
        }
    }
}

/// The herald of a session. Its thread is started by the first request for which no thread waits.
pub(crate) struct Herald {
    pending: Mutex<BTreeMap<u64, Weak<Pending>>>,
    bell: Arc<Bell>,
    session: Weak<Mutex<Inner>>,
    closes: AtomicBool,
    thread: Mutex<Option<JoinHandle<()>>>,
    process: u32,
}

impl Herald {
    /// Starts the herald of a session.
    ///
    /// # Errors
    /// That of a thread that does not start.
    pub fn start(session: &Arc<Mutex<Inner>>, bell: Arc<Bell>) -> std::io::Result<Arc<Herald>> {
        bell.hear();
        let herald = Arc::new(Herald {
            pending: Mutex::default(),
            bell,
            session: Arc::downgrade(session),
            closes: AtomicBool::new(false),
            thread: Mutex::default(),
            process: std::process::id(),
        });
        let thread = herald.clone();
        *lock(&herald.thread) = Some(std::thread::Builder::new().name("herald".into()).spawn(move || thread.serve())?);
        Ok(herald)
    }

    /// Takes a request over.
    pub fn watch(&self, submitted: Submitted) -> Request {
        let number = submitted.number();
        let state = State { submitted: Some(submitted), ..State::default() };
        let pending = Arc::new(Pending {
            state: Mutex::new(state),
            has_ended: Condvar::new(),
            number,
            bell: self.bell.clone(),
            process: self.process,
        });
        lock(&self.pending).insert(number, Arc::downgrade(&pending));
        self.bell.ring(number); // it may have ended before it was in the map
        Request(pending)
    }

    /// Hears of ends until the session is closed and no request is left.
    fn serve(&self) {
        loop {
            let is_idle = lock(&self.pending).is_empty();
            if is_idle && self.closes.load(Ordering::Acquire) {
                return;
            }
            let numbers = self.bell.wait(if is_idle { REST } else { TICK });
            let then: Vec<Py<PyAny>> =
                self.rung(&numbers).iter().flat_map(|pending| pending.end(&self.session)).collect();
            if !then.is_empty() {
                // An error is that of a loop that was closed: nobody waits there any more.
                Python::try_attach(|py| then.iter().for_each(|call| drop(call.call0(py))));
            }
        }
    }

    /// Returns the requests of these numbers, or all where there are none; forgets those that have ended or that nobody
    /// has any more.
    fn rung(&self, numbers: &[u64]) -> Vec<Arc<Pending>> {
        let mut pending = lock(&self.pending);
        let all = || pending.keys().copied().collect();
        let numbers: Vec<u64> = if numbers.is_empty() { all() } else { numbers.to_vec() };
        let mut found = Vec::new();
        for number in numbers {
            let one = pending.get(&number).map(Weak::upgrade);
            match one {
                Some(Some(one)) if lock(&one.state).submitted.is_some() => found.push(one),
                Some(_) => drop(pending.remove(&number)),
                None => {}
            }
        }
        found
    }

    /// Ends the herald, once the session is closed and its requests have ended.
    pub fn close(&self, py: Python<'_>) {
        self.hush();
        py.detach(|| {
            let Some(thread) = lock(&self.thread).take() else { return };
            let deadline = Instant::now() + END_TIMEOUT;
            let is_own = thread.thread().id() == std::thread::current().id();
            while !is_own && !thread.is_finished() && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(1));
            }
        });
    }

    /// Tells the herald to end.
    pub fn hush(&self) {
        if self.process == std::process::id() {
            self.closes.store(true, Ordering::Release);
            self.bell.ring(0);
        }
    }
}

/// A request for which no thread waits. It is interrupted when Python drops it.
#[pyclass(module = "quorate._quorate", frozen)]
pub(crate) struct Request(Arc<Pending>);

#[pymethods]
impl Request {
    /// Returns whether the request has ended, well or badly.
    fn done(&self) -> bool {
        self.0.is_forked() || lock(&self.0.state).result.is_some()
    }

    /// Waits for the end, up to a number of seconds; returns whether it has come. Ctrl-C ends the wait.
    fn wait(&self, py: Python<'_>, seconds: Option<f64>) -> PyResult<bool> {
        let limit = seconds.map(|seconds| Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(REST));
        let deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
        while !self.done() {
            let left = deadline.map_or(TICK, |deadline| deadline.saturating_duration_since(Instant::now()).min(TICK));
            if left.is_zero() {
                return Ok(false);
            }
            py.detach(|| {
                let is_under_way = |state: &mut State| state.result.is_none();
                drop(self.0.has_ended.wait_timeout_while(lock(&self.0.state), left, is_under_way));
            });
            py.check_signals()?;
        }
        Ok(true)
    }

    /// Interrupts the request; returns whether it was under way.
    fn cancel(&self) -> bool {
        if self.done() {
            return false;
        }
        let mut state = lock(&self.0.state);
        let State { submitted: Some(submitted), .. } = &mut *state else { return false };
        submitted.interrupt();
        state.is_cancelled = true;
        drop(state);
        self.0.bell.ring(self.0.number);
        true
    }

    /// Calls a function of Python's at the end, in the herald's thread. Returns whether the end has not come yet; if it
    /// has, nothing is called.
    fn then(&self, call: Py<PyAny>) -> bool {
        if self.0.is_forked() {
            return false;
        }
        let mut state = lock(&self.0.state);
        let is_under_way = state.result.is_none();
        if is_under_way {
            state.then.push(call);
        }
        is_under_way
    }

    /// Returns the error with which the request ended, if it did and its session was not closed.
    fn fault(&self) -> Option<String> {
        let result = if self.0.is_forked() { None } else { lock(&self.0.state).result.clone() };
        match result.as_deref() {
            Some(Err(SessionError::Closed)) | Some(Ok(_)) | None => None,
            Some(Err(error)) => Some(error.to_string()),
        }
    }

    /// Returns the values of a request that has ended, as `Session.run` does. The user then has heard of its end.
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Vec<Option<Packed<'py>>>> {
        if self.0.is_forked() {
            return Err(raise(py, &SessionError::Forked));
        }
        let (result, is_cancelled) = {
            let state = lock(&self.0.state);
            (state.result.clone(), state.is_cancelled)
        };
        match result.as_deref() {
            Some(Ok(values)) => {
                values.iter().map(|value| value.as_ref().map(|v| to_bytes(py, v)).transpose()).collect()
            }
            Some(Err(SessionError::Engine(Error::Interrupted))) if is_cancelled => Err(cancelled(py)),
            Some(Err(error)) => Err(raise(py, error)),
            None => Err(raise(py, &SessionError::WorkerGone)),
        }
    }
}
