//! Which values a party keeps from run to run, so that all parties keep the same.
//!
//! A value is kept while its array lives at some party, or while an array that was not computed yet depends on it. Arrays
//! die at different times at different parties (garbage collectors differ), so each party tells the others in the
//! handshake of the next run, and a value goes once all have let go of it.

use std::collections::{BTreeMap, BTreeSet};

use quorate_gadgets::Gadgets;
use quorate_graph::{Graph, NodeId};

use crate::executor::Known;

pub(crate) struct Store<S: Gadgets> {
    pub values: Known<S>,
    /// For each array that some party let go of: a bit per party.
    dropped_by: BTreeMap<NodeId, u64>,
    /// Arrays that all parties let go of.
    gone: BTreeSet<NodeId>,
    parties: usize,
}

impl<S: Gadgets> Store<S> {
    pub fn new(parties: usize) -> Self {
        Store { values: BTreeMap::new(), dropped_by: BTreeMap::new(), gone: BTreeSet::new(), parties }
    }

    /// Takes in what `party` let go of.
    pub fn note_dropped(&mut self, party: usize, dropped: &[NodeId]) {
        for &id in dropped {
            let by = self.dropped_by.entry(id).or_default();
            *by |= 1 << party;
            if by.count_ones() as usize == self.parties {
                self.dropped_by.remove(&id);
                self.gone.insert(id);
            }
        }
    }

    /// The nodes to keep after a run of `running`, given the nodes that are arrays of the user's.
    pub fn kept(&self, graph: &Graph, arrays: &BTreeSet<NodeId>, running: &[NodeId]) -> BTreeSet<NodeId> {
        let running: BTreeSet<NodeId> = running.iter().copied().collect();
        let done = |id: NodeId| self.values.contains_key(&id) || running.contains(&id);
        let alive: Vec<NodeId> = arrays.iter().copied().filter(|id| !self.gone.contains(id)).collect();
        let waiting: Vec<NodeId> = alive.iter().copied().filter(|&id| !done(id)).collect();
        let operands = graph.needed(&waiting, done);
        let operands = operands.iter().flat_map(|&id| graph.node(id).inputs.iter().copied()).filter(|&id| done(id));
        alive.into_iter().chain(operands).collect()
    }

    /// Takes in a finished run's values and frees what is not to be kept.
    pub fn finish(&mut self, computed: Known<S>, keep: &BTreeSet<NodeId>) {
        self.values.extend(computed);
        self.values.retain(|id, _| keep.contains(id));
    }
}

/// Encodes node numbers for the handshake.
pub(crate) fn encode(ids: &[NodeId]) -> Vec<u8> {
    ids.iter().flat_map(|id| id.0.to_le_bytes()).collect()
}

/// Reads them; numbers beyond the program are ignored.
pub(crate) fn decode(bytes: &[u8], nodes: usize) -> Vec<NodeId> {
    let number = |b: &[u8]| NodeId(u32::from_le_bytes(b.try_into().unwrap_or_default()));
    bytes.chunks_exact(4).map(number).filter(|id| id.index() < nodes).collect()
}
