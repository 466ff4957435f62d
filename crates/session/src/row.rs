//! The parties keep together: nobody runs far ahead of the slowest, whatever the steps are.
//!
//! Room at one party (see `gate`) does not bound what it sends in steps that end for it once it has sent: an input, a value
//! for another party. So all steps that talk form a row, numbered so that each comes after all that it needs, alike at all
//! parties, and a step begins only if it lies less than [`AHEAD_BYTES`] behind the first step that some party has not
//! finished, as far as is known. The parties tell each other how far they are.
//!
//! The first step that is unfinished anywhere is allowed everywhere, so no two parties can wait for each other: all before
//! it are finished, so it has its operands, and what a party has not reported yet is a small part of what is allowed.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::task::Waker;

use quorate_engine::{Ctx, Pace, Result};
use quorate_graph::NodeId;

use crate::executor::Work;
use crate::mixed::garbled_bytes;
use crate::schedule::Schedule;

/// Bytes of shares, and of tables, that lie between the first step unfinished anywhere and the last one begun anywhere.
pub(crate) const AHEAD_BYTES: u64 = 256 << 20;
/// Bytes of an element, about.
const SHARE_BYTES: u64 = 16;
/// What a step counts for beside its shares: its lanes and messages, here and where they wait to be read.
const STEP_BYTES: u64 = 2048;
/// Reports go out whenever this part of [`AHEAD_BYTES`] was finished.
const REPORTS: u64 = 8;

pub(crate) struct Row {
    ahead: u64,
    /// The step of each lane that talks.
    steps: Vec<Option<usize>>,
    /// Where each step begins in the row of all, in bytes.
    starts: Vec<u64>,
    /// Where the row is longer than parties may be apart.
    pace: OnceCell<Pace>,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    waiting: BTreeMap<usize, Waker>,
    finished: BTreeSet<usize>,
    /// The first step that is not finished here, and at the slowest peer as far as is known.
    done: usize,
    slowest: usize,
}

/// A step under way; dropping it finishes it.
pub(crate) struct Turn<'r> {
    row: &'r Row,
    step: usize,
}

impl Row {
    /// The steps of a program: nodes that talk, and reveals right behind their nodes.
    pub fn new(work: &Work<'_>, schedule: &Schedule, ahead: u64) -> Row {
        let places: BTreeMap<NodeId, usize> = work.nodes.iter().zip(1..).map(|(&id, place)| (id, place)).collect();
        let elements = |id: NodeId| work.graph.node(id).elements() as u64;
        let nodes = work.nodes.iter().enumerate().filter(|&(_, &id)| work.talks(schedule, id));
        let nodes = nodes.map(|(lane, &id)| {
            let operands: u64 = work.graph.node(id).inputs.iter().map(|&input| elements(input)).sum();
            (places[&id], lane, SHARE_BYTES * (elements(id) + operands) + garbled_bytes(work, id))
        });
        let reveals = work.reveals.iter().zip(work.nodes.len()..);
        let reveals = reveals.map(|(reveal, lane)| {
            let place = places.get(&reveal.node).copied().unwrap_or(0);
            (place, lane, SHARE_BYTES * elements(reveal.node))
        });
        let mut order: Vec<(usize, usize, u64)> = nodes.chain(reveals).collect();
        order.sort_unstable();
        let mut steps = vec![None; work.nodes.len() + work.reveals.len()];
        order.iter().enumerate().for_each(|(step, &(_, lane, _))| steps[lane] = Some(step));
        Row::of(ahead, steps, order.into_iter().map(|(_, _, bytes)| bytes))
    }

    fn of(ahead: u64, steps: Vec<Option<usize>>, bytes: impl Iterator<Item = u64>) -> Row {
        let mut starts = vec![0];
        let mut end = 0u64;
        starts.extend(bytes.map(|bytes| {
            end = end.saturating_add(bytes).saturating_add(STEP_BYTES);
            end
        }));
        Row { ahead, steps, starts, pace: OnceCell::new(), state: RefCell::default() }
    }

    /// From now on the parties keep together.
    pub fn keep_together(&self, ctx: &Ctx) {
        let last = self.starts.len().saturating_sub(2);
        if let Some(pace) = ctx.pace(self.needed(last)) {
            let _ = self.pace.set(pace);
        }
    }

    /// Waits until the step of a lane may begin; `None` where nothing is to be waited for, then or later.
    ///
    /// # Errors
    /// The slowest party has left.
    pub async fn enter(&self, lane: usize) -> Result<Option<Turn<'_>>> {
        let (Some(step), Some(pace)) = (self.steps[lane], self.pace.get()) else { return Ok(None) };
        poll_fn(|context| {
            let slowest = pace.slowest();
            let mut state = self.state.borrow_mut();
            state.waiting.remove(&step);
            let moved = std::mem::replace(&mut state.slowest, slowest) < slowest;
            let ready = pace.poll(self.needed(step), context.waker());
            if ready.is_pending() {
                state.waiting.insert(step, context.waker().clone());
            }
            // Of those that wait the first is woken when the slowest party has moved; it wakes the next one if it may begin.
            let next = if moved || ready.is_ready() { state.waiting.pop_first() } else { None };
            drop(state);
            if let Some((_, waker)) = next {
                waker.wake();
            }
            ready
        })
        .await?;
        Ok(Some(Turn { row: self, step }))
    }

    /// How many first steps all parties must have finished before this one begins.
    fn needed(&self, step: usize) -> usize {
        self.starts.partition_point(|start| start.saturating_add(self.ahead) <= self.starts[step])
    }

    fn finish(&self, step: usize) {
        let mut state = self.state.borrow_mut();
        state.finished.insert(step);
        while state.finished.first() == Some(&state.done) {
            state.finished.pop_first();
            state.done += 1;
        }
        if let Some(pace) = self.pace.get()
            && self.starts[state.done] - self.starts[pace.reported()] >= self.ahead / REPORTS
        {
            pace.report(state.done);
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.row.finish(self.step);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(ahead: u64, bytes: impl Iterator<Item = u64>) -> Row {
        Row::of(ahead, vec![], bytes)
    }

    #[test]
    fn what_a_step_needs_of_the_others_lies_less_than_the_bound_before_it() {
        let row = row(100 * STEP_BYTES, (0..300).map(|i| STEP_BYTES * (i % 5)));
        for step in 0..300 {
            let needed = row.needed(step);
            assert!(row.starts[needed] + row.ahead > row.starts[step]);
            assert!(needed == 0 || row.starts[needed - 1] + row.ahead <= row.starts[step]);
            assert!(needed <= step, "who has finished all before it holds nobody back");
        }
    }

    #[test]
    fn short_programs_keep_no_pace() {
        assert_eq!(row(100 * STEP_BYTES, [0; 100].into_iter()).needed(99), 0);
        assert_eq!(row(AHEAD_BYTES, std::iter::empty()).needed(0), 0);
    }
}
