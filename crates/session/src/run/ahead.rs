//! Circuits garbled in the offline phase, where a party runs the garbled part of a program alone.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;

use quorate_gadgets::Computes;
use quorate_graph::{Domain, NodeId};
use quorate_planner::Work;
use quorate_ring::meter::Effort;

use crate::work::value::Known;

/// The treatment of the garbled part of a program by an executor.
pub(crate) enum Ahead<S: Computes> {
    /// Runs every node where it is used.
    Nothing,
    /// Runs ahead, and computes only these nodes; all other nodes are shapes.
    Only(BTreeSet<NodeId>),
    /// Nodes on labels were computed ahead; these of their values are still needed.
    Done(Known<S>),
    /// A dry run of an executor with [`Ahead::Done`]. The work of nodes on labels is counted apart, since it is
    /// offline.
    Apart(Rc<Cell<Effort>>),
}

impl<S: Computes> Ahead<S> {
    /// Returns the garbled part of a run: its nodes on labels, and the public nodes that these read.
    pub fn only(work: &Work<'_>) -> Self {
        let mut nodes = BTreeSet::new();
        for &id in work.nodes.iter().rev() {
            let node = work.graph.node(id);
            if work.domains.of(id) == Domain::Y || nodes.contains(&id) {
                nodes.insert(id);
                nodes.extend(node.inputs.iter().filter(|&&input| work.graph.node(input).is_public()));
            }
        }
        Ahead::Only(nodes)
    }

    /// Returns whether a node is not among those that run ahead, so that its shape stands for it.
    pub fn leaves_out(&self, id: NodeId) -> bool {
        matches!(self, Ahead::Only(nodes) if !nodes.contains(&id))
    }
}

/// Returns the nodes whose labels are needed outside the garbled part: by other nodes, or to be revealed.
pub(crate) fn leaving(work: &Work<'_>) -> BTreeSet<NodeId> {
    let others = work.nodes.iter().filter(|&&id| work.domains.of(id) != Domain::Y);
    let read = others.flat_map(|&id| &work.graph.node(id).inputs).copied();
    read.chain(work.reveals.iter().map(|reveal| reveal.node)).collect()
}
