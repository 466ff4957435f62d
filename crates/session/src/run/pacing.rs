//! The row: keeps the parties together, so that no party runs far ahead of the slowest, for all steps.
//!
//! The gate (see `gate`) bounds the memory of steps at one party. It does not bound what that party sends in steps that
//! end for it as soon as it has sent: an input, or a value for another party. So all steps that talk (exchange
//! messages) form a row. They are numbered in the same way at all parties, each after all of its operands. A step
//! begins only if it lies less than [`AHEAD_BYTES`] behind the first step that, as far as is known, some party has not
//! finished. The parties tell each other their progress.
//!
//! The first step that is unfinished at any party is allowed at all parties, so no two parties can wait for each other.
//! All steps before it are finished, so it has its operands. Unreported progress is a small part of the allowed
//! distance.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeSet;
use std::task::{Poll, Waker};

use quorate_engine::{Ctx, Pace, Result};
use quorate_graph::{Domain, InBits, NodeId};
use quorate_planner::Work;

use crate::memory::schedule::Schedule;
use crate::run::operations::world::GARBLED;
use crate::work::order::{Item, Order};

/// The largest distance, in bytes of shares and tables, between the first step unfinished at any party and the last one
/// begun at any party.
pub(crate) const AHEAD_BYTES: u64 = 256 << 20;
/// Approximate bytes of an element.
const SHARE_BYTES: u64 = 16;
/// Bytes that a step counts for besides its shares: its lanes and messages, at both ends.
const STEP_BYTES: u64 = 2048;
/// A party reports its progress whenever it has finished one part in this many of [`AHEAD_BYTES`].
const REPORTS: u64 = 8;

/// A lane that sends nothing.
const SILENT: u32 = u32::MAX;

pub(crate) struct Row {
    ahead: u64,
    /// The step of each lane, or [`SILENT`].
    steps: Vec<u32>,
    /// The place where each step begins in the whole row, in bytes.
    starts: Vec<u64>,
    /// The pace, set where the row is longer than the parties may be apart.
    pace: OnceCell<Pace>,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    finished: BTreeSet<usize>,
    /// The first step that is not finished at this party.
    done: usize,
}

/// A step under way; dropping it finishes the step.
pub(crate) struct Turn<'r> {
    row: &'r Row,
    step: usize,
}

impl Row {
    /// Returns the row of the steps of a program that talk, in this order.
    pub fn new(work: &Work<'_>, order: &Order, schedule: &Schedule, ahead: u64) -> Row {
        let elements = |id: NodeId| work.graph.node(id).elements() as u64;
        let mut steps = vec![SILENT; order.len()];
        let mut bytes = Vec::new();
        for (lane, step) in steps.iter_mut().enumerate() {
            bytes.push(match order.item(lane) {
                Item::Node(place) => {
                    let id = work.nodes[place];
                    if !schedule.talks(work, id) {
                        continue;
                    }
                    let operands: u64 = work.graph.node(id).inputs.iter().map(|&input| elements(input)).sum();
                    SHARE_BYTES * (elements(id) + operands) + garbled_bytes(work, id)
                }
                Item::Reveal(i) => SHARE_BYTES * elements(work.reveals[i].node),
            });
            *step = bytes.len() as u32 - 1;
        }
        Row::of(ahead, steps, bytes.into_iter())
    }

    fn of(ahead: u64, steps: Vec<u32>, bytes: impl Iterator<Item = u64>) -> Row {
        let mut starts = vec![0];
        let mut end = 0u64;
        starts.extend(bytes.map(|bytes| {
            end = end.saturating_add(bytes).saturating_add(STEP_BYTES);
            end
        }));
        Row { ahead, steps, starts, pace: OnceCell::new(), state: RefCell::default() }
    }

    /// Starts to keep the parties together.
    pub fn keep_together(&self, ctx: &Ctx) {
        let last = self.starts.len().saturating_sub(2);
        if let Some(pace) = ctx.pace(self.needed(last)) {
            let _ = self.pace.set(pace);
        }
    }

    /// Returns whether the step of a lane may begin. If not, `waker` is woken when the slowest party has moved. Of the
    /// steps that wait, only the first one should be asked again.
    ///
    /// # Errors
    /// The slowest party has left.
    pub fn may_begin(&self, lane: usize, waker: &Waker) -> Result<bool> {
        let (Some(step), Some(pace)) = (self.step(lane), self.pace.get()) else { return Ok(true) };
        match pace.poll(self.needed(step), waker) {
            Poll::Ready(ready) => ready.map(|()| true),
            Poll::Pending => Ok(false),
        }
    }

    /// Begins the step of a lane; `None` where the parties need not be kept together or the lane sends nothing.
    pub fn begin(&self, lane: usize) -> Option<Turn<'_>> {
        self.pace.get().and(self.step(lane)).map(|step| Turn { row: self, step })
    }

    /// Returns the place in the row of the step of a lane; `None` where the lane sends nothing.
    pub fn step(&self, lane: usize) -> Option<usize> {
        self.steps.get(lane).filter(|&&step| step != SILENT).map(|&step| step as usize)
    }

    /// Returns the number of first steps that all parties must have finished before this step begins.
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

/// Returns the approximate bytes of the tables that a garbler sends for a step without waiting. These are tables of its
/// circuits, and of the adders that convert its operands to labels.
fn garbled_bytes(work: &Work<'_>, id: NodeId) -> u64 {
    const BYTES_PER_AND: u64 = 32;
    if work.domains.of(id) != Domain::Y {
        return 0;
    }
    let (graph, node) = (work.graph, work.graph.node(id));
    let adders = node.inputs.iter().filter(|&&input| work.domains.of(input) != Domain::Y);
    let adders: u64 = adders.map(|&input| (graph.width(input).0 * graph.node(input).elements()) as u64).sum();
    let circuits = graph.ready(id, GARBLED.0, GARBLED.1).map_or(0, |ready| {
        let times = match ready.how {
            InBits::Each(_) => node.elements(),
            InBits::Fold { axis, .. } | InBits::FoldPlaces { axis, .. } => axis.outer * axis.len * axis.inner,
            InBits::Groups(_) => node.elements() / ready.program.output_slots().len().max(1),
        };
        times as u64 * ready.program.and_count()
    });
    BYTES_PER_AND * (adders + circuits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(ahead: u64, bytes: impl Iterator<Item = u64>) -> Row {
        Row::of(ahead, vec![], bytes)
    }

    #[test]
    fn a_step_requires_all_steps_farther_back_than_the_bound() {
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
