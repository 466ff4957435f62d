//! The moves of elements: which elements of the result of an operation are elements of its operands.

use super::{Exchanged, How, Raw, Source};
use crate::graph::Graph;
use crate::node::{Node, NodeId, Op};
use crate::owners::Owners;

impl Raw {
    /// Returns the origin of the elements of a node whose operands are in `graph`.
    pub fn of(graph: &Graph, node: &Node) -> Raw {
        let inputs = node.inputs.as_slice();
        let source = |at: usize| Source::of(graph, inputs[at]);
        let how = match &node.op {
            Op::Input { owner, .. } => return Raw::Alike(Owners::one(*owner)),
            Op::Submitted(from) => return Raw::Alike(from.given.own()),
            Op::Reshape | Op::To(_) | Op::AsFactor | Op::AssertWithin | Op::Behind => return source(0).0,
            Op::Neg | Op::Not | Op::Shl(_) | Op::Cast | Op::AssertOneHot(_) => return source(0).0,
            Op::Sum(axis) | Op::Max(axis) | Op::Min(axis) | Op::CumSum(axis) if axis.len == 1 => return source(0).0,
            Op::Convert if keeps_all(graph.node(inputs[0]), node) => return source(0).0,
            Op::Mul | Op::And | Op::Or => {
                let public =
                    |i: usize| if let Op::Constant(units) = &graph.node(inputs[i]).op { Some(units) } else { None };
                let (from, public) = match (public(0), public(1)) {
                    (Some(public), None) => (source(1), public),
                    (None, Some(public)) => (source(0), public),
                    _ => return Raw::default(),
                };
                let stays = |&number: &i128| (number != 0) != matches!(node.op, Op::Or);
                return kept_where(from, public.to_vec().iter().map(stays).collect(), public.each());
            }
            Op::Scale(by) => {
                let (keeps, each) = by.keeps();
                return kept_where(source(0), keeps, each);
            }
            Op::FloorDiv(by) if node.dtype.is_fixed() || by.to_vec() == [1] => return source(0).0,
            Op::MatMul { batch, m, k, n } => return taken_by_matrix(graph, inputs, [*batch, *m, *k, *n]),
            Op::Add | Op::Sub | Op::Xor => match [0, 1].map(|i| graph.node(inputs[i]).is_public()) {
                [false, true] => return source(0).0,
                [true, false] => return source(1).0,
                _ => return Raw::default(),
            },
            Op::Select => match graph.node(inputs[0]).constant() {
                Some(chosen) => return chosen_publicly(&chosen, [source(1), source(2)]),
                None => return Raw::default(),
            },
            Op::Gather(index) => How::Gather(index.clone(), source(0)),
            Op::Broadcast => How::Broadcast(graph.node(inputs[0]).shape.clone(), node.shape.clone(), source(0)),
            Op::Part { index, .. } => {
                let all = graph.node(inputs[0]);
                let from = Source::of(graph, all.inputs[*index]);
                // One of many keys in order is computed. A row that moves with its key is that of a person.
                let is_key = matches!(all.op, Op::Order { .. }) && all.inputs.last() == Some(&all.inputs[*index]);
                if is_key { How::Order(from) } else { How::Shuffle(from) }
            }
            Op::Bits => How::Bits(graph.node(inputs[0]).dtype.bits() as usize, source(0)),
            Op::Compose => How::Compose(node.dtype.bits() as usize, source(0)),
            Op::Concat => {
                let sources = (0..inputs.len()).map(source).collect();
                How::Concat(sources, exchanged(graph, inputs))
            }
            _ => return Raw::default(),
        };
        how.raw(node.elements())
    }
}

/// Returns the elements where `stays` is true, and computed ones elsewhere. Each of `stays` holds for `each` elements
/// in a row; after the last one, the first one is next.
fn kept_where(from: Source, stays: Vec<bool>, each: usize) -> Raw {
    if from.is_computed() || !stays.contains(&true) {
        return Raw::default();
    }
    let elements = from.1;
    if stays.contains(&false) { How::Kept(stays.into(), each, from).raw(elements) } else { from.0 }
}

/// Returns the elements at these positions, and computed ones where there is no position.
fn taken(from: Source, at: Vec<Option<usize>>) -> Raw {
    let len = from.1;
    if at.len() == len && at.iter().enumerate().all(|(i, &at)| at == Some(i)) {
        return from.0;
    }
    if at.iter().all(Option::is_none) {
        return Raw::default();
    }
    let computed = Source(Raw::default(), 1);
    let both = Source(How::Concat(vec![from, computed], vec![]).raw(len + 1), len + 1);
    let positions: Vec<u32> = at.iter().map(|at| at.unwrap_or(len) as u32).collect();
    How::Gather(positions.into(), both).raw(at.len())
}

/// Returns the elements of a product with a public matrix. An element is that of the operand where a line of the matrix
/// takes this element and no other.
fn taken_by_matrix(graph: &Graph, inputs: &[NodeId], [batch, m, k, n]: [usize; 4]) -> Raw {
    let secret = match [0, 1].map(|i| graph.node(inputs[i]).is_public()) {
        [false, true] => 0,
        [true, false] => 1,
        _ => return Raw::default(),
    };
    let from = Source::of(graph, inputs[secret]);
    let Some(public) = graph.node(inputs[1 - secret]).constant().filter(|_| !from.is_computed()) else {
        return Raw::default();
    };
    let is_left = secret == 0;
    // The place of the only number other than 0 in each line of the matrix.
    let only = |b: usize, line: usize| {
        let at = |p: usize| if is_left { (b * k + p) * n + line } else { (b * m + line) * k + p };
        let mut others = (0..k).filter(|&p| public[at(p)] != 0);
        others.next().filter(|_| others.next().is_none())
    };
    let lines = if is_left { n } else { m };
    let only: Vec<Option<usize>> = (0..batch * lines).map(|i| only(i / lines, i % lines)).collect();
    if only.iter().all(Option::is_none) {
        return Raw::default();
    }
    let element = |(b, i, j): (usize, usize, usize)| match is_left {
        true => only[b * n + j].map(|p| (b * m + i) * k + p),
        false => only[b * m + i].map(|p| (b * k + p) * n + j),
    };
    taken(from, (0..batch * m * n).map(|at| element((at / (m * n), at / n % m, at % n))).collect())
}

/// Returns elements of the first source where a public bit is 1, and of the second one elsewhere.
fn chosen_publicly(bits: &[i128], sources: [Source; 2]) -> Raw {
    let len = bits.len();
    let both = Source(How::Concat(sources.into(), vec![]).raw(2 * len), 2 * len);
    let positions: Vec<u32> =
        bits.iter().enumerate().map(|(i, &bit)| (i + if bit == 1 { 0 } else { len }) as u32).collect();
    How::Gather(positions.into(), both).raw(len)
}

/// Returns whether the conversion changes no value of the operand.
fn keeps_all(from: &Node, to: &Node) -> bool {
    let more = to.dtype.frac().checked_sub(from.dtype.frac());
    more.is_some_and(|bits| to.dtype.range().covers(from.range().shl(bits)))
}

/// Returns the pairs among the operands of a concatenation that hold the elements of two other values, exchanged where
/// secret bits are 1: [`Op::Select`] of two arrays, and [`Op::Other`] of the same two.
fn exchanged(graph: &Graph, inputs: &[NodeId]) -> Vec<Exchanged> {
    let pair = |(other, &id): (usize, &NodeId)| {
        let Node { op: Op::Other, inputs: of, .. } = graph.node(id) else { return None };
        let &[x, y, chosen] = of.as_slice() else { return None };
        let one = inputs.iter().position(|&id| id == chosen)?;
        let Node { op: Op::Select, inputs: among, .. } = graph.node(chosen) else { return None };
        let same = matches!(among.as_slice(), &[_, a, b] if (a, b) == (x, y) || (a, b) == (y, x));
        let among = [x, y].map(|id| graph.get(id).ok().map(|_| Source::of(graph, id)));
        let [Some(x), Some(y)] = among else { return None };
        (same && one != other).then_some(Exchanged { at: (one, other), among: [x, y] })
    };
    inputs.iter().enumerate().filter_map(pair).collect()
}

impl Source {
    fn of(graph: &Graph, id: NodeId) -> Source {
        let node = graph.node(id);
        Source(node.origin.raw.clone(), node.elements())
    }
}
