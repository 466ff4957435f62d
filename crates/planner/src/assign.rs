//! The assignment of a sharing to each node of a run. All parties come to the same assignment: it depends on the
//! program, on options that they share, and on prices that they agreed on.
//!
//! Planning takes time, too: at most a tenth of the predicted time of what is planned. A request that is predicted to
//! take less than ten times the planning stays in the backend's own sharings, unless users name others. It is planned
//! once the program has made similar requests often enough for planning to pay.

use std::collections::{BTreeMap, BTreeSet};

use quorate_graph::{Domain, Graph, NodeId};

use crate::book::{Assigned, Book, Unplanned};
use crate::outline::{Conditions, Key, Outline};
use crate::prices::Prices;
use crate::problem::{Assignment, Item, Problem};
use crate::work::Work;

/// The planner of one party's runs: prices, and what the protocol offers and users allow.
pub struct Planner<'a, E> {
    /// The source of prices.
    pub prices: &'a dyn Prices<Error = E>,
    /// The protocol's sharings and the users' options.
    pub conditions: Conditions,
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

/// Whether the best alternative of each chosen sharing is named: searching for them takes time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rivals {
    /// Alternatives are named.
    Named,
    /// No alternatives are sought.
    Ignored,
}

/// The decision for a run.
pub struct Decision {
    outline: Outline,
    assignment: Assignment,
}

impl Decision {
    /// Puts each node of the run into its sharing.
    pub fn put(&self, work: &mut Work<'_>) {
        self.outline.put(work, &self.assignment);
    }
}

/// The approximate number of assignments among which prices of the whole decide: at most two for each mix of sharings,
/// many of which coincide.
const CANDIDATES: f64 = 10.0;

/// The largest number of nodes for which alternatives are priced; each costs a pass over the whole program.
const MOST_RIVALS: usize = 1000;

/// Approximate seconds of a search. They are a constant because the parties' clocks differ.
const SECONDS_OF_A_SEARCH: f64 = 5e-3;

/// The predicted seconds of requests that justify one second of planning.
const SECONDS_FOR_A_SECOND: f64 = 10.0;

impl<E> Planner<'_, E> {
    /// Decides in which sharing each node of `work` runs; existing values are where `work.domains` says.
    ///
    /// # Errors
    /// Any error of a price.
    pub fn decide(&self, book: &mut Book, work: &Work<'_>) -> Result<Decision, E> {
        let outline = Outline::of(work, &self.conditions);
        let assignment = self.assignment(book, work, &outline)?;
        Ok(Decision { outline, assignment })
    }

    /// Returns the choice for each step that had several, with the best alternatives if `rivals` says so.
    ///
    /// # Errors
    /// Any error of a price.
    pub fn chosen(
        &self,
        book: &mut Book,
        graph: &Graph,
        decision: &Decision,
        rivals: Rivals,
    ) -> Result<BTreeMap<NodeId, Chosen>, E> {
        let Decision { outline, assignment } = decision;
        let rivals = match rivals == Rivals::Named && outline.nodes.len() <= MOST_RIVALS {
            true => self.problem(book, graph, outline)?.rivals(assignment),
            false => vec![None; outline.nodes.len()],
        };
        let mut chosen = BTreeMap::new();
        for (place, (&id, rival)) in outline.nodes.iter().zip(rivals).enumerate() {
            let item = &outline.items[place];
            let domain = item.choices[assignment[place]].domain;
            if item.choices.len() > 1 && !graph.node(id).op.only_moves() {
                chosen.insert(id, Chosen { domain, rival: rival.map(|rival| (rival.domain, rival.more_seconds)) });
            }
        }
        Ok(chosen)
    }

    /// Returns the first sharing for each step where planning would take longer than it could save; otherwise the best
    /// assignment found.
    fn assignment(&self, book: &mut Book, work: &Work<'_>, outline: &Outline) -> Result<Assignment, E> {
        let own = vec![0; outline.items.len()];
        if outline.items.iter().all(|item| item.choices.len() == 1) {
            return Ok(own);
        }
        let key = outline.key(work);
        let Some(times) = self.worth_planning(book, work, outline, key)? else { return Ok(own) };
        let planned = match book.plan(&key) {
            Some(known) => known.clone(),
            None => self.by_steps(&self.problem(book, work.graph, outline)?),
        };
        // The decision must not depend on what is known already: which requests came before, and where in the program,
        // differs between the parties.
        if times * planned.seconds < SECONDS_FOR_A_SECOND * self.conditions.offline_weight * planned.deciding {
            book.keep_plan(key, planned.clone());
            return Ok(planned.by_steps);
        }
        let best = match &planned.by_the_whole {
            Some(best) => best.clone(),
            None => self.by_the_whole(work, outline, &self.problem(book, work.graph, outline)?)?,
        };
        book.keep_plan(key, Assigned { by_the_whole: Some(best.clone()), ..planned });
        Ok(best)
    }

    /// Returns the best assignment by the prices of steps.
    fn by_steps(&self, problem: &Problem) -> Assigned {
        let solved = problem.solve();
        let rounds = problem.rounds(&solved.assignment);
        let deciding = CANDIDATES * self.prices.seconds_to_price_whole(problem.items.len(), rounds);
        let seconds = solved.seconds;
        Assigned { by_steps: solved.assignment, seconds, deciding, by_the_whole: None }
    }

    /// Returns the number of similar requests so far, this one included, if planning takes at most a tenth of their
    /// predicted time with each step in its first sharing. Planning is part of the offline phase and weighed like it.
    fn worth_planning(&self, book: &mut Book, work: &Work<'_>, outline: &Outline, key: Key) -> Result<Option<f64>, E> {
        let unplanned = match book.unplanned(&key) {
            Some(known) => known,
            None => {
                let found = self.unplanned(book, work, outline)?;
                book.keep_unplanned(key, found);
                found
            }
        };
        let steps: Vec<NodeId> = outline.choosing().map(|place| outline.nodes[place]).collect();
        let times = (1 + work.graph.repetitions(&steps)) as f64;
        let worth =
            times * unplanned.seconds >= SECONDS_FOR_A_SECOND * self.conditions.offline_weight * unplanned.planning;
        Ok(worth.then_some(times))
    }

    fn unplanned(&self, book: &mut Book, work: &Work<'_>, outline: &Outline) -> Result<Unplanned, E> {
        let problem = self.problem(book, work.graph, &outline.first_ways())?;
        let mut planning = SECONDS_OF_A_SEARCH;
        for place in outline.different(work.graph) {
            let rounds = problem.items[place].choices[0].price.rounds;
            let ways = outline.items[place].choices.len() as f64;
            planning += ways * self.prices.seconds_to_price(rounds);
        }
        Ok(Unplanned { seconds: problem.seconds(&vec![0; problem.items.len()]), planning })
    }

    /// Returns the steps with the prices of their sharings and of the conversions between them.
    fn problem(&self, book: &mut Book, graph: &Graph, outline: &Outline) -> Result<Problem, E> {
        let mut items = outline.items.clone();
        for (place, item) in items.iter_mut().enumerate().filter(|&(place, _)| outline.computes[place]) {
            for choice in &mut item.choices {
                choice.price = book.step(self.prices, (graph, outline.nodes[place]), choice.domain)?;
            }
        }
        for (input, from, to) in conversions(&items) {
            let price = book.conversion(self.prices, (graph, outline.nodes[input]), from, to)?;
            items[input].conversions[from as usize][to as usize] = Some(price);
        }
        Ok(Problem { items, round_seconds: self.prices.round_seconds() })
    }

    /// Returns the best of a few assignments, by prices of the whole: prices of single steps do not show what steps
    /// save together. The candidates include the best assignments with fewer sharings, even where the prices of their
    /// steps are higher: within one sharing, steps save most.
    fn by_the_whole(&self, work: &Work<'_>, outline: &Outline, problem: &Problem) -> Result<Assignment, E> {
        let mut candidates = problem.candidates();
        if candidates.len() == 1 {
            return Ok(candidates.swap_remove(0).1);
        }
        let mut best = (f64::INFINITY, candidates[0].1.clone());
        for (_, assignment) in candidates {
            let mut work = Work::clone(work);
            outline.put(&mut work, &assignment);
            let seconds = self.prices.whole(&work)?;
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

#[cfg(test)]
mod tests;
