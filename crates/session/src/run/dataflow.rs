//! Data flow: a step of a run starts when its operands exist.
//!
//! Steps that send nothing run where the walk through the program's order meets them. They have no lane of their own,
//! so a program of a million of them takes a few bytes for each. A step that talks (exchanges messages) is a lane from
//! its start to its end. Both must be admitted by the [`Gate`](crate::memory::gate::Gate), which bounds the memory of
//! steps under way. Steps that talk must be admitted by the [`Row`](crate::run::pacing::Row), too. The first unfinished
//! step is always admitted, and has its operands.

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use quorate_engine::{Believed, Checked, Ctx, Error, Opened, Result, Step, Steps};
use quorate_gadgets::Computes;
use quorate_graph::NodeId;

use crate::memory::gate::Pass;
use crate::memory::sizes::LANE_BYTES;
use crate::run::executor::{Done, Executor};
use crate::work::data::Plain;
use crate::work::order::{Item, Waiting};

/// The position of the walk.
struct Walk<'a, 'w, S: Computes> {
    executor: &'a Executor<'w, S>,
    steps: Steps<'a, Option<Opened<Plain>>>,
    waiting: Waiting,
    /// The walk has passed the steps before this one; `ready` are those of them that have become ready since.
    met: usize,
    ready: BTreeSet<usize>,
    /// Ready steps that the row, or the gate, did not admit.
    at_row: BTreeSet<usize>,
    at_gate: BTreeSet<usize>,
    left: usize,
    opened: Vec<Option<Opened<Plain>>>,
    /// Steps from this one on wait for the next check.
    end: usize,
    /// The check of everything that was opened before this stage; results are revealed in the last stage.
    checked: Option<Rc<Checked>>,
}

impl<'w, S: Computes> Executor<'w, S> {
    /// Runs all steps; rounds merge wherever nodes do not depend on each other.
    pub async fn run(self, ctx: &Ctx) -> Result<Done<S>> {
        self.row.keep_together(ctx);
        let opened = self.walk(ctx).await?;
        Ok(Done { opened, kept: self.kept.into_inner(), steps: self.clock.into_steps() })
    }

    async fn walk(&self, ctx: &Ctx) -> Result<Vec<Option<Believed<Plain>>>> {
        let waiting = Waiting::of(self.order.len(), |step| self.reads(step, ctx.is_alone()));
        let (ready, at_row, at_gate) = Default::default();
        let mut walk = Walk {
            executor: self,
            steps: ctx.steps(),
            waiting,
            met: 0,
            ready,
            at_row,
            at_gate,
            left: 0,
            opened: self.work.reveals.iter().map(|_| None).collect(),
            end: 0,
            checked: None,
        };
        for end in self.order.stages() {
            let reveals = end == self.order.len() && !self.work.reveals.is_empty();
            if (reveals || walk.end > 0) && !ctx.is_alone() {
                walk.checked = Some(Rc::new(self.check(ctx, (!reveals).then_some(walk.end)).await?));
            }
            (walk.left, walk.end) = (end - walk.end, end);
            poll_fn(|context| walk.advance(context)).await?;
            walk.steps.join();
        }
        if ctx.is_alone() {
            return Ok(walk.opened.iter().map(|_| None).collect());
        }
        let checked = self.check(ctx, None).await?;
        walk.opened.into_iter().map(|value| value.map(|value| value.believe(&checked)).transpose()).collect()
    }

    /// Checks what was opened so far. The cost of the check counts to the input that waits for it, or else to the first
    /// result; without either, to the last step.
    async fn check(&self, ctx: &Ctx, waits: Option<usize>) -> Result<Checked> {
        let input = waits.map(|place| self.work.nodes[place]);
        let result = self.work.reveals.first().map(|reveal| reveal.node);
        let Some(id) = input.or(result).or(self.work.nodes.last().copied()).filter(|_| S::CHECKED) else {
            return self.s.check(ctx).await;
        };
        let step = Step { id: id.0, name: format!("check before {}", self.work.graph.describe(id)).into() };
        let checks = ctx.join_steps(1, |_| Some(step.clone()), async |ctx, _| self.s.check(&ctx).await).await?;
        checks.into_iter().next().ok_or(Error::Bug { what: "a check without an end" })
    }

    /// Returns the steps whose values a step reads.
    fn reads(&self, step: usize, is_alone: bool) -> Vec<usize> {
        let step_of = |&id: &NodeId| self.values.places().of(id).map(|place| self.order.of_node(place));
        match self.order.item(step) {
            Item::Reveal(_) if is_alone => Vec::new(),
            Item::Reveal(i) => step_of(&self.work.reveals[i].node).into_iter().collect(),
            Item::Node(place) if self.is_absent(self.work.nodes[place]) => Vec::new(),
            Item::Node(place) => self.sources(self.work.nodes[place]).iter().filter_map(step_of).collect(),
        }
    }

    /// Returns a step's description for messages.
    fn name(&self, item: Item) -> Step {
        let graph = self.work.graph;
        let (id, name) = match item {
            Item::Node(place) => (self.work.nodes[place], graph.describe(self.work.nodes[place])),
            Item::Reveal(i) => {
                let node = self.work.reveals[i].node;
                (node, format!("reveal of {}", graph.describe(node)))
            }
        };
        Step { id: id.0, name: name.into() }
    }
}

impl<'a, S: Computes> Walk<'a, '_, S> {
    fn advance(&mut self, context: &Context<'_>) -> Poll<Result<()>> {
        loop {
            self.start(context.waker())?;
            let done = self.steps.poll(context)?;
            if done.is_empty() {
                return if self.left == 0 { Poll::Ready(Ok(())) } else { Poll::Pending };
            }
            for (step, opened) in done {
                if let Item::Reveal(i) = self.executor.order.item(step) {
                    self.opened[i] = opened;
                }
                self.done(step);
            }
        }
    }

    /// Starts all steps that may start; `waker` is woken when more may.
    fn start(&mut self, waker: &Waker) -> Result<()> {
        while let Some((step, pass)) = self.next(waker)? {
            match self.executor.order.item(step) {
                Item::Node(place) if self.executor.is_local(place) => {
                    let lane = self.steps.lane(step);
                    self.executor.local(&lane, place)?;
                    self.steps.done(&lane);
                    drop(pass);
                    self.done(step);
                }
                item => self.start_lane(step, item, pass),
            }
        }
        Ok(())
    }

    fn start_lane(&mut self, step: usize, item: Item, pass: Pass<'a>) {
        let (executor, checked) = (self.executor, self.checked.clone());
        let turn = executor.row.begin(step);
        self.steps.start(step, executor.name(item), move |ctx: Ctx| async move {
            let _guards = (pass, turn);
            match item {
                Item::Node(place) => executor.node(&ctx, place).await.map(|()| None),
                Item::Reveal(i) => executor.reveal(&ctx, executor.work.reveals[i], checked.as_deref()).await,
            }
        });
    }

    /// Returns the next step that may start; the earliest first, where some have waited.
    fn next(&mut self, waker: &Waker) -> Result<Option<(usize, Pass<'a>)>> {
        while let Some(&step) = self.at_row.first() {
            if !self.executor.row.may_begin(step, waker)? {
                break;
            }
            self.at_row.remove(&step);
            self.at_gate.insert(step);
        }
        if let Some(&step) = self.at_gate.first()
            && let Some(pass) = self.enter(step)
        {
            self.at_gate.remove(&step);
            return Ok(Some((step, pass)));
        }
        while let Some(step) = self.ready.pop_first().or_else(|| self.meet()) {
            // A step behind one that waits for the row would wait longer.
            let waits =
                self.at_row.first().is_some_and(|&first| first < step && self.executor.row.step(step).is_some());
            if waits || !self.executor.row.may_begin(step, waker)? {
                self.at_row.insert(step);
            } else if let Some(pass) = self.enter(step) {
                return Ok(Some((step, pass)));
            } else {
                self.at_gate.insert(step);
            }
        }
        Ok(None)
    }

    fn enter(&self, step: usize) -> Option<Pass<'a>> {
        let executor = self.executor;
        let bytes = match executor.order.item(step) {
            Item::Node(place) => executor.step_bytes(place),
            Item::Reveal(_) => LANE_BYTES,
        };
        executor.gate.enter(step, bytes)
    }

    /// Returns the next step in order that is ready when it is met.
    fn meet(&mut self) -> Option<usize> {
        let ready = (self.met..self.end).find(|&step| self.waiting.is_ready(step));
        self.met = ready.map_or(self.end, |step| step + 1);
        ready
    }

    fn done(&mut self, step: usize) {
        self.left -= 1;
        let (met, ready) = (self.met, &mut self.ready);
        self.waiting.done(step, |reader| {
            if reader < met {
                ready.insert(reader);
            }
        });
    }
}
