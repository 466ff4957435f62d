//! One party's thread: owns the party, its shares and its correlations, and serves runs.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, RwLock};

use quorate_crypto::Seed;
use quorate_engine::{Believed, Costs, Ctx, Demand, Error, Greeting, Mismatch, Party, Phase, Result, Run, Trace};
use quorate_graph::domains::Domain;
use quorate_graph::{Graph, NodeId};
use quorate_ring::memory::guarded;
use quorate_ring::threads;

use crate::allowed::Allowed;
use crate::data::{Data, OwnInput, Plain, decode, decode_units};
use crate::effort::Taken;
use crate::error::SessionError;
use crate::executor::{Executor, Known, Reveal, Work};
use crate::free;
use crate::lines::by_line;
use crate::memory::Limit;
use crate::mixed::{Ahead, Book, Decided, Deciding, Domains, Prices, assign, leaving, native, pin};
use crate::options::Options;
use crate::plan::{Plan, Pricing, Rehearsed, Setting, StepPlan};
use quorate_gadgets::Family;
use quorate_protocols::{Protocol, Visit};
use crate::rehearsal::{Rehearsal, rehearse};
use crate::schedule::Schedule;
use crate::stats::{Progress, RunStats, Watch};
use crate::store::{Arrays, Store};
use crate::truncation::Truncations;

/// The program as built so far.
#[derive(Default)]
pub(crate) struct Program {
    pub graph: Graph,
    pub arrays: Arrays,
}

/// A request to run what some reveals need.
pub(crate) struct Job {
    /// Its number at this session; replies carry it.
    pub number: u64,
    pub reveals: Vec<Reveal>,
    /// Whether fixed point is revealed in units of the ring.
    pub units: bool,
    /// This party's inputs since the last run.
    pub inputs: BTreeMap<NodeId, Arc<OwnInput>>,
    /// Arrays that this party let go of since the last run.
    pub dropped: Vec<NodeId>,
}

pub(crate) enum Command {
    Run(Job),
    /// A dry run of these reveals, as if the nodes `assumed` had been run already.
    Plan {
        reveals: Vec<Reveal>,
        assumed: BTreeSet<NodeId>,
        /// Arrays that this party let go of since the last run.
        dropped: Vec<NodeId>,
        reply: Sender<std::result::Result<Plan, SessionError>>,
    },
    /// The steps that a run of these nodes would take.
    Needed {
        targets: Vec<NodeId>,
        reply: Sender<Vec<NodeId>>,
    },
    Leave {
        gave_up: bool,
    },
}

/// A finished run at one party.
pub(crate) struct Outcome {
    pub revealed: Vec<Option<Data>>,
    pub stats: RunStats,
    /// Where it is worth forgetting others: the nodes that this party may still need.
    pub needs: Option<BTreeSet<NodeId>>,
}

/// What came of a job at one party.
pub(crate) struct Reply {
    pub job: u64,
    pub party: usize,
    pub result: std::result::Result<Outcome, SessionError>,
}

pub(crate) struct Worker<B: Family> {
    party: Party,
    backend: B,
    options: Options,
    store: Store<B>,
    program: Arc<RwLock<Program>>,
    progress: Arc<Progress>,
    /// What steps take where the parties run, as they agreed; where a protocol has several sharings.
    prices: Option<Prices>,
    /// How many parties share this process.
    sharing: usize,
    /// What each party had free when the last run began.
    free: Vec<u64>,
}

/// A worker's ends of what it shares with its session.
pub(crate) struct Desk {
    pub program: Arc<RwLock<Program>>,
    pub progress: Arc<Progress>,
    pub book: Arc<Mutex<Book>>,
    pub commands: Receiver<Command>,
    pub ready: Sender<std::result::Result<usize, SessionError>>,
    pub replies: Sender<Reply>,
}

/// What a party's thread does.
pub(crate) struct Serve {
    pub party: Party,
    pub protocol: Protocol,
    pub options: Options,
    pub coins: Option<Seed>,
    pub setting: Setting,
    pub desk: Desk,
}

impl Visit for Serve {
    type Out = ();

    fn family<F: Family>(self) {
        serve::<F>(self);
    }
}

/// Sets the backend up, then serves commands until told to leave.
fn serve<B: Family>(serve: Serve) {
    let Serve { mut party, protocol, options, coins, setting, desk } = serve;
    let Desk { program, progress, book, commands, ready, replies } = desk;
    let me = party.me();
    let threads = threads::set_threads(options.threads).map_err(SessionError::Threads);
    let (backend, prices) =
        match threads.and_then(|()| Ok(set_up::<B>(&mut party, protocol, &options, coins, (setting, book))?)) {
            Ok(set_up) => set_up,
            Err(error) => {
                let _ = ready.send(Err(error));
                return;
            }
        };
    let _ = ready.send(Ok(me));
    let store = Store::new(party.parties());
    let sharing = if let Setting::Here { parties, .. } = setting { parties } else { 1 };
    let free = vec![u64::MAX; party.parties()];
    let mut worker = Worker { party, backend, options, store, program, progress, prices, sharing, free };
    while let Ok(command) = commands.recv() {
        match command {
            Command::Run(job) => {
                let number = job.number;
                let result = catch_unwind(AssertUnwindSafe(|| guarded(|| worker.run(job))));
                let lost = !matches!(result, Ok(Ok(_)));
                let result = result.map_or_else(
                    |_| Err(Error::Bug { what: "a party's thread panicked" }.into()),
                    |run| run.unwrap_or_else(|short| Err(short.into())),
                );
                worker.backend.clear_stock();
                if worker.party.is_over() {
                    // Nobody can ask for them any more.
                    worker.store = Store::new(worker.party.parties());
                }
                if replies.send(Reply { job: number, party: me, result }).is_err() || lost {
                    return;
                }
            }
            Command::Plan { reveals, assumed, dropped, reply } => {
                let plan = catch_unwind(AssertUnwindSafe(|| guarded(|| worker.plan(&reveals, &assumed, &dropped))));
                let _ = reply.send(plan.map_or_else(
                    |_| Err(Error::Bug { what: "a dry run panicked" }.into()),
                    |plan| plan.unwrap_or_else(|short| Err(short.into())),
                ));
            }
            Command::Needed { targets, reply } => {
                let needed =
                    worker.program.read().map(|program| program.graph.needed(&targets, |id| worker.store.has(id)));
                let _ = reply.send(needed.unwrap_or_default());
            }
            Command::Leave { gave_up } => {
                worker.party.leave(gave_up);
                return;
            }
        }
    }
}

/// What the parties must agree on before the first message: the release, the protocol, and the options that they share.
/// Where sharings are mixed, they agree on what steps take, too.
fn set_up<B: Family>(
    party: &mut Party,
    protocol: Protocol,
    options: &Options,
    coins: Option<Seed>,
    (setting, book): (Setting, Arc<Mutex<Book>>),
) -> Result<(B, Option<Prices>)> {
    let text = format!("quorate {} {}", env!("CARGO_PKG_VERSION"), protocol.name());
    let hash = blake3::Hasher::new_derive_key("quorate/session/setup").update(text.as_bytes()).finalize();
    let greeting = Greeting { program: hash.into(), terms: options.shared(protocol), ..Greeting::default() };
    let mut run = party.begin(&greeting, &Trace::default, &|_| String::new())?;
    let mixes = if options.sharings.is_auto() { B::GARBLES } else { options.sharings.mix() };
    let mixes = mixes && options.max_memory.is_none();
    let (backend, prices) = run.phase(Phase::Offline, async |ctx| {
        let backend = B::setup(ctx, coins.as_ref(), &options.choices).await?;
        if !mixes {
            return Ok((backend, None));
        }
        let pricing = Pricing::agreed(ctx, setting).await?;
        Ok((backend, Some(Prices::new(pricing, ctx.parties(), options.clone(), book))))
    })?;
    run.finish();
    if let (Some(network), None) = (options.network, options.max_memory) {
        let bits = network.bits_per_second.map(|bits| network.rtt.as_secs_f64() * bits);
        backend.fill_line(bits.map_or(0, |bits| (bits / 8.0) as usize));
    }
    Ok((backend, prices))
}

impl<B: Family> Worker<B> {
    fn run(&mut self, job: Job) -> std::result::Result<Outcome, SessionError> {
        let program = self.program.clone();
        let program = program.read().map_err(|_| SessionError::WorkerGone)?;
        let graph = &program.graph;
        let (me, parties) = (self.party.me(), self.party.parties());
        let arrays = self.store.take_over(&program.arrays, job.inputs, job.dropped);
        let wire_before = self.party.wire_bytes();
        let note = free::with_share(free::share_of_process(self.sharing), self.store.note());
        let greeting = greeting(graph, &job.reveals, &arrays, note);
        let trace = || Trace { first: graph.first(), hashes: graph.hashes().iter().map(short_hash).collect() };
        let describe = |i: usize| graph.describe(NodeId(i as u32));
        let asked = |error| naming(error, graph, &job.reveals);
        let mut run = self.party.begin(&greeting, &trace, &describe).map_err(asked)?;
        let started = Watch::start(); // waiting for the others to come here is no part of the run
        let number = run.agreement().run;
        let (free, notes) = free::shares(&run.agreement().notes)?;
        self.store.settle(me, number, &notes, graph.len()).map_err(asked)?;
        let mut work = work(graph, &job.reveals, |id| self.store.values.contains_key(&id));
        let deciding = self.prices.as_ref().map(|prices| Deciding::of(prices, &self.options));
        let mut limit = Limit::named(self.options.max_memory);
        let decided = mix::<B>(&mut work, &self.store, (limit, &self.options), deciding.as_ref())?;
        let after = self.store.kept(graph, &work.nodes);
        // From here on an error tells the peers, who would wait for this party otherwise.
        let keep_node = |id: NodeId| after.values.contains(&id);
        let held = self.store.values.keys().copied().collect();
        let mut rehearsal = rehearse::<B>(&work, (parties, me), &held, &keep_node, (&self.options, limit))?;
        let allowed = Allowed { named: self.options.max_memory, free: free.clone(), sharing: self.sharing };
        if let Some(less) = allowed.less_for(&rehearsal.need) {
            limit = less;
            in_pieces(&mut work, &self.store);
            rehearsal = rehearse::<B>(&work, (parties, me), &held, &keep_node, (&self.options, limit))?;
        }
        self.free = free;
        let need = rehearsal.need;
        if let Err(refusal) = allowed.check(graph, &need, limit) {
            // All parties know what this follows from, so nobody has to be told; plans were not compared yet.
            if self.prices.is_none() {
                run.finish();
            }
            return Err(refusal);
        }
        let beside = |error| SessionError::beside_plan(error, need.total(limit));
        let expected = rehearsal.offline.traffic.bytes() + rehearsal.online.traffic.bytes();
        let own_seconds = decided.own_seconds;
        let predicted = Rehearsed::of(&rehearsal, &work, by_line(graph, &rehearsal.steps), own_seconds);
        let Rehearsal { demand, correlations, steps, schedule, garbles_ahead, .. } = rehearsal;
        if self.prices.is_some() {
            run.compare(plan_hash(&work, garbles_ahead, &correlations))?;
        }

        let mut stats = RunStats { correlations, predicted, ..RunStats::default() };
        self.progress.enter(Phase::Offline, expected);
        self.backend.clear_stock();
        self.backend.set_ahead(garbles_ahead);
        let mut made = Ahead::Nothing;
        if !demand.totals().is_empty() && need.makes_ahead(limit) {
            let (known, needs) = (&self.store.values, (demand, &schedule));
            made = make_ahead(&mut run, (&self.backend, known), &work, needs, &keep_node).map_err(beside)?;
        }
        let offline_time = started.read();
        let started = Watch::start();
        let wire_middle = run.wire_bytes();
        self.progress.enter(Phase::Online, expected);
        let how = (allowed.room(&need, limit), &schedule);
        let mut executor = Executor::new(&self.backend, &work, &self.store.values, &self.store.inputs, &keep_node, how);
        executor.ahead = made;
        let done = run.phase(Phase::Online, async |ctx| executor.run(ctx).await).map_err(beside)?;
        let revealed = decoded(graph, &work.reveals, done.opened, job.units);
        // From here on this party can finish the run, and says so: it keeps what was computed until all tell what became of it.
        self.store.prepared(number, done.kept, after, graph.len());
        if work.confirms() {
            run.confirm()?;
        }
        let wire_after = run.wire_bytes();
        let costs = run.finish();

        stats.offline.add(&costs.offline, offline_time, wire_middle - wire_before);
        stats.online.add(&costs.online, started.read(), wire_after - wire_middle);
        stats.by_line = by_line(graph, &measured(&costs, done.steps, steps));
        let needs = graph.may_forget().then(|| self.store.needs(graph));
        Ok(Outcome { revealed, stats, needs })
    }

    /// What a run may take that began now, as far as this party knows.
    fn allowed(&self) -> Allowed {
        let here = free::share_of_process(self.sharing);
        let mut free = if self.sharing > 1 { vec![here; self.free.len()] } else { self.free.clone() };
        free[self.party.me()] = here;
        Allowed { named: self.options.max_memory, free, sharing: self.sharing }
    }

    /// What the reveals would cost every party.
    fn plan(
        &self,
        reveals: &[Reveal],
        assumed: &BTreeSet<NodeId>,
        dropped: &[NodeId],
    ) -> std::result::Result<Plan, SessionError> {
        let program = self.program.read().map_err(|_| SessionError::WorkerGone)?;
        let graph = &program.graph;
        let done = |id| self.store.has(id) || assumed.contains(&id);
        let mut work = work(graph, reveals, done);
        let parties = self.party.parties();
        let deciding = self.prices.as_ref().map(|prices| Deciding::of(prices, &self.options));
        let deciding = deciding.map(|deciding| Deciding { with_rivals: true, ..deciding });
        let mut limit = Limit::named(self.options.max_memory);
        let decided = mix::<B>(&mut work, &self.store, (limit, &self.options), deciding.as_ref())?;
        let truncations = Truncations::of(&self.backend, graph, &work.nodes);
        let mut plan = Plan { executed: work.nodes.clone(), truncations, chosen: decided.chosen, ..Plan::default() };
        let allowed = self.allowed();
        let assumed = assumed.iter().copied().filter(|&id| graph.get(id).is_ok());
        let held: BTreeSet<NodeId> = self.store.held().chain(assumed).collect();
        let running = held.iter().chain(&work.nodes).copied().collect();
        let after = self.store.would_keep(graph, &program.arrays, dropped, &running);
        let mut steps: BTreeMap<u32, StepPlan> = BTreeMap::new();
        for party in 0..parties {
            let again = |work: &Work<'_>, limit: Limit| {
                let keeps = |id| after.values.contains(&id);
                rehearse::<B>(work, (parties, party), &held, &keeps, (&self.options, limit))
            };
            let mut rehearsal = again(&work, limit)?;
            if let Some(less) = allowed.less_for(&rehearsal.need).filter(|_| party == 0) {
                (limit, plan.chosen) = (less, BTreeMap::new());
                in_pieces(&mut work, &self.store);
                rehearsal = again(&work, limit)?;
            }
            let lines = by_line(graph, &rehearsal.steps);
            plan.parties.push(Rehearsed::of(&rehearsal, &work, lines, decided.own_seconds));
            plan.memory_bytes = rehearsal.need.total(limit);
            plan.refusal = allowed.check(graph, &rehearsal.need, limit).err().map(|e| e.to_string());
            plan.correlations = rehearsal.correlations;
            for (id, cost) in rehearsal.steps.talking.into_iter().filter(|(_, cost)| cost.talks()) {
                steps.entry(id).or_insert_with(|| StepPlan::at(graph, id, parties)).take(party, cost);
            }
        }
        plan.steps = steps.into_values().collect();
        Ok(plan)
    }
}

/// The offline phase: correlations, and the circuits that are garbled with them.
fn make_ahead<B: Family>(
    run: &mut Run<'_>,
    (backend, known): (&B, &Known<B>),
    work: &Work<'_>,
    (demand, schedule): (Demand<B::Kind>, &Schedule),
    keeps: &dyn Fn(NodeId) -> bool,
) -> Result<Ahead<B>> {
    let (nothing, leaves) = (BTreeMap::new(), leaving(work));
    let keep = |id| leaves.contains(&id) || keeps(id);
    let circuits = async |ctx: &Ctx| {
        let mut executor = Executor::new(backend, work, known, &nothing, &keep, (None, schedule));
        executor.ahead = Ahead::only(work);
        executor.run(ctx).await
    };
    let garbled = run.phase(Phase::Offline, async |ctx| backend.prepare(ctx, demand, circuits).await)?;
    Ok(garbled.map_or(Ahead::Nothing, |garbled| Ahead::Done(garbled.kept)))
}

/// Longer programs than this are not planned step by step where users leave the sharings to Quorate.
const MOST_PLANNED: usize = 20_000;

/// Decides where the nodes of a run are computed, given where the values are that exist; tells of steps that had a choice.
fn mix<B: Family>(
    work: &mut Work<'_>,
    store: &Store<B>,
    (limit, options): (Limit, &Options),
    deciding: Option<&Deciding<'_>>,
) -> Result<Decided> {
    in_pieces(work, store);
    let is_short = work.nodes.len() <= MOST_PLANNED || !options.sharings.is_auto();
    if let Some(deciding) = deciding.filter(|_| is_short) {
        return assign::<B>(work, deciding);
    }
    if limit == Limit::None {
        pin::<B>(work);
    }
    Ok(Decided::default())
}

/// Computes everything in the protocol's own sharing, whose steps can go in pieces; values that exist are where they are.
fn in_pieces<B: Family>(work: &mut Work<'_>, store: &Store<B>) {
    work.domains = Domains::default();
    for (&id, value) in store.known() {
        let elsewhere = |domain: &Domain| *domain != native(Domain::A, work.graph.node(id).dtype);
        value.domain().filter(elsewhere).into_iter().for_each(|domain| work.domains.set(id, domain));
    }
}

fn work<'g>(graph: &'g Graph, reveals: &[Reveal], done: impl Fn(NodeId) -> bool) -> Work<'g> {
    let targets: Vec<NodeId> = reveals.iter().map(|r| r.node).collect();
    Work { graph, nodes: graph.needed(&targets, done), reveals: reveals.to_vec(), domains: Domains::default() }
}

/// The error; where the parties' requests differ, with that of this party, by the lines that made what it reveals.
fn naming(error: Error, graph: &Graph, reveals: &[Reveal]) -> Error {
    let Error::Mismatch(Mismatch::Request { peer, .. }) = error else { return error };
    let one = |reveal: &Reveal| {
        let to = reveal.to.map_or(String::new(), |party| format!(", to party {party}"));
        format!("the reveal of {}{to}", graph.describe(reveal.node))
    };
    let here: Vec<String> = reveals.iter().take(3).map(one).collect();
    let more = if reveals.len() > here.len() { " and others" } else { "" };
    Error::Mismatch(Mismatch::Request { peer, here: format!("{}{more}", here.join(" and ")).into() })
}

/// What the parties compare before a run: the program, which of it are arrays, and what is revealed to whom.
fn greeting(graph: &Graph, reveals: &[Reveal], arrays: &[u8; 32], note: Vec<u8>) -> Greeting {
    let mut request = blake3::Hasher::new_derive_key("quorate/session/request");
    for reveal in reveals {
        request.update(&reveal.node.0.to_le_bytes());
        request.update(&reveal.to.map_or(u64::MAX, |to| to as u64).to_le_bytes());
    }
    request.update(arrays);
    let program = graph.hashes().last().map_or([0; 32], |hash| hash.0);
    Greeting { program, request: request.finalize().into(), note, ..Greeting::default() }
}

/// Stands for what a party decided by itself: where steps run, when circuits are garbled, and all correlations that are made.
fn plan_hash(work: &Work<'_>, garbles_ahead: bool, correlations: &BTreeMap<String, u64>) -> [u8; 32] {
    let mut plan = blake3::Hasher::new_derive_key("quorate/session/plan");
    plan.update(&[garbles_ahead.into()]);
    for &id in &work.nodes {
        plan.update(&id.0.to_le_bytes()).update(&[work.domains.of(id) as u8]);
    }
    plan.update(&u32::MAX.to_le_bytes());
    for (kind, count) in correlations {
        plan.update(&(kind.len() as u64).to_le_bytes()).update(kind.as_bytes()).update(&count.to_le_bytes());
    }
    plan.finalize().into()
}

fn short_hash(hash: &quorate_graph::Hash) -> u64 {
    let mut short = [0; 8];
    short.copy_from_slice(&hash.0[..8]);
    u64::from_le_bytes(short)
}

/// What the steps of a run took, with the bytes that were counted for them and the correlations that they drew.
fn measured(costs: &Costs, mut steps: Taken, rehearsed: Taken) -> Taken {
    for (id, sent) in &costs.by_step {
        steps.talking.entry(*id).or_default().bytes = sent.bytes;
    }
    for (id, planned) in rehearsed.talking {
        steps.talking.entry(id).or_default().correlations = planned.correlations;
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

#[cfg(test)]
mod tests {
    use quorate_graph::{BinaryOp, Dtype, Source};

    use super::*;

    /// Parties that would make other correlations must not begin: they would wait for each other, or draw what does not
    /// fit.
    #[test]
    fn the_hash_of_a_plan_sees_all_that_a_party_decides() {
        let mut graph = Graph::new();
        let x = graph.at(Source::new("a.py", 1)).input(0, 2, &[2], Dtype::INT64, None).unwrap();
        let y = graph.at(Source::new("a.py", 1)).binary(BinaryOp::Mul, x, x).unwrap();
        let hash = |nodes: &[NodeId], in_y: bool, garbles_ahead: bool, made: &[(&str, u64)]| {
            let mut domains = Domains::default();
            if in_y {
                domains.set(y, Domain::Y);
            }
            let reveals = vec![Reveal { node: y, to: None }];
            let correlations = made.iter().map(|&(kind, count)| (kind.to_owned(), count)).collect();
            plan_hash(&Work { graph: &graph, nodes: nodes.to_vec(), reveals, domains }, garbles_ahead, &correlations)
        };
        let plain = |made: &[(&str, u64)]| hash(&[x, y], false, false, made);
        let plans = [
            plain(&[]),
            plain(&[("triple", 2)]),
            plain(&[("triple", 3)]),
            plain(&[("label", 2)]),
            plain(&[("triple", 2), ("label", 2)]),
            hash(&[x], false, false, &[]),
            hash(&[x, y], true, false, &[]),
            hash(&[x, y], false, true, &[]),
        ];
        assert!((0..plans.len()).all(|i| !plans[..i].contains(&plans[i])));
        assert_eq!(plain(&[("triple", 2)]), plans[1]);
    }
}
