//! Shapes in place of values.

use quorate_engine::Result;
use quorate_gadgets::Computes;
use quorate_graph::domains::Domain;
use quorate_graph::{Graph, NodeId, Op};
use quorate_ring::Bits;

use crate::work::data::{Plain, phantom};
use crate::work::value::Value;

/// The shape of a node's value in a sharing.
pub(crate) fn shape_of<S: Computes>(dry: &S, graph: &Graph, id: NodeId, domain: Domain) -> Result<Value<S>> {
    let node = graph.node(id);
    if let Op::Shuffle { .. } = node.op {
        let each = node.inputs.iter().map(|&array| shape_of(dry, graph, array, Domain::A).map(secret(dry)));
        return Ok(Value::Many(each.collect::<Result<_>>()?));
    }
    let rows = || Bits::shape(node.dtype.bits() as usize, node.elements());
    Ok(match (phantom(node.dtype, node.elements()), domain) {
        (plain, _) if node.is_public() => Value::Public(plain),
        (_, Domain::Y) => Value::Labels(dry.public_labels(&rows())?),
        (Plain::Vector(_), Domain::B) => Value::Rows(dry.public_bits(&rows())),
        (plain, _) => secret(dry)(Value::Public(plain)),
    })
}

/// A public shape as that of shares.
fn secret<S: Computes>(dry: &S) -> impl Fn(Value<S>) -> Value<S> {
    |value| match value {
        Value::Public(Plain::Vector(v)) => Value::Arith(dry.public(&v)),
        Value::Public(Plain::Bits(b)) => Value::Bits(dry.public_bits(&b)),
        other => other,
    }
}
