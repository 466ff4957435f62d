//! The values of a run, by the place of their step in the program's order, with the number of uses that remain.

use std::cell::RefCell;
use std::sync::Arc;

use quorate_engine::{Ctx, Depth, Error, Result};
use quorate_gadgets::Computes;
use quorate_graph::NodeId;
use quorate_planner::Work;

use crate::work::order::{Places, all_read, read_from_before};
use crate::work::value::{Known, Value};

/// The values that exist: those of the run's nodes, and those from before.
pub(crate) struct Values<'w, S: Computes> {
    places: Places<'w>,
    /// Nodes from before that the run reads; their entries come after all others.
    known: Vec<NodeId>,
    entries: RefCell<Vec<Entry<S>>>,
}

struct Entry<S: Computes> {
    value: Option<Arc<Value<S>>>,
    made: Depth,
    /// The number of uses that remain.
    uses: u32,
}

impl<'w, S: Computes> Values<'w, S> {
    pub fn of(work: &'w Work<'_>, known: &Known<S>) -> Self {
        let places = Places(&work.nodes);
        let (before, uses) = reads(work);
        let own = work.nodes.len();
        let mut entries = Vec::with_capacity(uses.len());
        for (at, uses) in uses.into_iter().enumerate() {
            let value = at.checked_sub(own).and_then(|at| known.get(&before[at]).cloned());
            entries.push(Entry { value, made: Depth::default(), uses });
        }
        Values { places, known: before, entries: RefCell::new(entries) }
    }

    pub fn places(&self) -> Places<'w> {
        self.places
    }

    fn place(&self, id: NodeId) -> Option<usize> {
        place(self.places, &self.known, id)
    }

    /// Returns whether the run has a value of this node, now or later.
    pub fn contains(&self, id: NodeId) -> bool {
        self.place(id).is_some_and(|at| at < self.places.0.len() || self.entries.borrow()[at].value.is_some())
    }

    /// Returns a value that exists. The depth of the lane becomes at least that at which the value was made.
    pub fn read(&self, ctx: &Ctx, id: NodeId) -> Result<Arc<Value<S>>> {
        let missing = Error::Bug { what: "a program step needs a value that nothing computes" };
        let at = self.place(id).ok_or(missing.clone())?;
        let entry = &self.entries.borrow()[at];
        ctx.read(entry.made);
        entry.value.clone().ok_or(missing)
    }

    /// Stores the value of a step, if another step or a reveal will use it.
    pub fn set(&self, ctx: &Ctx, place: usize, value: Arc<Value<S>>) {
        let entry = &mut self.entries.borrow_mut()[place];
        if entry.uses > 0 {
            (entry.value, entry.made) = (Some(value), ctx.reached());
        }
    }

    /// Counts one use; returns true after the last one, when the value is dropped.
    pub fn used(&self, id: NodeId) -> bool {
        let Some(at) = self.place(id) else { return false };
        let entry = &mut self.entries.borrow_mut()[at];
        entry.uses -= 1;
        if entry.uses == 0 {
            entry.value = None;
        }
        entry.uses == 0
    }
}

/// Returns the nodes from before that a run reads, in order, and the number of uses of each of the run's own nodes and
/// then of these.
fn reads(work: &Work<'_>) -> (Vec<NodeId>, Vec<u32>) {
    let before = read_from_before(work);
    let mut uses = vec![0; work.nodes.len() + before.len()];
    all_read(work).filter_map(|id| place(Places(&work.nodes), &before, id)).for_each(|at| uses[at] += 1);
    (before, uses)
}

/// Returns the place of a node among a run's own nodes, followed by those from before.
fn place(own: Places<'_>, before: &[NodeId], id: NodeId) -> Option<usize> {
    let known = || before.binary_search(&id).ok().map(|at| own.0.len() + at);
    own.of(id).or_else(known)
}
