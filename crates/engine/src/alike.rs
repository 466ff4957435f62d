//! Dry runs that count chunks which are alike once: [`Ctx::stream_alike`].
//!
//! A shape has no data, so of a long row all chunks of one length do the same. A dry run that is asked for figures
//! alone ([`Ctx::count_alike`]) runs one of them and counts it as many times: bytes, draws, local work and bookkeeping.
//! Rounds are those of one chunk in any case. A dry run whose draws a real run will look up by name has to run every
//! chunk.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::ops::Range;
use std::pin::pin;

use quorate_ring::meter::{charge_all, charged};

use crate::clock::own_seconds;
use crate::ctx::Ctx;
use crate::error::Result;
use crate::stream::Chunks;

/// Fewer chunks than this are run one by one.
const FEW_CHUNKS: usize = 4;

/// How a dry run counts what it comes to.
pub(crate) struct Counting {
    /// Whether chunks that are alike are counted once.
    alike: Cell<bool>,
    /// How many times what is under way counts.
    times: Cell<usize>,
    /// Seconds of bookkeeping that the chunks which were not run would have taken.
    left_out_seconds: Cell<f64>,
}

impl Default for Counting {
    fn default() -> Self {
        Counting { alike: Cell::new(false), times: Cell::new(1), left_out_seconds: Cell::new(0.0) }
    }
}

impl Counting {
    /// How many times what is under way counts.
    pub fn times(&self) -> usize {
        self.times.get()
    }
}

impl Ctx {
    /// Counts chunks that are alike once from here on, in a dry run. Its record of draws then gives amounts, and no
    /// names that a real run could draw by.
    pub fn count_alike(&self) {
        self.core.counting.alike.set(self.is_dry());
    }

    /// Returns the bookkeeping seconds of chunks that were not run, since the last call.
    pub fn take_left_out_seconds(&self) -> f64 {
        self.core.counting.left_out_seconds.take()
    }

    /// [`Ctx::stream`] for `work` that depends on the length of its range alone where vectors have no data, and a
    /// `sink` that writes each result to its place.
    ///
    /// # Errors
    /// As [`Ctx::stream`].
    pub async fn stream_alike<T>(
        &self,
        chunks: Chunks,
        work: impl AsyncFn(Ctx, Range<usize>) -> Result<T>,
        mut sink: impl FnMut(Range<usize>, T),
    ) -> Result<()> {
        if !self.core.counting.alike.get() || chunks.count() < FEW_CHUNKS {
            return self.stream(chunks, work, sink).await;
        }
        let (lane, start, last) = (self.fork_lane(), self.depth.get(), chunks.count() - 1);
        // The first one by itself: a sink may make room for all results with it.
        for (index, times) in [(0, 1), (1, last - 1), (last, 1)] {
            let ctx = self.child(lane.child(index as u64));
            ctx.depth.set(start);
            ctx.windows.set(1);
            let depth = ctx.depth.clone();
            let range = chunks.range(index);
            let whole = async {
                sink(range.clone(), work(ctx, range).await?);
                Result::Ok(())
            };
            self.counted(times, whole).await?;
            self.depth.set(self.depth.get().join(depth.get()));
        }
        Ok(())
    }

    /// Awaits `work`, and counts what it costs `times` times.
    async fn counted<T>(&self, times: usize, work: impl Future<Output = T>) -> T {
        let counting = &self.core.counting;
        let mut work = pin!(work);
        poll_fn(|context| {
            let outer = counting.times.replace(counting.times.get() * times);
            let (tally, own, left_out) = (charged(), own_seconds(), counting.left_out_seconds.get());
            let polled = work.as_mut().poll(context);
            counting.times.set(outer);
            let (once, more) = (charged() - tally, times - 1);
            charge_all(&once.times(more));
            let seconds = own_seconds() - own + counting.left_out_seconds.get() - left_out;
            counting.left_out_seconds.set(counting.left_out_seconds.get() + seconds * more as f64);
            polled
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use quorate_ring::meter::{Effort, Kernel, charge};
    use quorate_ring::{Ring, Vector};

    use super::*;
    use crate::costs::{Costs, Phase};
    use crate::dry;

    /// A row of rows: each chunk sends its length, works as much, and has chunks of its own. Costs, work, how often
    /// results were written.
    fn row(len: usize, figures: bool) -> (Costs, Effort, Vec<usize>) {
        let before = charged();
        let (written, costs) = dry::run(0, 2, Phase::Online, async |ctx| {
            if figures {
                ctx.count_alike();
            }
            let mut written = vec![];
            let inner = async |ctx: Ctx, range: Range<usize>| {
                ctx.exchange(&[(1, &Vector::shape(Ring::of(64), range.len()))], &[]).await?;
                charge(Kernel::Stream, range.len());
                Ok(())
            };
            let outer = async |ctx: Ctx, range: Range<usize>| {
                charge(Kernel::Multiply, 1);
                ctx.stream_alike(Chunks { len: range.len(), chunk: 16, window: 2 }, &inner, |_, ()| ()).await
            };
            let chunks = Chunks { len, chunk: 512, window: 3 };
            ctx.stream_alike(chunks, outer, |range, ()| {
                charge(Kernel::Pack, range.len());
                written.push(range.start);
            })
            .await?;
            Ok(written)
        })
        .unwrap();
        (costs, charged() - before, written)
    }

    #[test]
    fn figures_are_those_of_all_chunks_one_by_one() {
        for len in [1, 512, 513, 1024, 1537, 2048, 5000, 5120, 100_000] {
            let (all, work, written) = row(len, false);
            let (once, counted, few) = row(len, true);
            assert_eq!((once, counted), (all, work), "{len}");
            assert_eq!(written.len(), len.div_ceil(512));
            assert!(few.len() <= FEW_CHUNKS, "{len}: {few:?}");
        }
    }
}
