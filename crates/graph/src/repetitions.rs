//! What single steps are, by their hashes, and how often a program does the like.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::graph::Graph;
use crate::hash::Hash;
use crate::node::NodeId;

/// Only so many nodes before a request are looked through.
pub(crate) const WINDOW: usize = 10_000;

/// The hashes of single steps, of those that somebody asked for.
#[derive(Debug, Default)]
pub(crate) struct StepHashes(Mutex<Seen>);

#[derive(Clone, Debug, Default)]
struct Seen {
    hashes: BTreeMap<NodeId, Hash>,
    /// The secret nodes of each hash, in order, as far as nodes were counted.
    nodes: BTreeMap<Hash, Vec<NodeId>>,
    /// Nodes from here on were not counted.
    end: usize,
}

impl Clone for StepHashes {
    fn clone(&self) -> Self {
        StepHashes(Mutex::new(self.lock().clone()))
    }
}

impl StepHashes {
    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nodes from the `len`-th on are gone.
    pub fn truncate(&mut self, len: usize) {
        let mut seen = self.lock();
        seen.end = seen.end.min(len);
        for (id, hash) in seen.hashes.split_off(&NodeId(len as u32)) {
            if let Some(nodes) = seen.nodes.get_mut(&hash) {
                nodes.retain(|&other| other != id);
            }
        }
    }

    /// Nodes before the `end`-th are gone, but for those that stay.
    pub fn forget(&mut self, end: usize, stays: impl Fn(NodeId) -> bool) {
        let mut seen = self.lock();
        seen.hashes.retain(|&id, _| id.index() >= end || stays(id));
        seen.nodes.retain(|_, nodes| {
            nodes.retain(|id| id.index() >= end);
            !nodes.is_empty()
        });
    }
}

impl Graph {
    /// The hash of one step by itself: what it does, with which dtypes, sizes and bounds, and public numbers that all
    /// elements of an operand have. Steps of one hash cost the same, and have the same circuits.
    pub fn step_hash(&self, id: NodeId) -> Hash {
        self.hash_in(&mut self.steps.lock(), id)
    }

    fn hash_in(&self, seen: &mut Seen, id: NodeId) -> Hash {
        let node = self.node(id);
        *seen.hashes.entry(id).or_insert_with(|| Hash::of_step(node, &self.operands(&node.inputs)))
    }

    /// How often the program has had all of `steps` before, by the hashes of the single steps, not counting these
    /// themselves. In order; looks back over some thousand nodes at most, and only for steps that are not much older
    /// than that. Alike wherever the program is, whatever was run of it.
    pub fn repetitions(&self, steps: &[NodeId]) -> usize {
        let Some(&last) = steps.last() else { return 0 };
        if last.index() + WINDOW < self.len() {
            return 0; // what was before may be forgotten, here or elsewhere
        }
        let mut seen = self.steps.lock();
        let newest = self.len().saturating_sub(2 * WINDOW); // no request looks at older ones
        for id in (seen.end.max(newest).max(self.first())..=last.index()).map(|id| NodeId(id as u32)) {
            if !self.node(id).is_public() {
                let hash = self.hash_in(&mut seen, id);
                seen.nodes.entry(hash).or_default().push(id);
            }
            seen.end = id.index() + 1;
        }
        let mut wanted: BTreeMap<Hash, usize> = BTreeMap::new();
        for &id in steps {
            *wanted.entry(self.hash_in(&mut seen, id)).or_default() += 1;
        }
        let first = NodeId(last.index().saturating_sub(WINDOW) as u32);
        let times = wanted.into_iter().map(|(hash, wanted)| {
            let nodes = seen.nodes.get(&hash).map_or(&[][..], Vec::as_slice);
            (nodes.partition_point(|&id| id <= last) - nodes.partition_point(|&id| id < first)) / wanted
        });
        times.min().unwrap_or(0).saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::BinaryOp;
    use crate::dtype::Dtype;
    use crate::node::Source;

    /// x + y y for fresh inputs; the steps but for the inputs.
    fn request(graph: &mut Graph, len: usize) -> Vec<NodeId> {
        let mut at = graph.at(Source::new("test.py", 1));
        let [x, y] = [0, 1].map(|owner| at.input(owner, 2, &[len], Dtype::INT64, None).unwrap());
        let product = at.binary(BinaryOp::Mul, y, y).unwrap();
        let sum = at.binary(BinaryOp::Add, x, product).unwrap();
        vec![product, sum, at.binary(BinaryOp::Add, sum, product).unwrap()]
    }

    #[test]
    fn requests_are_counted_that_came_before() {
        let mut graph = Graph::new();
        assert_eq!(graph.repetitions(&[]), 0);
        let first = request(&mut graph, 3);
        assert_eq!(graph.repetitions(&first), 0);
        let other = request(&mut graph, 4);
        assert_eq!(graph.repetitions(&other), 0, "another shape");
        for times in 1..5 {
            let again = request(&mut graph, 3);
            assert_eq!(graph.repetitions(&again), times);
            assert_eq!(graph.repetitions(&again[..1]), times, "a part of it");
        }
        assert_eq!(graph.repetitions(&first), 0, "what comes later does not count");
        let last = request(&mut graph, 3);
        let one = graph.at(Source::new("test.py", 1)).binary(BinaryOp::Sub, last[0], last[1]).unwrap();
        assert_eq!(graph.repetitions(&[last.clone(), vec![one]].concat()), 0, "one of the steps is new");
        for _ in 0..WINDOW {
            graph.at(Source::new("test.py", 1)).binary(BinaryOp::Add, last[0], last[0]).unwrap();
        }
        let late = request(&mut graph, 3);
        assert_eq!(graph.repetitions(&late), 0, "all of that is long ago");
    }

    /// The definition: a walk through the window.
    fn walked(graph: &Graph, steps: &[NodeId]) -> usize {
        let Some(&last) = steps.last() else { return 0 };
        let first = last.index().saturating_sub(WINDOW);
        let seen = |hash: Hash| {
            let window = (first..=last.index()).map(|id| NodeId(id as u32));
            window.filter(|&id| !graph.node(id).is_public() && graph.step_hash(id) == hash).count()
        };
        let hashes: Vec<Hash> = steps.iter().map(|&id| graph.step_hash(id)).collect();
        let wanted = |hash: Hash| hashes.iter().filter(|&&other| other == hash).count();
        hashes.iter().map(|&hash| seen(hash) / wanted(hash)).min().unwrap_or(0).saturating_sub(1)
    }

    #[test]
    fn the_index_counts_what_a_walk_counts_through_taking_back_and_forgetting() {
        let mut graph = Graph::new();
        let mut steps = Vec::new();
        for round in 0..7000 {
            steps = request(&mut graph, 1 + round % 3);
            if round % 5 == 0 {
                let refused = graph.at(Source::new("test.py", 2)).input(0, 2, &[9], Dtype::INT64, None).unwrap();
                assert_eq!(graph.repetitions(&[refused]), 0);
                graph.take_back(refused);
            }
            if round % 50 == 0 {
                graph.repetitions(&steps);
            }
            if round % 500 == 499 {
                assert_eq!(graph.repetitions(&steps), walked(&graph, &steps), "round {round}");
                let end = graph.len();
                graph.forget(end, &steps.iter().copied().collect());
                assert_eq!(graph.repetitions(&steps), walked(&graph, &steps), "round {round}, forgotten");
            }
        }
        assert!(graph.first() > 0 && graph.repetitions(&steps) > 500);
    }
}
