//! Shapes in place of values.
//!
//! In some families the cost of an operation depends on which party knows an operand, or on whether an operand is kept
//! as a factor. A dry run passes both to the family: the owner of each input, and the values that stay factors. For
//! every other value that a run leaves to later runs, both are dropped ([`kept`]). So a later run finds what its dry
//! run assumed.

use std::sync::Arc;

use quorate_engine::Result;
use quorate_gadgets::Computes;
use quorate_graph::{Domain, Graph, NodeId, Op};
use quorate_ring::Bits;

use crate::work::data::{Plain, phantom};
use crate::work::value::{Known, Value};

/// Returns the shape of a node's value in a sharing.
pub(crate) fn shape_of<S: Computes>(dry: &S, graph: &Graph, id: NodeId, domain: Domain) -> Result<Value<S>> {
    let node = graph.node(id);
    if let Op::Shuffle { .. } | Op::Order { .. } = node.op {
        let key = usize::from(matches!(node.op, Op::Order { .. }));
        let each = node.inputs[..node.inputs.len() - key]
            .iter()
            .map(|&array| shape_of(dry, graph, array, Domain::A).map(secret(dry)));
        let mut all = Value::Many(each.collect::<Result<_>>()?);
        nobody_knows(dry, &mut all);
        return Ok(all);
    }
    let rows = || Bits::shape(node.dtype.bits() as usize, node.elements());
    Ok(match (phantom(node.dtype, node.elements()), domain) {
        (plain, _) if node.is_public() => Value::Public(plain),
        (_, Domain::Y) => Value::Labels(dry.public_labels(&rows())?),
        (Plain::Vector(_), Domain::B) => Value::Rows(dry.public_bits(&rows())),
        (plain, _) => {
            let mut value = secret(dry)(Value::Public(plain));
            match (&mut value, &node.op) {
                (Value::Arith(x), Op::Input { owner, .. }) => dry.say_who_knows(x, Some(*owner)),
                (Value::Arith(x), Op::AsFactor) => dry.say_factor(x, Some(id.0)),
                _ => (),
            }
            value
        }
    })
}

/// Returns the values that a run leaves. Inputs keep their owners, and factors stay factors; all other values lose
/// both.
pub(crate) fn kept<S: Computes>(s: &S, graph: &Graph, mut values: Known<S>) -> Known<S> {
    let others = values.iter_mut().filter(|(id, _)| !matches!(graph.node(**id).op, Op::Input { .. }));
    // A computed value has no other user at the end of a run, so it is not copied.
    others.for_each(|(id, value)| {
        let value = Arc::make_mut(value);
        nobody_knows(s, value);
        if graph.node(*id).op != Op::AsFactor {
            is_no_factor(s, value);
        }
    });
    values
}

fn nobody_knows<S: Computes>(s: &S, value: &mut Value<S>) {
    match value {
        Value::Arith(x) => s.say_who_knows(x, None),
        Value::Many(all) => all.iter_mut().for_each(|one| nobody_knows(s, one)),
        _ => (),
    }
}

fn is_no_factor<S: Computes>(s: &S, value: &mut Value<S>) {
    match value {
        Value::Arith(x) => s.say_factor(x, None),
        Value::Many(all) => all.iter_mut().for_each(|one| is_no_factor(s, one)),
        _ => (),
    }
}

/// Turns a public shape into one of shares.
fn secret<S: Computes>(dry: &S) -> impl Fn(Value<S>) -> Value<S> {
    |value| match value {
        Value::Public(Plain::Vector(v)) => Value::Arith(dry.public(&v)),
        Value::Public(Plain::Bits(b)) => Value::Bits(dry.public_bits(&b)),
        other => other,
    }
}
