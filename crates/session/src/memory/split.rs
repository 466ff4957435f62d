//! Splits of steps into independent pieces: what each piece does, reads and returns.
//!
//! A cut counts in units, and a piece is a range of units. A unit is an element of the result, a row or column of a
//! product, or a lane of a reduction. If elements are summed or expanded, it is an element of the operand. Nothing
//! here depends on shares.

use std::ops::Range;

use quorate_graph::{Axis, Graph, Index, Node, NodeId, Op, Pieces, Units, shape};

use quorate_ring::Conv;

use crate::memory::sizes::{OperandSize, Sizes};

/// Blocks of a reduction that have more elements than this are cut by lanes.
const BLOCK_ELEMENTS: usize = 1 << 16;

/// The cut of a step: the units of its pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Split {
    /// Elements of the result, each made of the elements at the same place in all operands.
    Elements,
    /// Elements of the result, each an element at any place of the operand.
    Positions,
    /// Elements of the operand, each of which becomes this many of the result.
    Spread(usize),
    /// Elements of the result, each made of this many of the operand.
    Gathered(usize),
    /// Runs of a circuit; each operand has some of the wires.
    Runs,
    /// Elements of the operand, which are summed.
    Sums(Axis),
    /// Rows of a product and of its left operand.
    Rows { m: usize, k: usize, n: usize },
    /// Columns of a product and of its right operand.
    Columns { m: usize, k: usize, n: usize },
    /// Terms of the sums of a row times a matrix. Fixed point is truncated once, after all terms are added.
    Terms { k: usize, n: usize },
    /// Products of a batch.
    Products { batch: usize, m: usize, k: usize, n: usize },
    /// Images of a convolution.
    Images(Conv),
    /// Rows of candidates; the winners of the pieces meet afterwards.
    Rounds(Axis),
    /// Outer blocks of a reduction.
    Blocks(Axis),
    /// Lanes of a reduction.
    Lanes(Axis),
}

/// The part of an operand that a piece reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Take {
    Range(Range<usize>),
    Positions(Vec<u32>),
    Whole,
}

/// The place of a piece's result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Put {
    /// From this element on.
    At(usize),
    /// In these lanes of every row; lanes are numbered through all outer blocks.
    Lanes(Axis, Range<usize>),
    /// Added up: these are the operand's elements from this one on.
    Sums(Axis, usize),
}

/// One piece of a step.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Piece {
    pub op: Op,
    pub takes: Vec<Take>,
    pub put: Put,
}

impl Split {
    /// Returns how node `id` is cut; `None` where it runs whole.
    pub fn of(graph: &Graph, id: NodeId) -> Option<Split> {
        let node = graph.node(id);
        Some(match node.op.properties().pieces {
            Pieces::Whole => return None,
            Pieces::Elements => Split::Elements,
            Pieces::Positions => Split::Positions,
            Pieces::Spread => Split::Spread(graph.node(node.inputs[0]).dtype.bits() as usize),
            Pieces::Gathered => Split::Gathered(node.dtype.bits() as usize),
            Pieces::Runs => Split::Runs,
            Pieces::Sums(axis) => Split::Sums(axis),
            Pieces::Products { batch: 1, m: 1, k, n } if n <= k => Split::Terms { k, n },
            Pieces::Products { batch: 1, m, k, n } if m < n && k.max(n) > BLOCK_ELEMENTS => Split::Columns { m, k, n },
            Pieces::Products { batch: 1, m, k, n } => Split::Rows { m, k, n },
            Pieces::Products { batch, m, k, n } => Split::Products { batch, m, k, n },
            Pieces::Images(conv) => Split::Images(conv),
            Pieces::Best(axis) if axis.outer == 1 && axis.inner <= BLOCK_ELEMENTS => Split::Rounds(axis),
            Pieces::Best(axis) | Pieces::Lines(axis) => {
                let small = axis.len * axis.inner <= BLOCK_ELEMENTS;
                if axis.inner == 1 || (axis.outer > 1 && small) { Split::Blocks(axis) } else { Split::Lanes(axis) }
            }
        })
    }

    /// Returns the number of units of the whole step.
    pub fn units(self, node: &Node) -> usize {
        match self {
            Split::Elements | Split::Positions | Split::Gathered(_) => node.elements(),
            Split::Spread(each) => node.elements() / each,
            Split::Runs => node.shape[..node.shape.len().saturating_sub(1)].iter().product(),
            Split::Sums(axis) => axis.outer * axis.len * axis.inner,
            Split::Rows { m, .. } => m,
            Split::Columns { n, .. } => n,
            Split::Terms { k, .. } => k,
            Split::Products { batch, .. } => batch,
            Split::Images(conv) => conv.batch,
            Split::Rounds(axis) => axis.len,
            Split::Blocks(axis) => axis.outer,
            Split::Lanes(axis) => axis.outer * axis.inner,
        }
    }

    /// Returns the largest number of elements of an operand or of the result in one unit.
    pub fn elements_per_unit(self, node: &Node) -> usize {
        let most = match self {
            Split::Runs => wires(node).into_iter().max().unwrap_or(1),
            Split::Elements | Split::Positions | Split::Spread(_) | Split::Gathered(_) | Split::Sums(_) => 1,
            Split::Rows { k, n, .. } => k.max(n),
            Split::Columns { m, k, .. } => m.max(k),
            Split::Terms { n, .. } => n,
            Split::Products { m, k, n, .. } => (m * k).max(k * n).max(m * n),
            Split::Images(conv) => one_image(conv).0.max(one_image(conv).1),
            Split::Rounds(axis) => axis.inner,
            Split::Blocks(axis) => axis.len * axis.inner,
            Split::Lanes(axis) => axis.len,
        };
        most.max(1)
    }

    /// Returns the sizes of a piece of `units` units.
    pub fn load(self, graph: &Graph, id: NodeId, units: usize) -> Sizes {
        let node = graph.node(id);
        let of = |lens: &[usize], result: usize| {
            let operands = lens.iter().map(|&len| OperandSize { len, copied: true }).collect();
            Sizes { operands, result }
        };
        let whole = |len: usize| OperandSize { len, copied: false };
        match self {
            Split::Elements => Sizes::elements(node, units),
            Split::Positions => Sizes { operands: vec![whole(units)], result: units },
            Split::Spread(each) => of(&[units], units * each),
            Split::Gathered(each) => of(&[units * each], units),
            Split::Runs => {
                let wires = wires(node);
                let (inputs, outputs) = wires.split_at(node.inputs.len());
                of(&inputs.iter().map(|width| units * width).collect::<Vec<_>>(), units * outputs[0])
            }
            Split::Sums(_) => of(&[units], units),
            Split::Rows { k, n, .. } => {
                let left = OperandSize { len: units * k, copied: true };
                Sizes { operands: vec![left, whole(k * n)], result: units * n }
            }
            Split::Columns { m, k, .. } => {
                let right = OperandSize { len: k * units, copied: true };
                Sizes { operands: vec![whole(m * k), right], result: m * units }
            }
            Split::Terms { n, .. } => of(&[units, units * n], n),
            Split::Products { m, k, n, .. } => of(&[units * m * k, units * k * n], units * m * n),
            Split::Images(conv) => {
                let (image, result) = one_image(conv);
                let images = OperandSize { len: units * image, copied: true };
                Sizes { operands: vec![images, whole(conv.lens()[1])], result: units * result }
            }
            Split::Rounds(axis) => of(&[units * axis.inner], axis.inner),
            Split::Blocks(axis) => {
                let each = if keeps_axis(&node.op) { axis.len * axis.inner } else { axis.inner };
                of(&[units * axis.len * axis.inner], units * each)
            }
            Split::Lanes(axis) => of(&[units * axis.len], units * if keeps_axis(&node.op) { axis.len } else { 1 }),
        }
    }

    /// Returns whether pieces of node `id` read ranges of an operand, so that it can be made piece by piece. If the
    /// node reads it several times, as in a square, each piece reads one range of it.
    pub fn takes_ranges(self, graph: &Graph, id: NodeId, operand: NodeId) -> bool {
        let node = graph.node(id);
        let reads_range = |place: usize| match self {
            Split::Elements | Split::Gathered(_) | Split::Spread(_) | Split::Sums(_) => true,
            Split::Runs | Split::Terms { .. } | Split::Products { .. } | Split::Blocks(_) => true,
            Split::Rows { .. } | Split::Images(_) | Split::Rounds(_) => place == 0,
            Split::Positions | Split::Columns { .. } | Split::Lanes(_) => false,
        };
        let mut places = (0..node.inputs.len()).filter(|&place| node.inputs[place] == operand);
        let Some(first) = places.next().filter(|&first| reads_range(first)) else { return false };
        let takes = self.piece(graph, id, 0..self.units(node).min(1), true).takes;
        places.all(|place| takes[place] == takes[first])
    }

    /// Returns the piece of node `id` that has these units.
    pub fn piece(self, graph: &Graph, id: NodeId, units: Range<usize>, dry: bool) -> Piece {
        let node = graph.node(id);
        let times = |each: usize| Take::Range(units.start * each..units.end * each);
        let scaled = |op: Op, each: usize, result: usize| Piece {
            op,
            takes: vec![times(each)],
            put: Put::At(units.start * result),
        };
        match self {
            Split::Elements | Split::Positions => {
                let (op, takes) = part(graph, node, units.clone(), dry);
                Piece { op, takes, put: Put::At(units.start) }
            }
            Split::Spread(each) => scaled(node.op.clone(), 1, each),
            Split::Gathered(each) => scaled(node.op.clone(), each, 1),
            Split::Runs => {
                let wires = wires(node);
                let (inputs, outputs) = wires.split_at(node.inputs.len());
                let takes = inputs.iter().map(|&width| times(width)).collect();
                Piece { op: node.op.clone(), takes, put: Put::At(units.start * outputs[0]) }
            }
            Split::Sums(axis) => Piece { op: Op::Reshape, takes: vec![times(1)], put: Put::Sums(axis, units.start) },
            Split::Rows { k, n, .. } => {
                let op = Op::MatMul { batch: 1, m: units.len(), k, n };
                Piece { op, takes: vec![times(k), Take::Whole], put: Put::At(units.start * n) }
            }
            Split::Columns { m, k, n } => {
                let right = Take::Positions(positions(Axis { outer: 1, len: k, inner: n }, units.clone()));
                let op = Op::MatMul { batch: 1, m, k, n: units.len() };
                let put = Put::Lanes(Axis { outer: 1, len: m, inner: n }, units);
                Piece { op, takes: vec![Take::Whole, right], put }
            }
            Split::Terms { n, .. } => {
                let op = Op::MatMul { batch: 1, m: 1, k: units.len(), n };
                Piece { op, takes: vec![times(1), times(n)], put: Put::Sums(Axis { outer: 1, len: 1, inner: n }, 0) }
            }
            Split::Products { m, k, n, .. } => {
                let op = Op::MatMul { batch: units.len(), m, k, n };
                Piece { op, takes: vec![times(m * k), times(k * n)], put: Put::At(units.start * m * n) }
            }
            Split::Images(conv) => {
                let (image, result) = one_image(conv);
                let op = Op::Conv(conv.of_images(units.len()).into());
                Piece { op, takes: vec![times(image), Take::Whole], put: Put::At(units.start * result) }
            }
            // The rows' winners are put in place by their own tournament.
            Split::Rounds(axis) => scaled(node.op.along(Axis { len: units.len(), ..axis }), axis.inner, 0),
            Split::Blocks(axis) => {
                let block = Axis { outer: units.len(), ..axis };
                let each = axis.len * axis.inner;
                scaled(node.op.along(block), each, if keeps_axis(&node.op) { each } else { axis.inner })
            }
            Split::Lanes(axis) => {
                let op = node.op.along(Axis { outer: 1, len: axis.len, inner: units.len() });
                let takes = vec![Take::Positions(positions(axis, units.clone()))];
                let put = if keeps_axis(&op) { Put::Lanes(axis, units) } else { Put::At(units.start) };
                Piece { op, takes, put }
            }
        }
    }
}

/// Returns the elements `range` of a node that is made element by element, or moves elements: the operation on this
/// range, and what it reads. A dry run does not look at positions.
pub(crate) fn part(graph: &Graph, node: &Node, range: Range<usize>, dry: bool) -> (Op, Vec<Take>) {
    let of_range = |units: &Units| Units::from(units.part(range.clone()).as_slice());
    let op = match &node.op {
        Op::Gather(_) | Op::Broadcast if dry => return (Op::Gather(Index::of_len(range.len())), vec![Take::Whole]),
        Op::Gather(index) => return (Op::Gather(list(index.part(range))), vec![Take::Whole]),
        Op::Broadcast => {
            let from = &graph.node(node.inputs[0]).shape;
            return (Op::Gather(list(shape::broadcast_part(from, &node.shape, range))), vec![Take::Whole]);
        }
        Op::Constant(units) => Op::Constant(of_range(units)),
        Op::FloorDiv(divisors) => Op::FloorDiv(of_range(divisors)),
        Op::Remainder(divisors) => Op::Remainder(of_range(divisors)),
        Op::Scale(scale) => Op::Scale(scale.part(range.clone()).into()),
        other => other.clone(),
    };
    (op, vec![Take::Range(range); node.inputs.len()])
}

/// Returns the number of elements after which an operation's own public numbers (divisors, factors) come again; `None`
/// where it has none, or one for all elements.
pub(crate) fn own_period(op: &Op) -> Option<usize> {
    match op {
        Op::FloorDiv(divisors) | Op::Remainder(divisors) => Some(divisors.period()),
        Op::Scale(scale) => Some(scale.period()),
        _ => None,
    }
    .filter(|&period| period > 1)
}

/// Returns the pattern of a node whose elements are made of elements of its first operand that lie near each other: the
/// lengths of a row of its result, and of the row that this is made of. The node repeats each element, takes some
/// columns of a table, or is a product of matrices. `None` for other nodes.
pub(crate) fn near_of(graph: &Graph, node: &Node) -> Option<(usize, usize)> {
    match &node.op {
        Op::Gather(Index::Steps { steps, .. }) => {
            let [(_, row), inner @ ..] = &**steps else { return None };
            let reach: i64 = inner.iter().map(|&(count, step)| (i64::from(count) - 1) * step).sum();
            let is_near = *row > reach && inner.iter().all(|&(_, step)| step >= 0);
            is_near.then(|| (inner.iter().map(|&(count, _)| count as usize).product(), *row as usize))
        }
        Op::Broadcast => {
            let from = &graph.node(node.inputs[0]).shape;
            let begins = from.len() - from.iter().rev().take_while(|&&size| size == 1).count();
            let is_repeated = from.len() == node.shape.len() && from[..begins] == node.shape[..begins];
            is_repeated.then(|| (node.shape[begins..].iter().product(), 1))
        }
        Op::MatMul { batch: 1, k, n, .. } => Some((*n, *k)),
        _ => None,
    }
    .filter(|&(each, _)| each > 0)
}

/// Returns the largest number of elements of the first operand that `len` elements of a node with this pattern are made
/// of.
pub(crate) fn span((each, row): (usize, usize), len: usize) -> usize {
    let aligned = usize::from(!len.is_multiple_of(each));
    (len.div_ceil(each) + aligned).saturating_mul(row)
}

/// Returns the elements `range` of a node with a pattern ([`near_of`]): the operation, what it reads, and the part of
/// its result that is wanted.
pub(crate) fn near(graph: &Graph, node: &Node, range: Range<usize>) -> (Op, Vec<Take>, Range<usize>) {
    if let Op::MatMul { k, n, .. } = node.op {
        let rows = range.start / n..range.end.div_ceil(n);
        let op = Op::MatMul { batch: 1, m: rows.len(), k, n };
        let wanted = range.start - rows.start * n..range.end - rows.start * n;
        return (op, vec![Take::Range(rows.start * k..rows.end * k), Take::Whole], wanted);
    }
    let wanted = 0..range.len();
    let mut positions = match &node.op {
        Op::Gather(index) => index.part(range),
        _ => shape::broadcast_part(&graph.node(node.inputs[0]).shape, &node.shape, range),
    };
    let first = positions.iter().copied().min().unwrap_or(0);
    let end = positions.iter().copied().max().map_or(first, |last| last + 1);
    positions.iter_mut().for_each(|position| *position -= first);
    (Op::Gather(list(positions)), vec![Take::Range(first as usize..end as usize)], wanted)
}

/// Returns the number of elements of one image, and of its result.
fn one_image(conv: Conv) -> (usize, usize) {
    let one = conv.of_images(1);
    (one.lens()[0], one.len_out())
}

/// Returns the numbers of wires of a circuit: of each operand, and of the result.
fn wires(node: &Node) -> Vec<usize> {
    match &node.op {
        Op::Circuit(circuit) => {
            let inputs = circuit.inputs().iter().map(|&width| width as usize);
            inputs.chain(std::iter::once(circuit.output_wires().len())).collect()
        }
        _ => Vec::new(),
    }
}

fn list(positions: Vec<u32>) -> Index {
    Index::List(positions.into())
}

/// Returns whether the result of an operation along an axis still has that axis.
fn keeps_axis(op: &Op) -> bool {
    matches!(op.properties().pieces, Pieces::Lines(_))
}

/// Returns the positions of the elements of these lanes, row by row.
pub(crate) fn positions(axis: Axis, lanes: Range<usize>) -> Vec<u32> {
    let place = |row: usize, lane: usize| (lane / axis.inner * axis.len + row) * axis.inner + lane % axis.inner;
    (0..axis.len).flat_map(|row| lanes.clone().map(move |lane| place(row, lane) as u32)).collect()
}
