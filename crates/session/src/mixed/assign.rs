//! Where each node of a run is computed: the problem that the planner solves. The parties come to the same answer: it depends on
//! the program, on options that they share, and on prices that they agreed on.

use std::collections::{BTreeMap, BTreeSet};

use quorate_engine::Result;
use quorate_engine::clock::own_seconds;
use quorate_graph::domains::{Assignment, Choice, Domain, Item, Problem, Solved, Toll};
use quorate_graph::{Dtype, Graph, NodeId, Op};

use super::prices::{Book, Key, Prices};
use super::{moves, native, offered};
use crate::executor::Work;
use crate::options::Options;
use crate::protocol::Backend;

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
    pub domain: Domain,
    /// The other, and by how many seconds the whole would take longer with it.
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

/// Decides where the nodes of `work` run; values that exist already are where `work.domains` says.
pub(crate) fn assign<B: Backend>(work: &mut Work<'_>, deciding: &Deciding<'_>) -> Result<Decided> {
    let started = own_seconds();
    let mut book = deciding.prices.open();
    let (mut items, nodes) = deciding.items::<B>(&mut book, work)?;
    deciding.conversions::<B>(&mut book, work.graph, &mut items, &nodes)?;
    let problem = Problem { items, round_seconds: deciding.prices.round_seconds() };
    let assignment = book.planned(key(work, &problem.items, &nodes), || {
        let solved = problem.solve();
        deciding.best_of::<B>(work, &problem, &nodes, solved)
    })?;
    let own_seconds = own_seconds() - started;
    let rivals = match deciding.with_rivals && nodes.len() <= MOST_RIVALS {
        true => problem.rivals(&assignment),
        false => vec![None; nodes.len()],
    };
    put(work, &problem, &nodes, &assignment);
    let mut chosen = BTreeMap::new();
    for (place, (&id, rival)) in nodes.iter().zip(rivals).enumerate() {
        let item = &problem.items[place];
        let domain = item.choices[assignment[place]].domain;
        if item.choices.len() > 1 && !moves(&work.graph.node(id).op) {
            chosen.insert(id, Chosen { domain, rival: rival.map(|rival| (rival.domain, rival.more_seconds)) });
        }
    }
    Ok(Decided { chosen, own_seconds })
}

/// What a plan depends on beside prices: the steps, how they hang together, what users allow, and what is revealed to whom.
fn key(work: &Work<'_>, items: &[Item], nodes: &[NodeId]) -> Key {
    let mut hasher = blake3::Hasher::new();
    let mut numbers = vec![work.reveals.len(), items.len()];
    for reveal in &work.reveals {
        let place = nodes.iter().position(|&id| id == reveal.node).map_or(0, |place| place + 1);
        numbers.extend([place, reveal.to.map_or(0, |to| to + 1)]);
    }
    for (item, &id) in items.iter().zip(nodes) {
        hasher.update(&work.graph.step_hash(id).0);
        numbers.push(item.inputs.len());
        numbers.extend(&item.inputs);
        numbers.push(item.choices.len());
        numbers.extend(item.choices.iter().map(|choice| choice.domain as usize));
    }
    for number in numbers {
        hasher.update(&(number as u64).to_le_bytes());
    }
    hasher.finalize().into()
}

/// Puts the nodes where an assignment says.
fn put(work: &mut Work<'_>, problem: &Problem, nodes: &[NodeId], assignment: &[usize]) {
    for ((&id, item), &choice) in nodes.iter().zip(&problem.items).zip(assignment) {
        match item.choices[choice].domain {
            Domain::A => {}
            domain => work.domains.set(id, domain),
        }
    }
}

impl<'a> Deciding<'a> {
    pub fn of(prices: &'a Prices, options: &'a Options) -> Self {
        Deciding { prices, options, with_rivals: false }
    }

    /// The best of a few, by dry runs of the whole: steps by themselves do not show what they save by being together.
    fn best_of<B: Backend>(
        &self,
        work: &Work<'_>,
        problem: &Problem,
        nodes: &[NodeId],
        solved: Solved,
    ) -> Result<Assignment> {
        if solved.seconds < WORTH_A_REHEARSAL {
            return Ok(solved.assignment);
        }
        let is_near = |assignment: &Assignment| problem.seconds(assignment) <= NEAR * solved.seconds;
        let finalists: Vec<Assignment> = solved.finalists.into_iter().filter(is_near).take(FINALISTS).collect();
        let mut best = (f64::INFINITY, solved.assignment);
        if finalists.len() == 1 {
            return Ok(best.1);
        }
        for assignment in finalists {
            let mut work = Work::clone(work);
            put(&mut work, problem, nodes, &assignment);
            let seconds = self.prices.whole::<B>(&work)?;
            if seconds < best.0 {
                best = (seconds, assignment);
            }
        }
        Ok(best.1)
    }
}

/// Puts the nodes where users put them by `to`, and leaves everything else in A.
pub(crate) fn pin<B: Backend>(work: &mut Work<'_>) {
    let mut pinned: BTreeMap<NodeId, Domain> = BTreeMap::new();
    for &id in work.nodes.iter().filter(|&&id| !work.graph.node(id).is_public()) {
        let Some(domain) = pin_of(work.graph, id, &pinned) else { continue };
        if offers::<B>(work.graph, id).contains(&domain) {
            pinned.insert(id, domain);
            if domain != Domain::A {
                work.domains.set(id, domain);
            }
        }
    }
}

/// Only so many predicted seconds are worth dry runs of the whole, of so many assignments that are not longer by more.
const WORTH_A_REHEARSAL: f64 = 0.05;
const FINALISTS: usize = 3;
const NEAR: f64 = 1.25;

/// Rivals are priced one by one, each with a look at the whole program.
const MOST_RIVALS: usize = 1000;

impl Deciding<'_> {
    /// The items of the problem: values that exist, then the nodes that run; and the node of each.
    fn items<B: Backend>(&self, book: &mut Book, work: &Work<'_>) -> Result<(Vec<Item>, Vec<NodeId>)> {
        let graph = work.graph;
        let (mut items, mut nodes) = (Vec::new(), Vec::new());
        let mut places: BTreeMap<NodeId, usize> = BTreeMap::new();
        let mut pinned: BTreeMap<NodeId, Domain> = BTreeMap::new();
        let mut groups: BTreeMap<String, usize> = BTreeMap::new();
        let operands = work.nodes.iter().flat_map(|&id| &graph.node(id).inputs).copied();
        let mut before: Vec<NodeId> = operands.filter(|id| work.nodes.binary_search(id).is_err()).collect();
        before.sort_unstable();
        before.dedup();
        for id in before.into_iter().filter(|&id| !graph.node(id).is_public()) {
            let at = native(work.domains.of(id), graph.node(id).dtype);
            let here = Choice { domain: at, takes: vec![], gives: at, toll: Toll::default() };
            places.insert(id, items.len());
            items.push(Item { choices: vec![here], ..Item::default() });
            nodes.push(id);
        }
        for &id in work.nodes.iter().filter(|&&id| !graph.node(id).is_public()) {
            let node = graph.node(id);
            let inputs: Vec<usize> = node.inputs.iter().filter_map(|input| places.get(input).copied()).collect();
            let pin = pin_of(graph, id, &pinned);
            let choices = self.choices::<B>(book, (graph, id), pin)?;
            if let Some(pin) = pin.filter(|&pin| choices[0].gives == native(pin, node.dtype)) {
                pinned.insert(id, pin);
            }
            places.insert(id, items.len());
            // Lines of the script are no part of what the parties compare; operations are.
            let kind = format!("{} {}", node.op.name(), node.dtype);
            let kinds = groups.len();
            let group = *groups.entry(kind).or_insert(kinds);
            items.push(Item { inputs, choices, group, ..Item::default() });
            nodes.push(id);
        }
        Ok((items, nodes))
    }

    fn choices<B: Backend>(
        &self,
        book: &mut Book,
        (graph, id): (&Graph, NodeId),
        pin: Option<Domain>,
    ) -> Result<Vec<Choice>> {
        let node = graph.node(id);
        let may = |domain: &Domain| pin.map_or(self.options.sharings.allows(*domain), |pin| pin == *domain);
        let mut domains: Vec<Domain> = offers::<B>(graph, id).into_iter().filter(may).collect();
        if domains.is_empty() {
            domains = vec![offers::<B>(graph, id)[0]];
        }
        let mut choices: Vec<Choice> = Vec::new();
        for domain in domains {
            let takes = node.inputs.iter().map(|&input| graph.node(input)).filter(|input| !input.is_public());
            let takes = takes.map(|input| native(domain, input.dtype)).collect();
            let toll =
                if is_free(&node.op) { Toll::default() } else { self.prices.step::<B>(book, graph, id, domain)? };
            choices.push(Choice { domain, takes, gives: native(domain, node.dtype), toll });
        }
        Ok(choices)
    }

    /// All conversions that an assignment may need.
    fn conversions<B: Backend>(
        &self,
        book: &mut Book,
        graph: &Graph,
        items: &mut [Item],
        nodes: &[NodeId],
    ) -> Result<()> {
        let mut wanted: BTreeSet<(usize, Domain, Domain)> = BTreeSet::new();
        for item in &*items {
            for (place, &input) in item.inputs.iter().enumerate() {
                let made = items[input].choices.iter().map(|choice| choice.gives);
                let takes = item.choices.iter().map(|choice| choice.takes[place]);
                wanted.extend(made.flat_map(|from| takes.clone().map(move |to| (input, from, to))));
            }
        }
        for (input, from, to) in wanted.into_iter().filter(|&(_, from, to)| from != to) {
            let toll = self.prices.conversion::<B>(book, (graph, nodes[input]), from, to)?;
            items[input].conversions[from as usize][to as usize] = Some(toll);
        }
        Ok(())
    }
}

/// The sharings in which a node can run, the backend's own first.
fn offers<B: Backend>(graph: &Graph, id: NodeId) -> Vec<Domain> {
    let node = graph.node(id);
    if let Op::To(domain) = node.op {
        return vec![domain];
    }
    let mut domains = vec![Domain::A];
    let is_input = matches!(node.op, Op::Input { .. });
    if is_input || offered(graph, id) {
        // Bits are in B already, whichever way they are called.
        let same = node.inputs.iter().chain([&id]).all(|&id| graph.node(id).dtype == Dtype::Bit);
        domains.extend((!same).then_some(Domain::B));
        domains.extend(B::GARBLES.then_some(Domain::Y));
    }
    domains
}

/// Where a node must run: where a user put all of its secret operands, as far as it can.
fn pin_of(graph: &Graph, id: NodeId, pinned: &BTreeMap<NodeId, Domain>) -> Option<Domain> {
    let node = graph.node(id);
    if let Op::To(domain) = node.op {
        return Some(domain);
    }
    let mut pins = node.inputs.iter().filter(|&&input| !graph.node(input).is_public()).map(|input| pinned.get(input));
    let first = pins.next()??;
    pins.all(|pin| pin == Some(first)).then_some(*first)
}

fn is_free(op: &Op) -> bool {
    moves(op) || matches!(op, Op::To(_))
}
