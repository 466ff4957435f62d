//! The time and work of making correlations while the online phase is under way. Both belong to the offline phase, as
//! do the bytes and rounds of these correlations.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::time::Instant;

use quorate_ring::meter::{Effort, charged};

use crate::clock::own_seconds;
use crate::costs::Phase;
use crate::ctx::Ctx;

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

/// The clock of correlations that are being made, and the totals so far.
#[derive(Default)]
pub(crate) struct MakingClock {
    draws: Cell<usize>,
    since: Cell<Option<Instant>>,
    total: Cell<Making>,
}

impl MakingClock {
    /// Forgets the totals of a run that did not end well.
    pub fn forget(&self) {
        self.total.take();
    }
}

/// One draw under way. The clock stops when the last one is dropped, for instance when a run is given up.
struct Draw<'c>(&'c MakingClock);

impl<'c> Draw<'c> {
    fn begin(clock: &'c MakingClock) -> Self {
        if clock.draws.replace(clock.draws.get() + 1) == 0 {
            clock.since.set(Some(Instant::now()));
        }
        Draw(clock)
    }
}

impl Drop for Draw<'_> {
    fn drop(&mut self) {
        let clock = self.0;
        clock.draws.set(clock.draws.get() - 1);
        if clock.draws.get() == 0
            && let Some(since) = clock.since.take()
        {
            let mut total = clock.total.get();
            total.seconds += since.elapsed().as_secs_f64();
            clock.total.set(total);
        }
    }
}

impl Ctx {
    /// Awaits `work`, which makes correlations for this lane. On a lane of the online phase, its time is counted apart.
    pub(crate) async fn making<T>(&self, work: impl Future<Output = T>) -> T {
        if self.phase() == Phase::Offline {
            return work.await;
        }
        let clock = &self.core.making;
        let _draw = Draw::begin(clock);
        let mut work = pin!(work);
        poll_fn(|context| {
            let (own, tally) = (own_seconds(), charged());
            let polled = work.as_mut().poll(context);
            let mut total = clock.total.get();
            total.own_seconds += own_seconds() - own;
            total.work += (charged() - tally).times(self.core.counting.times());
            clock.total.set(total);
            polled
        })
        .await
    }

    /// Returns what making correlations has taken within the online phase since the last call.
    pub fn take_making(&self) -> Making {
        self.core.making.total.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dry;

    #[test]
    fn only_what_the_online_phase_waits_for_is_counted_and_once() {
        let spin = || (0..2_000_000).map(std::hint::black_box).sum::<u64>();
        let made = async |ctx: &Ctx| {
            ctx.join(
                async |ctx| Ok(ctx.making(async { spin() }).await),
                async |ctx| Ok(ctx.making(async { spin() }).await),
            )
            .await?;
            let (first, again) = (ctx.take_making(), ctx.take_making());
            Ok((first, again))
        };
        let ((first, again), _) = dry::run(0, 2, Phase::Online, made).unwrap();
        assert!(first.seconds > 0.0 && first.own_seconds > 0.0);
        assert_eq!(again, Making::default());
        let ((offline, _), _) = dry::run(0, 2, Phase::Offline, made).unwrap();
        assert_eq!(offline, Making::default());
    }
}
