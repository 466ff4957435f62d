//! Dry runs of both phases of a run at one party, which predict what it will do before anything is sent.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::collections::btree_map::{BTreeMap, Entry};
use std::fmt::Display;
use std::rc::Rc;
use std::sync::Arc;

use quorate_engine::clock::own_seconds;
use quorate_engine::{Costs, Ctx, Demand, Error, Making, Phase, Result, Traffic, Turn, dry};
use quorate_gadgets::Family;
use quorate_graph::{Domain, Graph, NodeId};
use quorate_planner::{Domains, Work, native};
use quorate_ring::meter::{Effort, charged, deferred};

use crate::memory::limit::Limit;
use crate::memory::need::Need;
use crate::memory::schedule::{Bounds, Given, Schedule};
use crate::memory::sizes;
use crate::options::Options;
use crate::run::ahead::Ahead;
use crate::run::conversions::converted;
use crate::run::executor::{Around, Executor};
use crate::run::shapes::shape_of;
use crate::work::effort::Taken;
use crate::work::order::read_from_before;
use crate::work::value::Known;

/// The largest number of schedules that are made for the same bounds. Each takes into account what the last dry run
/// found about values kept until they are checked.
const MOST_LESSONS: usize = 3;

/// The prediction of one phase at one party.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PredictedPhase {
    /// Rounds, and the payload bytes that the party sends to each peer.
    pub traffic: Traffic,
    /// Local work, by kernel.
    pub work: Effort,
    /// Seconds that the dry run took; scheduling and bookkeeping take about that in a real run, too.
    pub control_seconds: f64,
}

impl PredictedPhase {
    /// Adds work that begins with this phase and is done `times` times.
    fn add(&mut self, other: &PredictedPhase, times: usize) {
        self.traffic.rounds = self.traffic.rounds.max(other.traffic.rounds);
        for (sum, sent) in self.traffic.sent.iter_mut().zip(&other.traffic.sent) {
            *sum += sent * times as u64;
        }
        self.work += other.work.times(times);
        self.control_seconds += other.control_seconds * times as f64;
    }
}

/// The prediction of a run at one party, by dry runs of both phases.
pub(crate) struct DryRun<K> {
    pub demand: Demand<K>,
    pub offline: PredictedPhase,
    pub online: PredictedPhase,
    pub correlations: BTreeMap<String, u64>,
    /// The costs of the nodes that run and of the nodes that are revealed.
    pub steps: Taken,
    pub need: Need,
    pub schedule: Schedule,
    /// Whether circuits are garbled in the offline phase.
    pub garbles_ahead: bool,
    /// Seconds that the dry runs before a run take: equal batches of the offline phase run once, and all chunks of the
    /// online phase run. 0 where no dry runs were made.
    pub seconds: f64,
}

/// A request, with the state that it starts from.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub work: &'a Work<'a>,
    /// Values that exist before the run.
    pub held: &'a BTreeSet<NodeId>,
    /// Whether a value stays after the run.
    pub keeps: &'a dyn Fn(NodeId) -> bool,
    pub limit: Limit,
    /// The factor by which more chunks of a stream than usual may be under way, where there is no limit.
    pub windows: usize,
    /// Whether only figures are needed: chunks that are alike are counted once, and draws have no names. Correlations
    /// of a request that does not fit its limit at all are then counted as made ahead instead of in turns of one draw.
    pub figures: bool,
}

/// What dry runs of one request find at the first party, and need not find again at the others.
pub(crate) struct Common<K> {
    /// The schedule, with the bytes kept of what steps open that it knows of.
    settled: Option<(Schedule, BTreeMap<NodeId, u64>)>,
    /// The rounds of all parties, by what else they depend on.
    exact: Option<(DependsOn<K>, Vec<Option<Rounds>>)>,
}

/// Whether circuits are garbled ahead, whether correlations are made where they are drawn, and what is made at a time.
type DependsOn<K> = (bool, bool, BTreeSet<BTreeMap<K, usize>>);

impl<K> Default for Common<K> {
    fn default() -> Self {
        Common { settled: None, exact: None }
    }
}

/// Runs both phases dry as party `me` of `parties`, under a limit on memory. If the correlations do not fit the limit
/// besides everything else, they are made where they are drawn, chunk by chunk. Their work still counts as offline.
pub(crate) fn dry_run<B: Family>(
    asked: &Asked<'_>,
    party: (usize, usize),
    options: &Options,
) -> Result<DryRun<B::Kind>> {
    dry_run_after::<B>(&mut Common::default(), asked, party, options)
}

/// Runs [`dry_run`] after those of the same request at other parties.
pub(crate) fn dry_run_after<B: Family>(
    common: &mut Common<B::Kind>,
    asked: &Asked<'_>,
    (parties, me): (usize, usize),
    options: &Options,
) -> Result<DryRun<B::Kind>> {
    let &Asked { work, limit, figures, .. } = asked;
    let dry = B::dry(parties, me, &options.choices)?;
    // Correlations made in turns are made in the order of steps, so there is no room for steps before their turn.
    let room = limit.bytes().filter(|_| B::IN_TURNS).and(Some(0));
    let run =
        |schedule: &Schedule| recorded(&dry, options, || run_dry(&dry, work, (room, schedule), (parties, me), figures));
    let Scheduled { schedule, mut ran, demand, garbles_ahead, need, turns } =
        scheduled((&dry, options.is_pooled()), asked, common, run)?;
    let how = (room, &schedule);
    let is_refused = figures && B::IN_TURNS && need.left_for_turns(limit) == 0;
    let made = match need.makes_ahead(limit) || is_refused {
        true if demand.totals().is_empty() || options.is_pooled() => vec![], // a pool has made them
        true => vec![Turn { step: None, totals: demand.totals().clone(), times: 1 }],
        false => turns,
    };
    let (mut offline, mut offline_seconds) = prepare_all(&dry, &made, &mut ran, (parties, me))?;
    let on_demand = made.is_empty() && !options.is_pooled() && !demand.totals().is_empty();
    if on_demand {
        dry.forget();
        ran = run_dry(&dry, work, how, (parties, me), figures)?;
        offline = ran.on_demand.clone();
        offline_seconds = offline.control_seconds;
    }
    let OnlineDryRun { mut online, mut steps, apart, .. } = ran;
    if apart && parties > 2 {
        let all = Together { work, how, parties, options, garbles_ahead, figures, on_demand };
        let exact = all.of_party::<B>(me, &made, common)?;
        (offline.traffic.rounds, online.traffic.rounds) = (exact.offline, exact.online);
        exact
            .steps
            .talking
            .into_iter()
            .for_each(|(id, step)| steps.talking.entry(id).or_default().rounds = step.rounds);
    }
    price_memory(&dry, work, &demand, &schedule, &mut steps);
    let correlations = counted(demand.totals());
    let seconds = offline_seconds + online.control_seconds;
    Ok(DryRun { demand, offline, online, correlations, steps, need, schedule, garbles_ahead, seconds })
}

/// The schedule of a run, and its online phase, run dry.
struct Scheduled<K> {
    schedule: Schedule,
    ran: OnlineDryRun,
    demand: Demand<K>,
    garbles_ahead: bool,
    need: Need,
    /// The turns in which correlations are made, if they are.
    turns: Vec<Turn<K>>,
}

/// Chooses a schedule that fits the limit. It takes into account what only a dry run knows: values that are kept from
/// their opening until they are checked, and correlations made in turns. A piece draws at least one turn of these.
/// Where the limit leaves nothing for turns, each draw has its own. All parties come to the same schedule, so they take
/// that of the first one.
fn scheduled<B: Family>(
    (dry, is_pooled): (&B, bool),
    &Asked { work, held, keeps, limit, windows, figures }: &Asked<'_>,
    common: &mut Common<B::Kind>,
    run: impl Fn(&Schedule) -> Result<(OnlineDryRun, Demand<B::Kind>, bool)>,
) -> Result<Scheduled<B::Kind>> {
    let settled = common.settled.take();
    let (mut unchecked, mut bounds, mut lessons) = (BTreeMap::new(), Bounds::only(limit), 0);
    if let Some((_, kept)) = &settled {
        unchecked.clone_from(kept);
    }
    let mut before: Option<Scheduled<B::Kind>> = None;
    loop {
        let windows = if limit == Limit::None { windows } else { 1 };
        let given = Given { backend: dry, work, held, keeps, unchecked: &unchecked, windows };
        let schedule = match &settled {
            Some((schedule, _)) => schedule.clone(),
            None => Schedule::of(&given, bounds),
        };
        let (ran, demand, garbles_ahead) = match before.take() {
            Some(same) if same.schedule.goes_like(&schedule) => (same.ran, same.demand, same.garbles_ahead),
            _ => run(&schedule)?,
        };
        // Bytes that this schedule did not know of are added to what it predicts.
        let unknown = |(id, &bytes): (&NodeId, &u64)| bytes.saturating_sub(unchecked.get(id).copied().unwrap_or(0));
        let unknown: u64 = ran.unchecked.iter().map(unknown).sum();
        let knows_all = ran.unchecked == unchecked || settled.is_some();
        let knew = std::mem::replace(&mut unchecked, ran.unchecked.clone());
        let stock_bytes = demand.totals().iter().map(|(kind, &len)| dry.stock_bytes(kind, len)).sum();
        let making_bytes = if is_pooled { 0 } else { dry.making_bytes(demand.totals()) };
        let mut need = Need::of(&schedule, stock_bytes, making_bytes, B::ONLY_AHEAD || is_pooled);
        need.peak_bytes = need.peak_bytes.saturating_add(unknown);
        let mut turns = vec![];
        lessons += 1;
        if knows_all || lessons == MOST_LESSONS {
            if !need.makes_ahead(limit) {
                let left = need.left_for_turns(limit);
                let each: Vec<BTreeMap<_, _>> = if figures && B::IN_TURNS && left == 0 {
                    demand.sizes().into_iter().map(|draw| BTreeMap::from([draw])).collect()
                } else {
                    turns = dry.turns(&demand, left);
                    turns.iter().map(|turn| turn.totals.clone()).collect()
                };
                need.turn_bytes = each.iter().map(|totals| dry.bytes_of_turn(totals)).max().unwrap_or_default();
            }
            let fits = need.turn_bytes == 0 || need.fits(limit);
            let tighter = bounds.tighter(limit, &schedule, need.turn_bytes);
            let Some(tighter) = tighter.filter(|_| !fits && settled.is_none()) else {
                common.settled = Some((schedule.clone(), knew));
                return Ok(Scheduled { schedule, ran, demand, garbles_ahead, need, turns });
            };
            (bounds, lessons) = (tighter, 0);
        }
        before = Some(Scheduled { schedule, ran, demand, garbles_ahead, need, turns });
    }
}

/// Runs dry and returns the result, the correlations that it draws, and whether its circuits are garbled in the offline
/// phase.
fn recorded<B: Family, T>(
    dry: &B,
    options: &Options,
    run: impl Fn() -> Result<T>,
) -> Result<(T, Demand<B::Kind>, bool)> {
    if options.is_pooled() {
        dry.set_ahead(false);
        dry.record_demand();
        return Ok((run()?, dry.take_demand(), false));
    }
    dry.set_ahead(true);
    dry.record_demand();
    let (done, demand) = (run()?, dry.take_demand());
    if B::worth_garbling_ahead(&demand, options.offline_weight) {
        return Ok((done, demand, true));
    }
    dry.set_ahead(false);
    dry.record_demand();
    Ok((run()?, dry.take_demand(), false))
}

/// The result of a dry run of the online phase.
pub(super) struct OnlineDryRun {
    pub online: PredictedPhase,
    pub steps: Taken,
    /// The costs of making correlations where they are drawn: part of the offline phase.
    pub on_demand: PredictedPhase,
    /// Whether a party sends without waiting, or some parties work without the others (see `Costs::apart`). The dry run
    /// of one party then does not give the rounds of the others.
    apart: bool,
    /// Bytes that steps keep of what they open until it is checked.
    unchecked: BTreeMap<NodeId, u64>,
}

/// Runs the online phase dry, with a bound on the bytes of steps before their turn.
pub(super) fn run_dry<B: Family>(
    dry: &B,
    work: &Work<'_>,
    how: (Option<u64>, &Schedule),
    (parties, me): (usize, usize),
    figures: bool,
) -> Result<OnlineDryRun> {
    let known = shapes(dry, work)?;
    let inputs = BTreeMap::new();
    let keep = |_| false;
    let mut executor = Executor::new(dry, work, Around { known: &known, inputs: &inputs, keep: &keep }, how);
    let set_apart = set_apart(dry, &mut executor);
    let (tally, clock) = (charged(), own_seconds());
    let run = async |ctx: &Ctx| {
        if figures {
            ctx.count_alike();
        }
        let done = executor.run(ctx).await?;
        Ok((done, ctx.take_making(), ctx.take_left_out_seconds()))
    };
    let ((done, making, left_out), costs) = dry::run(me, parties, Phase::Online, run)?;
    let control_seconds = own_seconds() - clock + left_out;
    // If circuits are garbled ahead, their draws are counted with them.
    let making = if set_apart.get() == Effort::default() { making } else { Making::default() };
    let mut steps = done.steps;
    for (id, sent) in &costs.by_step {
        steps.talking.entry(*id).or_default().bytes = sent.bytes;
    }
    dry.defer(&set_apart.get());
    let work = charged() - tally - set_apart.get() - making.work;
    let unchecked = costs.kept.iter().map(|(&id, &bytes)| (NodeId(id), bytes)).collect();
    let control_seconds = control_seconds - making.own_seconds;
    let online = PredictedPhase { traffic: costs.online, work, control_seconds };
    let on_demand = PredictedPhase { traffic: costs.offline, work: making.work, control_seconds: making.own_seconds };
    Ok(OnlineDryRun { online, steps, on_demand, apart: costs.apart, unchecked })
}

/// A dry run of all parties together, which exchange their depths. It finds the exact rounds where the dry run of one
/// party cannot (see `Costs::apart`).
struct Together<'r, 'g> {
    work: &'r Work<'g>,
    how: (Option<u64>, &'r Schedule),
    parties: usize,
    options: &'r Options,
    garbles_ahead: bool,
    figures: bool,
    /// Whether correlations are made where they are drawn.
    on_demand: bool,
}

/// The exact rounds of one party.
struct Rounds {
    offline: u32,
    online: u32,
    steps: Taken,
}

impl Together<'_, '_> {
    /// Returns the rounds of a party, unless it asked before.
    fn of_party<B: Family>(&self, me: usize, made: &[Turn<B::Kind>], common: &mut Common<B::Kind>) -> Result<Rounds> {
        let made = made.iter().map(|turn| turn.totals.clone()).collect();
        let depends_on = (self.garbles_ahead, self.on_demand, made);
        let known = common.exact.take().filter(|(on, all)| *on == depends_on && all[me].is_some());
        let (depends_on, mut all) = match known {
            Some(known) => known,
            None => {
                let mut ran = Ok(vec![]);
                let _not_counted = deferred(|| ran = self.run::<B>(&depends_on.2));
                let all = ran?.into_iter().map(Some).collect();
                (depends_on, all)
            }
        };
        let found = all[me].take().ok_or(Error::Bug { what: "rounds of a party that were taken before" });
        common.exact = Some((depends_on, all));
        found
    }

    /// Returns the rounds of each party. Those of the offline phase are the largest of any element of `made`.
    fn run<B: Family>(&self, made: &BTreeSet<BTreeMap<B::Kind, usize>>) -> Result<Vec<Rounds>> {
        let parties = (0..self.parties).map(|me| B::dry(self.parties, me, &self.options.choices));
        let parties = parties.collect::<Result<Vec<B>>>()?;
        for party in parties.iter().filter(|_| !self.on_demand) {
            party.set_ahead(self.garbles_ahead);
            party.record_demand();
        }
        let rounds = vec![0; self.parties];
        let online = dry::together(&rounds, Phase::Online, async |ctx| self.online(&parties[ctx.me()], ctx).await)?;
        let mut offline: Vec<u32> = online.iter().map(|(_, costs)| costs.offline.rounds).collect();
        for totals in made {
            let prepare = async |ctx: &Ctx| {
                ctx.count_alike();
                let demand = Demand::of(totals.clone());
                parties[ctx.me()].prepare(ctx, demand, async |_: &Ctx| Ok(())).await
            };
            let costs = dry::together(&rounds, Phase::Offline, prepare)?;
            offline.iter_mut().zip(costs).for_each(|(most, (_, costs))| *most = (*most).max(costs.offline.rounds));
        }
        let rounds =
            |((steps, costs), offline): ((Taken, Costs), u32)| Rounds { offline, online: costs.online.rounds, steps };
        Ok(online.into_iter().zip(offline).map(rounds).collect())
    }

    async fn online<B: Family>(&self, party: &B, ctx: &Ctx) -> Result<Taken> {
        if self.figures {
            ctx.count_alike();
        }
        let (known, inputs, keep) = (shapes(party, self.work)?, BTreeMap::new(), |_| false);
        let executor =
            Executor::new(party, self.work, Around { known: &known, inputs: &inputs, keep: &keep }, self.how);
        Ok(executor.run(ctx).await?.steps)
    }
}

/// Prepares an executor to count apart the work that this party does alone in the offline phase, if it does any.
fn set_apart<B: Family>(dry: &B, executor: &mut Executor<'_, B>) -> Rc<Cell<Effort>> {
    let apart = Rc::new(Cell::default());
    if dry.garbles_alone() {
        executor.ahead = Ahead::Apart(apart.clone());
    }
    apart
}

/// Runs dry all that is made ahead, or in turns. Turns count for the steps whose draws begin them. Returns the offline
/// phase, and the seconds that its dry runs took.
fn prepare_all<B: Family>(
    dry: &B,
    made: &[Turn<B::Kind>],
    ran: &mut OnlineDryRun,
    (parties, me): (usize, usize),
) -> Result<(PredictedPhase, f64)> {
    let mut offline = PredictedPhase { traffic: Traffic::new(parties), ..PredictedPhase::default() };
    let (mut seconds, mut known) = (0.0, BTreeMap::new());
    for &Turn { step, ref totals, times } in made {
        let (prepared, wiped) = match known.entry(totals) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let prepared = prepare(dry, Demand::of(totals.clone()), (parties, me))?;
                seconds += prepared.seconds;
                new.insert((prepared, deferred(|| dry.forget())))
            }
        };
        offline.add(&prepared.phase, times);
        ran.apart |= prepared.apart;
        if let Some(step) = step {
            // What a turn made is wiped when the next one begins.
            let (step, wiped) = (ran.steps.talking.entry(step).or_default(), wiped.times(times));
            step.bytes += prepared.phase.traffic.bytes() * times as u64;
            step.busy_seconds += prepared.phase.control_seconds * times as f64;
            step.work += prepared.phase.work.times(times);
            step.work += wiped;
            ran.online.work += wiped;
        }
    }
    Ok((offline, seconds))
}

/// A dry run of the offline phase.
struct Prepared {
    phase: PredictedPhase,
    /// Whether the rounds of the others are unknown to one party's dry run.
    apart: bool,
    /// Seconds that the dry run itself took, without those of chunks that it skipped.
    seconds: f64,
}

/// Runs the offline phase dry. Nothing is drawn by name here, so equal chunks are counted once, also for a run.
fn prepare<B: Family>(dry: &B, demand: Demand<B::Kind>, (parties, me): (usize, usize)) -> Result<Prepared> {
    let (tally, clock) = (charged(), own_seconds());
    let prepare = async |ctx: &Ctx| {
        ctx.count_alike();
        dry.prepare(ctx, demand, async |_| Ok(())).await?;
        Ok(ctx.take_left_out_seconds())
    };
    let (left_out, costs) = dry::run(me, parties, Phase::Offline, prepare)?;
    let seconds = own_seconds() - clock;
    let control_seconds = seconds + left_out;
    let phase = PredictedPhase { traffic: costs.offline, work: charged() - tally, control_seconds };
    Ok(Prepared { phase, apart: costs.apart, seconds })
}

/// The prediction of one step, or one conversion, at one party.
pub(crate) struct PredictedStep {
    pub offline: PredictedPhase,
    pub online: PredictedPhase,
}

impl PredictedStep {
    pub fn phase(&self, phase: Phase) -> &PredictedPhase {
        match phase {
            Phase::Offline => &self.offline,
            Phase::Online => &self.online,
        }
    }
}

/// Node `id` alone in a sharing, with its operands in that sharing. If `to` is given: the conversion of its value
/// from that sharing to `to`.
pub(crate) struct OneStep<'g> {
    pub graph: &'g Graph,
    pub id: NodeId,
    pub domain: Domain,
    pub to: Option<Domain>,
}

/// Runs one step dry, in both phases.
pub(crate) fn dry_run_of_step<B: Family>(
    step: &OneStep<'_>,
    (parties, me): (usize, usize),
    options: &Options,
) -> Result<PredictedStep> {
    let dry = B::dry(parties, me, &options.choices)?;
    let (online, demand, _) = recorded(&dry, options, || step.run(&dry, (parties, me)))?;
    let offline = match demand.totals().is_empty() {
        true => PredictedPhase { traffic: Traffic::new(parties), ..PredictedPhase::default() },
        false => prepare(&dry, demand, (parties, me))?.phase,
    };
    Ok(PredictedStep { offline, online })
}

impl OneStep<'_> {
    /// Runs the online phase of a party dry.
    fn run<B: Family>(&self, dry: &B, (parties, me): (usize, usize)) -> Result<PredictedPhase> {
        let tally = charged();
        let go = async |ctx: &Ctx| {
            ctx.count_alike();
            self.go(dry, ctx).await
        };
        let (apart, costs) = dry::run(me, parties, Phase::Online, go)?;
        dry.defer(&apart);
        let work = charged() - tally - apart;
        Ok(PredictedPhase { traffic: costs.online, work, control_seconds: 0.0 })
    }

    /// Runs a party's part; returns the work that it does alone in the offline phase.
    async fn go<B: Family>(&self, dry: &B, ctx: &Ctx) -> Result<Effort> {
        let &OneStep { graph, id, domain, to } = self;
        if let Some(to) = to {
            let value = Arc::new(shape_of(dry, graph, id, domain)?);
            converted(dry, ctx, &value, (graph, id), to).await?;
            return Ok(Effort::default());
        }
        let mut domains = Domains::default();
        domains.set(id, domain);
        for &input in &graph.node(id).inputs {
            domains.set(input, native(domain, graph.node(input).dtype));
        }
        let work = Work { graph, nodes: vec![id], reveals: vec![], domains };
        let (known, inputs, schedule) = (shapes(dry, &work)?, BTreeMap::new(), Schedule::default());
        let mut executor =
            Executor::new(dry, &work, Around { known: &known, inputs: &inputs, keep: &|_| false }, (None, &schedule));
        let apart = set_apart(dry, &mut executor);
        executor.run(ctx).await?;
        Ok(apart.get())
    }
}

/// Returns shapes in place of the values that exist before a run.
fn shapes<B: Family>(dry: &B, work: &Work<'_>) -> Result<Known<B>> {
    let mut shapes = Known::new();
    for id in read_from_before(work) {
        shapes.insert(id, Arc::new(shape_of(dry, work.graph, id, work.domains.of(id))?));
    }
    Ok(shapes)
}

/// Adds up the counts by the name of the kind in messages; kinds that belong to different values share a name.
fn counted<K: Display>(kinds: &BTreeMap<K, usize>) -> BTreeMap<String, u64> {
    let mut counted = BTreeMap::new();
    for (kind, &count) in kinds {
        *counted.entry(kind.to_string()).or_default() += count as u64;
    }
    counted
}

/// Adds the memory of each step's value and correlations, and the correlations that it draws, to its costs.
fn price_memory<B: Family>(
    backend: &B,
    work: &Work<'_>,
    demand: &Demand<B::Kind>,
    schedule: &Schedule,
    steps: &mut Taken,
) {
    for &id in work.nodes.iter().filter(|&&id| !schedule.is_within(id)) {
        let bytes = sizes::held_bytes(backend, work, id);
        match steps.talking.get_mut(&id.0) {
            Some(step) => step.memory_bytes += bytes,
            None => steps.line(&work.graph.node(id).source).memory_bytes += bytes,
        }
    }
    for (&id, drawn) in demand.by_step() {
        let step = steps.talking.entry(id).or_default();
        step.memory_bytes += drawn.iter().map(|(kind, &len)| backend.stock_bytes(kind, len)).sum::<u64>();
        step.correlations = counted(drawn);
    }
}
