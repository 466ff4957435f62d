//! A party's mailbox in one process: many threads put letters in, one takes them out.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::{Interrupt, Wait};

/// Letters in the order in which they were put in.
pub(crate) struct Mailbox<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
    /// Whether there are letters, for who looks without a lock.
    filled: AtomicBool,
    /// How long the owner keeps looking before it sleeps.
    patience: Duration,
}

struct State<T> {
    letters: Vec<T>,
    waiting: bool,
    closed: bool,
}

impl<T> Mailbox<T> {
    /// One whose owner keeps looking for so long before it sleeps: to wake it takes longer than most letters do.
    pub(crate) fn new(patience: Duration) -> Self {
        Mailbox {
            state: Mutex::new(State { letters: Vec::new(), waiting: false, closed: false }),
            changed: Condvar::new(),
            filled: AtomicBool::new(false),
            patience,
        }
    }

    /// Puts a letter in and wakes the owner if it waits.
    pub(crate) fn put(&self, letter: T) {
        let mut state = self.lock();
        if !state.closed {
            state.letters.push(letter);
            self.filled.store(true, Ordering::Release);
        }
        self.wake_holding(state);
    }

    /// The owner is gone: letters in here and later ones vanish.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.letters = Vec::new();
    }

    /// Wakes the owner without a letter.
    pub(crate) fn wake(&self) {
        self.wake_holding(self.lock());
    }

    /// Appends all letters to `out`, waiting for the first one if there is none. Returns whether there was one.
    pub(crate) fn take(&self, out: &mut impl Extend<T>, wait: Wait, interrupt: &Interrupt) -> bool {
        if wait != Wait::Poll {
            self.look_out(interrupt);
        }
        let mut state = self.lock();
        while state.letters.is_empty() {
            if interrupt.is_raised() {
                return false;
            }
            state.waiting = true;
            state = match wait {
                Wait::Poll => {
                    state.waiting = false;
                    return false;
                }
                Wait::Until(end) => {
                    let left = end.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        state.waiting = false;
                        return false;
                    }
                    self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
                }
                Wait::Forever => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
            state.waiting = false;
        }
        out.extend(state.letters.drain(..));
        self.filled.store(false, Ordering::Release);
        true
    }

    /// Looks until there is a letter, without sleeping.
    fn look_out(&self, interrupt: &Interrupt) {
        let start = Instant::now();
        while !self.filled.load(Ordering::Acquire) && !interrupt.is_raised() && start.elapsed() < self.patience {
            std::hint::spin_loop();
        }
    }

    fn wake_holding(&self, state: MutexGuard<'_, State<T>>) {
        let waiting = state.waiting;
        drop(state);
        if waiting {
            self.changed.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
