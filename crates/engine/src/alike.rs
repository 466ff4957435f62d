//! Dry runs that run one of many equal chunks and multiply its costs: [`Ctx::stream_alike`], and [`Ctx::in_turn`] for
//! chunks one after the other.
//!
//! A shape has no data, so all chunks of equal length in a long row do the same work. A dry run for figures alone
//! ([`Ctx::count_alike`]) runs one of these chunks. It multiplies the bytes, draws and local work of that chunk, and
//! the seconds that its scheduling takes (*bookkeeping*). The rounds of a streamed row are those of one chunk in any
//! case; those of chunks one after the other are multiplied. If a real run will look up its draws by the names that
//! the dry run recorded, the dry run has to run every chunk.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::bell::Work;
use crate::ctx::Ctx;
use crate::error::Result;
use crate::stream::{Chunks, Counted};

/// Fewer chunks than this are run one by one.
const FEW_CHUNKS: usize = 4;

impl Ctx {
    /// Makes a dry run count equal chunks once from here on. Its record of draws then gives amounts, but no names by
    /// which a real run could draw.
    pub fn count_alike(&self) {
        self.core.counting.count_alike(self.is_dry());
    }

    /// Returns the factor by which the costs of the present work count in a dry run.
    pub fn counted_times(&self) -> usize {
        self.core.counting.times()
    }

    /// Returns whether a dry run counts equal chunks once.
    pub fn counts_alike(&self) -> bool {
        self.core.counting.counts_alike()
    }

    /// Returns the bookkeeping seconds of skipped chunks since the last call.
    pub fn take_left_out_seconds(&self) -> f64 {
        self.core.counting.take_left_out_seconds()
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
        sink: impl FnMut(Range<usize>, T),
    ) -> Result<()> {
        let some = self.skips_chunks(chunks).then(|| {
            let last = chunks.count() - 1;
            vec![(0, 1), (1, last - 1), (last, 1)]
        });
        self.stream_which(chunks, some, work, sink).await
    }

    /// Runs [`Ctx::stream`], but may skip chunks in a dry run ([`Ctx::count_alike`]): all but the first chunk, and the
    /// first one of each `class` among the others. Chunks of a class are then counted one after the other, in another
    /// order than that of a run, so they do not draw correlations that are made in turns
    /// ([`Demand::turns`](crate::Demand::turns)). On vectors without data, `work` must depend only on the class of its
    /// chunk, which is given by number.
    ///
    /// # Errors
    /// Those of [`Ctx::stream`].
    pub async fn stream_classes<T, C: Ord>(
        &self,
        chunks: Chunks,
        class: impl Fn(usize) -> C,
        work: impl AsyncFn(Ctx, Range<usize>) -> Result<T>,
        sink: impl FnMut(Range<usize>, T),
    ) -> Result<()> {
        let some = self.skips_chunks(chunks).then(|| {
            let mut classes: BTreeMap<C, Counted> = BTreeMap::new();
            for index in 1..chunks.count() {
                classes.entry(class(index)).or_insert((index, 0)).1 += 1;
            }
            let mut some: Vec<Counted> = classes.into_values().collect();
            some.push((0, 1));
            some.sort_unstable();
            some
        });
        self.stream_which(chunks, some, work, sink).await
    }

    /// Returns whether this is a dry run that skips chunks of such a row.
    fn skips_chunks(&self, chunks: Chunks) -> bool {
        self.core.counting.counts_alike() && chunks.count() >= FEW_CHUNKS
    }

    /// Runs some chunks of a stream in a dry run, in order. The first chunk counts for itself alone: a sink may
    /// allocate the room for all results when it gets the first.
    pub(crate) async fn run_some<'w>(
        &self,
        some: Vec<Counted>,
        start: &dyn Fn(Ctx, usize) -> Work<'w>,
        hand_over: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<()> {
        let (lane, depth_before) = (self.fork_lane(), self.depth.get());
        for (index, times) in some {
            let ctx = self.child(lane.child(index as u64));
            ctx.depth.set(depth_before);
            ctx.windows.set(1);
            let depth = ctx.depth.clone();
            let whole = async {
                start(ctx, index).await?;
                hand_over(index)
            };
            self.core.counting.counted(times, whole).await?;
            self.depth.set(self.depth.get().join(depth.get()));
        }
        Ok(())
    }
}

/// The results of chunks one after the other; in a dry run, one may stand for several equal ones.
pub struct InTurn<T>(Vec<(T, usize)>);

impl<T> InTurn<T> {
    /// Returns the results of all chunks, in order.
    pub fn all(&self) -> Vec<&T> {
        self.0.iter().flat_map(|(done, times)| std::iter::repeat_n(done, *times)).collect()
    }
}

impl Ctx {
    /// Runs `work` on the chunks of `len` elements, of `chunk` elements each, one after the other on this lane, and
    /// returns their results. A dry run may skip equal chunks ([`Ctx::count_alike`]). On vectors without data, `work`
    /// must depend only on the length of its range. In every chunk each party must hear of all others, as in a toss of
    /// coins: each chunk then adds the same number of rounds.
    ///
    /// # Errors
    /// The first error of `work`.
    pub async fn in_turn<T>(
        &self,
        len: usize,
        chunk: usize,
        work: impl AsyncFn(Range<usize>) -> Result<T>,
    ) -> Result<InTurn<T>> {
        let chunks = Chunks { len, chunk, window: 1 };
        let count = chunks.count();
        let work = |index: usize| Box::pin(work(chunks.range(index)));
        if !self.core.counting.counts_alike() || count < FEW_CHUNKS {
            let mut done = Vec::with_capacity(count);
            for index in 0..count {
                done.push((work(index).await?, 1));
            }
            return Ok(InTurn(done));
        }
        let first = work(0).await?;
        let (start, skipped) = (self.depth.get(), count - 3);
        let others = self.core.counting.counted(1 + skipped, work(1)).await?;
        self.reach(self.depth.get().further(start, skipped));
        let last = work(count - 1).await?;
        Ok(InTurn(vec![(first, 1), (others, 1 + skipped), (last, 1)]))
    }
}

#[cfg(test)]
mod tests {
    use quorate_ring::meter::{Effort, Kernel, charge, charged};
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

    /// Makes chunks in turn, which start after other numbers of rounds at each party: in each chunk, the first party
    /// sends to the second, and then all say something. Returns costs by party, and the number of results.
    fn in_turn(len: usize, rounds: &[u32], figures: bool) -> (Vec<Costs>, usize) {
        let done = dry::together(rounds, Phase::Online, async |ctx| {
            if figures {
                ctx.count_alike();
            }
            let chunk = async |range: Range<usize>| {
                let message = Vector::shape(Ring::of(64), range.len());
                match ctx.me() {
                    0 => drop(ctx.exchange::<Vector>(&[(1, &message)], &[]).await?),
                    1 => drop(ctx.exchange::<Vector>(&[], &[(0, (Ring::of(64), range.len()))]).await?),
                    _ => {}
                }
                let peers = (0..ctx.parties()).filter(|&peer| peer != ctx.me());
                let outgoing: Vec<_> = peers.clone().map(|peer| (peer, &[1u8; 3][..])).collect();
                ctx.exchange_bytes(&outgoing, &peers.map(|peer| (peer, 3)).collect::<Vec<_>>()).await.map(|_| ())
            };
            Ok(ctx.in_turn(len, 10, chunk).await?.all().len())
        })
        .unwrap();
        let chunks = done[0].0;
        (done.into_iter().map(|(_, costs)| costs).collect(), chunks)
    }

    /// Streams chunks of one element, each of which sends and works as much as `lens` says. Returns the costs, the
    /// work, and the chunks that the sink was called with.
    fn by_class(lens: &[usize], figures: bool) -> (Costs, Effort, Vec<usize>) {
        let before = charged();
        let (written, costs) = dry::run(0, 2, Phase::Online, async |ctx| {
            if figures {
                ctx.count_alike();
            }
            let mut written = vec![];
            let work = async |ctx: Ctx, range: Range<usize>| {
                let len = lens[range.start];
                ctx.exchange(&[(1, &Vector::shape(Ring::of(64), len))], &[]).await?;
                charge(Kernel::Multiply, 3 * len);
                Ok(len)
            };
            let chunks = Chunks { len: lens.len(), chunk: 1, window: 2 };
            ctx.stream_classes(
                chunks,
                |at| lens[at],
                work,
                |range, len| {
                    charge(Kernel::Pack, len);
                    written.push(range.start);
                },
            )
            .await?;
            Ok(written)
        })
        .unwrap();
        (costs, charged() - before, written)
    }

    #[test]
    fn figures_of_chunks_by_class_are_those_of_all() {
        let rows: [(&[usize], &[usize]); 6] = [
            (&[], &[]),
            (&[7], &[0]),
            (&[7, 7, 7], &[0, 1, 2]),
            (&[7; 100], &[0, 1]),
            (&[5, 5, 2, 5, 5, 2, 5, 5, 2, 1], &[0, 1, 2, 9]),
            (&[9, 1, 2, 3, 3, 9], &[0, 1, 2, 3, 5]),
        ];
        for (lens, ran) in rows {
            let ((all, work, _), (once, counted, few)) = (by_class(lens, false), by_class(lens, true));
            assert_eq!((once, counted, &*few), (all, work, ran), "{lens:?}");
        }
    }

    #[test]
    fn rounds_of_chunks_in_turn_add_up() {
        for len in [0, 5, 30, 31, 40, 41, 200, 1234] {
            for rounds in [&[0, 0][..], &[0, 100], &[3, 0, 50]] {
                let (all, chunks) = in_turn(len, rounds, false);
                assert_eq!(chunks, len.div_ceil(10));
                assert_eq!(in_turn(len, rounds, true), (all.clone(), chunks), "{len} after {rounds:?}");
                assert!(all[0].online.rounds >= 2 * chunks as u32);
            }
        }
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
