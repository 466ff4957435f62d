//! The limit on waiting for a peer whose connection is alive but that does not send what is due.
//!
//! Heartbeats, credit that is of no use, and messages that no lane reads do not end a wait. Otherwise a peer could
//! withhold one message of a run and keep this party waiting for ever. Only time in which this party has nothing else
//! to do counts.

use quorate_sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Predicts the seconds that a run takes. It is called only when a peer is late.
type Predict = Box<dyn FnOnce() -> f64 + Send>;

/// A wait may last this many times the predicted seconds of the run, if that is longer.
const TIMES_PREDICTED: f64 = 10.0;
/// The upper limit of all waits, whatever the prediction: a year.
const LONGEST_S: f64 = 365.0 * 86_400.0;

/// The limits of waits for each peer, and the time that this party has waited.
pub(crate) struct Patience(Mutex<Waits>);

struct Waits {
    /// The user's limit; `None` is no limit.
    least: Option<Duration>,
    /// The limit of the run under way or, between runs, of the last one, in which a peer may still be.
    limit: Option<Duration>,
    predict: Option<Predict>,
    /// The time that this party has waited for each peer since that peer last sent something due.
    waited: Vec<Duration>,
}

impl Patience {
    pub fn new(parties: usize) -> Patience {
        let (least, limit, predict) = Default::default();
        Patience(Mutex::new(Waits { least, limit, predict, waited: vec![Duration::ZERO; parties] }))
    }

    fn lock(&self) -> MutexGuard<'_, Waits> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the user's limit.
    pub fn set(&self, least: Option<Duration>) {
        let mut waits = self.lock();
        (waits.least, waits.limit) = (least, least);
    }

    /// Sets the prediction of the seconds of the run that begins.
    pub fn predict(&self, seconds: Predict) {
        let mut waits = self.lock();
        waits.limit = waits.least;
        waits.predict = Some(seconds);
    }

    /// Forgets all waits: a run has ended.
    pub fn forget(&self) {
        self.lock().waited.fill(Duration::ZERO);
    }

    /// Notes that a peer sent something due.
    pub fn heard(&self, peer: usize) {
        self.lock().waited[peer] = Duration::ZERO;
    }

    /// Notes that this party waited for these peers, and for no others.
    pub fn waited(&self, took: Duration, awaited: &[usize]) {
        for (peer, waited) in self.lock().waited.iter_mut().enumerate() {
            *waited = if awaited.contains(&peer) { waited.saturating_add(took) } else { Duration::ZERO };
        }
    }

    /// Returns how long this party may still wait for any of these peers; `None` is no limit.
    ///
    /// # Errors
    /// The peer for which this party has waited longest, and for how long, if that is too long.
    pub fn left(&self, awaited: &[usize]) -> Result<Option<Duration>, (usize, Duration)> {
        let mut waits = self.lock();
        let longest = awaited.iter().map(|&peer| (waits.waited[peer], peer)).max_by_key(|(waited, _)| *waited);
        let Some((waited, peer)) = longest else { return Ok(None) };
        let is_over = |limit: Duration| waited >= limit;
        if waits.limit.is_some_and(is_over)
            && let Some(predict) = waits.predict.take()
        {
            let times = (predict() * TIMES_PREDICTED).clamp(0.0, LONGEST_S);
            waits.limit = waits.limit.max(Duration::try_from_secs_f64(times).ok());
        }
        match waits.limit {
            Some(limit) if is_over(limit) => Err((peer, waited)),
            limit => Ok(limit.map(|limit| limit - waited)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_peer_is_waited_for_until_the_limit_and_anew_when_it_sent_what_is_due() {
        let patience = Patience::new(3);
        assert_eq!(patience.left(&[1, 2]), Ok(None), "without a limit");
        patience.set(Some(10 * SECOND));
        patience.waited(6 * SECOND, &[1, 2]);
        patience.heard(1);
        assert_eq!(patience.left(&[1]), Ok(Some(10 * SECOND)));
        assert_eq!(patience.left(&[1, 2]), Ok(Some(4 * SECOND)));
        patience.waited(4 * SECOND, &[1, 2]);
        assert_eq!(patience.left(&[1]), Ok(Some(6 * SECOND)));
        assert_eq!(patience.left(&[1, 2]), Err((2, 10 * SECOND)));
        patience.waited(SECOND, &[1]);
        assert_eq!(patience.left(&[1, 2]), Ok(Some(5 * SECOND)), "nothing was due of party 2 for a while");
        patience.forget();
        assert_eq!(patience.left(&[1, 2]), Ok(Some(10 * SECOND)));
        assert_eq!(patience.left(&[]), Ok(None));
    }

    #[test]
    fn a_run_that_is_predicted_to_take_long_is_waited_for_ten_times_as_long() {
        for (predicted, limit) in [(0.5, 10.0), (3.0, 30.0), (f64::INFINITY, LONGEST_S), (f64::NAN, 10.0)] {
            let patience = Patience::new(2);
            patience.set(Some(10 * SECOND));
            patience.predict(Box::new(move || predicted));
            patience.waited(10 * SECOND, &[1]);
            let left = (limit - 10.0 > 0.0).then(|| Duration::from_secs_f64(limit - 10.0));
            assert_eq!(patience.left(&[1]), left.map_or(Err((1, 10 * SECOND)), |left| Ok(Some(left))), "{predicted}");
            patience.predict(Box::new(|| 0.0));
            assert_eq!(patience.left(&[1]), Err((1, 10 * SECOND)), "the next run has a limit of its own");
        }
    }
}
