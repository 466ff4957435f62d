//! Dry runs that run one of many equal chunks and multiply its costs: [`Ctx::stream_alike`].
//!
//! A shape has no data, so all chunks of equal length in a long row do the same work. A dry run for figures alone
//! ([`Ctx::count_alike`]) runs one of these chunks. It multiplies the bytes, draws and local work of that chunk, and
//! the seconds that its scheduling takes (*bookkeeping*). The rounds of the row are those of one chunk in any case. If
//! a real run will look up its draws by the names that the dry run recorded, the dry run has to run every chunk.

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

/// The way in which a dry run counts the costs of chunks.
pub(crate) struct Counting {
    /// Whether equal chunks are run once and multiplied.
    alike: Cell<bool>,
    /// Factor by which the costs of the present work count.
    times: Cell<usize>,
    /// Seconds of bookkeeping that the skipped chunks would have taken.
    left_out_seconds: Cell<f64>,
}

impl Default for Counting {
    fn default() -> Self {
        Counting { alike: Cell::new(false), times: Cell::new(1), left_out_seconds: Cell::new(0.0) }
    }
}

impl Counting {
    /// Returns the factor by which the costs of the present work count.
    pub fn times(&self) -> usize {
        self.times.get()
    }
}

impl Ctx {
    /// Makes a dry run count equal chunks once from here on. Its record of draws then gives amounts, but no names by
    /// which a real run could draw.
    pub fn count_alike(&self) {
        self.core.counting.alike.set(self.is_dry());
    }

    /// Returns the bookkeeping seconds of skipped chunks since the last call.
    pub fn take_left_out_seconds(&self) -> f64 {
        self.core.counting.left_out_seconds.take()
    }

    /// Runs [`Ctx::stream`], but may skip equal chunks in a dry run ([`Ctx::count_alike`]). On vectors without data,
    /// `work` must depend only on the length of its range. `sink` writes each result to its place.
    ///
    /// # Errors
    /// Those of [`Ctx::stream`].
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
        // The first chunk runs by itself: a sink may allocate the room for all results when it gets the first.
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

    /// Awaits `work` and counts its costs `times` times.
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

    /// Streams a row of rows: each chunk sends its length, does as much work, and has chunks of its own. Returns the
    /// costs, the work, and the starts of the ranges that the sink was called with.
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
