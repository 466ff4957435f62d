//! The program for numpy to follow: each node's operation and operands, in ring units.

use std::cell::Cell;
use std::collections::BTreeSet;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use quorate_graph::{Graph, NodeId, Op, Units, Upper};

use crate::circuit::Circuit;
use crate::operands::dtype_parts;
use crate::session::Session;

/// Returns the numbers that an operation has in addition to its operands.
fn numbers(op: &Op) -> Vec<usize> {
    match op {
        Op::Sum(axis)
        | Op::CumSum(axis)
        | Op::Max(axis)
        | Op::Min(axis)
        | Op::ArgMax(axis)
        | Op::ArgMin(axis)
        | Op::Softmax(axis) => {
            vec![axis.outer, axis.len, axis.inner]
        }
        Op::MatMul { batch, m, k, n } => vec![*batch, *m, *k, *n],
        Op::Conv(conv) => {
            let pairs = [conv.image, conv.window, conv.stride, conv.dilation, conv.before, conv.after];
            [conv.batch, conv.groups, conv.channels, conv.filters]
                .into_iter()
                .chain(pairs.into_iter().flatten())
                .collect()
        }
        Op::Shuffle { rows } => vec![*rows],
        Op::Order { rows, descending } => vec![*rows, usize::from(*descending)],
        Op::Part { index, .. } => vec![*index],
        Op::Shl(bits) | Op::Shr(bits) => vec![*bits as usize],
        Op::Scale(scale) => vec![scale.shift as usize],
        Op::Combined { holders, rows, coin_bits } => vec![*holders, *rows, *coin_bits as usize],
        Op::Input { .. } | Op::Submitted(_) | Op::Masked(_) | Op::Constant(_) | Op::Gather(_) | Op::Reshape => vec![],
        Op::Broadcast | Op::Concat | Op::To(_) => vec![],
        Op::AssertOneHot(_) | Op::AssertWithin | Op::Behind | Op::Counted | Op::AsFactor => vec![],
        Op::Add | Op::Sub | Op::Neg | Op::Mul | Op::Lt | Op::Eq | Op::And | Op::Or | Op::Xor | Op::Not => vec![],
        Op::Select | Op::Other | Op::Cast | Op::Bits | Op::Compose | Op::Convert | Op::Circuit(_) => vec![],
        Op::FloorDiv(_) | Op::Remainder(_) | Op::IntDivide(_) | Op::Divide | Op::Real(_) | Op::Lookup(_) => vec![],
    }
}

fn step<'py>(py: Python<'py>, graph: &Graph, id: NodeId) -> PyResult<Bound<'py, PyDict>> {
    let node = graph.node(id);
    let out = PyDict::new(py);
    out.set_item("node", id.0)?;
    out.set_item("op", node.op.name())?;
    out.set_item("inputs", node.inputs.iter().map(|input| input.0).collect::<Vec<_>>())?;
    out.set_item("shape", node.shape.clone())?;
    out.set_item("dtype", dtype_parts(node.dtype))?;
    out.set_item("numbers", numbers(&node.op))?;
    out.set_item("error_is_stated", node.error_is_stated)?;
    out.set_item("grows", node.room.grows)?;
    if let Op::Gather(index) = &node.op {
        let bytes: Vec<u8> = index.expand().iter().flat_map(|i| i.to_le_bytes()).collect();
        out.set_item("index", PyBytes::new(py, &bytes))?;
    }
    if let Op::Constant(units) = &node.op {
        out.set_item("units", units.part(0..node.elements()))?;
    }
    if let Op::FloorDiv(divisors) | Op::Remainder(divisors) = &node.op {
        out.set_item("divisors", divisors.part(0..node.elements()))?;
    }
    if let Op::Lookup(table) = &node.op {
        out.set_item("table", (table.first(), table.entries().to_vec()))?;
    }
    if let Op::Circuit(circuit) = &node.op {
        out.set_item("circuit", Circuit { inner: circuit.clone() })?;
    }
    if let Op::Scale(scale) = &node.op {
        let all = |units: &Units| units.part(0..node.elements());
        out.set_item("whole", all(&scale.whole))?;
        out.set_item("factors", all(&scale.factors))?;
        out.set_item("reals", scale.reals(if scale.period() > 1 { node.elements() } else { 1 }))?;
        if let Some(Upper { from, scale }) = scale.upper.as_deref() {
            out.set_item("upper", (*from, all(&scale.whole), all(&scale.factors), scale.shift))?;
        }
        scale.limits.as_ref().map_or(Ok(()), |limits| out.set_item("limits", all(limits)))?;
    }
    out.set_item("what", graph.describe(id))?;
    out.set_item("line", (node.source.file.to_string(), node.source.line))?;
    Ok(out)
}

#[pymethods]
impl Session {
    /// Returns the nodes that `targets` depend on up to `known`, targets included, operands first: a dictionary for
    /// each node, without nodes that are forgotten. Also returns whether the session has all that can depend on
    /// `known`, and all that it takes to compute on their operands.
    fn ancestors<'py>(
        &self,
        py: Python<'py>,
        targets: Vec<u32>,
        known: Vec<u32>,
    ) -> PyResult<(Vec<Bound<'py, PyDict>>, bool)> {
        let targets: Vec<NodeId> = targets.into_iter().map(NodeId).collect();
        let known: BTreeSet<u32> = known.into_iter().collect();
        let graph = self.with(py, |session| Ok(session.graph()))?;
        let (is_whole, held) = (Cell::new(true), self.arrays().held_before(known.first().copied().unwrap_or(0)));
        let is_gone = |id: NodeId| {
            let is_gone = graph.get(id).is_err();
            is_whole.set(is_whole.get() && !is_gone);
            is_gone
        };
        // What an array was made of is not asked for.
        graph.needed(&targets, &|id| known.contains(&id.0) || is_gone(id) || held.contains(&id.0));
        let needed = graph.needed(&targets, &|id| known.contains(&id.0) || graph.get(id).is_err());
        let steps = needed.into_iter().map(|id| step(py, &graph, id)).collect::<PyResult<_>>()?;
        Ok((steps, is_whole.get()))
    }
}
