//! The steps of a run and the sharings in which each can run: the planning problem before it has prices.

use std::collections::{BTreeMap, BTreeSet};

use quorate_graph::{Domain, Dtype, Graph, Node, NodeId, Op};

use crate::problem::{Choice, Item, StepPrice};
use crate::work::{Work, native};

/// The hash of everything that a plan depends on besides prices.
pub(crate) type Key = [u8; 32];

/// The conditions of a plan; all parties have equal ones.
#[derive(Clone, Copy, Debug)]
pub struct Conditions {
    /// Whether the protocol garbles circuits.
    pub garbles: bool,
    /// Whether users allow each sharing, in the order of [`Domain::ALL`].
    pub allowed: [bool; Domain::ALL.len()],
    /// The weight of a second of the offline phase.
    pub offline_weight: f64,
}

/// The existing values, then the nodes that run. Public values are in no sharing and are not listed.
#[derive(Default)]
pub(crate) struct Outline {
    /// The items with their choices, the backend's own first. All prices are still 0.
    pub items: Vec<Item>,
    /// The node of each item.
    pub nodes: Vec<NodeId>,
    /// Whether each item computes; existing values and operations that only move elements do not.
    pub computes: Vec<bool>,
}

impl Outline {
    /// Returns the outline of `work`, whose existing values are where it says.
    pub fn of(work: &Work<'_>, conditions: &Conditions) -> Outline {
        let graph = work.graph;
        let mut outline = Outline::default();
        let mut places: BTreeMap<NodeId, usize> = BTreeMap::new();
        let mut pinned: BTreeMap<NodeId, Domain> = BTreeMap::new();
        for id in work.before() {
            places.insert(id, outline.items.len());
            let at = native(work.domains.of(id), graph.node(id).dtype);
            let here = Choice { domain: at, takes: vec![], gives: at, price: StepPrice::default() };
            outline.push(id, Item { choices: vec![here], ..Item::default() }, false);
        }
        for &id in work.nodes.iter().filter(|&&id| !graph.node(id).is_public()) {
            let node = graph.node(id);
            let inputs: Vec<usize> = node.inputs.iter().filter_map(|input| places.get(input).copied()).collect();
            let pin = pin_of(graph, id, &pinned);
            let choices = choices(graph, id, pin, conditions);
            if let Some(pin) = pin.filter(|&pin| choices[0].gives == native(pin, node.dtype)) {
                pinned.insert(id, pin);
            }
            places.insert(id, outline.items.len());
            let is_free = node.op.only_moves() || matches!(node.op, Op::To(_));
            outline.push(id, Item { inputs, choices, ..Item::default() }, !is_free);
        }
        outline
    }

    fn push(&mut self, id: NodeId, item: Item, computes: bool) {
        self.items.push(item);
        self.nodes.push(id);
        self.computes.push(computes);
    }

    /// Returns this outline with only the first choice of each item.
    pub fn first_ways(&self) -> Outline {
        let first = |item: &Item| Item { choices: item.choices[..1].to_vec(), ..item.clone() };
        let items = self.items.iter().map(first).collect();
        Outline { items, nodes: self.nodes.clone(), computes: self.computes.clone() }
    }

    /// Returns the places of steps that compute and have a choice.
    pub fn choosing(&self) -> impl Iterator<Item = usize> {
        (0..self.items.len()).filter(|&place| self.computes[place] && self.items[place].choices.len() > 1)
    }

    /// Returns one place for each different step among those with a choice.
    pub fn different(&self, graph: &Graph) -> Vec<usize> {
        let mut seen = BTreeSet::new();
        self.choosing().filter(|&place| seen.insert(graph.step_hash(self.nodes[place]))).collect()
    }

    /// Returns the hash of everything that a plan depends on besides prices: the steps and their dependencies, the
    /// steps that run, the users' restrictions, and the reveals with their receivers.
    pub fn key(&self, work: &Work<'_>) -> Key {
        let mut hasher = blake3::Hasher::new();
        let mut numbers = vec![work.reveals.len(), self.items.len()];
        for reveal in &work.reveals {
            let place = self.nodes.iter().position(|&id| id == reveal.node).map_or(0, |place| place + 1);
            numbers.extend([place, reveal.to.map_or(0, |to| to + 1)]);
        }
        for (item, &id) in self.items.iter().zip(&self.nodes) {
            hasher.update(&work.graph.step_hash(id).0);
            numbers.extend([usize::from(work.nodes.binary_search(&id).is_ok()), item.inputs.len()]);
            numbers.extend(&item.inputs);
            numbers.push(item.choices.len());
            numbers.extend(item.choices.iter().map(|choice| choice.domain as usize));
        }
        for number in numbers {
            hasher.update(&(number as u64).to_le_bytes());
        }
        hasher.finalize().into()
    }

    /// Assigns the sharings of an assignment to the nodes.
    pub fn put(&self, work: &mut Work<'_>, assignment: &[usize]) {
        for ((&id, item), &choice) in self.nodes.iter().zip(&self.items).zip(assignment) {
            match item.choices[choice].domain {
                Domain::A => {}
                domain => work.domains.set(id, domain),
            }
        }
    }
}

/// Assigns the sharings that users chose by `to`, and leaves everything else in A.
pub fn pin(work: &mut Work<'_>, garbles: bool) {
    let mut pinned: BTreeMap<NodeId, Domain> = BTreeMap::new();
    for &id in work.nodes.iter().filter(|&&id| !work.graph.node(id).is_public()) {
        let Some(domain) = pin_of(work.graph, id, &pinned) else { continue };
        if offers(work.graph, id, garbles).contains(&domain) {
            pinned.insert(id, domain);
            if domain != Domain::A {
                work.domains.set(id, domain);
            }
        }
    }
}

/// Returns the sharings of a node that users allow, at least one.
fn choices(graph: &Graph, id: NodeId, pin: Option<Domain>, conditions: &Conditions) -> Vec<Choice> {
    let node = graph.node(id);
    let offers = offers(graph, id, conditions.garbles);
    let may = |domain: &Domain| pin.map_or(conditions.allowed[*domain as usize], |pin| pin == *domain);
    let mut domains: Vec<Domain> = offers.iter().copied().filter(may).collect();
    if domains.is_empty() {
        domains = vec![offers[0]];
    }
    let secret = |&input: &NodeId| Some(graph.node(input)).filter(|input| !input.is_public());
    let operands: Vec<&Node> = node.inputs.iter().filter_map(secret).collect();
    let choice = |domain: Domain| {
        let takes = operands.iter().map(|input| native(domain, input.dtype)).collect();
        Choice { domain, takes, gives: native(domain, node.dtype), price: StepPrice::default() }
    };
    domains.into_iter().map(choice).collect()
}

/// Returns the sharings in which a node can run, the backend's own first.
fn offers(graph: &Graph, id: NodeId, garbles: bool) -> Vec<Domain> {
    let node = graph.node(id);
    if let Op::To(domain) = node.op {
        return vec![domain];
    }
    let mut domains = vec![Domain::A];
    let is_input = matches!(node.op, Op::Input { .. });
    if is_input || offered(graph, id) {
        // Bits in A are in B anyway, so B is not another choice for an operation on bits alone.
        let same = node.inputs.iter().chain([&id]).all(|&id| graph.node(id).dtype == Dtype::Bit);
        domains.extend((!same).then_some(Domain::B));
        domains.extend(garbles.then_some(Domain::Y));
    }
    domains
}

/// Returns the sharing in which a node must run: the one that a user chose for all of its secret operands, as far as it
/// can run there.
fn pin_of(graph: &Graph, id: NodeId, pinned: &BTreeMap<NodeId, Domain>) -> Option<Domain> {
    let node = graph.node(id);
    if let Op::To(domain) = node.op {
        return Some(domain);
    }
    let mut pins = node.inputs.iter().filter(|&&input| !graph.node(input).is_public()).map(|input| pinned.get(input));
    let first = pins.next()??;
    pins.all(|pin| pin == Some(first)).then_some(*first)
}

/// Returns whether an operation is available on bits.
pub fn offered(graph: &Graph, id: NodeId) -> bool {
    match graph.node(id).op {
        Op::Bits | Op::Compose | Op::To(_) => true,
        ref op if op.only_moves() => true,
        _ => graph.has_circuit(id),
    }
}
