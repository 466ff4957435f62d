//! The work of a lane at whichever worker is free: [`Ctx::elsewhere`], and that of the chunks of a long row:
//! [`Ctx::spread`].

use std::future::poll_fn;
use std::ops::Range;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use crate::costs::Phase;
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
        ctx.members = self.members;
        ctx.windows.set(self.windows);
        ctx
    }
}

/// The place to which a job's result comes.
struct Ticket<T>(Mutex<State<T>>);

enum State<T> {
    Waiting(Option<Waker>),
    Done(Result<(T, Depth)>),
    Read,
}

impl<T> Ticket<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fill(&self, done: Result<(T, Depth)>) {
        if let State::Waiting(Some(waker)) = std::mem::replace(&mut *self.lock(), State::Done(done)) {
            waker.wake();
        }
    }

    async fn read(&self) -> Result<(T, Depth)> {
        poll_fn(|context| {
            let mut state = self.lock();
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

/// Returns the work of one chunk for a stream: a job, unless the chunk is the only one.
fn as_jobs<I: Send + 'static, T: Send + 'static>(
    chunks: Chunks,
    input: impl Fn(Range<usize>) -> I,
    work: impl AsyncFn(Ctx, I) -> Result<T> + Send + Sync + 'static,
) -> impl AsyncFn(Ctx, Range<usize>) -> Result<T> {
    let work = Arc::new(work);
    async move |ctx: Ctx, range: Range<usize>| match chunks.count() {
        ..=1 => Box::pin(work(ctx, input(range))).await,
        _ => ctx.elsewhere(input(range), &work).await,
    }
}

impl Ctx {
    /// Runs `work` on this lane, which has not communicated yet, at whichever worker of the party is free; here where
    /// the party has one worker only. Work that began stays with its worker.
    ///
    /// # Errors
    /// Those of `work`; [`Error::Bug`] if this lane has communicated.
    pub async fn elsewhere<I: Send + 'static, T: Send + 'static>(
        self,
        input: I,
        work: &Arc<impl AsyncFn(Ctx, I) -> Result<T> + Send + Sync + 'static>,
    ) -> Result<T> {
        if self.has_communicated() {
            return Err(Error::bug("a lane that has communicated goes on elsewhere"));
        }
        // In a box, so that the futures of gadgets within gadgets do not nest too deeply for the compiler.
        let Some(crew) = self.core.crew() else { return Box::pin(work(self, input)).await };
        let ticket = Arc::new(Ticket(Mutex::new(State::Waiting(None))));
        let start = LaneStart::of(&self);
        let (work, place) = (work.clone(), ticket.clone());
        crew.push(Box::new(move |core| {
            let ctx = start.at(core);
            let (core, depth) = (core.clone(), ctx.depth.clone());
            let (phase, step) = (ctx.phase, ctx.step.as_ref().map(|step| step.id));
            Box::pin(async move {
                let (done, seconds) = timed(work(ctx, input)).await;
                core.note_seconds(phase, step, seconds);
                // What the work sent is on its way, and its costs are counted, before anyone can end the run.
                let flushed = core.hand_in();
                place.fill(flushed.and(done).map(|done| (done, depth.get())));
            })
        }));
        let (done, depth) = ticket.read().await?;
        self.depth.set(depth);
        Ok(done)
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
        self.stream_alike(chunks, as_jobs(chunks, input, work), sink).await
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
        self.stream_classes(chunks, class, as_jobs(chunks, input, work), sink).await
    }

    /// Returns whether this party has other workers, at which [`Ctx::elsewhere`] may run work.
    pub fn has_other_workers(&self) -> bool {
        self.core.crew().is_some()
    }
}
