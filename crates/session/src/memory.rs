//! How much memory a run takes at one party, before anything is sent, and how much of it steps may use side by side.
//!
//! The bound is that of running the steps one after another, in the program's order: everything that the session holds,
//! each value from its step to its last use, and the step's own working room. Long vectors are streamed, so that the room of
//! most steps does not grow with them; what goes as one message (a matrix product) or holds several vectors of full length
//! (a sort) is counted with its length. What the limit leaves beside the bound is for steps out of order (see
//! [`gate`](crate::gate)). The program itself, its libraries and what users hold in numpy come on top.

use std::collections::{BTreeMap, BTreeSet};

use quorate_graph::{Dtype, Graph, Node, NodeId, Op};

use crate::executor::Work;
use crate::protocol::Backend;

/// Working room of a streamed step: a fixed part, and one for each share of a value that a party holds.
const STREAM_BYTES: u64 = 12 << 20;
const STREAM_BYTES_PER_SHARE: u64 = 5 << 20;
/// Bytes per element and share that a streamed step works with at most, for steps that are shorter than a window.
const STREAM_BYTES_PER_ELEMENT: u64 = 192;
/// Bytes of an opened element in the user's units.
const OPENED_BYTES: u64 = 8;

/// The bound for one request at one party, alike at all parties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Need {
    /// Bytes at the worst moment, without correlations made ahead.
    pub peak_bytes: u64,
    /// The step at that moment; `None` where it is the values that the session held before.
    pub at: Option<NodeId>,
    /// Bytes of the correlations, if all were made ahead.
    pub stock_bytes: u64,
}

impl Need {
    /// Whether correlations can be made ahead under this limit.
    pub fn makes_ahead(&self, limit: Option<u64>) -> bool {
        limit.is_none_or(|limit| self.peak_bytes.saturating_add(self.stock_bytes) <= limit)
    }

    /// Bytes at the worst moment, with the correlations where they are made ahead.
    pub fn total(&self, limit: Option<u64>) -> u64 {
        self.peak_bytes + if self.makes_ahead(limit) { self.stock_bytes } else { 0 }
    }

    /// Whether the run fits.
    pub fn fits(&self, limit: Option<u64>) -> bool {
        limit.is_none_or(|limit| self.peak_bytes <= limit)
    }

    /// What the limit leaves for steps before their turn.
    pub fn room(&self, limit: Option<u64>) -> Option<u64> {
        limit.map(|most| most.saturating_sub(self.total(limit)))
    }
}

/// Bytes of a node's value at one party.
pub(crate) fn value_bytes<B: Backend>(backend: &B, node: &Node) -> u64 {
    match node.is_public() {
        true => plain_bytes(node),
        false => backend.value_bytes(node.dtype.bits(), node.elements()),
    }
}

/// Bytes of a node's value in the clear, as ring elements.
fn plain_bytes(node: &Node) -> u64 {
    let len = node.elements() as u64;
    match node.dtype {
        Dtype::Bit => len.div_ceil(8),
        dtype => len * quorate_ring::Ring::of(dtype.bits()).carrier().bytes() as u64,
    }
}

/// Bytes that a step takes beside its operands.
pub(crate) fn step_bytes<B: Backend>(backend: &B, graph: &Graph, id: NodeId) -> u64 {
    value_bytes(backend, graph.node(id)) + working_bytes(backend, graph, id)
}

/// Bytes that a step works with beside its operands and its result.
fn working_bytes<B: Backend>(backend: &B, graph: &Graph, id: NodeId) -> u64 {
    let node = graph.node(id);
    if !node.op.talks() {
        return 0;
    }
    let operands = node.inputs.iter().map(|&input| graph.node(input));
    let longest = operands.clone().map(Node::elements).max().unwrap_or(0).max(node.elements()) as u64;
    let shares = backend.shares();
    let streamed =
        (STREAM_BYTES + STREAM_BYTES_PER_SHARE * shares).min((1 << 16) + STREAM_BYTES_PER_ELEMENT * shares * longest);
    let result = value_bytes(backend, node);
    let whole: u64 = match node.op {
        Op::Input { .. } | Op::Mul => 0,
        // One message: the product, a mask, and what goes to and comes from the peers.
        Op::MatMul { .. } => 3 * result,
        // Differences, joined operands, halves of a tree.
        _ => 4 * operands.map(|operand| value_bytes(backend, operand)).max().unwrap_or(0) + result,
    };
    streamed + whole
}

/// Follows the steps in order. `held` are the values that exist before, `keeps` says which stay afterwards.
pub(crate) fn need<B: Backend>(
    backend: &B,
    work: &Work<'_>,
    held: &BTreeSet<NodeId>,
    keeps: &dyn Fn(NodeId) -> bool,
    stock_bytes: u64,
) -> Need {
    let graph = work.graph;
    let bytes = |id: NodeId| value_bytes(backend, graph.node(id));
    let inputs = work.nodes.iter().map(|&id| graph.node(id)).filter(|node| matches!(node.op, Op::Input { .. }));
    let mut live: u64 = held.iter().map(|&id| bytes(id)).sum::<u64>() + inputs.map(plain_bytes).sum::<u64>();
    let (mut peak_bytes, mut at) = (live, None);
    let mut uses: BTreeMap<NodeId, usize> = BTreeMap::new();
    let operands = work.nodes.iter().flat_map(|&id| &graph.node(id).inputs).copied();
    operands.chain(work.reveals.iter().map(|reveal| reveal.node)).for_each(|id| *uses.entry(id).or_default() += 1);
    for &id in &work.nodes {
        live += bytes(id);
        let now = live + working_bytes(backend, graph, id);
        if now > peak_bytes {
            (peak_bytes, at) = (now, Some(id));
        }
        for &input in graph.node(id).inputs.iter().chain(std::iter::once(&id)) {
            let left = uses.entry(input).or_default();
            *left = left.saturating_sub(usize::from(input != id));
            if *left == 0 && !held.contains(&input) && !keeps(input) {
                live -= bytes(input);
            }
        }
    }
    for reveal in &work.reveals {
        let node = graph.node(reveal.node);
        live += plain_bytes(node) + OPENED_BYTES * node.elements() as u64;
        if live > peak_bytes {
            (peak_bytes, at) = (live, Some(reveal.node));
        }
    }
    Need { peak_bytes, at, stock_bytes }
}
