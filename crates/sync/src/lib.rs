//! Locks, atomics and threads: those of the standard library, in one place. `crates/scheduled-sync` takes this place
//! where tests choose which thread goes on at each of their operations.
#![forbid(unsafe_code)]

pub use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockWriteGuard, atomic, mpsc};
pub use std::thread;
