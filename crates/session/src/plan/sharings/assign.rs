//! Where each node of a run is computed: the problem that the planner solves. The parties come to the same answer: it
//! depends on the program, on options that they share, and on prices that they agreed on.
//!
//! Planning takes time, too, at most a tenth of what is planned. A request that is predicted to take less than that
//! stays in the backend's own sharings, as far as users say nothing else, until the program has asked for the like so
//! often that planning pays.

use std::collections::{BTreeMap, BTreeSet};

use quorate_engine::Result;
use quorate_engine::clock::own_seconds;
use quorate_gadgets::Family;
use quorate_graph::domains::{Assignment, Domain, Item, Problem};
use quorate_graph::{Graph, NodeId};

use super::outline::Outline;
use super::prices::{Book, Key, Prices};
use crate::options::Options;
use crate::work::Work;

/// What decides: prices, and what users allow.
pub(crate) struct Deciding<'a> {
    pub prices: &'a Prices,
    pub options: &'a Options,
    /// Whether to look for the best other way of each step.
    pub with_rivals: bool,
}

/// The chosen sharing of a step, beside the best other one.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen {
    /// The sharing in which the step runs.
    pub domain: Domain,
    /// The other, and by how many seconds the whole would take longer with it; fewer than 0 where planning would have
    /// taken more than that.
    pub rival: Option<(Domain, f64)>,
}

/// What was decided.
#[derive(Default)]
pub(crate) struct Decided {
    /// What was chosen for steps that had a choice.
    pub chosen: BTreeMap<NodeId, Chosen>,
    /// The thread's own seconds that it took, but for the search of rivals.
    pub own_seconds: f64,
}

/// The plan of a program: by its steps, and by dry runs of the whole, once there was reason for these.
#[derive(Clone)]
pub(crate) struct Assigned {
    by_steps: Assignment,
    /// Predicted seconds of a run by steps, and about those of dry runs of the whole.
    seconds: f64,
    deciding: f64,
    by_the_whole: Option<Assignment>,
}

/// A program, each step in its first way.
#[derive(Clone, Copy)]
pub(crate) struct Unplanned {
    /// Predicted seconds of a run.
    seconds: f64,
    /// About what it would take to look for better ways.
    planning: f64,
}

/// Dry runs of the whole decide among about so many assignments: at most two for each mix of sharings, of which many
/// are the same.
const CANDIDATES: f64 = 10.0;

/// About what a dry run takes, for each step and for each round. Constants, since the parties' clocks differ.
const SECONDS_OF_A_STEP: f64 = 10e-6;
const SECONDS_OF_A_ROUND: f64 = 5e-6;

/// Rivals are priced one by one, each with a look at the whole program.
const MOST_RIVALS: usize = 1000;

/// About what planning takes: to search, and for each way of each different step, with the conversions from and to
/// there, the more the more rounds it has. Constants, since the parties' clocks differ.
const SECONDS_OF_A_SEARCH: f64 = 5e-3;
const SECONDS_OF_A_WAY: f64 = 0.3e-3;
const SECONDS_OF_A_WAYS_ROUND: f64 = 35e-6;

/// What a request is predicted to take for each second that goes into deciding how.
const SECONDS_FOR_A_SECOND: f64 = 10.0;

/// Decides where the nodes of `work` run; values that exist already are where `work.domains` says.
pub(crate) fn assign<B: Family>(work: &mut Work<'_>, deciding: &Deciding<'_>) -> Result<Decided> {
    let started = own_seconds();
    let mut book = deciding.prices.open();
    let outline = Outline::of::<B>(work, &deciding.options.sharings);
    let assignment = deciding.assignment::<B>(&mut book, work, &outline)?;
    let own_seconds = own_seconds() - started;
    let rivals = match deciding.with_rivals && outline.nodes.len() <= MOST_RIVALS {
        true => deciding.problem::<B>(&mut book, work.graph, &outline)?.rivals(&assignment),
        false => vec![None; outline.nodes.len()],
    };
    outline.put(work, &assignment);
    let mut chosen = BTreeMap::new();
    for (place, (&id, rival)) in outline.nodes.iter().zip(rivals).enumerate() {
        let item = &outline.items[place];
        let domain = item.choices[assignment[place]].domain;
        if item.choices.len() > 1 && !work.graph.node(id).op.only_moves() {
            chosen.insert(id, Chosen { domain, rival: rival.map(|rival| (rival.domain, rival.more_seconds)) });
        }
    }
    Ok(Decided { chosen, own_seconds })
}

impl<'a> Deciding<'a> {
    pub fn of(prices: &'a Prices, options: &'a Options) -> Self {
        Deciding { prices, options, with_rivals: false }
    }

    /// The first way of each step, where planning would take more than it could save; otherwise the best that is found.
    fn assignment<B: Family>(&self, book: &mut Book, work: &Work<'_>, outline: &Outline) -> Result<Assignment> {
        let own = vec![0; outline.items.len()];
        if outline.items.iter().all(|item| item.choices.len() == 1) {
            return Ok(own);
        }
        let key = outline.key(work);
        let Some(times) = self.worth_planning::<B>(book, work, outline, key)? else { return Ok(own) };
        let planned = match book.plan(&key) {
            Some(known) => known.clone(),
            None => self.by_steps(&self.problem::<B>(book, work.graph, outline)?),
        };
        // Whatever is known: who asked before, and where in the program, is not alike at all parties.
        if times * planned.seconds < SECONDS_FOR_A_SECOND * self.options.offline_weight * planned.deciding {
            book.keep_plan(key, planned.clone());
            return Ok(planned.by_steps);
        }
        let best = match &planned.by_the_whole {
            Some(best) => best.clone(),
            None => self.by_the_whole::<B>(work, outline, &self.problem::<B>(book, work.graph, outline)?)?,
        };
        book.keep_plan(key, Assigned { by_the_whole: Some(best.clone()), ..planned });
        Ok(best)
    }

    /// The best by the prices of steps.
    fn by_steps(&self, problem: &Problem) -> Assigned {
        let solved = problem.solve();
        let (steps, rounds) = (problem.items.len() as f64, f64::from(problem.rounds(&solved.assignment)));
        let dry_run = self.prices.parties() as f64 * (steps * SECONDS_OF_A_STEP + rounds * SECONDS_OF_A_ROUND);
        let (seconds, deciding) = (solved.seconds, CANDIDATES * dry_run);
        Assigned { by_steps: solved.assignment, seconds, deciding, by_the_whole: None }
    }

    /// How many requests like it there are by now, if planning takes at most a tenth of what they are predicted to take
    /// together, each step in its first way. Planning is part of the offline phase and weighed like it.
    fn worth_planning<B: Family>(
        &self,
        book: &mut Book,
        work: &Work<'_>,
        outline: &Outline,
        key: Key,
    ) -> Result<Option<f64>> {
        let unplanned = match book.unplanned(&key) {
            Some(known) => known,
            None => {
                let found = self.unplanned::<B>(book, work, outline)?;
                book.keep_unplanned(key, found);
                found
            }
        };
        let steps: Vec<NodeId> = outline.choosing().map(|place| outline.nodes[place]).collect();
        let times = (1 + work.graph.repetitions(&steps)) as f64;
        let worth =
            times * unplanned.seconds >= SECONDS_FOR_A_SECOND * self.options.offline_weight * unplanned.planning;
        Ok(worth.then_some(times))
    }

    fn unplanned<B: Family>(&self, book: &mut Book, work: &Work<'_>, outline: &Outline) -> Result<Unplanned> {
        let problem = self.problem::<B>(book, work.graph, &outline.first_ways())?;
        let mut planning = SECONDS_OF_A_SEARCH;
        for place in outline.different(work.graph) {
            let rounds = f64::from(problem.items[place].choices[0].price.rounds);
            let ways = outline.items[place].choices.len() as f64;
            planning += ways * (SECONDS_OF_A_WAY + SECONDS_OF_A_WAYS_ROUND * rounds);
        }
        Ok(Unplanned { seconds: problem.seconds(&vec![0; problem.items.len()]), planning })
    }

    /// The steps with what each of their ways and conversions between them takes.
    fn problem<B: Family>(&self, book: &mut Book, graph: &Graph, outline: &Outline) -> Result<Problem> {
        let mut items = outline.items.clone();
        for (place, item) in items.iter_mut().enumerate().filter(|&(place, _)| outline.computes[place]) {
            for choice in &mut item.choices {
                choice.price = self.prices.step::<B>(book, graph, outline.nodes[place], choice.domain)?;
            }
        }
        for (input, from, to) in conversions(&items) {
            let price = self.prices.conversion::<B>(book, (graph, outline.nodes[input]), from, to)?;
            items[input].conversions[from as usize][to as usize] = Some(price);
        }
        Ok(Problem { items, round_seconds: self.prices.round_seconds() })
    }

    /// The best of a few, by dry runs of the whole: steps by themselves do not show what they save by being together.
    /// Among them is what would be found if users allowed fewer sharings, however long its steps by themselves: in one
    /// sharing they save most.
    fn by_the_whole<B: Family>(&self, work: &Work<'_>, outline: &Outline, problem: &Problem) -> Result<Assignment> {
        let mut candidates = problem.candidates();
        if candidates.len() == 1 {
            return Ok(candidates.swap_remove(0).1);
        }
        let mut best = (f64::INFINITY, candidates[0].1.clone());
        for (_, assignment) in candidates {
            let mut work = Work::clone(work);
            outline.put(&mut work, &assignment);
            let seconds = self.prices.whole::<B>(&work)?;
            if seconds < best.0 {
                best = (seconds, assignment);
            }
        }
        Ok(best.1)
    }
}

/// The conversions that an assignment may need: of which item's value, from where to where.
fn conversions(items: &[Item]) -> BTreeSet<(usize, Domain, Domain)> {
    let mut wanted = BTreeSet::new();
    for item in items {
        for (place, &input) in item.inputs.iter().enumerate() {
            let made = items[input].choices.iter().map(|choice| choice.gives);
            let takes = item.choices.iter().map(|choice| choice.takes[place]);
            wanted.extend(made.flat_map(|from| takes.clone().map(move |to| (input, from, to))));
        }
    }
    wanted.retain(|&(_, from, to)| from != to);
    wanted
}
