//! Lanes side by side: a fixed few ([`Ctx::join`]), many ([`Ctx::join_all`]), or a bounded window of a long row
//! ([`Ctx::stream`]).
//!
//! Children start at their parent's depth and the parent goes on at the deepest child's, so rounds of independent work
//! merge. A child is polled only when something woke it.

use std::cell::Cell;
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::ops::Range;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use crate::ctx::Ctx;
use crate::error::{Result, Step};
use crate::lane::LaneId;
use crate::wire::Tag;

/// Wakes one child: marks it as ready, then wakes its parent.
struct ChildWaker {
    ready: AtomicBool,
    parent: Waker,
}

impl Wake for ChildWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ready.store(true, Ordering::Release);
        self.parent.wake_by_ref();
    }
}

struct Child<'a, T> {
    future: Pin<Box<dyn Future<Output = Result<T>> + 'a>>,
    depth: Rc<Cell<u32>>,
    waker: Arc<ChildWaker>,
}

impl<'a, T> Child<'a, T> {
    fn new(future: impl Future<Output = Result<T>> + 'a, depth: Rc<Cell<u32>>, parent: &Waker) -> Self {
        let waker = Arc::new(ChildWaker { ready: AtomicBool::new(true), parent: parent.clone() });
        Child { future: Box::pin(future), depth, waker }
    }

    /// Polls the child if something woke it.
    fn poll(&mut self) -> Poll<Result<T>> {
        if !self.waker.ready.swap(false, Ordering::AcqRel) {
            return Poll::Pending;
        }
        let waker = Waker::from(self.waker.clone());
        self.future.as_mut().poll(&mut Context::from_waker(&waker))
    }

    fn is_ready(&self) -> bool {
        self.waker.ready.load(Ordering::Acquire)
    }
}

/// How [`Ctx::stream`] cuts a long vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunks {
    /// Elements in all.
    pub len: usize,
    /// Elements per chunk; a multiple of 512, so that every chunk but the last packs without a rest.
    pub chunk: usize,
    /// Chunks under way at a time.
    pub window: usize,
}

impl Chunks {
    /// Chunks of about `chunk_bytes` and a window of about 16 MiB, for work that needs `bytes_per_element` of memory.
    pub fn of_bytes(len: usize, bytes_per_element: usize) -> Chunks {
        const CHUNK_BYTES: usize = 1 << 20;
        const WINDOW_BYTES: usize = 16 << 20;
        let chunk = (CHUNK_BYTES / bytes_per_element.max(1)).clamp(512, 16384) / 512 * 512;
        Chunks { len, chunk, window: (WINDOW_BYTES / (chunk * bytes_per_element.max(1))).clamp(4, 64) }
    }

    pub fn count(self) -> usize {
        self.len.div_ceil(self.chunk)
    }

    pub fn range(self, index: usize) -> Range<usize> {
        index * self.chunk..((index + 1) * self.chunk).min(self.len)
    }
}

/// A finished [`Ctx::join`]: both results.
pub type Join<A, B> = (A, B);

impl Ctx {
    /// The lane of this lane's next fork.
    fn fork_lane(&self) -> LaneId {
        let index = self.forks.get();
        self.forks.set(index + 1);
        self.lane.child(index)
    }

    /// A child at this lane's present depth.
    pub(crate) fn fork(&self) -> Ctx {
        self.child(self.fork_lane())
    }

    fn child(&self, lane: LaneId) -> Ctx {
        let depth = Rc::new(Cell::new(self.depth.get()));
        Ctx::on(self.core.clone(), lane, depth, self.phase, self.step.clone())
    }

    /// A child whose costs count as offline and whose rounds do not delay this lane's count: correlations made on demand.
    pub fn offline_child(&self) -> Ctx {
        let lane = self.fork_lane();
        Ctx::on(self.core.clone(), lane, Rc::default(), crate::Phase::Offline, self.step.clone())
    }

    /// Runs two pieces of work side by side.
    pub async fn join<A, B>(
        &self,
        first: impl AsyncFnOnce(Ctx) -> Result<A>,
        second: impl AsyncFnOnce(Ctx) -> Result<B>,
    ) -> Result<Join<A, B>> {
        let (one, two) = (self.fork(), self.fork());
        let depths = [one.depth.clone(), two.depth.clone()];
        let mut first = std::pin::pin!(first(one));
        let mut second = std::pin::pin!(second(two));
        let (mut a, mut b) = (None, None);
        poll_fn(|context| {
            if a.is_none()
                && let Poll::Ready(done) = first.as_mut().poll(context)
            {
                a = Some(done?);
            }
            if b.is_none()
                && let Poll::Ready(done) = second.as_mut().poll(context)
            {
                b = Some(done?);
            }
            if a.is_some() && b.is_some() { Poll::Ready(Result::Ok(())) } else { Poll::Pending }
        })
        .await?;
        self.depth.set(depths.iter().map(|d| d.get()).fold(self.depth.get(), u32::max));
        match (a, b) {
            (Some(a), Some(b)) => Ok((a, b)),
            _ => Err(crate::Error::bug("a join ended without its results")),
        }
    }

    /// Runs `count` pieces of work side by side; results in order.
    pub async fn join_all<T>(&self, count: usize, work: impl AsyncFn(Ctx, usize) -> Result<T>) -> Result<Vec<T>> {
        self.join_steps(count, |_| None, work).await
    }

    /// [`Ctx::join_all`] for numbered program steps: child i is on the lane of number `i` and carries the step's name.
    pub async fn join_steps<T>(
        &self,
        count: usize,
        step: impl Fn(usize) -> Option<Step>,
        work: impl AsyncFn(Ctx, usize) -> Result<T>,
    ) -> Result<Vec<T>> {
        let group = self.fork_lane();
        let mut results: Vec<Option<T>> = (0..count).map(|_| None).collect();
        let mut children: Vec<(usize, Child<'_, T>)> = Vec::new();
        let mut deepest = self.depth.get();
        let mut started = false;
        poll_fn(|context| {
            if !started {
                started = true;
                for i in 0..count {
                    let mut child = self.child(group.child(i as u64));
                    child.step = step(i).or_else(|| self.step.clone());
                    let depth = child.depth.clone();
                    children.push((i, Child::new(work(child, i), depth, context.waker())));
                }
            }
            while children.iter().any(|(_, child)| child.is_ready()) {
                let mut failed = None;
                children.retain_mut(|(i, child)| match child.poll() {
                    _ if failed.is_some() => true,
                    Poll::Pending => true,
                    Poll::Ready(Ok(done)) => {
                        deepest = deepest.max(child.depth.get());
                        results[*i] = Some(done);
                        false
                    }
                    Poll::Ready(Err(error)) => {
                        failed = Some(error);
                        false
                    }
                });
                if let Some(error) = failed {
                    return Poll::Ready(Err(error));
                }
            }
            if children.is_empty() { Poll::Ready(Ok(())) } else { Poll::Pending }
        })
        .await?;
        self.depth.set(deepest);
        results.into_iter().collect::<Option<_>>().ok_or(crate::Error::bug("a join ended without its results"))
    }

    /// Runs `work` on every chunk, a bounded window at a time, and hands the results to `sink` in order.
    ///
    /// All chunks start at this lane's depth: however long the row, its rounds are those of one chunk. No party runs
    /// ahead of the slowest by more than two windows, so what is parked anywhere stays bounded.
    pub async fn stream<T>(
        &self,
        chunks: Chunks,
        work: impl AsyncFn(Ctx, Range<usize>) -> Result<T>,
        mut sink: impl FnMut(Range<usize>, T),
    ) -> Result<()> {
        if chunks.count() == 1 {
            let done = work(self.fork(), chunks.range(0)).await?;
            sink(chunks.range(0), done);
            return Ok(());
        }
        let mut row = Row { ctx: self, chunks, lane: self.fork_lane(), next: 0, done: 0, live: VecDeque::new() };
        let mut deepest = self.depth.get();
        let start = self.depth.get();
        poll_fn(|context| row.advance(context, start, &work, &mut sink, &mut deepest)).await?;
        self.depth.set(deepest);
        Ok(())
    }
}

enum Slot<'a, T> {
    Running(Child<'a, T>),
    Done(T),
}

/// The state of a stream: chunks `done..next` are live.
struct Row<'a, 'w, T> {
    ctx: &'a Ctx,
    chunks: Chunks,
    lane: LaneId,
    next: usize,
    done: usize,
    live: VecDeque<Slot<'w, T>>,
}

impl<'a, 'w, T> Row<'a, 'w, T> {
    fn advance<W>(
        &mut self,
        context: &mut Context<'_>,
        start: u32,
        work: &'w W,
        sink: &mut impl FnMut(Range<usize>, T),
        deepest: &mut u32,
    ) -> Poll<Result<()>>
    where
        W: AsyncFn(Ctx, Range<usize>) -> Result<T>,
    {
        loop {
            let mut moved = self.start_chunks(context.waker(), start, work);
            for slot in &mut self.live {
                let Slot::Running(child) = slot else { continue };
                if !child.is_ready() {
                    continue;
                }
                moved = true;
                if let Poll::Ready(done) = child.poll() {
                    *deepest = (*deepest).max(child.depth.get());
                    *slot = Slot::Done(done?);
                }
            }
            while let Some(Slot::Done(_)) = self.live.front() {
                if let Some(Slot::Done(value)) = self.live.pop_front() {
                    sink(self.chunks.range(self.done), value);
                }
                self.done += 1;
                self.report();
                moved = true;
            }
            if self.done == self.chunks.count() {
                return Poll::Ready(Ok(()));
            }
            if !moved {
                return Poll::Pending;
            }
        }
    }

    /// Starts what the window and the slowest peer allow.
    fn start_chunks<W>(&mut self, waker: &Waker, start: u32, work: &'w W) -> bool
    where
        W: AsyncFn(Ctx, Range<usize>) -> Result<T>,
    {
        let mut moved = false;
        while self.next < self.chunks.count() && self.live.len() < self.chunks.window && self.may_start(waker) {
            let child = self.ctx.child(self.lane.child(self.next as u64));
            child.depth.set(start);
            let depth = child.depth.clone();
            self.live.push_back(Slot::Running(Child::new(work(child, self.chunks.range(self.next)), depth, waker)));
            self.next += 1;
            moved = true;
        }
        moved
    }

    fn may_start(&self, waker: &Waker) -> bool {
        let core = &self.ctx.core;
        let ahead = 2 * self.chunks.window;
        if self.next < ahead || core.is_dry() || self.next < core.slowest_progress(self.lane) as usize + ahead {
            return true;
        }
        core.wait_for_progress(self.lane, waker);
        false
    }

    /// Tells the peers, every half window, how far this party is.
    fn report(&self) {
        let core = &self.ctx.core;
        let long = self.chunks.count() > 2 * self.chunks.window;
        if !long || core.is_dry() || self.done % (self.chunks.window / 2).max(1) != 0 {
            return;
        }
        for peer in (0..core.parties).filter(|&p| p != core.me) {
            core.post_control(peer, Tag::Progress, self.lane, self.done as u32);
        }
    }
}
