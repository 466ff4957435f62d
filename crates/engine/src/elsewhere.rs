//! The work of a lane at whichever worker is free: [`Ctx::elsewhere`], and that of the chunks of a long row:
//! [`Ctx::spread`].

use quorate_sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::future::poll_fn;
use std::ops::Range;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Poll, Waker};

use quorate_ring::meter;

use crate::bell::Work;
use crate::costs::Phase;
use crate::crew::{Job, Task};
use crate::ctx::Ctx;
use crate::depth::Depth;
use crate::error::{Error, Result, Step};
use crate::job_clock::timed;
use crate::lane::LaneId;
use crate::scheduler::Core;
use crate::stream::Chunks;

/// The state of a lane that another worker continues: all that its context has but for messages.
struct LaneStart {
    run: u32,
    lane: LaneId,
    depth: Depth,
    forks: u64,
    uses: u64,
    fresh: u64,
    phase: Phase,
    step: Option<Step>,
    members: Option<Arc<[usize]>>,
    windows: usize,
}

impl LaneStart {
    fn of(ctx: &Ctx) -> LaneStart {
        LaneStart {
            run: ctx.core.run.get(),
            lane: ctx.lane,
            depth: ctx.depth.get(),
            forks: ctx.forks.get(),
            uses: ctx.uses.get(),
            fresh: ctx.fresh.get(),
            phase: ctx.phase,
            step: ctx.step.clone(),
            members: ctx.members.clone(),
            windows: ctx.windows.get(),
        }
    }

    /// Makes the lane's context at the worker with this state.
    fn at(self, core: &Rc<Core>) -> Ctx {
        core.run.set(self.run);
        let mut ctx = Ctx::on(core.clone(), self.lane, Rc::new(self.depth.into()), self.phase, self.step);
        ctx.forks.set(self.forks);
        ctx.uses.set(self.uses);
        ctx.fresh.set(self.fresh);
        ctx.members = self.members;
        ctx.windows.set(self.windows);
        ctx
    }
}

/// The place where a job says that it is done, and at which depth.
struct Ticket(Mutex<State>);

enum State {
    Waiting(Option<Waker>),
    Done(Result<Depth>),
    Read,
}

impl Ticket {
    fn fill(&self, done: Result<Depth>) {
        if let State::Waiting(Some(waker)) = std::mem::replace(&mut *lock(&self.0), State::Done(done)) {
            waker.wake();
        }
    }

    async fn read(&self) -> Result<Depth> {
        poll_fn(|context| {
            let mut state = lock(&self.0);
            match std::mem::replace(&mut *state, State::Read) {
                State::Done(done) => Poll::Ready(done),
                State::Waiting(_) | State::Read => {
                    *state = State::Waiting(Some(context.waker().clone()));
                    Poll::Pending
                }
            }
        })
        .await
    }
}

/// Does the work of a chunk at a party's only worker: what it charges counts as work that several workers would share.
pub async fn counted_as_shared<T>(work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    poll_fn(|context| meter::shared(|| work.as_mut().poll(context))).await
}

/// Work on a lane that any worker can begin.
type LaneJob = Box<dyn FnOnce(Ctx) -> Work<'static> + Send>;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Ctx {
    /// Runs `work` on this lane, which has not communicated yet, at any free worker of the party; on this thread if the
    /// party has only one worker. Work that has begun stays with its worker.
    ///
    /// # Errors
    /// Those of `work`; [`Error::Bug`] if this lane has communicated.
    pub async fn elsewhere<I: Send + 'static, T: Send + 'static>(
        self,
        input: I,
        work: &Arc<impl AsyncFn(Ctx, I) -> Result<T> + Send + Sync + 'static>,
    ) -> Result<T> {
        // Jobs of no stream count together.
        self.job(Some(LaneId::ROOT), input, work).await
    }

    /// Runs `work` on this lane; if it is a chunk `of` a lane's stream that may leave, at whichever worker is free.
    async fn job<I: Send + 'static, T: Send + 'static>(
        self,
        of: Option<LaneId>,
        input: I,
        work: &Arc<impl AsyncFn(Ctx, I) -> Result<T> + Send + Sync + 'static>,
    ) -> Result<T> {
        let Some(of) = of else { return Box::pin(work(self, input)).await };
        let result = Arc::new(Mutex::new(None));
        let (work, place) = (work.clone(), result.clone());
        let job: LaneJob = Box::new(move |ctx| {
            Box::pin(async move {
                let done = work(ctx, input).await?;
                *lock(&place) = Some(done);
                Ok(())
            })
        });
        self.run_elsewhere(of, job).await?;
        let done = lock(&result).take();
        done.ok_or(Error::bug("a job ended without its result"))
    }

    /// Runs a job on this lane at whichever worker is free.
    async fn run_elsewhere(self, of: LaneId, job: LaneJob) -> Result<()> {
        if self.has_communicated() {
            return Err(Error::bug("a lane that has communicated goes on elsewhere"));
        }
        let Some(crew) = self.core.crew() else { return counted_as_shared(job(self)).await };
        let ticket = Arc::new(Ticket(Mutex::new(State::Waiting(None))));
        let (start, place) = (LaneStart::of(&self), ticket.clone());
        let work = Box::new(move |core: &Rc<Core>| -> Task {
            let ctx = start.at(core);
            let (core, depth) = (core.clone(), ctx.depth.clone());
            let (phase, step) = (ctx.phase, ctx.step.as_ref().map(|step| step.id));
            Box::pin(async move {
                let (done, seconds) = timed(job(ctx)).await;
                core.note_seconds(phase, step, seconds);
                // What the work sent is on its way, and its costs are counted, before anyone can end the run.
                let flushed = core.hand_in();
                place.fill(flushed.and(done).map(|()| depth.get()));
            })
        });
        crew.push(Job { of, work });
        self.depth.set(ticket.read().await?);
        Ok(())
    }

    /// Runs `work` on every chunk as [`Ctx::stream_alike`] does, each chunk at whichever worker of the party is free. A
    /// row of one chunk stays at this worker, since there is nothing beside it. `input` returns what the work of a
    /// chunk needs, for instance its part of each operand. It is called at this worker when the chunk starts; `sink` is
    /// called at this worker, too, in order.
    ///
    /// # Errors
    /// Those of [`Ctx::stream_alike`].
    pub async fn spread<I: Send + 'static, T: Send + 'static>(
        &self,
        chunks: Chunks,
        input: impl Fn(Range<usize>) -> I,
        work: impl AsyncFn(Ctx, I) -> Result<T> + Send + Sync + 'static,
        sink: impl FnMut(Range<usize>, T),
    ) -> Result<()> {
        let work = Arc::new(work);
        let of = self.stream_of(chunks);
        let chunk = async |ctx: Ctx, range| ctx.job(of, input(range), &work).await;
        self.stream_alike(chunks, chunk, sink).await
    }

    /// Runs `work` on every chunk as [`Ctx::stream_classes`] does, each chunk at whichever worker of the party is free;
    /// `input` and `sink` are as in [`Ctx::spread`].
    ///
    /// # Errors
    /// Those of [`Ctx::stream_classes`].
    pub async fn spread_classes<I: Send + 'static, T: Send + 'static, C: Ord>(
        &self,
        chunks: Chunks,
        class: impl Fn(usize) -> C,
        input: impl Fn(Range<usize>) -> I,
        work: impl AsyncFn(Ctx, I) -> Result<T> + Send + Sync + 'static,
        sink: impl FnMut(Range<usize>, T),
    ) -> Result<()> {
        let work = Arc::new(work);
        let of = self.stream_of(chunks);
        let chunk = async |ctx: Ctx, range| ctx.job(of, input(range), &work).await;
        self.stream_classes(chunks, class, chunk, sink).await
    }

    /// Returns this lane if chunks of its stream may leave this worker. A single one has nothing beside it.
    fn stream_of(&self, chunks: Chunks) -> Option<LaneId> {
        (chunks.count() > 1).then_some(self.lane)
    }

    /// Returns whether this party has other workers, at which [`Ctx::elsewhere`] may run work.
    pub fn has_other_workers(&self) -> bool {
        self.core.crew().is_some()
    }
}

#[cfg(test)]
mod tests {
    use quorate_ring::meter::{Kernel, charge, charged};

    use super::*;
    use crate::dry;

    /// What the chunks do is shared; what their row does, and a chunk alone, is not.
    #[test]
    fn a_dry_run_counts_what_workers_share() {
        for (len, figures) in [(10, false), (11, false), (100, false), (100, true)] {
            let before = charged();
            let run = async |ctx: &Ctx| {
                if figures {
                    ctx.count_alike();
                }
                let draw = async |_: Ctx, len: usize| {
                    charge(Kernel::Draw, len);
                    Ok(())
                };
                let chunks = Chunks { len, chunk: 10, window: 2 };
                ctx.spread(chunks, |range| range.len(), draw, |range, ()| charge(Kernel::Pack, range.len())).await
            };
            dry::run(0, 2, Phase::Online, run).unwrap();
            let work = charged() - before;
            assert_eq!([Kernel::Draw, Kernel::Pack].map(|kernel| work.of(kernel)), [len as u64; 2]);
            let shared = if len > 10 { len as u64 } else { 0 };
            assert_eq!([work.shared(Kernel::Draw), work.shared(Kernel::Pack)], [shared, 0], "{len}, {figures}");
        }
    }
}
