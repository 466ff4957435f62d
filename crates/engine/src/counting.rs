//! The costs of equal chunks in a dry run: one chunk is run, and its costs are multiplied.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;

use quorate_ring::meter::{charge_all, charged};

use crate::clock::own_seconds;

/// Work that a dry run does once, though it counts several times.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Repeat {
    /// How often it counts each time that the work around it is done.
    pub count: usize,
    /// The repeated work around it.
    pub around: Option<Arc<Repeat>>,
}

impl Repeat {
    /// Returns how often the work counts in all.
    pub fn times(&self) -> usize {
        self.count * self.around.as_ref().map_or(1, |around| around.times())
    }
}

/// The way in which a dry run counts the costs of chunks.
#[derive(Default)]
pub(crate) struct Counting {
    /// Whether equal chunks are run once and multiplied.
    alike: Cell<bool>,
    /// The repeated work that is done at present.
    within: RefCell<Option<Arc<Repeat>>>,
    /// Seconds of bookkeeping that the skipped chunks would have taken.
    left_out_seconds: Cell<f64>,
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
        self.within.borrow().as_ref().map_or(1, |repeat| repeat.times())
    }

    /// Returns the repeated work that is done at present.
    pub fn within(&self) -> Option<Arc<Repeat>> {
        self.within.borrow().clone()
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
        let repeat = Arc::new(Repeat { count: times, around: self.within() });
        poll_fn(|context| {
            let outer = self.within.replace(Some(repeat.clone()));
            if times == 1 {
                let polled = work.as_mut().poll(context);
                self.within.replace(outer);
                return polled;
            }
            let (tally, own, left_out) = (charged(), own_seconds(), self.left_out_seconds.get());
            let polled = work.as_mut().poll(context);
            self.within.replace(outer);
            let (once, more) = (charged() - tally, times - 1);
            charge_all(&once.times(more));
            let seconds = own_seconds() - own + self.left_out_seconds.get() - left_out;
            self.left_out_seconds.set(self.left_out_seconds.get() + seconds * more as f64);
            polled
        })
        .await
    }
}
