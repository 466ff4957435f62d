//! How much memory steps take at one party, before anything is sent.
//!
//! Long vectors are streamed, so that the room of most steps does not grow with them; what goes as one message (a matrix
//! product) or holds several vectors of full length (a tournament) is counted with its length, or with that of the pieces in
//! which it runs. The program itself, its libraries and what users hold in numpy come on top.

use quorate_gadgets::Family;
use quorate_graph::domains::Domain;
use quorate_graph::{Dtype, Graph, Node, NodeId, Op, Real};

use crate::work::Work;

/// Room of a stream whose window is counted in bytes: inputs, products, openings.
const WINDOW_BYTES: u64 = 16 << 20;
/// The same for each element and share, for what is shorter than a window.
const WINDOW_BYTES_PER_ELEMENT: u64 = 40;
/// Elements under way in a stream of gadgets, whose chunks are counted in bits or elements.
const WINDOW_ELEMENTS: u64 = 32 << 10;
/// Room of any step that talks.
const STEP_BYTES: u64 = 1 << 16;
/// A lane: a step under way that may talk, or a reveal.
pub(crate) const LANE_BYTES: u64 = 1 << 15;
/// What is kept of each step while a run lasts: which others it waits for, its value's place, what it takes. As measured.
pub(crate) const LOCAL_STEP_BYTES: u64 = 160;
/// The same on top for a step that talks: its costs, its bytes and correlations.
pub(crate) const TALKING_STEP_BYTES: u64 = 1500;
/// Bytes of the label of a garbled wire.
const LABEL_BYTES: u64 = 16;
/// Bytes of an opened element in the user's units, of dtypes up to 64 bits and above.
const OPENED_BYTES: [u64; 2] = [8, 16];
/// Bytes of a position in a list, as it is put together.
const POSITION_BYTES: u64 = 8;
/// Bytes of a public number on its way into a ring.
const NUMBER_BYTES: u64 = 16;

/// What one run of an operation, whole or a piece, works on.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    pub operands: Vec<OperandLoad>,
    /// Elements of the result.
    pub result: usize,
}

/// Elements of an operand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OperandLoad {
    pub len: usize,
    /// Whether they were taken out of a longer one.
    pub copied: bool,
}

impl Load {
    /// That of the whole step.
    pub fn whole(graph: &Graph, id: NodeId) -> Load {
        let node = graph.node(id);
        let whole = |&input: &NodeId| OperandLoad { len: graph.node(input).elements(), copied: false };
        Load { operands: node.inputs.iter().map(whole).collect(), result: node.elements() }
    }

    /// That of a piece made element by element.
    pub fn elements(node: &Node, len: usize) -> Load {
        Load { operands: vec![OperandLoad { len, copied: true }; node.inputs.len()], result: len }
    }
}

/// Bytes of a node's value at one party.
pub(crate) fn value_bytes<B: Family>(backend: &B, node: &Node) -> u64 {
    bytes_of(backend, node, node.elements())
}

/// Bytes of a node's value at one party, in the sharing in which it is made.
pub(crate) fn held_bytes<B: Family>(backend: &B, work: &Work<'_>, id: NodeId) -> u64 {
    let node = work.graph.node(id);
    let bits = node.elements() as u64 * u64::from(node.dtype.bits());
    match work.domains.of(id) {
        Domain::B if !node.is_public() => backend.value_bytes(1, bits as usize),
        Domain::Y if !node.is_public() => LABEL_BYTES * bits,
        _ => value_bytes(backend, node),
    }
}

/// Bytes of so many elements of a node's value at one party.
pub(crate) fn bytes_of<B: Family>(backend: &B, node: &Node, len: usize) -> u64 {
    match node.is_public() {
        true => in_the_clear(node.dtype, len),
        false => backend.value_bytes(node.dtype.bits(), len),
    }
}

/// Bytes of a node's value in the clear, as ring elements.
pub(crate) fn plain_bytes(node: &Node) -> u64 {
    in_the_clear(node.dtype, node.elements())
}

/// Bytes of a node's value as users have it.
pub(crate) fn opened_bytes(node: &Node) -> u64 {
    OPENED_BYTES[usize::from(node.dtype.bits() > 64)] * node.elements() as u64
}

fn in_the_clear(dtype: Dtype, len: usize) -> u64 {
    let len = len as u64;
    match dtype {
        Dtype::Bit => len.div_ceil(8),
        dtype => len * quorate_ring::Ring::of(dtype.bits()).carrier().bytes() as u64,
    }
}

/// Bytes that an operation works with beside its operands and its result.
pub(crate) fn working_bytes<B: Family>(backend: &B, graph: &Graph, id: NodeId, load: &Load) -> u64 {
    let node = graph.node(id);
    let result = bytes_of(backend, node, load.result);
    let elements = load.result as u64;
    match node.op {
        Op::Gather(_) | Op::Broadcast => return POSITION_BYTES * elements,
        Op::Constant(_) => return NUMBER_BYTES * elements,
        Op::CumSum(_) => return 2 * result,
        ref op if !op.talks() => return 0,
        _ => {}
    }
    let longest = load.operands.iter().map(|operand| operand.len).max().unwrap_or(0).max(load.result) as u64;
    let operands = node.inputs.iter().zip(&load.operands);
    let operands = operands.map(|(&input, operand)| bytes_of(backend, graph.node(input), operand.len));
    let all: Vec<u64> = operands.collect();
    let (operand, shares) = (all.iter().copied().max().unwrap_or(0), backend.shares());
    let whole = match node.op {
        Op::Input { .. } => 0,
        Op::Mul => {
            if graph.cut(id).is_some() {
                result
            } else {
                0
            }
        }
        // The product, a mask, what goes to and comes from the peers, and a sum of an operand's shares.
        Op::MatMul { .. } => 3 * result + operand / shares,
        // All columns before and after a pass, and what is left of either to reshare.
        Op::Shuffle { .. } => 3 * all.iter().sum::<u64>(),
        // Products in a ring of up to twice the bits; what says where to saturate.
        Op::FloorDiv(_) | Op::Scale(_) => 8 * longest * shares * 16,
        // Powers, their sums and products, in a ring of 64 bits.
        Op::Softmax(_) => 8 * longest * shares * 8,
        // Differences, joined operands, halves of a tree.
        _ => 4 * operand + result,
    };
    STEP_BYTES + streamed(backend, graph, id, longest) + whole
}

/// Bytes of what is under way in the streams of a step whose longest vector has so many elements. As measured, with
/// correlations made where they are drawn.
fn streamed<B: Family>(backend: &B, graph: &Graph, id: NodeId, longest: u64) -> u64 {
    let node = graph.node(id);
    let is_cut = graph.cut(id).is_some();
    // A comparison takes up to three signs, in one stream.
    let compares = matches!(node.op, Op::Lt | Op::Max(_) | Op::Min(_) | Op::ArgMax(_) | Op::ArgMin(_));
    let signs = if compares { 3 } else { 1 };
    let bytes_per_element = match node.op {
        Op::Input { .. } | Op::Shuffle { .. } => 0,
        Op::Circuit(_) => return 2 * WINDOW_BYTES,
        Op::Mul | Op::MatMul { .. } if !is_cut => 0,
        Op::FloorDiv(_) | Op::Scale(_) => 160,
        Op::IntDivide(_) => 1400,
        Op::Real(function) => match function {
            Real::Sigmoid | Real::Tanh | Real::Gelu => 550,
            Real::Exp | Real::Log => 650,
            Real::Sqrt | Real::Rsqrt => 1000,
            Real::Reciprocal => 1400,
        },
        Op::Divide | Op::Softmax(_) => 1400,
        _ => 120,
    };
    match bytes_per_element {
        0 => WINDOW_BYTES.min(WINDOW_BYTES_PER_ELEMENT * backend.shares() * longest),
        _ => bytes_per_element * backend.work_shares() * (signs * longest).min(WINDOW_ELEMENTS),
    }
}
