//! Hashes of single steps, and how often a program has had a step before.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::graph::Graph;
use crate::hash::Hash;
use crate::node::NodeId;

/// The number of different steps that are counted; where there are more, counting begins anew.
const MOST_COUNTED: usize = 1 << 16;

/// The hashes of single steps that were asked for, and the counts of steps.
#[derive(Debug, Default)]
pub(crate) struct StepHashes(Arc<Mutex<Seen>>);

/// The counts. Nodes are counted in order and once, at any time, so the counts follow from the program alone.
#[derive(Clone, Debug, Default)]
struct Seen {
    hashes: BTreeMap<NodeId, Hash>,
    /// The number of steps of each hash, and the rank of each step among those of its hash.
    counts: BTreeMap<Hash, usize>,
    ranks: BTreeMap<NodeId, usize>,
    /// Nodes from here on are not counted yet.
    end: usize,
}

impl Clone for StepHashes {
    fn clone(&self) -> Self {
        StepHashes(Arc::new(Mutex::new(self.lock().clone())))
    }
}

impl StepHashes {
    /// Returns the same counts, for a program that continues this one.
    pub fn shared(&self) -> StepHashes {
        StepHashes(self.0.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops nodes from the `len`-th on.
    pub fn truncate(&mut self, len: usize) {
        let (mut seen, first) = (self.lock(), NodeId(len as u32));
        let hashes = seen.hashes.split_off(&first);
        for id in seen.ranks.split_off(&first).into_keys() {
            let Some(hash) = hashes.get(&id) else { continue };
            match seen.counts.get_mut(hash) {
                Some(1) => drop(seen.counts.remove(hash)),
                Some(count) => *count -= 1,
                None => {}
            }
        }
        seen.end = seen.end.min(len);
    }

    /// Drops nodes before the `end`-th, except those that stay.
    pub fn forget(&mut self, end: usize, stays: impl Fn(NodeId) -> bool) {
        if Arc::get_mut(&mut self.0).is_none() {
            *self = self.clone(); // those who read the program so far still ask for what is forgotten here
        }
        let mut seen = self.lock();
        let keeps = |id: NodeId| id.index() >= end || stays(id);
        seen.hashes.retain(|&id, _| keeps(id));
        seen.ranks.retain(|&id, _| keeps(id));
    }
}

impl Graph {
    /// Returns the hash of one step by itself: its operation, dtypes, sizes and bounds, public numbers that are equal
    /// for all elements of an operand, and whether an operand is an input (of which owner) or a factor. Steps of one
    /// hash cost the same, and have the same circuits.
    pub fn step_hash(&self, id: NodeId) -> Hash {
        self.hash_in(&mut self.steps.lock(), id)
    }

    fn hash_in(&self, seen: &mut Seen, id: NodeId) -> Hash {
        *seen.hashes.entry(id).or_insert_with(|| self.hashed(id))
    }

    fn hashed(&self, id: NodeId) -> Hash {
        let node = self.node(id);
        Hash::of_step(node, &self.operands(&node.inputs))
    }

    /// Counts the steps before the `end`-th, if counts are used, before all but those that stay are forgotten.
    pub(crate) fn count_steps(&self, end: usize, stays: impl Fn(NodeId) -> bool) {
        if self.rules().counts_steps {
            self.count_in(&mut self.steps.lock(), end, stays);
        }
    }

    /// Counts up to `end` only: the newest nodes may be inputs that their owner still takes back.
    fn count_in(&self, seen: &mut Seen, end: usize, stays: impl Fn(NodeId) -> bool) {
        for id in (seen.end..end).map(|id| NodeId(id as u32)).filter(|&id| !self.node(id).is_public()) {
            let hash = seen.hashes.get(&id).copied().unwrap_or_else(|| self.hashed(id));
            if seen.counts.len() == MOST_COUNTED && !seen.counts.contains_key(&hash) {
                seen.counts.clear();
            }
            let count = seen.counts.entry(hash).or_default();
            *count += 1;
            let rank = *count;
            if stays(id) {
                seen.hashes.insert(id, hash);
                seen.ranks.insert(id, rank);
            }
        }
        seen.end = seen.end.max(end);
    }

    /// Returns how often the program has had all of the secret steps `steps` before, by the hashes of the single steps
    /// and without these steps themselves. The result is the same at every party, independent of what was run, if
    /// [`Rules::counts_steps`](crate::Rules) is set from the beginning of the program.
    pub fn repetitions(&self, steps: &[NodeId]) -> usize {
        let mut seen = self.steps.lock();
        let end = steps.iter().map(|id| id.index() + 1).max().unwrap_or(0);
        self.count_in(&mut seen, end, |_| true);
        let mut wanted: BTreeMap<Hash, (usize, usize)> = BTreeMap::new();
        for &id in steps {
            let rank = seen.ranks.get(&id).copied().unwrap_or(0);
            let (wanted, had) = wanted.entry(self.hash_in(&mut seen, id)).or_default();
            (*wanted, *had) = (*wanted + 1, rank.max(*had));
        }
        wanted.into_values().map(|(wanted, had)| had / wanted).min().unwrap_or(0).saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::BinaryOp;
    use crate::dtype::Dtype;
    use crate::rules::Rules;
    use crate::source::Source;

    /// Builds x + y y for fresh inputs; returns the steps without the inputs.
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
        for _ in 0..30_000 {
            graph.at(Source::new("test.py", 1)).binary(BinaryOp::Add, last[0], last[0]).unwrap();
        }
        let late = request(&mut graph, 3);
        assert_eq!(graph.repetitions(&late), 6, "however long ago that is");
    }

    /// Counts by the definition: a walk through all nodes.
    fn walked(graph: &Graph, steps: &[NodeId]) -> usize {
        let last = steps.last().map_or(0, |last| last.index());
        let seen = |hash: Hash| {
            let all = (0..=last).map(|id| NodeId(id as u32));
            all.filter(|&id| !graph.node(id).is_public() && graph.step_hash(id) == hash).count()
        };
        let hashes: Vec<Hash> = steps.iter().map(|&id| graph.step_hash(id)).collect();
        let wanted = |hash: Hash| hashes.iter().filter(|&&other| other == hash).count();
        hashes.iter().map(|&hash| seen(hash) / wanted(hash)).min().unwrap_or(0).saturating_sub(1)
    }

    /// One party asks often, takes inputs back and forgets; another one asks only now and then.
    #[test]
    fn all_parties_count_the_same_whoever_asks_forgets_and_takes_back() {
        let mut graphs = [0, 1].map(|_| Graph::with(Rules { counts_steps: true, ..Rules::default() }));
        for round in 0..7000 {
            let [steps, others] = [0, 1].map(|i| request(&mut graphs[i], 1 + round % 3));
            assert_eq!(steps, others);
            let [often, seldom] = &mut graphs;
            if round % 5 == 0 {
                let refused = often.at(Source::new("test.py", 2)).input(0, 2, &[9], Dtype::INT64, None).unwrap();
                assert_eq!(often.repetitions(&[refused]), 0);
                often.take_back(refused);
            }
            if round % 50 == 0 {
                often.repetitions(&steps);
            }
            if round % 500 == 499 {
                let end = often.len();
                often.forget(end, &steps.iter().copied().collect());
                assert_eq!(often.repetitions(&steps), round / 3);
            }
            if round % 3000 == 2999 {
                assert_eq!(seldom.repetitions(&steps), round / 3);
                assert_eq!(walked(seldom, &steps), round / 3);
            }
        }
        assert!(graphs[0].first() > 0);
    }

    #[test]
    fn of_many_different_steps_counting_begins_anew() {
        let mut graph = Graph::new();
        let first = request(&mut graph, 1);
        let again = request(&mut graph, 1);
        assert_eq!((graph.repetitions(&first), graph.repetitions(&again)), (0, 1));
        for len in 2..MOST_COUNTED / 3 {
            request(&mut graph, len);
        }
        let later = request(&mut graph, 1);
        assert_eq!(graph.repetitions(&later), 0);
    }
}
