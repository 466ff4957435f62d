//! Lines of which at most one element is not 0: choices of one (`x == [0, 1, ...]`, `assert_one_hot`) and values made
//! of them. A sum along such a line is one of its elements, or 0.

use crate::graph::Graph;
use crate::known::Known;
use crate::node::{Node, NodeId, Op};
use crate::shape::Axis;
use crate::units::Units;

/// Returns the axis along which at most one element of each line of the next node is not 0, if there is one.
pub(crate) fn sparse(graph: &Graph, node: &Node) -> Option<Axis> {
    let of = |place: usize| graph.node(node.inputs[place]).sparse_along();
    match &node.op {
        Op::AssertOneHot(axis) => Some(*axis),
        Op::Eq => distinct(graph, node),
        // These operations keep zeros, and the order of elements.
        Op::Reshape | Op::To(_) | Op::AsFactor | Op::Cast | Op::Convert | Op::Neg | Op::Shl(_) | Op::Shr(_) => of(0),
        Op::AssertWithin | Op::Behind => of(0),
        Op::Mul | Op::And => of(0).or_else(|| of(1)),
        Op::Select => of(0).or_else(|| of(1)).filter(|_| is_zero(graph.node(node.inputs[2]))),
        Op::Broadcast => spread(&graph.node(node.inputs[0]).shape, of(0)?, &node.shape),
        Op::Gather(index) => of(0).and_then(|axis| gathered(&index.expand(), axis, &node.shape)),
        _ => None,
    }
}

/// Returns whether the sums of an operation run along lines of which at most one element is not 0.
pub(crate) fn adds_one(op: &Op, inputs: &[Known]) -> bool {
    let is = |place: usize, axis: Axis| inputs.get(place).is_some_and(|known| known.sparse == Some(axis));
    match *op {
        Op::Sum(axis) | Op::CumSum(axis) => is(0, axis),
        Op::MatMul { batch, m, k, n } => {
            is(0, Axis { outer: batch * m, len: k, inner: 1 }) || is(1, Axis { outer: batch, len: k, inner: n })
        }
        _ => false,
    }
}

fn is_zero(node: &Node) -> bool {
    matches!(&node.op, Op::Constant(units) if units.to_vec().iter().all(|&unit| unit == 0))
}

/// Returns the axis `place` of an array.
fn axis_of(shape: &[usize], place: usize) -> Axis {
    let (before, behind) = (&shape[..place], &shape[place + 1..]);
    Axis { outer: before.iter().product(), len: shape[place], inner: behind.iter().product() }
}

/// Returns the axis of a comparison with constants along which the constants differ and the number that they are
/// compared with is the same.
fn distinct(graph: &Graph, node: &Node) -> Option<Axis> {
    let constant_of = |id: NodeId| match &graph.node(id).op {
        Op::Constant(units) if units.len() > 1 => Some(units),
        _ => None,
    };
    let &[a, b] = node.inputs.as_slice() else { return None };
    let (units, number) = constant_of(a).map(|units| (units, b)).or_else(|| constant_of(b).map(|units| (units, a)))?;
    let number = graph.node(number);
    let from = match number.op {
        Op::Broadcast => graph.node(number.inputs[0]).shape.as_slice(),
        _ => return None,
    };
    let shape = &node.shape;
    let is_one_number =
        |&d: &usize| shape[d] > 1 && (d + from.len()).checked_sub(shape.len()).is_none_or(|d| from[d] == 1);
    (0..shape.len()).filter(is_one_number).map(|d| axis_of(shape, d)).find(|&axis| differ(units, axis))
}

/// Returns whether the values of each line along an axis differ from each other.
fn differ(units: &Units, Axis { outer, len, inner }: Axis) -> bool {
    let (values, each, period) = (units.to_vec(), units.each(), units.period());
    // Blocks that begin at the same place of a period are alike, and so are lines.
    let outer = outer.min(period / gcd(period, len * inner));
    let step = gcd(inner, each);
    let inner_end = if inner.is_multiple_of(period) { period } else { inner };
    let mut line = Vec::with_capacity(len);
    (0..outer).all(|o| {
        (0..inner_end).step_by(step).all(|i| {
            line.clear();
            line.extend((0..len).map(|j| values[((o * len + j) * inner + i) / each % values.len()]));
            line.sort_unstable();
            line.windows(2).all(|pair| pair[0] < pair[1])
        })
    })
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Returns the axis after its array was broadcast.
fn spread(from: &[usize], axis: Axis, to: &[usize]) -> Option<Axis> {
    let place = (0..from.len()).find(|&d| axis_of(from, d) == axis)?;
    let moved = place + to.len() - from.len();
    (to[moved] == from[place]).then(|| axis_of(to, moved))
}

/// Returns the axis of an array of these elements along which all are of one line, at places that only rise or only
/// fall.
fn gathered(index: &[u32], axis: Axis, to: &[usize]) -> Option<Axis> {
    let line = |position: u32| {
        let (position, block) = (position as usize, axis.len * axis.inner);
        (position / block, position % axis.inner)
    };
    let place = |position: u32| position as usize / axis.inner % axis.len;
    let along = |d: usize| {
        let Axis { len, inner, .. } = axis_of(to, d);
        let (mut rises, mut falls) = (true, true);
        for (i, &position) in index.iter().enumerate().filter(|(i, _)| i / inner % len > 0) {
            let before = index[i - inner];
            if line(before) != line(position) {
                return false;
            }
            rises &= place(before) < place(position);
            falls &= place(before) > place(position);
            if !rises && !falls {
                return false;
            }
        }
        true
    };
    if index.is_empty() {
        return None;
    }
    (0..to.len()).filter(|&d| to[d] > 1).find(|&d| along(d)).map(|d| axis_of(to, d))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::{self, Repeats};

    /// Returns whether no two elements of a line along an axis are equal.
    fn all_differ(all: &[i128], Axis { len, inner, .. }: Axis) -> bool {
        let line = |i: usize| (i / (len * inner), i % inner);
        let equal = |i: usize| (0..i).any(|j| line(i) == line(j) && all[i] == all[j]);
        !(0..all.len()).any(equal)
    }

    /// Numbers that are broadcast differ along an axis where each of their elements does.
    #[test]
    fn lines_of_broadcast_numbers_differ_as_their_elements_do() {
        let (mut coin, mut found) = (5u32, [0; 2]);
        let mut draw = |below: u32| {
            coin = coin.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (coin >> 8) % below
        };
        for _ in 0..3000 {
            let to: Vec<usize> = (0..1 + draw(4)).map(|_| 1 + draw(4) as usize).collect();
            let from: Vec<usize> = to.iter().map(|&size| if draw(2) == 0 { 1 } else { size }).collect();
            let count: usize = from.iter().product();
            let mut values: Vec<i128> = (0..count as i128).map(|i| 3 * i).collect();
            for _ in 0..draw(3) {
                let [one, other] = [0; 2].map(|_| draw(count as u32) as usize);
                values[one] = values[other];
            }
            let units = Repeats::new(&from, &to).units(&values);
            if units.len() < 2 {
                continue;
            }
            let all: Vec<i128> = shape::broadcast_index(&from, &to).iter().map(|&i| values[i as usize]).collect();
            for axis in (0..to.len()).map(|d| axis_of(&to, d)) {
                let differs = all_differ(&all, axis);
                assert_eq!(differ(&units, axis), differs, "{from:?} to {to:?}, {values:?}, {axis:?}");
                found[usize::from(differs)] += usize::from(units.len() < all.len() && axis.len > 1);
            }
        }
        assert!(found.into_iter().all(|count| count > 300), "{found:?}");
    }
}
