//! A value of each process, under a lock. A fork has a copy of its parent's memory, in which a lock may be held by a
//! thread that the fork does not have. So it begins with a value of its own.

use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// A value under a lock, for each process of a line of forks.
pub(crate) struct PerProcess<T: 'static> {
    /// The process whose value this is; 0 before its first use.
    process: AtomicU32,
    value: Mutex<T>,
    /// The value of a fork.
    next: OnceLock<Box<PerProcess<T>>>,
}

impl<T: Default> PerProcess<T> {
    /// Holds this value for the process that is first to use it.
    pub(crate) const fn new(value: T) -> Self {
        PerProcess { process: AtomicU32::new(0), value: Mutex::new(value), next: OnceLock::new() }
    }

    /// Returns the value of this process.
    pub(crate) fn here(&self) -> &Mutex<T> {
        self.of(process::id())
    }

    fn of(&self, process: u32) -> &Mutex<T> {
        let mut one = self;
        loop {
            match one.process.compare_exchange(0, process, Ordering::Relaxed, Ordering::Relaxed) {
                Err(other) if other != process => one = one.next.get_or_init(|| Box::new(Self::new(T::default()))),
                _ => return &one.value,
            }
        }
    }

    /// Returns the values of this process's ancestors. A thread of theirs may have held the lock at the fork.
    pub(crate) fn inherited(&self) -> impl Iterator<Item = &Mutex<T>> {
        self.before(process::id())
    }

    fn before(&self, process: u32) -> impl Iterator<Item = &Mutex<T>> {
        let all = std::iter::successors(Some(self), |one| one.next.get().map(|next| &**next));
        let used = all.map(|one| (one.process.load(Ordering::Relaxed), &one.value));
        used.take_while(move |(one, _)| ![0, process].contains(one)).map(|(_, value)| value)
    }
}

/// Locks a mutex, also if a thread panicked that held it.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_process_has_a_value_of_its_own() {
        let values = PerProcess::new(7);
        assert_eq!(values.before(1).count(), 0);
        assert_eq!(*values.of(1).lock().unwrap(), 7);
        let _held_at_the_fork = values.of(1).lock().unwrap();
        *values.of(2).try_lock().expect("a lock of its own") += 9;
        assert_eq!(*values.of(3).lock().unwrap(), 0);
        assert_eq!(*values.of(2).lock().unwrap(), 9);
        assert_eq!((values.before(1).count(), values.before(3).count(), values.before(4).count()), (0, 2, 3));
    }
}
