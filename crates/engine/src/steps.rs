//! The lanes of a program's steps. Each step starts when its operands are ready, so only steps under way take memory.
//!
//! Step i has lane number i, independently of its start and of other steps under way. So nothing depends on the order
//! in which the parties start their steps.

use std::collections::BTreeMap;
use std::future::Future;
use std::task::Context;

use crate::bell::{Bell, Child};
use crate::ctx::Ctx;
use crate::depth::Depth;
use crate::error::{Result, Step};
use crate::lane::LaneId;

/// The steps under way, and the deepest point that finished steps have reached.
pub struct Steps<'a, T> {
    parent: &'a Ctx,
    group: LaneId,
    bell: std::sync::Arc<Bell>,
    children: BTreeMap<usize, Child<'a, T>>,
    deepest: Depth,
    rung: Vec<usize>,
}

impl Ctx {
    /// Returns an empty set of steps, on a fork of this lane. Every party of the lane calls it in step.
    pub fn steps<T>(&self) -> Steps<'_, T> {
        let (group, deepest) = (self.fork_lane(), self.depth.get());
        Steps { parent: self, group, bell: Bell::new(), children: BTreeMap::new(), deepest, rung: Vec::new() }
    }

    /// Returns the depth of this lane, for a value that is made here.
    pub fn reached(&self) -> Depth {
        self.depth.get()
    }

    /// Raises this lane's depth to that at which a value that it reads was made.
    pub fn read(&self, made: Depth) {
        self.depth.set(self.depth.get().join(made));
    }
}

impl<'a, T> Steps<'a, T> {
    /// Returns the lane of step `i`, at the parent's depth.
    pub fn lane(&self, i: usize) -> Ctx {
        self.parent.child(self.group.child(i as u64))
    }

    /// Starts step `i` with `work` in its lane. `step` is its name in messages.
    pub fn start<F>(&mut self, i: usize, step: Step, work: impl FnOnce(Ctx) -> F)
    where
        F: Future<Output = Result<T>> + 'a,
    {
        let mut lane = self.lane(i);
        lane.step = Some(step);
        let child = Child::new(&self.bell, i, lane.depth.clone(), Box::pin(work(lane)));
        self.children.insert(i, child);
    }

    /// Notes that a step was done in its `lane` at once.
    pub fn done(&mut self, lane: &Ctx) {
        self.deepest = self.deepest.join(lane.depth.get());
    }

    /// Returns the number of steps under way.
    pub fn len(&self) -> usize {
        self.children.len()
    }

    /// Returns whether none is under way.
    pub fn is_empty(&self) -> bool {
        self.children.is_empty()
    }

    /// Continues the steps that were woken. Returns those that are done now, in their order. Call it again until it
    /// returns none; the caller is then woken when there is more to do.
    ///
    /// # Errors
    /// The first error of any step; the others are to be given up.
    pub fn poll(&mut self, context: &Context<'_>) -> Result<Vec<(usize, T)>> {
        self.bell.listen(context.waker());
        let mut done = Vec::new();
        while done.is_empty() {
            let mut rung = std::mem::take(&mut self.rung);
            self.bell.take(&mut rung);
            if rung.is_empty() {
                break;
            }
            for &i in &rung {
                let Some(child) = self.children.get_mut(&i) else { continue };
                if let std::task::Poll::Ready(result) = child.poll() {
                    self.deepest = self.deepest.join(child.depth.get());
                    self.children.remove(&i);
                    done.push((i, result?));
                }
            }
            self.rung = rung;
        }
        Ok(done)
    }

    /// Continues the parent at the depth where the deepest step ended; steps that start later begin there.
    pub fn join(&self) {
        self.parent.depth.set(self.parent.depth.get().join(self.deepest));
    }
}
