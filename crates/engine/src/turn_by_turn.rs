//! Correlations that are made in turns while a program runs.
//!
//! The order is that of a dry run in which a step begins when those before it are done ([`crate::turns`]). Therefore no
//! two parties wait for each other, all make the same correlations at a time, and nothing else is made meanwhile.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::task::{Poll, Waker};

use crate::correlations::{Demand, Request};
use crate::error::{Error, Result};
use crate::lane::LaneId;

/// The turns of a run.
#[derive(Debug)]
pub(crate) struct Turns<K> {
    coming: VecDeque<Demand<K>>,
    /// Draws whose correlations were made and are not taken yet.
    now: BTreeMap<(LaneId, u64), Request<K>>,
    is_making: bool,
    begun: u64,
    waiting: Vec<Waker>,
}

/// The way in which a draw is served if correlations are made in turns.
pub(crate) enum Served<K> {
    /// Make these correlations, on the lane with this number next to the draw's lane.
    Make(u64, BTreeMap<K, usize>),
    /// Take this range of the correlations of this turn.
    Take(Range<usize>),
}

impl<K: Ord + Clone> Turns<K> {
    pub fn new(coming: VecDeque<Demand<K>>) -> Turns<K> {
        Turns { coming, now: BTreeMap::new(), is_making: false, begun: 0, waiting: Vec::new() }
    }

    /// Returns how the draw of this name is served, once its turn has come.
    pub fn poll(&mut self, at: (LaneId, u64), (kind, len): (&K, usize), waker: &Waker) -> Poll<Result<Served<K>>> {
        if !self.is_making
            && let Some(request) = self.now.remove(&at)
        {
            if self.now.is_empty() {
                self.wake();
            }
            return Poll::Ready(match request.kind == *kind && request.len == len {
                true => Ok(Served::Take(request.start..request.start + len)),
                false => Err(Error::Exhausted { wanted: len, left: 0 }),
            });
        }
        let is_next = self.coming.front().is_some_and(|next| next.order.first() == Some(&at));
        if is_next
            && self.now.is_empty()
            && let Some(next) = self.coming.pop_front()
        {
            (self.now, self.is_making, self.begun) = (next.draws, true, self.begun + 1);
            return Poll::Ready(Ok(Served::Make(self.begun, next.totals)));
        }
        if !self.now.contains_key(&at) && !self.coming.iter().any(|turn| turn.draws.contains_key(&at)) {
            return Poll::Ready(Err(Error::Exhausted { wanted: len, left: 0 }));
        }
        self.waiting.push(waker.clone());
        Poll::Pending
    }

    /// Notes that the correlations of this turn were made.
    pub fn made(&mut self) {
        self.is_making = false;
        self.wake();
    }

    fn wake(&mut self) {
        self.waiting.drain(..).for_each(Waker::wake);
    }
}
