//! How much of a program runs at a time: large steps wait for room, small ones never notice.
//!
//! Without it, a hundred independent products of a million elements would all be under way at once, and a slow party would
//! have to park what the others send for all of them. A step enters if there is room, or if it is the first of those that
//! are under way: so the first unfinished step is always admitted at every party, and no two parties can wait for each
//! other. Rounds are causal depth and do not depend on the order of entry.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::task::{Poll, Waker};

/// Bytes of shares that steps under way may work on, together, where nobody set a limit.
const ROOM_BYTES: u64 = 256 << 20;

/// What steps may use side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// Steps under way may work on so many bytes together.
    UnderWay(u64),
    /// Steps that run before their turn, and their results until it comes, may take so many bytes; all others run in the
    /// program's order, for which a bound is known.
    Within(u64),
}

impl Default for Room {
    fn default() -> Self {
        Room::UnderWay(ROOM_BYTES)
    }
}

#[derive(Default)]
pub(crate) struct Gate {
    room: Room,
    /// Steps that count, and what for.
    inside: RefCell<BTreeMap<usize, u64>>,
    /// The first step that has not finished, and those behind it that have; followed where the room is `Within`.
    turn: Cell<usize>,
    finished: RefCell<BTreeSet<usize>>,
    waiting: RefCell<Vec<Waker>>,
}

/// A step under way; dropping it makes room.
pub(crate) struct Pass<'g> {
    gate: &'g Gate,
    step: usize,
}

impl Gate {
    pub fn new(room: Room) -> Gate {
        Gate { room, ..Gate::default() }
    }

    /// Whether steps that send nothing must pass, too: their results take memory.
    pub fn is_for_all(&self) -> bool {
        matches!(self.room, Room::Within(_))
    }

    /// Waits for room for step `step`, which works on so many bytes. Where the gate is for all, steps are numbered without
    /// gaps.
    pub async fn enter(&self, step: usize, bytes: u64) -> Pass<'_> {
        poll_fn(|context| {
            if self.admit(step, bytes) {
                return Poll::Ready(());
            }
            self.waiting.borrow_mut().push(context.waker().clone());
            Poll::Pending
        })
        .await;
        Pass { gate: self, step }
    }

    fn admit(&self, step: usize, bytes: u64) -> bool {
        let mut inside = self.inside.borrow_mut();
        let used: u64 = inside.values().fold(0, |sum, &bytes| sum.saturating_add(bytes));
        let (first, room) = match self.room {
            Room::UnderWay(room) => (inside.keys().next().is_none_or(|&first| step < first), room),
            Room::Within(room) => (step == self.turn.get(), room),
        };
        let admitted = first || used.saturating_add(bytes) <= room;
        // A step whose turn it is has its place in the bound for steps in order.
        if admitted && !(first && self.is_for_all()) {
            inside.insert(step, bytes);
        }
        admitted
    }

    fn leave(&self, step: usize) {
        let mut inside = self.inside.borrow_mut();
        match self.room {
            Room::UnderWay(_) => drop(inside.remove(&step)),
            Room::Within(_) => {
                let mut finished = self.finished.borrow_mut();
                finished.insert(step);
                while finished.remove(&self.turn.get()) {
                    self.turn.set(self.turn.get() + 1);
                }
                // What was early is in order now.
                *inside = inside.split_off(&self.turn.get());
                inside.remove(&self.turn.get());
            }
        }
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        self.gate.leave(self.step);
        self.gate.waiting.borrow_mut().drain(..).for_each(Waker::wake);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enters<'g>(gate: &'g Gate, step: usize, bytes: u64) -> Option<Pass<'g>> {
        gate.admit(step, bytes).then_some(Pass { gate, step })
    }

    #[test]
    fn small_steps_enter_at_once_and_large_ones_one_by_one() {
        let gate = Gate::default();
        let small: Vec<_> = (0..1000).map(|step| enters(&gate, 10 + step, 1000)).collect();
        assert!(small.iter().all(Option::is_some));
        drop(small);
        let large = enters(&gate, 5, ROOM_BYTES);
        assert!(large.is_some() && enters(&gate, 6, 1).is_none());
        drop(large);
        assert!(enters(&gate, 6, 1).is_some());
    }

    #[test]
    fn the_first_unfinished_step_is_admitted_however_full_it_is() {
        let gate = Gate::default();
        let later = enters(&gate, 9, ROOM_BYTES);
        let first = enters(&gate, 3, ROOM_BYTES);
        assert!(later.is_some() && first.is_some());
        assert!(enters(&gate, 4, 1).is_none(), "only the first is exempt");
        drop(first);
        assert!(enters(&gate, 4, 1).is_some());
    }

    #[test]
    fn under_a_limit_what_is_early_counts_until_its_turn() {
        let gate = Gate::new(Room::Within(100));
        let turn = enters(&gate, 0, 1000);
        assert!(turn.is_some(), "the step whose turn it is needs no room");
        let early = enters(&gate, 2, 60);
        assert!(early.is_some() && enters(&gate, 3, 60).is_none());
        drop(early);
        assert!(enters(&gate, 3, 60).is_none(), "its result is still there");
        drop(turn);
        let next = enters(&gate, 1, 1000);
        assert!(next.is_some() && enters(&gate, 3, 60).is_none());
        drop(next);
        assert_eq!(gate.turn.get(), 3);
        assert!(enters(&gate, 3, 1000).is_some() && gate.inside.borrow().is_empty());
    }
}
