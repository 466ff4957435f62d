//! The clock of correlations that are made while the online phase is under way.

use quorate_sync::{Mutex, MutexGuard, PoisonError};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::time::Instant;

use quorate_ring::meter::{Effort, charged};

use crate::clock::own_seconds;
use crate::counting::Counting;

/// The time and work that making correlations took within the online phase.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Making {
    /// Wall-clock seconds in which at least one draw was waiting for its correlations to be made.
    pub seconds: f64,
    /// Seconds for which the thread had a core for it.
    pub own_seconds: f64,
    /// Local work, by kernel.
    pub work: Effort,
}

/// The clock of correlations that are being made by any worker of the party, and the totals so far.
#[derive(Default)]
pub(crate) struct MakingClock(Mutex<Totals>);

#[derive(Default)]
struct Totals {
    draws: usize,
    since: Option<Instant>,
    total: Making,
}

impl MakingClock {
    fn lock(&self) -> MutexGuard<'_, Totals> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the totals since the last call.
    pub fn take(&self) -> Making {
        std::mem::take(&mut self.lock().total)
    }

    /// Awaits `work`, which makes correlations, and adds what it takes to the totals: work and own seconds of all equal
    /// chunks, as `counting` says.
    pub async fn timed<T>(&self, counting: &Counting, work: impl Future<Output = T>) -> T {
        let _draw = Draw::begin(self);
        let mut work = pin!(work);
        poll_fn(|context| {
            let (own, tally) = (own_seconds() + counting.left_out_seconds(), charged());
            let polled = work.as_mut().poll(context);
            let (own, tally) = (own_seconds() + counting.left_out_seconds() - own, charged() - tally);
            let total = &mut self.lock().total;
            total.own_seconds += own * counting.times() as f64;
            total.work += tally.times(counting.times());
            polled
        })
        .await
    }
}

/// One draw under way. The clock stops when the last one is dropped, for instance when a run is given up.
struct Draw<'c>(&'c MakingClock);

impl<'c> Draw<'c> {
    fn begin(clock: &'c MakingClock) -> Self {
        let mut totals = clock.lock();
        totals.draws += 1;
        totals.since.get_or_insert_with(Instant::now);
        drop(totals);
        Draw(clock)
    }
}

impl Drop for Draw<'_> {
    fn drop(&mut self) {
        let mut totals = self.0.lock();
        totals.draws -= 1;
        if totals.draws == 0
            && let Some(since) = totals.since.take()
        {
            totals.total.seconds += since.elapsed().as_secs_f64();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Waker};

    use super::*;

    /// The bookkeeping of chunks that were counted once, within and around what makes correlations, is part of making.
    #[test]
    fn own_seconds_of_making_are_those_of_all_equal_chunks() {
        let (clock, counting) = (MakingClock::default(), Counting::default());
        let busy = async {
            let start = own_seconds();
            while own_seconds() - start < 0.01 {}
        };
        let making = clock.timed(&counting, counting.counted(5, busy));
        let start = own_seconds();
        let polled = pin!(counting.counted(7, making)).poll(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_ready());
        let all = own_seconds() - start + counting.take_left_out_seconds();
        let making = clock.take().own_seconds;
        assert!(all >= 0.35 && (all - making).abs() < all / 20.0, "{making} of {all}");
    }
}
