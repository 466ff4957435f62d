//! Numbers that strangers cannot predict: challenges, places that are given up, and jitter.

use std::time::Duration;

use ring::rand::{SecureRandom, SystemRandom};

use super::io_error;
use crate::NetError;

/// A generator with a key of its own: BLAKE3, keyed, of a counter.
pub(crate) struct Draws {
    key: [u8; 32],
    drawn: u64,
}

impl Draws {
    /// Draws a key from the system.
    ///
    /// # Errors
    /// [`NetError::Io`] if the system has no randomness.
    pub(crate) fn new() -> Result<Self, NetError> {
        let mut key = [0; 32];
        let filled = SystemRandom::new().fill(&mut key);
        filled.map_err(|_| io_error("drawing random numbers", std::io::ErrorKind::Unsupported.into()))?;
        Ok(Draws { key, drawn: 0 })
    }

    /// Returns the next 32 bytes.
    pub(crate) fn bytes(&mut self) -> [u8; 32] {
        self.drawn += 1;
        *blake3::keyed_hash(&self.key, &self.drawn.to_le_bytes()).as_bytes()
    }

    /// Returns a number below `limit`, which is positive, with a bias below `limit / 2^64`.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        let [a, b, c, d, e, f, g, h, ..] = self.bytes();
        (u64::from_le_bytes([a, b, c, d, e, f, g, h]) % limit.max(1) as u64) as usize
    }
}

/// The pauses between calls to a peer that is not there: doubled each time up to a bound, and each shortened by up to
/// a half at random, so that parties that lost each other at one moment do not call at one moment.
pub(crate) struct Backoff {
    next: Duration,
    longest: Duration,
    draws: Draws,
}

impl Backoff {
    /// Begins with a pause of `first` at most; no pause is longer than `longest`.
    ///
    /// # Errors
    /// Those of [`Draws::new`].
    pub(crate) fn new(first: Duration, longest: Duration) -> Result<Self, NetError> {
        Ok(Backoff { next: first, longest, draws: Draws::new()? })
    }

    /// Returns the next pause.
    pub(crate) fn pause(&mut self) -> Duration {
        let whole = self.next;
        self.next = (whole * 2).min(self.longest);
        let half = whole / 2;
        half + Duration::from_micros(self.draws.below(half.as_micros() as usize + 1) as u64)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn draws_differ_and_stay_below_their_limit() {
        let (mut one, mut other) = (Draws::new().unwrap(), Draws::new().unwrap());
        let drawn: BTreeSet<[u8; 32]> = (0..100).flat_map(|_| [one.bytes(), other.bytes()]).collect();
        assert_eq!(drawn.len(), 200);
        let below: BTreeSet<usize> = (0..500).map(|_| one.below(5)).collect();
        assert_eq!(below, (0..5).collect());
        assert_eq!((one.below(1), one.below(0)), (0, 0));
    }

    #[test]
    fn pauses_double_up_to_a_bound_and_differ() {
        let (first, longest) = (Duration::from_millis(50), Duration::from_secs(1));
        let pauses = |_| {
            let mut backoff = Backoff::new(first, longest).unwrap();
            (0..20).map(|_| backoff.pause()).collect::<Vec<_>>()
        };
        let all: Vec<Vec<Duration>> = (0..10).map(pauses).collect();
        for pauses in &all {
            for (number, pause) in pauses.iter().enumerate() {
                let whole = longest.min(first * (1 << number.min(10)));
                assert!((whole / 2..=whole).contains(pause), "pause {number} is {pause:?}");
            }
        }
        let lasts: BTreeSet<Duration> = all.iter().map(|pauses| pauses[19]).collect();
        assert!(lasts.len() > 5, "{lasts:?}");
    }
}
