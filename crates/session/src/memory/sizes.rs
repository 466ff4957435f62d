//! Sizes: the memory that steps take at one party, computed before anything is sent.
//!
//! Long vectors are streamed, so the memory of most steps does not grow with them. A step that sends one message (a
//! matrix product) or holds several vectors of full length (a tournament) is counted with its length, or with that of
//! its pieces. The program itself, its libraries and what users hold in numpy come on top.

use quorate_gadgets::Footprint;
use quorate_graph::{Domain, Dtype, Graph, Memory, Node, NodeId, Op};
use quorate_planner::Work;

use crate::work::data::UNPACKED;

/// Room of a stream whose window is counted in bytes: inputs, products, openings.
const WINDOW_BYTES: u64 = 16 << 20;
/// Room, for each element and share, of a stream counted in bytes whose vector is shorter than a window.
const WINDOW_BYTES_PER_ELEMENT: u64 = 40;
/// The number of elements under way in a stream of gadgets, whose chunks are counted in bits or elements.
const WINDOW_ELEMENTS: u64 = 32 << 10;
/// Room of any step that talks.
const STEP_BYTES: u64 = 1 << 16;
/// Bytes of a lane: a step under way that may talk, or a reveal.
pub(crate) const LANE_BYTES: u64 = 1 << 15;
/// Measured bytes that are kept of each step while a run lasts: the steps that it waits for, the place of its value,
/// its costs.
pub(crate) const LOCAL_STEP_BYTES: u64 = 160;
/// Measured bytes that are kept in addition of a step that talks: its costs, its messages and correlations.
pub(crate) const TALKING_STEP_BYTES: u64 = 1500;
/// Bytes of the label of a garbled wire.
const LABEL_BYTES: u64 = 16;
/// Bytes of an opened element in the user's units, of dtypes up to 64 bits and above.
const OPENED_BYTES: [u64; 2] = [8, 16];
/// Bytes of a position in a list, while the list is built.
const POSITION_BYTES: u64 = 8;
/// Bytes of a public number while it is converted into a ring element.
const NUMBER_BYTES: u64 = 16;

/// The sizes of the operands and of the result of one operation, whole or a piece.
#[derive(Clone, Debug)]
pub(crate) struct Sizes {
    pub operands: Vec<OperandSize>,
    /// The number of elements of the result.
    pub result: usize,
}

/// The number of elements of an operand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OperandSize {
    pub len: usize,
    /// Whether the elements are copied out of a longer operand.
    pub copied: bool,
}

impl Sizes {
    /// Returns the sizes of the whole step.
    pub fn whole(graph: &Graph, id: NodeId) -> Sizes {
        let node = graph.node(id);
        let whole = |&input: &NodeId| OperandSize { len: graph.node(input).elements(), copied: false };
        Sizes { operands: node.inputs.iter().map(whole).collect(), result: node.elements() }
    }

    /// Returns the sizes of a piece of `len` elements that is made element by element.
    pub fn elements(node: &Node, len: usize) -> Sizes {
        Sizes { operands: vec![OperandSize { len, copied: true }; node.inputs.len()], result: len }
    }
}

/// Returns the bytes of a node's value at one party.
pub(crate) fn value_bytes(backend: &dyn Footprint, node: &Node) -> u64 {
    bytes_of(backend, node, node.elements())
}

/// Returns the bytes of a node's value at one party, in the sharing in which it is made.
pub(crate) fn held_bytes(backend: &dyn Footprint, work: &Work<'_>, id: NodeId) -> u64 {
    let node = work.graph.node(id);
    let bits = node.elements() as u64 * u64::from(node.dtype.bits());
    match work.domains.of(id) {
        Domain::A if node.op == Op::AsFactor => backend.factor_bytes(node.dtype.bits(), node.elements()),
        Domain::B if !node.is_public() => backend.value_bytes(1, bits as usize),
        Domain::Y if !node.is_public() => LABEL_BYTES * bits,
        _ => value_bytes(backend, node),
    }
}

/// Returns the bytes of `len` elements of a node's value at one party.
pub(crate) fn bytes_of(backend: &dyn Footprint, node: &Node, len: usize) -> u64 {
    match node.is_public() {
        true => in_the_clear(node.dtype, len),
        false => backend.value_bytes(node.dtype.bits(), len),
    }
}

/// Returns the bytes of a node's value in the clear, as ring elements.
pub(crate) fn plain_bytes(node: &Node) -> u64 {
    in_the_clear(node.dtype, node.elements())
}

/// Returns the bytes of a node's value as users have it.
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

/// Returns the bytes that an operation works with besides its operands and its result.
pub(crate) fn working_bytes(backend: &dyn Footprint, graph: &Graph, id: NodeId, load: &Sizes) -> u64 {
    bytes_with_windows(backend, graph, id, load, 1)
}

/// Returns the bytes that an operation works with besides its operands and its result. If its streams have more than a
/// window of chunks, `windows` times as many are under way. Look-ups and circuits are not affected: families and
/// circuits decide what those have under way.
pub(crate) fn bytes_with_windows(
    backend: &dyn Footprint,
    graph: &Graph,
    id: NodeId,
    load: &Sizes,
    windows: usize,
) -> u64 {
    let node = graph.node(id);
    let result = bytes_of(backend, node, load.result);
    let elements = load.result as u64;
    let memory = node.op.properties().memory;
    match memory {
        Memory::Nothing => return 0,
        Memory::Positions => return POSITION_BYTES * elements,
        Memory::Numbers => return NUMBER_BYTES * elements.min(UNPACKED as u64),
        Memory::RunningSums => return 2 * result,
        _ => {} // operations that talk: computed below
    }
    let longest = load.operands.iter().map(|operand| operand.len).max().unwrap_or(0).max(load.result) as u64;
    let windows = (windows as u64).min(in_a_row(graph, node, memory, longest).div_ceil(WINDOW_ELEMENTS)).max(1);
    let operands = node.inputs.iter().zip(&load.operands);
    let operands = operands.map(|(&input, operand)| bytes_of(backend, graph.node(input), operand.len));
    let all: Vec<u64> = operands.collect();
    let (operand, shares) = (all.iter().copied().max().unwrap_or(0), backend.shares());
    let is_cut = graph.cut(id).is_some();
    let products = products_one_by_one(backend, graph, node, load);
    let of_products = || backend.products_bytes(node.dtype.bits(), products, node.op != Op::Mul);
    let whole = match memory {
        Memory::Nothing | Memory::Positions | Memory::Numbers | Memory::RunningSums | Memory::Input => 0,
        Memory::Opened => result,
        Memory::Product => result * u64::from(is_cut) + of_products(),
        // The product, a mask, what goes to and comes from the peers, and a sum of an operand's shares.
        Memory::Matrices => 3 * result + operand / shares + of_products(),
        // All columns before and after a pass, and what remains of either to be reshared.
        Memory::Shuffle => 3 * all.iter().sum::<u64>(),
        // Columns, and keys with places, before and after a pass; a level's operands, differences and masks.
        Memory::Order => 3 * all.iter().sum::<u64>() + 11 * ordered_rows(&node.op) * shares * 16,
        // Products in a ring of up to twice the bits; bits that decide where to saturate.
        Memory::WideProducts => 8 * longest * shares * 16,
        Memory::TwoWideProducts => 2 * 8 * longest * shares * 16,
        // Powers, their sums and products, in a ring of 64 bits.
        Memory::Softmax => 8 * longest * shares * 8,
        // Differences, joined operands, halves of a tree.
        Memory::Bits | Memory::Signs | Memory::Circuit => 4 * operand + result,
        Memory::Table | Memory::Bounded | Memory::Powers | Memory::Roots | Memory::Divisions => 4 * operand + result,
    };
    let streamed = match &node.op {
        Op::Lookup(table) => {
            let outside = table.leaves_out(graph.node(node.inputs[0]).range()) != (false, false);
            let compared = if outside { streamed(backend, Memory::Signs, false, longest, 1) } else { 0 };
            compared + backend.lookup_bytes((table.entries().len(), node.dtype.bits()), longest)
        }
        _ => streamed(backend, memory, is_cut, longest, windows),
    };
    STEP_BYTES + streamed + whole
}

/// Returns the number of products of secret elements in a step or a piece of it, where a protocol multiplies all of
/// them at once; otherwise 0.
pub(crate) fn products_one_by_one(backend: &dyn Footprint, graph: &Graph, node: &Node, load: &Sizes) -> usize {
    let has_public = node.inputs.iter().any(|&input| graph.node(input).is_public());
    if has_public || backend.products_bytes(node.dtype.bits(), 1, node.op != Op::Mul) == 0 {
        return 0;
    }
    match &node.op {
        Op::Mul => load.result,
        // A piece may have some of the terms of one row.
        Op::MatMul { k, .. } => load.result * load.operands.first().map_or(*k, |left| left.len.min(*k)),
        Op::Conv(conv) => load.result * conv.patch(),
        _ => 0,
    }
}

/// Returns the length of a step's stream, in elements of 64 bits, of which a window has [`WINDOW_ELEMENTS`].
fn in_a_row(graph: &Graph, node: &Node, memory: Memory, longest: u64) -> u64 {
    let &[a, b] = node.inputs.as_slice() else { return longest };
    if memory != Memory::Signs {
        return longest;
    }
    // One most significant bit of a difference; or three, where that does not fit the dtype.
    let (bits, ring) = (graph.difference_bits(a, b), graph.node(a).dtype.bits());
    let each = if bits <= ring { bits } else { 3 * ring };
    longest * u64::from(each) / 64
}

/// Returns the number of keys of an order.
fn ordered_rows(op: &Op) -> u64 {
    if let Op::Order { rows, .. } = op { *rows as u64 } else { 0 }
}

/// Returns the bytes under way in the streams of a step whose longest vector has `longest` elements. Measured, with
/// correlations made where they are drawn.
fn streamed(backend: &dyn Footprint, memory: Memory, is_cut: bool, longest: u64, windows: u64) -> u64 {
    let window = (windows * WINDOW_BYTES).min(WINDOW_BYTES_PER_ELEMENT * backend.shares() * longest);
    let elements = |bytes: u64, count: u64| bytes * backend.work_shares() * count.min(windows * WINDOW_ELEMENTS);
    match memory {
        Memory::Nothing | Memory::Positions | Memory::Numbers | Memory::RunningSums => 0,
        Memory::Input | Memory::Opened | Memory::Shuffle => window,
        // Four windows of comparisons are under way.
        Memory::Order => window + 4 * elements(120, longest.div_ceil(2)),
        Memory::Product | Memory::Matrices if !is_cut => window,
        Memory::Product | Memory::Matrices | Memory::Bits => elements(120, longest),
        // A comparison takes up to three signs, in one stream.
        Memory::Signs => elements(120, 3 * longest),
        Memory::Circuit => 2 * WINDOW_BYTES,
        Memory::WideProducts => elements(160, longest),
        Memory::TwoWideProducts => elements(160, 2 * longest),
        Memory::Table => 0, // each family counts its look-ups by itself
        Memory::Bounded => elements(550, longest),
        Memory::Powers => elements(650, longest),
        Memory::Roots => elements(1000, longest),
        Memory::Divisions | Memory::Softmax => elements(1400, longest),
    }
}
