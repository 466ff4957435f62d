//! The assignment of a sharing to each node of a run. All parties come to the same assignment: it depends on the
//! program, on options that they share, and on prices that they agreed on.
//!
//! Planning takes time, too: at most a tenth of the predicted time of what is planned. A request that is predicted to
//! take less than ten times the planning stays in the backend's own sharings, unless users name others. It is planned
//! once the program has made similar requests often enough for planning to pay.

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

/// The inputs of the decision: prices, and what users allow.
pub(crate) struct Deciding<'a> {
    pub prices: &'a Prices,
    pub options: &'a Options,
    /// Whether to find the best alternative for each step.
    pub with_rivals: bool,
}

/// The chosen sharing of a step, and its best alternative.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen {
    /// The sharing in which the step runs.
    pub domain: Domain,
    /// The best alternative, and by how many seconds the whole would take longer with it. The number is below 0 where
    /// planning would have taken more time than the alternative saves.
    pub rival: Option<(Domain, f64)>,
}

/// The result of the decision.
#[derive(Default)]
pub(crate) struct Decided {
    /// The choice for each step that had several.
    pub chosen: BTreeMap<NodeId, Chosen>,
    /// The thread's own seconds that the decision took, without the search for alternatives.
    pub own_seconds: f64,
}

/// The plan of a program by the prices of its steps, and, once that is worthwhile, by dry runs of the whole.
#[derive(Clone)]
pub(crate) struct Assigned {
    by_steps: Assignment,
    /// Predicted seconds of a run under the plan by steps, and approximate seconds of dry runs of the whole.
    seconds: f64,
    deciding: f64,
    by_the_whole: Option<Assignment>,
}

/// The prediction of a program with each step in its first sharing.
#[derive(Clone, Copy)]
pub(crate) struct Unplanned {
    /// Predicted seconds of a run.
    seconds: f64,
    /// Approximate seconds to search for a better assignment.
    planning: f64,
}

/// The approximate number of assignments among which dry runs of the whole decide: at most two for each mix of
/// sharings, many of which coincide.
const CANDIDATES: f64 = 10.0;

/// Approximate seconds of a dry run for each step and for each round. They are constants because the parties' clocks
/// differ.
const SECONDS_OF_A_STEP: f64 = 10e-6;
const SECONDS_OF_A_ROUND: f64 = 5e-6;

/// The largest number of nodes for which alternatives are priced; each costs a pass over the whole program.
const MOST_RIVALS: usize = 1000;

/// Approximate seconds of planning: of the search; and of each sharing of each different step, with the conversions
/// from and to it, plus a share for each of its rounds. They are constants because the parties' clocks differ.
const SECONDS_OF_A_SEARCH: f64 = 5e-3;
const SECONDS_OF_A_WAY: f64 = 0.3e-3;
const SECONDS_OF_A_WAYS_ROUND: f64 = 35e-6;

/// The predicted seconds of requests that justify one second of planning.
const SECONDS_FOR_A_SECOND: f64 = 10.0;

/// Decides in which sharing each node of `work` runs; existing values are where `work.domains` says.
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

    /// Returns the first sharing for each step where planning would take longer than it could save; otherwise the best
    /// assignment found.
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
        // The decision must not depend on what is known already: which requests came before, and where in the program,
        // differs between the parties.
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

    /// Returns the best assignment by the prices of steps.
    fn by_steps(&self, problem: &Problem) -> Assigned {
        let solved = problem.solve();
        let (steps, rounds) = (problem.items.len() as f64, f64::from(problem.rounds(&solved.assignment)));
        let dry_run = self.prices.parties() as f64 * (steps * SECONDS_OF_A_STEP + rounds * SECONDS_OF_A_ROUND);
        let (seconds, deciding) = (solved.seconds, CANDIDATES * dry_run);
        Assigned { by_steps: solved.assignment, seconds, deciding, by_the_whole: None }
    }

    /// Returns the number of similar requests so far, this one included, if planning takes at most a tenth of their
    /// predicted time with each step in its first sharing. Planning is part of the offline phase and weighed like it.
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

    /// Returns the steps with the prices of their sharings and of the conversions between them.
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

    /// Returns the best of a few assignments, by dry runs of the whole: prices of single steps do not show what steps
    /// save together. The candidates include the best assignments with fewer sharings, even where the prices of their
    /// steps are higher: within one sharing, steps save most.
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

/// Returns the conversions that an assignment may need: the item whose value is converted, and the sharings from and
/// to.
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
