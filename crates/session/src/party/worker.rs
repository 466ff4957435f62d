//! The worker of one party: it owns the party's connections, shares and correlations, and runs jobs.

use std::collections::BTreeMap;
use std::sync::Arc;

use quorate_engine::{Believed, Costs, Ctx, Demand, Error, Party, Phase, Result, Run, Trace};
use quorate_gadgets::Family;
use quorate_graph::{Graph, NodeId};
use quorate_planner::{Reveal, Rivals, Work};

use super::agreement::{agreed_side, greeting, naming, plan_hash, short_hash, with_side};
use super::job::{Job, Outcome};
use super::mixing::{in_pieces, mix, work};
use super::place::Place;
use super::shared::Shared;
use crate::error::SessionError;
use crate::memory::allowed::Allowed;
use crate::memory::free;
use crate::memory::limit::Limit;
use crate::memory::sizes::held_bytes;
use crate::party::stats::{RunStats, Watch};
use crate::party::store::{Kept, Store};
use crate::plan::dry_run::{Asked, DryRun, dry_run};
use crate::plan::lines::by_line;
use crate::plan::prices::DryRuns;
use crate::plan::remembered_runs::{Likeness, Remembered};
use crate::plan::{Predicted, Pricing, Setting};
use crate::pool::{self, Purse, Spending, Supply, meet};
use crate::reveals::confirms;
use crate::run::ahead::{Ahead, leaving};
use crate::run::executor::{Around, Executor};
use crate::run::shapes::kept;
use crate::work::data::{Data, Plain, decode, decode_units};
use crate::work::effort::Taken;

/// The largest number of bytes that a request may take beside others, at a party.
const MOST_BESIDE: u64 = 8 << 20;

pub(crate) struct Worker<B: Family> {
    pub(super) party: Party,
    pub(super) state: State<B>,
    /// The party's values in a local session, from which every request gets its view.
    pub(super) values: Option<Arc<Shared<B>>>,
}

/// The state of a party apart from its links.
pub(crate) struct State<B: Family> {
    pub(super) backend: B,
    pub(super) place: Place,
    pub(super) store: Store<B>,
    /// The prices of steps where the parties run, as the parties agreed; only where a protocol has several sharings.
    pub(super) prices: Option<DryRuns<B>>,
    /// The dry runs of earlier requests.
    pub(super) remembered: Remembered<B::Kind>,
    /// The free memory of each party when the last run began.
    pub(super) free: Vec<u64>,
    /// Whether requests are served here beside others.
    pub(super) is_beside: bool,
    /// Whether this is a branch of another session.
    pub(super) is_branch: bool,
    /// The party's pool; only the main worker of a deployment's session has one.
    pub(super) purse: Option<Purse>,
}

/// The plan of a run at this party, from a dry run.
struct Planned<'g, B: Family> {
    work: Work<'g>,
    /// What is kept after the run.
    after: Kept,
    dry: DryRun<B::Kind>,
    allowed: Allowed,
    limit: Limit,
    own_seconds: f64,
    /// What the run takes from the pool.
    spending: Option<Spending>,
}

impl<B: Family> Worker<B> {
    /// Returns a worker at a seat of this place, which begins with the values of `store`; in a local session, every
    /// request gets its view of `values` instead.
    pub(super) fn new(
        (place, party): (Place, Party),
        backend: B,
        values: Option<Arc<Shared<B>>>,
        store: Store<B>,
    ) -> Worker<B> {
        let Place { options, pricing, book, parties, .. } = place.clone();
        let prices = pricing.map(|pricing| DryRuns::new(pricing, parties, options, book));
        let (free, remembered) = (vec![u64::MAX; parties], Remembered::default());
        let (is_beside, is_branch, purse) = (false, false, None);
        let state = State { backend, place, store, prices, remembered, free, is_beside, is_branch, purse };
        Worker { party, state, values }
    }

    /// Runs what a request needs. Returns `None`, before anything is computed, if it takes too much memory to be run
    /// beside others.
    ///
    /// # Errors
    /// Any error that ends a run.
    pub(super) fn run(&mut self, mut job: Job) -> std::result::Result<Option<Outcome>, SessionError> {
        let Worker { party, state, values, .. } = self;
        state.purse.iter_mut().for_each(|purse| purse.may_be_chosen(false));
        let arrays = match values {
            None => {
                let (inputs, dropped) = (std::mem::take(&mut job.inputs), std::mem::take(&mut job.dropped));
                state.store.take_over(&job.program.arrays, inputs, dropped)
            }
            Some(values) => {
                let view = values.view(job.number).ok_or(Error::Bug { what: "a request that has not begun" })?;
                (state.store, job.program) = (view.store, view.program);
                state.store.arrays_hash()
            }
        };
        let graph = &*job.program.graph;
        let (me, parties) = (party.me(), party.parties());
        let (wire_before, sent) = (party.wire_bytes(), party.sent_counter());
        let note = state.note(&job);
        let greeting = greeting(graph, &job, &arrays, note);
        let trace = || Trace { first: graph.first(), hashes: graph.hashes().iter().map(short_hash).collect() };
        let describe = |i: usize| graph.describe(NodeId(i as u32));
        let asked = |error| naming(error, graph, &job);
        state.purse.iter_mut().for_each(|purse| purse.may_be_chosen(true));
        let begun = party.begin(&greeting, &trace, &describe);
        if let Err(Error::Mismatch(_)) = begun {
            state.purse.iter_mut().for_each(|purse| purse.may_be_chosen(false)); // no party has begun
        }
        let mut run = begun.map_err(asked)?;
        let started = Watch::start(); // waiting for other parties to begin is no part of the run
        let number = run.agreement().run;
        let (side, notes) = match job.branch {
            Some(_) => agreed_side(&run.agreement().notes).map(|(side, notes)| (Some(side), Some(notes)))?,
            None => (None, None),
        };
        let notes = notes.as_ref().unwrap_or(&run.agreement().notes);
        let (pooled, notes) = match state.purse {
            Some(_) => pool::split(notes)?,
            None => (vec![], notes.clone()),
        };
        let (free, notes) = free::shares(&notes)?;
        state.store.settle(me, number, &notes, graph.len()).map_err(asked)?;
        if let Some(side) = side {
            let branch = state.branch(side);
            if branch.is_ok() {
                run.confirm()?; // all parties refuse for the same reason
            }
            run.finish();
            return branch.map(|branch| Some(Outcome::of_branch(branch)));
        }
        // From here on an error is reported to the peers, which would otherwise wait for this party.
        if let Some(supplies) = &job.supplies {
            job.progress.counts(sent);
            return state.make_bundles(run, supplies, &pooled, (started, wire_before)).map(Some);
        }
        let mut planned = state.plan_run(graph, &job.reveals, (parties, me), free)?;
        if state.is_beside && planned.dry.need.more(planned.limit) > MOST_BESIDE {
            run.finish(); // plans depend on nothing that differs between the parties of a process
            return Ok(None);
        }
        job.progress.counts(sent);
        if let Err(refusal) = planned.allowed.check(graph, &planned.dry.need, planned.limit) {
            // All parties refuse for the same reason, so no party has to be told, unless plans are compared below.
            if state.purse.is_some() {
                state.refuse(run, &plan_of(&planned))?;
            } else if state.prices.is_none() {
                run.finish();
            }
            return Err(refusal);
        }
        let plan = || plan_of(&planned);
        if state.purse.is_some() {
            let (plan, demand) = (plan(), &planned.dry.demand);
            (run, planned.spending) = state.spend(run, &plan, (demand, graph), &pooled)?;
        } else if state.prices.is_some() {
            run.compare(plan())?;
        }
        state.carry_out(run, planned, &job, (started, wire_before)).map(Some)
    }
}

impl<B: Family> State<B> {
    /// Returns what the other parties hear in the greeting of a run.
    fn note(&mut self, job: &Job) -> Vec<u8> {
        let mut note = free::with_share(free::share_of_process(self.place.sharing()), self.store.note());
        if let Some(purse) = &self.purse {
            note = pool::with(&if job.supplies.is_some() { purse.offer() } else { purse.note() }, note);
        }
        match &job.branch {
            Some(branch) => with_side(branch.side, note),
            None => note,
        }
    }

    /// Chooses what a run takes from the pool, and compares this and the plan with the other parties. Where the pool
    /// has nothing for the run, all parties refuse it.
    fn spend<'r>(
        &mut self,
        mut run: Run<'r>,
        plan: &[u8; 32],
        (demand, graph): (&Demand<B::Kind>, &Graph),
        pooled: &[Vec<u8>],
    ) -> std::result::Result<(Run<'r>, Option<Spending>), SessionError> {
        let session = self.backend.origin();
        let purse = self.purse.as_mut().ok_or(Error::Bug { what: "a run of a session without a pool" })?;
        match Spending::of::<B>(purse, demand, graph, pooled) {
            Ok(spending) => {
                run.compare(Spending::hash(&session, plan, spending.as_ref()))?;
                Ok((run, spending))
            }
            Err(refusal) if refusal.is_of_all_parties() => {
                self.refuse(run, plan)?;
                Err(refusal)
            }
            Err(error) => Err(error),
        }
    }

    /// Refuses a run of a session with a pool, once all parties have refused it: then none of them has chosen a place.
    fn refuse(&mut self, mut run: Run<'_>, plan: &[u8; 32]) -> Result<()> {
        run.compare(Spending::hash_of_refusal(&self.backend.origin(), plan))?;
        run.phase(Phase::Offline, async |ctx| meet(ctx).await)?;
        run.finish();
        self.purse.iter_mut().for_each(|purse| purse.may_be_chosen(false));
        Ok(())
    }

    /// Plans a run of these reveals, as all parties do.
    fn plan_run<'g>(
        &mut self,
        graph: &'g Graph,
        reveals: &[Reveal],
        party: (usize, usize),
        free: Vec<u64>,
    ) -> std::result::Result<Planned<'g, B>, SessionError> {
        let mut work = work(graph, reveals, &|id| self.store.values.contains_key(&id));
        let mut limit = Limit::named(self.place.options.max_memory);
        let decided =
            mix::<B>(&mut work, &self.store, (limit, &self.place.options), self.prices.as_ref(), Rivals::Ignored)?;
        let after = self.store.kept(graph, &work.nodes);
        let keep_node = |id: NodeId| after.values.contains(&id);
        let held = self.store.values.keys().copied().collect();
        let windows = self.place.options.windows();
        let asked = Asked { work: &work, held: &held, keeps: &keep_node, limit, windows, figures: false };
        let like = Likeness::of(&asked, &|id| held_bytes(&self.backend, &work, id));
        let mut dry = self.remembered.or_else(like, || dry_run::<B>(&asked, party, &self.place.options))?;
        let allowed =
            Allowed { named: self.place.options.max_memory, free: free.clone(), sharing: self.place.sharing() };
        if windows > 1 && allowed.less_for(&dry.need).is_some() {
            // More chunks under way are not worth a limit on memory.
            let asked = Asked { windows: 1, ..asked };
            let like = Likeness::of(&asked, &|id| held_bytes(&self.backend, &work, id));
            dry = self.remembered.or_else(like, || dry_run::<B>(&asked, party, &self.place.options))?;
        }
        if let Some(less) = allowed.less_for(&dry.need) {
            limit = less;
            in_pieces(&mut work, &self.store);
            let asked = Asked { work: &work, held: &held, keeps: &keep_node, limit, windows, figures: false };
            dry = dry_run::<B>(&asked, party, &self.place.options)?;
        }
        self.free = free;
        Ok(Planned { work, after, dry, allowed, limit, own_seconds: decided.own_seconds, spending: None })
    }

    /// Carries out a run that is planned and begun.
    fn carry_out(
        &mut self,
        mut run: Run<'_>,
        planned: Planned<'_, B>,
        job: &Job,
        (started, wire_before): (Watch, u64),
    ) -> std::result::Result<Outcome, SessionError> {
        let Planned { work, after, dry, allowed, limit, own_seconds, spending } = planned;
        let progress = &job.progress;
        let (graph, number, need) = (work.graph, run.agreement().run, dry.need);
        let keep_node = |id: NodeId| after.values.contains(&id);
        let beside = |error| SessionError::beside_plan(error, need.total(limit));
        let foreseen = dry.offline.traffic.bytes() + dry.online.traffic.bytes();
        let predicted = Predicted::of(&dry, &work, by_line(graph, &dry.steps), own_seconds);
        let DryRun { demand, correlations, steps, schedule, garbles_ahead, .. } = dry;
        run.predict(seconds_of(&predicted, self.place.setting));
        let mut stats = RunStats { correlations, predicted, ..RunStats::default() };
        progress.enter(Phase::Offline, foreseen);
        self.backend.forget();
        self.backend.set_ahead(garbles_ahead);
        let mut made = Ahead::Nothing;
        let (demands, makes_ahead) = (!demand.totals().is_empty(), need.makes_ahead(limit));
        let mut room = allowed.room(&need, limit);
        let is_pooled = self.purse.is_some();
        if demands && !is_pooled && !makes_ahead && B::IN_TURNS {
            self.backend.make_in_turns(&demand, need.left_for_turns(limit));
            room = room.and(Some(0));
        }
        if let (Some(spending), Some(purse)) = (spending, &mut self.purse) {
            spending.fill(purse, &mut run, &self.backend, demand)?;
        } else if demands && !is_pooled && makes_ahead {
            let (nothing, leaves) = (BTreeMap::new(), leaving(&work));
            let keep = |id| leaves.contains(&id) || keep_node(id);
            let around = Around { known: &self.store.values, inputs: &nothing, keep: &keep };
            let circuits = || {
                let mut executor = Executor::new(&self.backend, &work, around, (None, &schedule));
                executor.ahead = Ahead::only(&work);
                executor
            };
            made = make_ahead(&mut run, &self.backend, demand, circuits).map_err(beside)?;
        }
        let offline_jobs = run.take_job_seconds();
        let offline_time = started.read();
        let started = Watch::start();
        let wire_middle = run.wire_bytes();
        progress.enter(Phase::Online, foreseen);
        let around = Around { known: &self.store.values, inputs: &self.store.inputs, keep: &keep_node };
        let mut executor = Executor::new(&self.backend, &work, around, (room, &schedule));
        executor.ahead = made;
        executor.campaigns = Some((&job.campaigns, job.number));
        let online = async |ctx: &Ctx| executor.run(ctx).await.map(|done| (done, ctx.take_making()));
        let (mut done, making) = run.phase(Phase::Online, online).map_err(beside)?;
        let online_jobs = run.take_job_seconds();
        done.steps.add_jobs(&online_jobs.by_step);
        let revealed = decoded(graph, &work.reveals, done.opened, job.units);
        // From here on this party can finish the run, and confirms this. It keeps what was computed until the next
        // handshake decides whether the run counts.
        self.store.prepared(number, kept(&self.backend, graph, done.kept), after, graph.len());
        if confirms(&work) {
            run.confirm()?;
            self.store.confirmed(number);
        }
        let wire_after = run.wire_bytes();
        let costs = run.finish();

        stats.offline.add(&costs.offline, offline_time, wire_middle - wire_before);
        stats.online.add(&costs.online, started.read(), wire_after - wire_middle);
        stats.count_offline(&making);
        stats.count_jobs([&offline_jobs, &online_jobs]);
        stats.by_line = by_line(graph, &measured(&costs, done.steps, steps));
        let is_apart = matches!(self.place.setting, Setting::Apart { .. });
        let needs = (is_apart && graph.may_forget()).then(|| self.store.needs(graph));
        Ok(Outcome { revealed, needs, ..Outcome::of_bundles(vec![], stats) })
    }

    /// Makes bundles for the pool in a run that has begun, by what the pools of all parties have.
    fn make_bundles(
        &mut self,
        mut run: Run<'_>,
        supplies: &[Supply],
        pooled: &[Vec<u8>],
        (started, wire_before): (Watch, u64),
    ) -> std::result::Result<Outcome, SessionError> {
        let purse = self.purse.as_mut().ok_or(SessionError::MakesNoPool)?;
        self.backend.forget();
        let limits = (pooled, self.place.options.max_memory);
        let made = pool::make((&mut run, &self.backend), purse, supplies, limits)?;
        run.confirm()?;
        let mut stats = RunStats::default();
        let (wire_after, offline_jobs) = (run.wire_bytes(), run.take_job_seconds());
        stats.offline.add(&run.finish().offline, started.read(), wire_after - wire_before);
        stats.count_jobs([&offline_jobs, &Default::default()]);
        Ok(Outcome::of_bundles(made, stats))
    }
}

/// Returns the hash of a plan, which the parties compare.
fn plan_of<B: Family>(planned: &Planned<'_, B>) -> [u8; 32] {
    plan_hash(&planned.work, planned.dry.garbles_ahead, &planned.dry.correlations)
}

/// Returns a function that predicts the seconds of a run from this party's part.
fn seconds_of(predicted: &Predicted, setting: Setting) -> impl FnOnce() -> f64 + 'static {
    let predicted = Predicted { by_line: BTreeMap::new(), ..predicted.clone() };
    move || {
        let pricing = Pricing::at(setting);
        [Phase::Offline, Phase::Online].map(|phase| pricing.phase(phase, &[&predicted]).seconds()).iter().sum()
    }
}

/// Runs the offline phase: makes correlations, and the circuits that are garbled with them.
fn make_ahead<'e, B: Family + 'e>(
    run: &mut Run<'_>,
    backend: &B,
    demand: Demand<B::Kind>,
    circuits: impl FnOnce() -> Executor<'e, B>,
) -> Result<Ahead<B>> {
    let circuits = async |ctx: &Ctx| circuits().run(ctx).await;
    let garbled = run.phase(Phase::Offline, async |ctx| backend.prepare(ctx, demand, circuits).await)?;
    Ok(garbled.map_or(Ahead::Nothing, |garbled| Ahead::Done(garbled.kept)))
}

/// Returns the costs of the steps of a run, with their measured bytes and the correlations that they drew.
fn measured(costs: &Costs, mut steps: Taken, predicted: Taken) -> Taken {
    for (id, sent) in &costs.by_step {
        steps.talking.entry(*id).or_default().bytes = sent.bytes;
    }
    for (id, dry) in predicted.talking {
        steps.talking.entry(id).or_default().correlations = dry.correlations;
    }
    steps
}

fn decoded(graph: &Graph, reveals: &[Reveal], opened: Vec<Option<Believed<Plain>>>, units: bool) -> Vec<Option<Data>> {
    let decode = if units { decode_units } else { decode };
    let one = |(reveal, value): (&Reveal, Option<Believed<Plain>>)| {
        value.map(|value| decode(graph.node(reveal.node).dtype, &value.into_inner()))
    };
    reveals.iter().zip(opened).map(one).collect()
}
