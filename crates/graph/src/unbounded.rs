//! Warnings of results that are not proven to fit because no bound is stated for the inputs.

use crate::dtype::Dtype;
use crate::error::Fault;
use crate::graph::Graph;
use crate::interval::Interval;
use crate::known::Known;
use crate::node::{NodeId, Op};
use crate::properties::Wraps;
use crate::ranges::{self, Reach};
use crate::rules::Truncation;

/// The number of steps before an operation that are searched for a bound that ends the warning.
const LOOKED_THROUGH: usize = 4096;
/// The exponent of the largest bound, a power of ten, that is tried.
const MOST_DIGITS: u32 = 36;

/// Below this number of bits, sums of two numbers wrap for numbers that are common in practice.
const FEW_BITS: u32 = 32;

/// Returns whether results of this operation leave their dtype for some values of the operands' dtypes. Sums and
/// differences of two numbers only count where they have few bits, or no sign: otherwise the numbers would have to be
/// far larger than those in practice.
pub(crate) fn may_wrap(op: &Op, inputs: &[Known], dtype: Dtype) -> bool {
    let counts = match op.properties().wraps {
        Wraps::Never => false,
        Wraps::Easily => true,
        Wraps::AtTheEnds => dtype.bits() < FEW_BITS,
        Wraps::Below => dtype.bits() < FEW_BITS || dtype.is_unsigned(),
    };
    if !counts {
        return false;
    }
    let anything: Vec<Known> = inputs.iter().map(|known| Known { interval: Some(known.range()), ..*known }).collect();
    matches!(ranges::reach(op, &anything, dtype, Truncation::Exact), Reach::Leaves(_))
}

/// Returns the warning for node `id`, with the largest power of ten that ends it as a bound on all inputs that have
/// none.
pub(crate) fn fault(graph: &Graph, id: NodeId) -> Fault {
    let node = graph.node(id);
    let digits = (0..=MOST_DIGITS).rev().find(|&digits| fits(graph, id, 10i128.pow(digits)));
    Fault::Unbounded { op: node.op.name(), dtype: node.dtype, digits }
}

/// Returns whether the result is proven to fit if every input without a bound has this one, in the user's units.
fn fits(graph: &Graph, id: NodeId, bound: i128) -> bool {
    let mut order = graph.needed(&[id], &|id| graph.get(id).is_err());
    if order.len() > LOOKED_THROUGH {
        return false;
    }
    order.sort();
    let mut found: Vec<Known> = Vec::with_capacity(order.len());
    for &step in &order {
        let node = graph.node(step);
        let interval = match (&node.op, node.interval) {
            (_, Some(interval)) => Some(interval),
            (Op::Input { .. }, None) => {
                let Some(units) = bound.checked_mul(1 << node.dtype.frac()) else { return false };
                Some(Interval::new(-units, units).clamped(node.dtype.range()))
            }
            (op, None) => {
                let at = |input: &NodeId| order.binary_search(input).ok().and_then(|place| found.get(place).copied());
                let inputs: Option<Vec<Known>> = node.inputs.iter().map(at).collect();
                match inputs.map(|inputs| ranges::reach(op, &inputs, node.dtype, graph.rules().truncation)) {
                    Some(Reach::Fits(interval)) => Some(interval),
                    _ => None,
                }
            }
        };
        found.push(Known { interval, ..Known::of(node) });
    }
    found.last().is_some_and(|last| last.interval.is_some())
}
