//! The bell of a session. Its parties ring it whenever they have ended a request, for a thread that waits for many.

use quorate_sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The bell, which the session and the threads of its parties share.
#[derive(Default)]
pub struct Bell {
    state: Mutex<State>,
    rung: Condvar,
}

#[derive(Default)]
struct State {
    is_heard: bool,
    numbers: Vec<u64>,
}

impl Bell {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the numbers of rings from here on, for [`Bell::wait`].
    pub fn hear(&self) {
        self.lock().is_heard = true;
    }

    /// Rings for the request of this number, which may have ended.
    pub fn ring(&self, number: u64) {
        let mut state = self.lock();
        if state.is_heard {
            state.numbers.push(number);
            self.rung.notify_all();
        }
    }

    /// Waits up to `patience` for a ring. Returns the numbers of the requests for which it rang since the last call.
    pub fn wait(&self, patience: Duration) -> Vec<u64> {
        let is_silent = |state: &mut State| state.numbers.is_empty();
        let waited = self.rung.wait_timeout_while(self.lock(), patience, is_silent);
        std::mem::take(&mut waited.unwrap_or_else(PoisonError::into_inner).0.numbers)
    }
}
