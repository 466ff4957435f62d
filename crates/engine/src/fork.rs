//! Lanes side by side: a fixed few ([`Ctx::join`]) or many ([`Ctx::join_all`]).
//!
//! Children start at their parent's depth, and the parent continues at the deepest child's, so rounds of independent
//! work merge. A child is polled only after it was woken.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::Poll;

use crate::bell::{Bell, Child, Place, Work};
use crate::ctx::Ctx;
use crate::depth::Depth;
use crate::error::{Error, Result, Step};
use crate::lane::LaneId;

/// The result of [`Ctx::join`]: those of both pieces of work.
pub type Join<A, B> = (A, B);

impl Ctx {
    /// Returns the lane of this lane's next fork.
    pub(crate) fn fork_lane(&self) -> LaneId {
        let index = self.forks.get();
        self.forks.set(index + 1);
        self.lane.child(index)
    }

    /// Makes a child at this lane's present depth.
    pub(crate) fn fork(&self) -> Ctx {
        self.child(self.fork_lane())
    }

    pub(crate) fn child(&self, lane: LaneId) -> Ctx {
        let depth = Rc::new(Cell::new(self.depth.get()));
        let mut child = Ctx::on(self.core.clone(), lane, depth, self.phase, self.step.clone());
        child.members = self.members.clone();
        child.windows.set(self.windows.get());
        child
    }

    /// Makes a child for correlations on demand: its costs count as offline, and its rounds do not add to this lane's.
    pub fn offline_child(&self) -> Ctx {
        let lane = self.fork_lane();
        let mut child = Ctx::on(self.core.clone(), lane, Rc::default(), crate::Phase::Offline, self.step.clone());
        child.members = self.members.clone();
        child.windows.set(self.windows.get());
        child
    }

    /// Makes an offline child whose lane does not count as a fork of this one, for correlations that a dry run does not
    /// make here.
    pub(crate) fn offline_aside(&self, number: u64) -> Ctx {
        let lane = self.lane.child(u64::MAX - number);
        Ctx::on(self.core.clone(), lane, Rc::default(), crate::Phase::Offline, self.step.clone())
    }

    /// Runs two pieces of work side by side.
    ///
    /// # Errors
    /// The first error of either; the other one is given up.
    pub async fn join<A, B>(
        &self,
        first: impl AsyncFnOnce(Ctx) -> Result<A>,
        second: impl AsyncFnOnce(Ctx) -> Result<B>,
    ) -> Result<Join<A, B>> {
        let (one, two) = (self.fork(), self.fork());
        let depths = [one.depth.clone(), two.depth.clone()];
        let (mut a, mut b) = (None, None);
        {
            let first = pin!(async {
                a = Some(first(one).await?);
                Result::Ok(())
            });
            let second = pin!(async {
                b = Some(second(two).await?);
                Result::Ok(())
            });
            self.run_both([first, second], depths).await?;
        }
        a.zip(b).ok_or(Error::bug("a join ended without its results"))
    }

    /// Runs the work of two children side by side.
    async fn run_both(
        &self,
        mut work: [Pin<&mut dyn Future<Output = Result<()>>>; 2],
        depths: [Rc<Cell<Depth>>; 2],
    ) -> Result<()> {
        let bell = Bell::new();
        let places = [Place::new(&bell, 0), Place::new(&bell, 1)];
        let (mut left, mut rung) = ([true; 2], Vec::new());
        poll_fn(|context| {
            bell.listen(context.waker());
            while left != [false; 2] {
                bell.take(&mut rung);
                if rung.is_empty() {
                    return Poll::Pending;
                }
                for &i in &rung {
                    if left[i]
                        && let Poll::Ready(done) = places[i].poll(work[i].as_mut())
                    {
                        done?;
                        left[i] = false;
                    }
                }
            }
            Poll::Ready(Result::Ok(()))
        })
        .await?;
        self.depth.set(depths.iter().map(|d| d.get()).fold(self.depth.get(), Depth::join));
        Ok(())
    }

    /// Runs `count` pieces of work side by side. Returns the results in order.
    ///
    /// # Errors
    /// The first error of any; the others are given up.
    pub async fn join_all<T>(&self, count: usize, work: impl AsyncFn(Ctx, usize) -> Result<T>) -> Result<Vec<T>> {
        self.join_steps(count, |_| None, work).await
    }

    /// Runs program steps side by side, as [`Ctx::join_all`] does: child i is on the lane of number `i` and carries the
    /// step's name.
    ///
    /// # Errors
    /// Those of [`Ctx::join_all`].
    pub async fn join_steps<T>(
        &self,
        count: usize,
        step: impl Fn(usize) -> Option<Step>,
        work: impl AsyncFn(Ctx, usize) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut results = Vec::new();
        results.resize_with(count, || None);
        let results = RefCell::new(results);
        {
            let (work, results) = (&work, &results);
            let start = |ctx, i| -> Work<'_> {
                Box::pin(async move {
                    let done = work(ctx, i).await?;
                    results.borrow_mut()[i] = Some(done);
                    Ok(())
                })
            };
            self.run_children(count, &step, &start).await?;
        }
        results.into_inner().into_iter().collect::<Option<_>>().ok_or(Error::bug("a join ended without its results"))
    }

    /// Runs the work of `count` children side by side.
    async fn run_children<'w>(
        &self,
        count: usize,
        step: &dyn Fn(usize) -> Option<Step>,
        start: &dyn Fn(Ctx, usize) -> Work<'w>,
    ) -> Result<()> {
        let group = self.fork_lane();
        let bell = Bell::new();
        let start = |i: usize| {
            let mut ctx = self.child(group.child(i as u64));
            ctx.step = step(i).or_else(|| self.step.clone());
            Some(Child::new(&bell, i, ctx.depth.clone(), start(ctx, i)))
        };
        let mut children: Vec<Option<Child<'_, ()>>> = (0..count).map(start).collect();
        let (mut left, mut deepest, mut rung) = (count, self.depth.get(), Vec::new());
        poll_fn(|context| {
            bell.listen(context.waker());
            while left > 0 {
                bell.take(&mut rung);
                if rung.is_empty() {
                    return Poll::Pending;
                }
                for &i in &rung {
                    let Some(child) = &mut children[i] else { continue };
                    if let Poll::Ready(done) = child.poll() {
                        deepest = deepest.join(child.depth.get());
                        children[i] = None;
                        done?;
                        left -= 1;
                    }
                }
            }
            Poll::Ready(Result::Ok(()))
        })
        .await?;
        self.depth.set(deepest);
        Ok(())
    }
}
