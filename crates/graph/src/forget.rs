//! Forgetting of nodes that nothing refers to any more, since sessions may live long.
//!
//! Each party forgets by itself. This changes nothing that parties compare: hashes cover all earlier nodes, and the
//! nodes that a decision depends on exist at every party. Building looks at the operands of what users hold (through
//! nested selections, see `clamp`), and at what their ranges rest on (`unproven`). Planning looks at how often steps
//! occurred before, which is counted before they are forgotten (see `repetitions`).

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::clamp;
use crate::graph::Graph;
use crate::node::{NodeId, Op};

/// The number of newest nodes that are never forgotten.
const NEWEST: usize = 20_000;
/// The number of additional nodes from which on forgetting is worthwhile.
const MORE: usize = NEWEST / 4;

impl Graph {
    /// Returns whether there are enough nodes for forgetting to be worthwhile.
    pub fn may_forget(&self) -> bool {
        self.nodes.len() > NEWEST + MORE
    }

    /// Forgets the nodes before the `end`-th, except the newest of all. `roots` are still needed, with everything that
    /// building on them reads.
    pub fn forget(&mut self, end: usize, roots: &BTreeSet<NodeId>) {
        let end = end.min(self.len().saturating_sub(NEWEST)).max(self.first);
        let mut stay = BTreeSet::new();
        for &id in roots {
            self.keep(id, clamp::DEPTH, &mut stay);
        }
        stay.extend(self.literals.nodes());
        self.remembered().for_each(|(of, made)| self.keep_from(of, made, &mut stay));
        stay.extend(self.nodes.since(end - self.first).flat_map(|node| node.inputs.iter().copied()));
        // Nodes on which the ranges of the remaining nodes rest.
        let newest = (end..self.len()).map(|id| NodeId(id as u32));
        let proven: Vec<NodeId> =
            stay.iter().copied().chain(newest).flat_map(|id| self.rests_on(id)).copied().collect();
        stay.extend(proven);
        self.count_steps(end, |id| stay.contains(&id));
        let old = self.old.iter().map(|(&id, node)| (id, node));
        let gone = (self.first as u32..).map(NodeId).zip(self.nodes.iter().take(end - self.first));
        let stays = |(id, _): &(NodeId, _)| stay.contains(id);
        self.old = Arc::new(old.chain(gone).filter(stays).map(|(id, node)| (id, node.clone())).collect());
        self.nodes.forget(end - self.first);
        self.hashes.forget(end - self.first);
        self.first = end;
        self.steps.forget(end, |id| stay.contains(&id));
        self.files.retain(|file| Arc::strong_count(file) > 1);
    }

    /// Returns the conversions and proofs that building uses again, each after the node of which it is made.
    pub(crate) fn remembered(&self) -> impl Iterator<Item = (NodeId, NodeId)> {
        self.recent.iter().chain(self.proofs.iter())
    }

    /// Keeps a conversion or a proof with all nodes by which it is made from `of`, which are a handful: programs may
    /// get it again, and compute it anew.
    fn keep_from(&self, of: NodeId, made: NodeId, stay: &mut BTreeSet<NodeId>) {
        let mut open = vec![made];
        while let Some(id) = open.pop() {
            stay.insert(id);
            let inputs = if id == of { &[] } else { self.node(id).inputs.as_slice() };
            open.extend(inputs);
        }
    }

    /// Keeps node `id` with its operands, and with what is read through selections of them.
    fn keep(&self, id: NodeId, depth: u32, stay: &mut BTreeSet<NodeId>) {
        stay.insert(id);
        let Ok(node) = self.get(id) else { return };
        stay.extend(node.inputs.iter());
        if let (Op::Select, &[condition, a, b]) = (&node.op, node.inputs.as_slice()) {
            stay.extend(self.get(condition).into_iter().flat_map(|condition| condition.inputs.iter()));
            if depth > 0 {
                [a, b].into_iter().for_each(|value| self.keep(value, depth - 1, stay));
            }
        }
    }
}
