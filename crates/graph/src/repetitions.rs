//! How often a program does the like.

use std::collections::BTreeMap;

use crate::graph::Graph;
use crate::hash::Hash;
use crate::node::NodeId;

/// Only so many nodes before a request are looked through.
pub(crate) const WINDOW: usize = 10_000;

impl Graph {
    /// How often the program has had all of `steps` before, by the hashes of the single steps, not counting these
    /// themselves. In order; looks back over some thousand nodes at most, and only for steps that are not much older
    /// than that. Alike wherever the program is, whatever was run of it.
    pub fn repetitions(&self, steps: &[NodeId]) -> usize {
        let Some(&last) = steps.last() else { return 0 };
        if last.index() + WINDOW < self.len() {
            return 0; // what was before may be forgotten, here or elsewhere
        }
        let mut counts: BTreeMap<Hash, (usize, usize)> = BTreeMap::new();
        for &id in steps {
            counts.entry(self.step_hash(id)).or_default().0 += 1;
        }
        let first = last.index().saturating_sub(WINDOW) as u32;
        for id in (first..=last.0).map(NodeId).filter(|&id| !self.node(id).is_public()) {
            if let Some((_, seen)) = counts.get_mut(&self.step_hash(id)) {
                *seen += 1;
            }
        }
        let times = counts.into_values().map(|(wanted, seen)| seen / wanted).min();
        times.unwrap_or(0).saturating_sub(1)
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
}
