//! A value of a party that its workers share.

use quorate_sync::{Mutex, MutexGuard, PoisonError};

/// A value that is changed through shared references, like a cell, by any worker of a party. Hold its lock for one
/// access, never across an await.
#[derive(Debug, Default)]
pub struct Held<T>(Mutex<T>);

impl<T> Held<T> {
    /// Returns a holder of this value.
    pub const fn new(value: T) -> Held<T> {
        Held(Mutex::new(value))
    }

    /// Gives access to the value. A second access by the same thread meanwhile would wait for ever.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a copy of the value.
    pub fn get(&self) -> T
    where
        T: Copy,
    {
        *self.lock()
    }

    /// Replaces the value.
    pub fn set(&self, value: T) {
        drop(self.replace(value));
    }

    /// Replaces the value, and returns it.
    pub fn replace(&self, value: T) -> T {
        std::mem::replace(&mut self.lock(), value)
    }

    /// Returns the value, and leaves the default one.
    pub fn take(&self) -> T
    where
        T: Default,
    {
        std::mem::take(&mut self.lock())
    }
}
