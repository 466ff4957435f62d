//! The gate: admits steps as long as there is memory for them. Large steps wait for room; small ones rarely do.
//!
//! Without a gate, a hundred independent products of a million elements would all be under way at once. A slow party
//! would have to store what the others send for all of them. A step enters when it is its turn in the program's order,
//! or if there is room to run it early. So the first unfinished step is always admitted at every party, and no two
//! parties can wait for each other. Steps that send nothing pass the gate, too, because their results take memory. A
//! step that runs early counts, its result included, until its turn has come. Rounds are causal depth and do not depend
//! on the order of entry.
//!
//! The gate has each reveal right behind the node that it opens, in the same order as the row of all parties (see
//! `pacing`). With two different orders, the gate and the row could wait for each other.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

/// Bytes that early steps may take together, where no limit is set.
pub(crate) const ROOM_BYTES: u64 = 256 << 20;

pub(crate) struct Gate {
    /// Bytes that steps before their turn may take together.
    room: u64,
    /// The early steps with the bytes that each counts for, and the sum of these.
    inside: RefCell<BTreeMap<usize, u64>>,
    used: Cell<u64>,
    /// The first unfinished step, and the steps behind it that have finished.
    turn: Cell<usize>,
    finished: RefCell<BTreeSet<usize>>,
}

/// Admission of a step under way; dropping it frees the step's room.
pub(crate) struct Pass<'g> {
    gate: &'g Gate,
    step: usize,
}

impl Gate {
    /// Returns a gate with `room` bytes for early steps, or with [`ROOM_BYTES`] where no limit is set.
    pub fn new(room: Option<u64>) -> Gate {
        let (inside, used, turn, finished) = Default::default();
        Gate { room: room.unwrap_or(ROOM_BYTES), inside, used, turn, finished }
    }

    /// Admits step `step` if there is room for it; it takes `bytes` bytes besides its operands. Steps are numbered
    /// without gaps.
    pub fn enter(&self, step: usize, bytes: u64) -> Option<Pass<'_>> {
        self.admit(step, bytes).then(|| Pass { gate: self, step })
    }

    fn admit(&self, step: usize, bytes: u64) -> bool {
        // A step whose turn it is has its place in the bound for steps in order.
        if step == self.turn.get() {
            return true;
        }
        let used = self.used.get().saturating_add(bytes);
        let admitted = used <= self.room;
        if admitted {
            self.inside.borrow_mut().insert(step, bytes);
            self.used.set(used);
        }
        admitted
    }

    fn leave(&self, step: usize) {
        let mut finished = self.finished.borrow_mut();
        if step == self.turn.get() {
            self.turn.set(step + 1);
        } else {
            finished.insert(step);
        }
        while finished.remove(&self.turn.get()) {
            self.turn.set(self.turn.get() + 1);
        }
        // Steps that were early and whose turn has come count no longer.
        let mut inside = self.inside.borrow_mut();
        while let Some(first) = inside.first_entry().filter(|first| *first.key() <= self.turn.get()) {
            self.used.set(self.used.get() - first.remove());
        }
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        self.gate.leave(self.step);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_steps_enter_at_once_and_large_ones_one_by_one() {
        let gate = Gate::new(None);
        let small: Vec<_> = (0..1000).map(|step| gate.enter(step, 1000)).collect();
        assert!(small.iter().all(Option::is_some));
        drop(small);
        let large = gate.enter(1000, u64::MAX);
        assert!(large.is_some() && gate.enter(1001, ROOM_BYTES + 1).is_none());
        drop(large);
        assert!(gate.enter(1001, ROOM_BYTES + 1).is_some());
    }

    #[test]
    fn under_a_limit_what_is_early_counts_until_its_turn() {
        let gate = Gate::new(Some(100));
        let turn = gate.enter(0, 1000);
        assert!(turn.is_some(), "the step whose turn it is needs no room");
        let early = gate.enter(2, 60);
        assert!(early.is_some() && gate.enter(3, 60).is_none());
        drop(early);
        assert!(gate.enter(3, 60).is_none(), "its result is still there");
        drop(turn);
        let next = gate.enter(1, 1000);
        assert!(next.is_some() && gate.enter(3, 60).is_none());
        drop(next);
        assert_eq!(gate.turn.get(), 3);
        assert!(gate.enter(3, 1000).is_some() && gate.inside.borrow().is_empty());
    }

    #[test]
    fn many_steps_in_any_order_all_enter_and_none_is_scanned_for_another() {
        const STEPS: usize = 100_000;
        for room in [None, Some(5000)] {
            let gate = Gate::new(room);
            let started = std::time::Instant::now();
            let early: Vec<_> = (1..STEPS).map(|step| gate.enter(step, 1000)).collect();
            assert_eq!(early.iter().flatten().count(), if room.is_none() { STEPS - 1 } else { 5 });
            drop(early);
            drop(gate.enter(0, 1000));
            let next = if room.is_none() { STEPS } else { 6 };
            assert_eq!((gate.turn.get(), gate.used.get()), (next, 0));
            assert!(started.elapsed().as_secs() < 20, "quadratic: this takes milliseconds otherwise");
        }
    }
}
