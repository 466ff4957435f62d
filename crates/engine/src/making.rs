//! The time and work of making correlations while the online phase is under way. Both belong to the offline phase, as
//! do the bytes and rounds of these correlations.

use crate::costs::Phase;
use crate::ctx::Ctx;
use crate::making_clock::Making;

impl Ctx {
    /// Awaits `work`, which makes correlations for this lane. On a lane of the online phase, its time is counted apart.
    pub(crate) async fn making<T>(&self, work: impl Future<Output = T>) -> T {
        match self.phase() {
            Phase::Offline => work.await,
            Phase::Online => self.core.making.timed(&self.core.counting, work).await,
        }
    }

    /// Returns what making correlations has taken within the online phase since the last call.
    pub fn take_making(&self) -> Making {
        self.core.making.take()
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
