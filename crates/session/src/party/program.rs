//! The program of a session, which its parties read while the session builds on it.

use std::collections::BTreeSet;
use std::sync::Arc;

use quorate_graph::{Graph, NodeId};

use crate::party::store::Arrays;

/// The program as built up to some moment. A copy stays as it is while the session builds on.
#[derive(Clone, Default)]
pub(crate) struct Program {
    pub graph: Arc<Graph>,
    pub arrays: Arc<Arrays>,
}

/// The length of a program at some moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Length {
    nodes: usize,
    arrays: usize,
}

impl Program {
    /// Returns the graph to build on. Copies of the program keep the one that they have.
    pub fn graph(&mut self) -> &mut Graph {
        if Arc::get_mut(&mut self.graph).is_none() {
            self.graph = Arc::new(self.graph.continued());
        }
        Arc::make_mut(&mut self.graph) // nothing is copied: no other reference is left
    }

    /// Returns the arrays to add to. Copies of the program keep those that they have.
    pub fn arrays(&mut self) -> &mut Arrays {
        Arc::make_mut(&mut self.arrays)
    }

    /// Returns the length of the program now.
    pub fn length(&self) -> Length {
        Length { nodes: self.graph.len(), arrays: self.arrays.len() }
    }

    /// Forgets arrays and nodes after a run of the program as it was when it had this `length`; the run ended well at
    /// all parties of this process. `needs` is what each of them still needs of that program, where all of them found
    /// that forgetting is worthwhile. Everything that was built since stays, with what it takes to compute it.
    pub fn forget(&mut self, length: Length, needs: &[BTreeSet<NodeId>]) {
        if self.arrays.has_forgotten(length.arrays) {
            return; // a later run has ended before: what it needs is not among `needs`
        }
        let since = self.arrays.since(length.arrays).to_vec();
        self.arrays().forget(length.arrays);
        if needs.is_empty() {
            return;
        }
        // Whatever a party needs, it holds, or it needs all operands of it, too.
        let is_needed = |id: NodeId| needs.iter().all(|needs| needs.contains(&id));
        let mut roots: BTreeSet<NodeId> = needs.iter().flatten().copied().collect();
        roots.extend(self.graph.needed(&since, &is_needed));
        self.graph().forget(length.nodes, &roots);
    }
}

#[cfg(test)]
mod tests {
    use quorate_graph::{BinaryOp, Dtype, Operand, Source};

    use super::*;

    fn build(program: &mut Program, x: Option<NodeId>) -> NodeId {
        let mut at = program.graph().at(Source::new("test.py", 1));
        let id = match x {
            None => at.input(0, 3, &[2], Dtype::INT64, None).unwrap(),
            Some(x) => at.binary(BinaryOp::Add, x, Operand::int(&1)).unwrap(),
        };
        program.arrays().push(id);
        id
    }

    /// Builds many nodes; returns the last.
    fn chain(program: &mut Program, mut x: NodeId, nodes: usize) -> NodeId {
        (0..nodes).for_each(|_| x = build(program, Some(x)));
        x
    }

    fn has(program: &Program, id: NodeId) -> bool {
        program.graph.get(id).is_ok()
    }

    #[test]
    fn a_copy_stays_as_it_is() {
        let mut program = Program::default();
        let x = build(&mut program, None);
        let (copy, hashes) = (program.clone(), program.graph.hashes().to_vec());
        let y = chain(&mut program, x, 100);
        assert_eq!(copy.graph.hashes().to_vec(), hashes);
        assert!(!has(&copy, y) && has(&program, y) && copy.arrays.len() == 1);
        drop(copy);
        let before = Arc::as_ptr(&program.graph);
        build(&mut program, Some(y));
        assert_eq!(Arc::as_ptr(&program.graph), before, "a program that nobody reads is not copied");
    }

    #[test]
    fn what_was_built_since_stays_with_what_it_takes_to_compute_it() {
        let mut program = Program::default();
        let x = build(&mut program, None);
        let [dead, late] = [0, 1].map(|_| chain(&mut program, x, 15_000));
        let length = program.length();
        let y = build(&mut program, Some(late));
        let z = chain(&mut program, y, 30_000);
        program.forget(length, &[[x].into(), [x, dead].into()]);
        assert!(has(&program, x) && has(&program, dead) && has(&program, y) && has(&program, z));
        assert_eq!(program.graph.needed(&[z], &|id| id == x).len(), 45_002, "{late:?} is computed from x");
        let between = NodeId(10_000);
        assert!(!has(&program, between), "a node that only a dead array needs");
        assert_eq!(program.arrays.since(length.arrays).len(), 30_001);
    }

    #[test]
    fn runs_may_be_forgotten_in_another_order_than_they_ended() {
        let mut program = Program::default();
        let x = build(&mut program, None);
        let first = program.length();
        let y = chain(&mut program, x, 30_000);
        let second = program.length();
        chain(&mut program, x, 30_000);
        program.forget(second, &[[x, y].into()]);
        assert!(has(&program, y) && !has(&program, NodeId(y.0 / 2)));
        program.forget(first, &[[x].into()]);
        assert!(has(&program, y), "a later run needs it");
    }
}
