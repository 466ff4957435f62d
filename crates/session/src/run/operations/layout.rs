//! Operations that only move elements: local.

use std::borrow::Cow;
use std::sync::Arc;

use quorate_engine::{Linear, LinearBits, Positions, Result};
use quorate_gadgets::Computes;
use quorate_graph::{Axis, Dtype, Index, NodeId, Op, shape};
use quorate_ring::memory::with_room;

use crate::run::executor::Executor;
use crate::work::value::{KINDS, Value};

impl<S: Computes> Executor<'_, S> {
    pub(crate) fn layout(&self, id: NodeId, op: &Op, operands: &[Arc<Value<S>>]) -> Result<Value<S>> {
        let node = self.work.graph.node(id);
        let s = self.s;
        if let Op::Concat = op {
            return match node.dtype {
                Dtype::Bit => {
                    let parts = operands.iter().map(|v| self.bits(Some(v))).collect::<Result<Vec<_>>>()?;
                    Ok(Value::Bits(s.concat_lanes(&parts.iter().map(|part| &**part).collect::<Vec<_>>())))
                }
                _ => {
                    let parts = operands.iter().map(|v| self.arith(Some(v))).collect::<Result<Vec<_>>>()?;
                    Ok(Value::Arith(s.concat(&parts.iter().map(|part| &**part).collect::<Vec<_>>())))
                }
            };
        }
        let source = self.work.graph.node(node.inputs[0]);
        let len = if let Op::Gather(index) = op { index.len() } else { node.elements() };
        let steps = match op {
            Op::Broadcast if source.elements() > 1 => Some(shape::broadcast_steps(&source.shape, &node.shape)),
            _ => None,
        };
        let runs = match op {
            Op::Gather(index) => index.runs(),
            _ => steps.as_ref().and_then(Index::runs),
        };
        let positions = || {
            // The code that builds the positions cannot return an error, so this makes sure first that there is memory
            // for them while they grow.
            drop(with_room::<u32>(2 * len));
            match op {
                Op::Gather(index) => index.expand(),
                Op::Broadcast if source.elements() > 1 => shape::broadcast_index(&source.shape, &node.shape).into(),
                _ => Cow::Owned(vec![0; len]),
            }
        };
        let positions = || runs.as_ref().map_or_else(|| Positions::later(len, &positions), Positions::in_runs);
        let whole = matches!(op, Op::Reshape);
        match &*operands[0] {
            Value::Arith(x) if whole => Ok(Value::Arith(x.clone())),
            Value::Bits(x) if whole => Ok(Value::Bits(x.clone())),
            Value::Arith(x) => Ok(Value::Arith(s.linear(x, &Linear::Gather(positions())))),
            Value::Bits(x) => Ok(Value::Bits(s.linear_bits(x, &LinearBits::GatherLanes(positions())))),
            Value::Public(_) | Value::Rows(_) | Value::Labels(_) | Value::Many(_) => Err(KINDS),
        }
    }

    /// Moves the axis to the front: candidates as rows, everything else as lanes.
    pub(crate) fn candidates_first(&self, x: &S::A, axis: Axis) -> S::A {
        if axis.outer == 1 {
            return x.clone();
        }
        let positions = || {
            let rows = (0..axis.len).flat_map(|j| (0..axis.outer).map(move |o| (o, j)));
            let place = |o: usize, j: usize, i: usize| ((o * axis.len + j) * axis.inner + i) as u32;
            Cow::Owned(rows.flat_map(|(o, j)| (0..axis.inner).map(move |i| place(o, j, i))).collect())
        };
        self.s.linear(x, &Linear::Gather(Positions::later(axis.outer * axis.len * axis.inner, &positions)))
    }

    /// Undoes [`candidates_first`](Self::candidates_first).
    pub(crate) fn candidates_back(&self, x: &S::A, axis: Axis) -> S::A {
        if axis.outer == 1 {
            return x.clone();
        }
        let positions = || {
            let rows = (0..axis.outer).flat_map(|o| (0..axis.len).map(move |j| (o, j)));
            let place = |o: usize, j: usize, i: usize| ((j * axis.outer + o) * axis.inner + i) as u32;
            Cow::Owned(rows.flat_map(|(o, j)| (0..axis.inner).map(move |i| place(o, j, i))).collect())
        };
        self.s.linear(x, &Linear::Gather(Positions::later(axis.outer * axis.len * axis.inner, &positions)))
    }
}

/// Converts an axis to the engine's type.
pub(crate) fn axis_of(axis: Axis) -> quorate_engine::Axis {
    quorate_engine::Axis { outer: axis.outer, len: axis.len, inner: axis.inner }
}
