//! The seconds that the jobs of a party's workers take.

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::pin::pin;

use crate::clock::own_seconds;
use crate::costs::Phase;

/// Seconds for which threads had a core for jobs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobSeconds {
    /// By phase, those of jobs that did not run on the session's thread.
    pub apart: [f64; 2],
    /// By step number, those of all jobs.
    pub by_step: BTreeMap<u32, f64>,
}

impl JobSeconds {
    pub(crate) fn add(&mut self, phase: Phase, step: Option<u32>, is_apart: bool, seconds: f64) {
        if is_apart {
            self.apart[phase as usize] += seconds;
        }
        if let Some(step) = step {
            *self.by_step.entry(step).or_default() += seconds;
        }
    }
}

/// Awaits `work`. Returns its result and the seconds for which this thread had a core for it.
pub(crate) async fn timed<T>(work: impl Future<Output = T>) -> (T, f64) {
    let (mut work, mut seconds) = (pin!(work), 0.0);
    let done = poll_fn(|context| {
        let before = own_seconds();
        let polled = work.as_mut().poll(context);
        seconds += own_seconds() - before;
        polled
    })
    .await;
    (done, seconds)
}
