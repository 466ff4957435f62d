//! Where parties that run dry together leave their depths for each other, in place of messages.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::task::{Poll, Waker};

use crate::ctx::Ctx;
use crate::lane::LaneId;

/// Depths under way, and who waits for one, by sender, receiver and lane.
#[derive(Default)]
pub(crate) struct Board {
    lines: RefCell<BTreeMap<(usize, usize, LaneId), Line>>,
    /// How many were left here.
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
    /// Whether the others' depths are reckoned: in a dry run of one party.
    pub(crate) fn reckons(&self) -> bool {
        self.is_dry() && self.core.board.is_none()
    }

    /// In a dry run of all parties, tells a peer how deep it is when it has the next message of this lane.
    pub(crate) fn tell(&self, to: usize) {
        if let Some(board) = &self.core.board {
            board.tell((self.me(), to, self.lane), self.depth().saturating_add(1));
        }
    }

    /// What a peer told; 0 in a dry run of one party.
    pub(crate) async fn told(&self, from: usize) -> u32 {
        match &self.core.board {
            Some(board) => poll_fn(|context| board.poll((from, self.me(), self.lane), context.waker())).await,
            None => 0,
        }
    }
}
