//! Locks, atomics and threads in place of those of `sync`: at each of their operations, a scheduler chooses which
//! thread goes on. Waits that could end by time do not. Only for code inside [`schedules`].
#![forbid(unsafe_code)]

use std::hash::{BuildHasher, RandomState};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::{env, iter};

use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, FailurePersistence, Runner};

pub use shuttle::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockWriteGuard, atomic, mpsc};
pub use std::sync::OnceLock;

/// Threads.
pub mod thread {
    use std::num::NonZeroUsize;
    use std::time::Duration;

    pub use shuttle::thread::*;

    /// Lets other threads go on.
    pub fn sleep(_: Duration) {
        yield_now();
    }

    /// Returns one core, so that nobody polls for a while before it sleeps.
    ///
    /// # Errors
    /// None.
    pub fn available_parallelism() -> std::io::Result<NonZeroUsize> {
        Ok(NonZeroUsize::MIN)
    }
}

/// The depth of PCT: it finds faults that show if at most this many steps come in one order, with a probability that
/// has a lower bound.
const DEPTH: usize = 3;

/// Runs the test under `number` schedules, times the number in the environment variable `QUORATE_TEST_SCHEDULES`. Half
/// of them choose the next thread at random, half by the priorities of PCT.
///
/// # Panics
/// If the test panics under one of the schedules, if all its threads wait, or if it does not end. The output says how
/// to repeat the schedules.
pub fn schedules(number: usize, test: impl Fn() + Send + Sync + 'static) {
    let times = env::var("QUORATE_TEST_SCHEDULES").map_or(1, |times| times.parse().expect("a number"));
    let (test, half) = (Arc::new(test), (number * times).div_ceil(2));
    let seed = RandomState::new().hash_one("schedules");
    let schedulers: [Box<dyn Scheduler + Send>; 2] = [
        Box::new(RandomScheduler::new_from_seed(seed, half)),
        Box::new(PctScheduler::new_from_seed(seed, DEPTH, half)),
    ];
    for (scheduler, test) in schedulers.into_iter().zip(iter::repeat(test)) {
        let mut config = Config::new();
        config.stack_size = 1 << 20; // of unoptimised futures
        config.silence_warnings = true; // that all orderings of atomics are taken for the strongest
        config.failure_persistence = FailurePersistence::None;
        let run = || Runner::new(scheduler, config).run(move || test());
        if let Err(panic) = catch_unwind(AssertUnwindSafe(run)) {
            let seed = env::var("SHUTTLE_RANDOM_SEED").unwrap_or(seed.to_string());
            eprintln!("these schedules are those of SHUTTLE_RANDOM_SEED={seed}");
            resume_unwind(panic);
        }
    }
}
