//! The costs of equal chunks in a dry run: one chunk is run, and its costs are multiplied.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::pin;

use quorate_ring::meter::{charge_all, charged};

use crate::clock::own_seconds;

/// The way in which a dry run counts the costs of chunks.
pub(crate) struct Counting {
    /// Whether equal chunks are run once and multiplied.
    alike: Cell<bool>,
    /// Factor by which the costs of the present work count.
    times: Cell<usize>,
    /// Seconds of bookkeeping that the skipped chunks would have taken.
    left_out_seconds: Cell<f64>,
}

impl Default for Counting {
    fn default() -> Self {
        Counting { alike: Cell::new(false), times: Cell::new(1), left_out_seconds: Cell::new(0.0) }
    }
}

impl Counting {
    /// Sets whether equal chunks are run once and multiplied.
    pub fn count_alike(&self, alike: bool) {
        self.alike.set(alike);
    }

    pub fn counts_alike(&self) -> bool {
        self.alike.get()
    }

    /// Returns the factor by which the costs of the present work count.
    pub fn times(&self) -> usize {
        self.times.get()
    }

    /// Returns the bookkeeping seconds of skipped chunks since they were last taken.
    pub fn left_out_seconds(&self) -> f64 {
        self.left_out_seconds.get()
    }

    /// Returns the bookkeeping seconds of skipped chunks since the last call.
    pub fn take_left_out_seconds(&self) -> f64 {
        self.left_out_seconds.take()
    }

    /// Awaits `work` and counts its costs `times` times.
    pub async fn counted<T>(&self, times: usize, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        poll_fn(|context| {
            let outer = self.times.replace(self.times.get() * times);
            let (tally, own, left_out) = (charged(), own_seconds(), self.left_out_seconds.get());
            let polled = work.as_mut().poll(context);
            self.times.set(outer);
            let (once, more) = (charged() - tally, times - 1);
            charge_all(&once.times(more));
            let seconds = own_seconds() - own + self.left_out_seconds.get() - left_out;
            self.left_out_seconds.set(self.left_out_seconds.get() + seconds * more as f64);
            polled
        })
        .await
    }
}
