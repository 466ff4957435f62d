//! Ranges of selections that are a minimum, a maximum or a magnitude, of which `minimum`, `maximum`, `clip`, `relu` and
//! `abs` consist.

use crate::graph::Graph;
use crate::interval::Interval;
use crate::node::{Node, NodeId, Op};

/// The number of nested selections that are examined.
pub(crate) const DEPTH: u32 = 8;

/// Returns the range of the selection `[condition, a, b]` if it is a minimum, maximum or magnitude and its range is
/// smaller than that of the dtype. So `clip` also bounds values whose range is unknown.
pub(crate) fn clamped(graph: &Graph, inputs: &[NodeId]) -> Option<Interval> {
    let found = extreme(graph, inputs, DEPTH)?;
    let dtype = graph.node(*inputs.get(1)?).dtype;
    let all = dtype.range();
    let below = found.lo() > all.lo() || dtype.is_unsigned();
    (below && found.hi() < all.hi()).then_some(found)
}

fn extreme(graph: &Graph, inputs: &[NodeId], depth: u32) -> Option<Interval> {
    let &[condition, a, b] = inputs else { return None };
    let condition = graph.node(condition);
    let (Op::Lt, &[less, more]) = (&condition.op, condition.inputs.as_slice()) else { return None };
    let same = |x: NodeId, y: NodeId| x == y || alike(graph.node(x), graph.node(y));
    let (x, y) = (bounds(graph, a, depth), bounds(graph, b, depth));
    if same(less, a) && same(more, b) {
        Some(Interval::new(x.lo().min(y.lo()), x.hi().min(y.hi())))
    } else if same(less, b) && same(more, a) {
        Some(Interval::new(x.lo().max(y.lo()), x.hi().max(y.hi())))
    } else if less == b && is_zero(graph.node(more)) && is_negative_of(graph.node(a), b) {
        magnitudes(y, graph.node(b).dtype.range())
    } else {
        None
    }
}

fn is_zero(node: &Node) -> bool {
    matches!(&node.op, Op::Constant(units) if units.to_vec().iter().all(|&value| value == 0))
}

fn is_negative_of(node: &Node, id: NodeId) -> bool {
    node.op == Op::Neg && node.inputs.as_slice() == [id]
}

/// Returns the range of the magnitudes of these numbers; `None` where they include the lowest number of all, which is
/// its own negative.
fn magnitudes(of: Interval, all: Interval) -> Option<Interval> {
    let sizes = Interval::new(of.lo().checked_abs()?, of.hi().checked_abs()?);
    let least = if of.contains(0) { 0 } else { sizes.lo() };
    (of.lo() > all.lo()).then(|| Interval::new(least, sizes.hi()))
}

/// Returns whether two nodes are equal constants; each use of a constant makes a new node.
fn alike(x: &Node, y: &Node) -> bool {
    x.is_public() && x.dtype == y.dtype && x.shape == y.shape && x.op == y.op
}

fn bounds(graph: &Graph, id: NodeId, depth: u32) -> Interval {
    let node = graph.node(id);
    let inner = match (&node.op, depth) {
        (Op::Select, 1..) => extreme(graph, &node.inputs, depth - 1),
        _ => None,
    };
    inner.unwrap_or_else(|| node.range())
}
