//! Turns of threads, in the order in which they asked.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;
use std::time::Duration;

use pyo3::prelude::*;

use crate::errors::nested;

/// The interval at which a waiting thread checks for Ctrl-C, and reports progress where there is any.
pub(crate) const TICK: Duration = Duration::from_millis(50);

/// The threads that have asked for a turn; the first has it.
#[derive(Default)]
pub(crate) struct Turns {
    threads: Mutex<VecDeque<ThreadId>>,
    changed: Condvar,
}

/// The turn of a thread, until it is dropped.
pub(crate) struct Turn<'t>(&'t Turns);

impl Turns {
    fn lock(&self) -> MutexGuard<'_, VecDeque<ThreadId>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the turn of this thread; Ctrl-C ends the wait.
    ///
    /// # Errors
    /// `SessionBusy` where this thread stands in line already: it would wait for itself.
    pub fn wait(&self, py: Python<'_>) -> PyResult<Turn<'_>> {
        let me = std::thread::current().id();
        let mut threads = self.lock();
        if threads.contains(&me) {
            drop(threads);
            return Err(nested(py));
        }
        threads.push_back(me);
        drop(threads);
        let turn = Turn(self);
        let others = |threads: &mut VecDeque<ThreadId>| threads.front() != Some(&me);
        while others(&mut self.lock()) {
            py.detach(|| drop(self.changed.wait_timeout_while(self.lock(), TICK, others)));
            py.check_signals()?;
        }
        Ok(turn)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let me = std::thread::current().id();
        self.0.lock().retain(|thread| *thread != me);
        self.0.changed.notify_all();
    }
}
