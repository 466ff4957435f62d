//! The board of a dry run of all parties: it holds the depths that messages would carry.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::task::{Poll, Waker};

use crate::ctx::Ctx;
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
    fn tell(&self, line: (usize, usize, LaneId), depth: u32) {
        self.told.set(self.told.get() + 1);
        let mut lines = self.lines.borrow_mut();
        let line = lines.entry(line).or_default();
        line.depths.push_back(depth);
        if let Some(waker) = line.waiting.take() {
            waker.wake();
        }
    }

    fn poll(&self, line: (usize, usize, LaneId), waker: &Waker) -> Poll<u32> {
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

impl Ctx {
    /// Returns whether this party computes the others' depths itself: in a dry run of one party.
    pub(crate) fn reckons(&self) -> bool {
        self.is_dry() && self.core.board.is_none()
    }

    /// Leaves this party's depth for a peer's next receive on this lane, in a dry run of all parties.
    pub(crate) fn tell(&self, to: usize) {
        if let Some(board) = &self.core.board {
            board.tell((self.me(), to, self.lane), self.depth().saturating_add(1));
        }
    }

    /// Returns the depth that a peer left; 0 in a dry run of one party.
    pub(crate) async fn told(&self, from: usize) -> u32 {
        match &self.core.board {
            Some(board) => poll_fn(|context| board.poll((from, self.me(), self.lane), context.waker())).await,
            None => 0,
        }
    }
}
