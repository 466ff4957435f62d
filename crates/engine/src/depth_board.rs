//! The board of a dry run of all parties: it holds the depths that messages would carry.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::task::{Poll, Waker};

use crate::lane::LaneId;

/// Depths under way, and the lanes that wait for one, by sender, receiver and lane.
#[derive(Default)]
pub(crate) struct Board {
    lines: RefCell<BTreeMap<(usize, usize, LaneId), Line>>,
    /// The number of depths that were left here.
    pub told: Cell<u64>,
}

#[derive(Default)]
struct Line {
    depths: VecDeque<u32>,
    waiting: Option<Waker>,
}

impl Board {
    /// Leaves a depth for the next receive on a line.
    pub fn tell(&self, line: (usize, usize, LaneId), depth: u32) {
        self.told.set(self.told.get() + 1);
        let mut lines = self.lines.borrow_mut();
        let line = lines.entry(line).or_default();
        line.depths.push_back(depth);
        if let Some(waker) = line.waiting.take() {
            waker.wake();
        }
    }

    /// Takes the first depth on a line, or waits for it.
    pub fn poll(&self, line: (usize, usize, LaneId), waker: &Waker) -> Poll<u32> {
        let mut lines = self.lines.borrow_mut();
        let held = lines.entry(line).or_default();
        let Some(depth) = held.depths.pop_front() else {
            held.waiting = Some(waker.clone());
            return Poll::Pending;
        };
        if held.depths.is_empty() {
            lines.remove(&line);
        }
        Poll::Ready(depth)
    }
}
