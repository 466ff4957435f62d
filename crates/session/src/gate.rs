//! How much of a program runs at a time: large steps wait for room, small ones never notice.
//!
//! Without it, a hundred independent products of a million elements would all be under way at once, and a slow party would
//! have to park what the others send for all of them. A step enters when it is its turn in the program's order, or if there
//! is room to run early: so the first unfinished step is always admitted at every party, and no two parties can wait for
//! each other. Steps that send nothing pass the gate, too: their results take memory. What runs early counts until its turn
//! has come, its result included. Rounds are causal depth and do not depend on the order of entry.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::task::{Poll, Waker};

/// Bytes that early steps may take, together, where nobody set a limit.
const ROOM_BYTES: u64 = 256 << 20;

pub(crate) struct Gate {
    /// Bytes that steps before their turn may take together.
    room: u64,
    /// Early steps, what each counts for, and their sum.
    inside: RefCell<BTreeMap<usize, u64>>,
    used: Cell<u64>,
    /// The first step that has not finished, and those behind it that have.
    turn: Cell<usize>,
    finished: RefCell<BTreeSet<usize>>,
    /// Steps that did not fit, by their place, with what they would take.
    waiting: RefCell<BTreeMap<usize, (u64, Waker)>>,
}

/// A step under way; dropping it makes room.
pub(crate) struct Pass<'g> {
    gate: &'g Gate,
    step: usize,
}

impl Gate {
    /// Room for early steps: so many bytes, or what is sane where nobody set a limit.
    pub fn new(room: Option<u64>) -> Gate {
        let (inside, used, turn, finished, waiting) = Default::default();
        Gate { room: room.unwrap_or(ROOM_BYTES), inside, used, turn, finished, waiting }
    }

    /// Waits for room for step `step`, which takes so many bytes beside its operands. Steps are numbered without gaps.
    pub async fn enter(&self, step: usize, bytes: u64) -> Pass<'_> {
        poll_fn(|context| {
            if self.admit(step, bytes) {
                return Poll::Ready(());
            }
            self.waiting.borrow_mut().insert(step, (bytes, context.waker().clone()));
            Poll::Pending
        })
        .await;
        Pass { gate: self, step }
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
        finished.insert(step);
        while finished.remove(&self.turn.get()) {
            self.turn.set(self.turn.get() + 1);
        }
        // What was early is in order now.
        let mut inside = self.inside.borrow_mut();
        while let Some(first) = inside.first_entry().filter(|first| *first.key() <= self.turn.get()) {
            self.used.set(self.used.get() - first.remove());
        }
    }

    /// Wakes the first of those that wait as far as there is room; the one whose turn it is comes first of all.
    fn wake(&self) {
        let mut waiting = self.waiting.borrow_mut();
        let mut left = self.room - self.used.get();
        while let Some(first) = waiting.first_entry() {
            let (step, bytes) = (*first.key(), first.get().0);
            if step != self.turn.get() && bytes > left {
                break;
            }
            left = left.saturating_sub(bytes);
            first.remove().1.wake();
        }
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        self.gate.leave(self.step);
        self.gate.wake();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enters<'g>(gate: &'g Gate, step: usize, bytes: u64) -> Option<Pass<'g>> {
        gate.admit(step, bytes).then(|| Pass { gate, step })
    }

    #[test]
    fn small_steps_enter_at_once_and_large_ones_one_by_one() {
        let gate = Gate::new(None);
        let small: Vec<_> = (0..1000).map(|step| enters(&gate, step, 1000)).collect();
        assert!(small.iter().all(Option::is_some));
        drop(small);
        let large = enters(&gate, 1000, u64::MAX);
        assert!(large.is_some() && enters(&gate, 1001, ROOM_BYTES + 1).is_none());
        drop(large);
        assert!(enters(&gate, 1001, ROOM_BYTES + 1).is_some());
    }

    #[test]
    fn under_a_limit_what_is_early_counts_until_its_turn() {
        let gate = Gate::new(Some(100));
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

    #[test]
    fn many_steps_in_any_order_all_enter_and_none_is_scanned_for_another() {
        const STEPS: usize = 100_000;
        for room in [None, Some(5000)] {
            let gate = Gate::new(room);
            let started = std::time::Instant::now();
            let early: Vec<_> = (1..STEPS).map(|step| enters(&gate, step, 1000)).collect();
            assert_eq!(early.iter().flatten().count(), if room.is_none() { STEPS - 1 } else { 5 });
            drop(early);
            drop(enters(&gate, 0, 1000));
            let next = if room.is_none() { STEPS } else { 6 };
            assert_eq!((gate.turn.get(), gate.used.get()), (next, 0));
            assert!(started.elapsed().as_secs() < 20, "quadratic: this takes milliseconds otherwise");
        }
    }

    #[test]
    fn those_that_wait_are_woken_in_order_as_far_as_there_is_room() {
        use std::sync::Arc;
        use std::sync::atomic::{AtomicUsize, Ordering};
        struct Count(AtomicUsize);
        impl std::task::Wake for Count {
            fn wake(self: Arc<Self>) {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }
        let gate = Gate::new(Some(100));
        let turn = enters(&gate, 0, 1);
        let early = enters(&gate, 9, 100);
        let woken: Vec<_> = (0..5).map(|_| Arc::new(Count(AtomicUsize::new(0)))).collect();
        for (step, count) in (1..).zip(&woken) {
            let mut future = Box::pin(gate.enter(step, 45));
            let waker = Waker::from(count.clone());
            assert!(future.as_mut().poll(&mut std::task::Context::from_waker(&waker)).is_pending());
        }
        let seen = || woken.iter().map(|count| count.0.load(Ordering::Relaxed)).collect::<Vec<_>>();
        drop(turn);
        assert_eq!(seen(), [1, 0, 0, 0, 0], "only the one whose turn it is");
        drop(enters(&gate, 1, 45));
        assert_eq!(seen(), [1, 1, 0, 0, 0]);
        drop(early);
        drop((2..10).map(|step| enters(&gate, step, 45)).collect::<Vec<_>>());
        assert!(seen()[2] == 1);
    }
}
