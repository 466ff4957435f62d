//! Ranges of selections that are a minimum or a maximum: what `minimum`, `maximum`, `clip` and `relu` are made of.

use crate::graph::Graph;
use crate::interval::Interval;
use crate::node::{Node, NodeId, Op};

/// How many selections inside each other are looked through.
pub(crate) const DEPTH: u32 = 8;

/// Where the selection of `[condition, a, b]` lies if it is a minimum or a maximum and that says more than its dtype
/// does: so `clip` bounds even what nothing was known of.
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
    } else {
        None
    }
}

/// Equal constants, which every use places anew.
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
