//! A party's mailbox in one process: several threads put letters in, one takes them out.

use quorate_sync::atomic::{AtomicBool, Ordering};
use quorate_sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::{Interrupt, Wait};

/// Letters in the order in which they were put in.
pub(crate) struct Mailbox<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
    /// Whether there are letters, to be read without the lock.
    filled: AtomicBool,
    /// The time for which the owner polls before it sleeps, if its last wait was brief.
    patience: Duration,
    brief: AtomicBool,
}

struct State<T> {
    letters: Vec<T>,
    waiting: bool,
    closed: bool,
}

impl<T> Mailbox<T> {
    /// Creates a mailbox whose owner polls for this long before it sleeps, if its last wait took less than twice that.
    /// Waking the owner would take longer than such letters do. If letters take long, or the owner gets no core, it
    /// sleeps at once.
    pub(crate) fn new(patience: Duration) -> Self {
        Mailbox {
            state: Mutex::new(State { letters: Vec::new(), waiting: false, closed: false }),
            changed: Condvar::new(),
            filled: AtomicBool::new(false),
            patience,
            brief: AtomicBool::new(true),
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

    /// Closes the mailbox, whose owner is gone: its letters and later ones are dropped.
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
        let waits = wait != Wait::Poll && !self.patience.is_zero() && !self.filled.load(Ordering::Acquire);
        let start = waits.then(Instant::now);
        if let Some(start) = start.filter(|_| self.brief.load(Ordering::Relaxed)) {
            let end = start + self.patience;
            self.look_out(if let Wait::Until(until) = wait { end.min(until) } else { end }, interrupt);
        }
        let mut state = self.lock();
        while state.letters.is_empty() {
            if interrupt.ends_waits() {
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
        if let Some(start) = start {
            self.brief.store(start.elapsed() < 2 * self.patience, Ordering::Relaxed);
        }
        true
    }

    /// Polls until there is a letter, without sleeping.
    fn look_out(&self, end: Instant, interrupt: &Interrupt) {
        while !self.filled.load(Ordering::Acquire) && !interrupt.ends_waits() && Instant::now() < end {
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

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_millis(200);

    fn take(mailbox: &Mailbox<u32>, wait: Wait, interrupt: &Interrupt) -> Vec<u32> {
        let mut letters = Vec::new();
        assert_eq!(mailbox.take(&mut letters, wait, interrupt), !letters.is_empty());
        letters
    }

    /// Tests letters of several threads, while the owner polls or sleeps.
    #[test]
    fn all_letters_arrive_in_order() {
        for patience in [Duration::ZERO, Duration::from_micros(25), PATIENCE] {
            let (mailbox, interrupt) = (Mailbox::new(patience), Interrupt::new(|| ()));
            std::thread::scope(|scope| {
                for sender in 0..3 {
                    let mailbox = &mailbox;
                    scope.spawn(move || (0..2000).for_each(|i| mailbox.put(3 * i + sender)));
                }
                let mut all = Vec::new();
                while all.len() < 6000 {
                    all.extend(take(&mailbox, Wait::Forever, &interrupt));
                }
                for sender in 0..3 {
                    let of_one: Vec<u32> = all.iter().copied().filter(|letter| letter % 3 == sender).collect();
                    assert!(of_one.is_sorted() && of_one.len() == 2000);
                }
            });
        }
    }

    /// Polling stops where sleeping would have stopped.
    #[test]
    fn looking_ends_at_a_deadline_and_by_an_interrupt() {
        let (mailbox, interrupt) = (Mailbox::new(3600 * PATIENCE), Interrupt::new(|| ()));
        for wait in [Wait::Poll, Wait::Until(Instant::now()), Wait::Until(Instant::now() + PATIENCE / 10)] {
            assert!(take(&mailbox, wait, &interrupt).is_empty());
        }
        std::thread::scope(|scope| {
            scope.spawn(|| interrupt.raise());
            assert!(take(&mailbox, Wait::Forever, &interrupt).is_empty());
        });
    }
}
