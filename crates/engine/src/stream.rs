//! Streams: the chunks of a long row, with a bounded window of them under way at a time: [`Ctx::stream`].
//!
//! Every chunk is a lane forked at its parent's depth. So a streamed operation has the rounds of one chunk, and sending
//! overlaps with computing. Parties report their progress to each other, so that none runs far ahead of the slowest.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::ops::Range;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::bell::{Bell, Child, Work};
use crate::ctx::Ctx;
use crate::depth::Depth;
use crate::error::{Error, Result};
use crate::lane::LaneId;
use crate::pace::Pace;

/// The partition of a long vector for [`Ctx::stream`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunks {
    /// Elements in total.
    pub len: usize,
    /// Elements per chunk; a multiple of 512, so that every chunk but the last packs without a remainder. 0 counts
    /// as 1.
    pub chunk: usize,
    /// Chunks under way at a time; 0 counts as 1.
    pub window: usize,
}

impl Chunks {
    /// Returns chunks of about 4 MiB or less and a window of about 16 MiB, for work that needs `bytes_per_element`
    /// bytes of memory for each element.
    pub fn of_bytes(len: usize, bytes_per_element: usize) -> Chunks {
        const CHUNK_BYTES: usize = 4 << 20;
        const WINDOW_BYTES: usize = 16 << 20;
        let each = bytes_per_element.max(1);
        let chunk = (CHUNK_BYTES / each).clamp(512, 16384) / 512 * 512;
        Chunks { len, chunk, window: (WINDOW_BYTES / chunk.saturating_mul(each)).clamp(4, 64) }
    }

    /// Returns chunks that are `times` times smaller, with the same number of elements under way, or less than a chunk
    /// more.
    pub fn finer(self, times: usize) -> Chunks {
        if times <= 1 {
            return self;
        }
        let chunk = (self.chunk / times / 512 * 512).max(512).min(self.chunk);
        Chunks { chunk, window: (self.window * self.chunk).div_ceil(chunk.max(1)), ..self }
    }

    /// Returns the number of chunks.
    pub fn count(self) -> usize {
        self.len.div_ceil(self.chunk.max(1))
    }

    /// Returns the range of elements of one chunk.
    pub fn range(self, index: usize) -> Range<usize> {
        let chunk = self.chunk.max(1);
        index * chunk..((index + 1) * chunk).min(self.len)
    }
}

impl Ctx {
    /// Runs `work` on every chunk, a bounded window at a time, and hands the results to `sink` in order.
    ///
    /// All chunks start at this lane's depth: the rounds are those of one chunk, whatever the length. Every party of
    /// the lane (all, or those of [`Ctx::among`]) calls it in step with the same chunks, even one that has nothing to
    /// do in `work`. No party runs ahead of the slowest by more than two windows ([`Ctx::widen`]), so the data parked
    /// at any party stays bounded.
    ///
    /// # Errors
    /// The first error of `work`; any other error that ends the run.
    pub async fn stream<T>(
        &self,
        chunks: Chunks,
        work: impl AsyncFn(Ctx, Range<usize>) -> Result<T>,
        sink: impl FnMut(Range<usize>, T),
    ) -> Result<()> {
        self.stream_which(chunks, None, work, sink).await
    }

    /// Runs [`Ctx::stream`]; in a dry run, on some chunks only, if they are given (see [`Ctx::stream_alike`]).
    pub(crate) async fn stream_which<T>(
        &self,
        chunks: Chunks,
        some: Option<Vec<Counted>>,
        work: impl AsyncFn(Ctx, Range<usize>) -> Result<T>,
        mut sink: impl FnMut(Range<usize>, T),
    ) -> Result<()> {
        // The results that wait for those of earlier chunks.
        let results = RefCell::new(Vec::new());
        let (work, waiting) = (&work, &results);
        let start = |ctx, index| -> Work<'_> {
            Box::pin(async move {
                let done = work(ctx, chunks.range(index)).await?;
                waiting.borrow_mut().push((index, done));
                Ok(())
            })
        };
        let mut hand_over = |index: usize| {
            let at = results.borrow().iter().position(|(of, _)| *of == index);
            let (_, done) = results.borrow_mut().swap_remove(at.ok_or(Error::bug("a chunk ended without its result"))?);
            sink(chunks.range(index), done);
            Ok(())
        };
        match some {
            Some(some) => self.run_some(some, &start, &mut hand_over).await,
            None => self.run_row(chunks, &start, &mut hand_over).await,
        }
    }

    /// Runs the work of all chunks, a window at a time.
    async fn run_row<'w>(
        &self,
        chunks: Chunks,
        start: &dyn Fn(Ctx, usize) -> Work<'w>,
        hand_over: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<()> {
        if chunks.count() == 1 {
            let ctx = self.fork();
            ctx.windows.set(1);
            let depth = ctx.depth.clone();
            start(ctx, 0).await?;
            self.depth.set(self.depth.get().join(depth.get()));
            return hand_over(0);
        }
        let mut row = Row::new(self, chunks);
        poll_fn(|context| row.advance(context, start, hand_over)).await?;
        self.depth.set(row.deepest);
        Ok(())
    }
}

/// A chunk that a dry run runs, by number, and the number of chunks that it counts for.
pub(crate) type Counted = (usize, usize);

/// The state of a stream: chunks `done..next` are live.
struct Row<'a, 'w> {
    ctx: &'a Ctx,
    chunks: Chunks,
    window: usize,
    lane: LaneId,
    /// The pace of a row with more chunks than the parties may be apart.
    pace: Option<Pace>,
    start: Depth,
    deepest: Depth,
    next: usize,
    done: usize,
    /// The live chunks; `None` for one that is done before an earlier one is.
    live: VecDeque<Option<Child<'w, ()>>>,
    bell: Arc<Bell>,
    rung: Vec<usize>,
}

impl<'a, 'w> Row<'a, 'w> {
    fn new(ctx: &'a Ctx, chunks: Chunks) -> Self {
        let (lane, window, start) = (ctx.fork_lane(), chunks.window.max(1) * ctx.windows.get(), ctx.depth.get());
        Row {
            ctx,
            chunks,
            window,
            lane,
            pace: Pace::on(ctx, lane, chunks.count().saturating_sub(2 * window)),
            start,
            deepest: start,
            next: 0,
            done: 0,
            live: VecDeque::new(),
            bell: Bell::new(),
            rung: Vec::new(),
        }
    }

    fn advance(
        &mut self,
        context: &mut Context<'_>,
        start: &dyn Fn(Ctx, usize) -> Work<'w>,
        hand_over: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Poll<Result<()>> {
        self.bell.listen(context.waker());
        while self.done < self.chunks.count() {
            self.start_chunks(context.waker(), start)?;
            let mut rung = std::mem::take(&mut self.rung);
            self.bell.take(&mut rung);
            let moved = !rung.is_empty();
            rung.iter().try_for_each(|&index| self.poll_chunk(index))?;
            self.rung = rung;
            self.hand_over(hand_over)?;
            if !moved {
                return Poll::Pending;
            }
        }
        Poll::Ready(Ok(()))
    }

    fn poll_chunk(&mut self, index: usize) -> Result<()> {
        let Some(live) = index.checked_sub(self.done).and_then(|at| self.live.get_mut(at)) else { return Ok(()) };
        if let Some(child) = live
            && let Poll::Ready(done) = child.poll()
        {
            self.deepest = self.deepest.join(child.depth.get());
            *live = None;
            done?;
        }
        Ok(())
    }

    /// Hands finished chunks over, in order.
    fn hand_over(&mut self, hand_over: &mut dyn FnMut(usize) -> Result<()>) -> Result<()> {
        while let Some(None) = self.live.front() {
            self.live.pop_front();
            hand_over(self.done)?;
            self.done += 1;
            self.report();
        }
        Ok(())
    }

    /// Starts the chunks that the window and the slowest peer allow.
    fn start_chunks(&mut self, waker: &Waker, start: &dyn Fn(Ctx, usize) -> Work<'w>) -> Result<()> {
        while self.next < self.chunks.count() && self.live.len() < self.window && self.may_start(waker)? {
            let ctx = self.ctx.child(self.lane.child(self.next as u64));
            ctx.depth.set(self.start);
            ctx.windows.set(1);
            let depth = ctx.depth.clone();
            self.live.push_back(Some(Child::new(&self.bell, self.next, depth, start(ctx, self.next))));
            self.next += 1;
        }
        Ok(())
    }

    fn may_start(&self, waker: &Waker) -> Result<bool> {
        let Some(pace) = &self.pace else { return Ok(true) };
        match pace.poll((self.next + 1).saturating_sub(2 * self.window), waker) {
            Poll::Ready(ready) => ready.map(|()| true),
            Poll::Pending => Ok(false),
        }
    }

    /// Reports this party's progress to the peers, every half window.
    fn report(&self) {
        if let Some(pace) = &self.pace
            && self.done.is_multiple_of((self.window / 2).max(1))
        {
            pace.report(self.done);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finer_chunks_have_as_much_under_way() {
        for (bytes, times) in [(512, 8), (256, 8), (352, 8), (192, 8), (1 << 20, 8)] {
            let whole = Chunks::of_bytes(100_000, bytes);
            let finer = whole.finer(times);
            let under_way = whole.chunk * whole.window;
            assert!((under_way..under_way + finer.chunk).contains(&(finer.chunk * finer.window)), "{bytes}, {times}");
            assert_eq!((finer.chunk % 512, finer.chunk), (0, (whole.chunk / times / 512 * 512).max(512)), "{bytes}");
        }
        let odd = Chunks { len: 5000, chunk: 1000, window: 3 };
        assert_eq!((odd.finer(0), odd.finer(1)), (odd, odd));
    }
}
