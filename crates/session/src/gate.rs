//! How much of a program runs at a time: large steps wait for room, small ones never notice.
//!
//! Without it, a hundred independent products of a million elements would all be under way at once, and a slow party would
//! have to park what the others send for all of them. A step enters if there is room, or if it is the first of those that
//! are under way: so the first unfinished step is always admitted at every party, and no two parties can wait for each
//! other. Rounds are causal depth and do not depend on the order of entry.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::task::{Poll, Waker};

/// Bytes of shares that steps under way may work on, together.
const ROOM_BYTES: u64 = 256 << 20;

#[derive(Default)]
pub(crate) struct Gate {
    inside: RefCell<BTreeMap<usize, u64>>,
    waiting: RefCell<Vec<Waker>>,
}

/// A step under way; dropping it makes room.
pub(crate) struct Pass<'g> {
    gate: &'g Gate,
    step: usize,
}

impl Gate {
    /// Waits for room for step `step`, which works on so many bytes.
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
        let used: u64 = inside.values().sum();
        let first = inside.keys().next().is_none_or(|&first| step < first);
        let admitted = first || used.saturating_add(bytes) <= ROOM_BYTES;
        if admitted {
            inside.insert(step, bytes);
        }
        admitted
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        self.gate.inside.borrow_mut().remove(&self.step);
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
}
