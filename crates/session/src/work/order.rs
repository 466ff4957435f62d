//! The order in which all parties go through the steps of a run, and the steps that each step waits for. The order is
//! the program's, with every reveal right behind the node that it opens, or, where openings are checked first, with all
//! reveals at the end.

use std::collections::{BTreeMap, BTreeSet};

use quorate_graph::{NodeId, Op};
use quorate_planner::Work;

/// The places of nodes among those of a run.
#[derive(Clone, Copy)]
pub(crate) struct Places<'w>(pub &'w [NodeId]);

impl Places<'_> {
    /// Returns the place of a node that runs. Nodes are in the order of their numbers, mostly with few gaps, so the
    /// search is short.
    pub fn of(&self, id: NodeId) -> Option<usize> {
        let (first, last) = (self.0.first()?, self.0.last()?);
        let (before, behind) = (id.0.checked_sub(first.0)? as usize, last.0.checked_sub(id.0)? as usize);
        let from = self.0.len().saturating_sub(behind + 1);
        let to = self.0.len().min(before + 1);
        self.0.get(from..to)?.binary_search(&id).ok().map(|at| from + at)
    }
}

/// A counter for each node, whether it runs or exists already.
pub(crate) struct Counts<'w> {
    places: Places<'w>,
    own: Vec<u32>,
    others: BTreeMap<NodeId, u32>,
}

impl<'w> Counts<'w> {
    /// Returns counters that are all 0.
    pub fn none(places: Places<'w>) -> Self {
        Counts { places, own: vec![0; places.0.len()], others: BTreeMap::new() }
    }

    pub fn of(&mut self, id: NodeId) -> &mut u32 {
        match self.places.of(id) {
            Some(place) => &mut self.own[place],
            None => self.others.entry(id).or_default(),
        }
    }

    pub fn get(&self, id: NodeId) -> u32 {
        let other = || self.others.get(&id).copied().unwrap_or(0);
        self.places.of(id).map_or_else(other, |place| self.own[place])
    }
}

/// The steps of a run, numbered without gaps.
pub(crate) struct Order {
    nodes: usize,
    /// For each reveal, in order: the number of nodes before it, and its number.
    reveals: Vec<(usize, usize)>,
    is_checked: bool,
    /// Places of inputs and proofs of ranges that wait until the proofs before them were checked; empty where openings
    /// are not checked.
    waiting: Vec<usize>,
}

/// The item of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// The node at this place among those that run.
    Node(usize),
    /// The reveal with this number.
    Reveal(usize),
}

impl Order {
    /// Returns the order of a run. All reveals are at the end where openings are checked.
    pub fn of(work: &Work<'_>, is_checked: bool) -> Order {
        let places = Places(&work.nodes);
        let before = |node: NodeId| match is_checked {
            true => work.nodes.len(),
            false => places.of(node).map_or(0, |place| place + 1),
        };
        let reveals = work.reveals.iter().enumerate().map(|(i, reveal)| (before(reveal.node), i));
        let waiting = if is_checked { behind_checks(work) } else { Vec::new() };
        Order { is_checked, waiting, ..Order::with(work.nodes.len(), reveals.collect()) }
    }

    fn with(nodes: usize, mut reveals: Vec<(usize, usize)>) -> Order {
        reveals.sort_unstable();
        Order { nodes, reveals, is_checked: false, waiting: Vec::new() }
    }

    /// Returns the ends of the stages. Everything that was opened in a stage is checked before the next one begins, and
    /// results are revealed in the last one. If openings are checked, all steps before the reveals are nodes, each
    /// at its place.
    pub fn stages(&self) -> Vec<usize> {
        let apart = self.is_checked && !self.reveals.is_empty();
        self.waiting.iter().copied().chain(apart.then_some(self.nodes)).chain([self.len()]).collect()
    }

    /// Returns the number of steps.
    pub fn len(&self) -> usize {
        self.nodes + self.reveals.len()
    }

    /// Returns the step of the node at a place.
    pub fn of_node(&self, place: usize) -> usize {
        place + self.reveals.partition_point(|&(before, _)| before <= place)
    }

    /// Returns the item of a step.
    pub fn item(&self, step: usize) -> Item {
        // The j-th reveal has `reveals[j].0` nodes and j reveals before it.
        let (mut from, mut to) = (0, self.reveals.len());
        while from < to {
            let middle = (from + to) / 2;
            if self.reveals[middle].0 + middle < step { from = middle + 1 } else { to = middle }
        }
        match self.reveals.get(from) {
            Some(&(before, reveal)) if before + from == step => Item::Reveal(reveal),
            _ => Item::Node(step - from),
        }
    }
}

/// Returns places: of the first input behind each run of proofs of choices, and of the first proof of each row of
/// proofs of ranges. The bits of the latter are results of products. They must wait for a check: a party that had lied
/// in one of these proofs or products would read more in what is opened.
fn behind_checks(work: &Work<'_>) -> Vec<usize> {
    let (mut is_proven, mut opens) = (false, false);
    let waits = |&(place, &id): &(usize, &NodeId)| {
        let opened_before = std::mem::take(&mut opens);
        match work.graph.node(id).op {
            Op::AssertOneHot(_) => {
                is_proven = true;
                false
            }
            Op::AssertWithin => {
                opens = true;
                !opened_before && place > 0
            }
            Op::Input { .. } => std::mem::take(&mut is_proven),
            _ => false,
        }
    };
    work.nodes.iter().enumerate().filter(waits).map(|(place, _)| place).collect()
}

/// Returns the nodes from before that a run reads, in order.
pub(crate) fn read_from_before(work: &Work<'_>) -> Vec<NodeId> {
    let own = Places(&work.nodes);
    let before: BTreeSet<NodeId> = all_read(work).filter(|&id| own.of(id).is_none()).collect();
    before.into_iter().collect()
}

/// Iterates over all that a run reads, once for each use.
pub(crate) fn all_read(work: &Work<'_>) -> impl Iterator<Item = NodeId> {
    let operands = work.nodes.iter().flat_map(|&id| work.graph.node(id).inputs.iter().copied());
    operands.chain(work.reveals.iter().map(|reveal| reveal.node))
}

/// The steps that each step waits for. Steps are numbered so that each comes after all that it reads.
pub(crate) struct Waiting {
    /// For each step, the number of operands that do not exist yet.
    missing: Vec<u32>,
    /// The steps that read each step, one list after another, and where the list of each begins.
    readers: Vec<u32>,
    first: Vec<u32>,
}

impl Waiting {
    /// Builds the lists. `reads` returns the steps whose values a step reads.
    pub fn of<R: IntoIterator<Item = usize>>(steps: usize, reads: impl Fn(usize) -> R) -> Waiting {
        let (mut missing, mut first) = (vec![0; steps], vec![0; steps + 1]);
        for (step, missing) in missing.iter_mut().enumerate() {
            for read in reads(step) {
                *missing += 1;
                first[read + 1] += 1;
            }
        }
        for at in 0..steps {
            first[at + 1] += first[at];
        }
        let (mut next, mut readers) = (first.clone(), vec![0; first[steps] as usize]);
        for step in 0..steps {
            for read in reads(step) {
                readers[next[read] as usize] = step as u32;
                next[read] += 1;
            }
        }
        Waiting { missing, readers, first }
    }

    /// Returns whether everything that a step reads exists.
    pub fn is_ready(&self, step: usize) -> bool {
        self.missing[step] == 0
    }

    /// Records that a step is done; calls `ready` for each step that has become ready.
    pub fn done(&mut self, step: usize, mut ready: impl FnMut(usize)) {
        for &reader in &self.readers[self.first[step] as usize..self.first[step + 1] as usize] {
            let missing = &mut self.missing[reader as usize];
            *missing -= 1;
            if *missing == 0 {
                ready(reader as usize);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use quorate_graph::{Bound, Dtype, Graph, Rules, Source};
    use quorate_planner::{Domains, Reveal};

    use super::*;

    #[test]
    fn places_are_found_whatever_the_gaps() {
        let lists: [&[u32]; 5] = [&[], &[7], &[3, 4, 5, 6], &[0, 5, 6, 7, 100], &[1, 90, 91, 92, 95, 200]];
        for list in lists {
            let nodes: Vec<NodeId> = list.iter().copied().map(NodeId).collect();
            for id in 0..210 {
                assert_eq!(Places(&nodes).of(NodeId(id)), list.iter().position(|&n| n == id), "{id} in {list:?}");
            }
        }
    }

    #[test]
    fn reveals_stand_right_behind_their_nodes() {
        let order = Order::with(4, vec![(3, 0), (0, 1), (1, 2), (3, 3), (4, 4)]);
        let items: Vec<Item> = (0..order.len()).map(|step| order.item(step)).collect();
        use Item::{Node, Reveal};
        let wanted = [Reveal(1), Node(0), Reveal(2), Node(1), Node(2), Reveal(0), Reveal(3), Node(3), Reveal(4)];
        assert_eq!(items, wanted);
        for (step, item) in wanted.into_iter().enumerate() {
            assert!(!matches!(item, Node(place) if order.of_node(place) != step));
        }
    }

    #[test]
    fn proofs_of_ranges_come_after_a_check() {
        let mut graph = Graph::with(Rules { proves_bounds: true, ..Rules::default() });
        let here = || Source::new("order.py", 1);
        let [x, y] =
            [0, 1].map(|owner| graph.at(here()).input(owner, 2, &[3], Dtype::INT64, Some(Bound::Int(9))).unwrap());
        let both = graph.at(here()).concat(&[x.into(), y.into()], 0).unwrap();
        let places = graph.at(here()).places(both).unwrap();
        let nodes: Vec<NodeId> = (0..graph.len()).map(|id| NodeId(id as u32)).collect();
        let proofs = (0..nodes.len()).filter(|&place| graph.node(nodes[place]).op == Op::AssertWithin);
        let proofs: Vec<usize> = proofs.collect();
        assert_eq!(proofs.len(), 2);
        let wanted = [proofs[0], nodes.len(), nodes.len() + 1];
        let reveals = vec![Reveal { node: places, to: None }];
        let work = Work { graph: &graph, nodes, reveals, domains: Domains::default() };
        assert_eq!(Order::of(&work, true).stages(), wanted);
        assert_eq!(Order::of(&work, false).stages(), [work.nodes.len() + 1]);
    }

    #[test]
    fn steps_are_ready_when_all_they_read_is_there() {
        let reads: [&[usize]; 5] = [&[], &[0, 0], &[0, 1], &[], &[2, 3]];
        let mut waiting = Waiting::of(5, |step| reads[step].iter().copied());
        let is_ready = |waiting: &Waiting| (0..5).filter(|&step| waiting.is_ready(step)).collect::<Vec<_>>();
        assert_eq!(is_ready(&waiting), [0, 3]);
        for (step, then) in [(3, vec![]), (0, vec![1]), (1, vec![2]), (2, vec![4]), (4, vec![])] {
            let mut ready = Vec::new();
            waiting.done(step, |step| ready.push(step));
            assert_eq!(ready, then);
        }
    }
}
