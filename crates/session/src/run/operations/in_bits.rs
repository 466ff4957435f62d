//! The operations of a program on numbers held as bits, on shared bits or on labels.

use std::borrow::Cow;
use std::sync::Arc;

use quorate_circuits::Program;
use quorate_engine::{Ctx, Positions, Result};
use quorate_gadgets::Computes;
use quorate_graph::{Axis, InBits, NodeId, Op, shape};
use quorate_ring::Bits;

use super::world::World;
use crate::run::executor::Executor;
use crate::work::data::Plain;
use crate::work::value::{KINDS, Value};

impl<S: Computes> Executor<'_, S> {
    /// Computes node `id` from operands that are in world `W`, or public.
    pub(crate) async fn on_bits<W: World<S>>(
        &self,
        ctx: &Ctx,
        id: NodeId,
        values: &[Arc<Value<S>>],
    ) -> Result<Value<S>> {
        let node = self.work.graph.node(id);
        let operands = self.operands_in::<W>(id, values)?;
        let s = self.s;
        let result = match &node.op {
            op if op.only_moves() => self.moved_in::<W>(id, &operands)?,
            Op::To(_) => operands[0].clone(),
            Op::Bits => W::rows_to_lanes(s, &operands[0]),
            Op::Compose => W::lanes_to_rows(s, &operands[0], node.dtype.bits() as usize),
            _ => self.computed_in::<W>(ctx, id, &operands).await?,
        };
        Ok(W::to_value(result, node.dtype))
    }

    /// Computes node `id` by a circuit.
    async fn computed_in<W: World<S>>(&self, ctx: &Ctx, id: NodeId, operands: &[W::V]) -> Result<W::V> {
        let s = self.s;
        let ready = self.work.graph.ready(id, W::CIRCUITS.0, W::CIRCUITS.1).ok_or(KINDS)?;
        let program = &ready.program;
        match &ready.how {
            InBits::Each(lane) => {
                let inputs: Vec<&W::V> = lane.operands.iter().filter_map(|&place| operands.get(place)).collect();
                match inputs.is_empty() {
                    true => Err(KINDS),
                    false => W::run(s, ctx, program, &W::concat_rows(s, &inputs)).await,
                }
            }
            InBits::Groups(_) => self.circuit_in::<W>(ctx, id, program, operands).await,
            &InBits::Fold { axis, .. } => {
                let columns = columns_of::<S, W>(s, &operands[0], axis);
                self.fold::<W>(ctx, columns, axis, program).await
            }
            &InBits::FoldPlaces { axis, index_bits, .. } => {
                self.place::<W>(ctx, id, &operands[0], axis, program, index_bits).await
            }
        }
    }

    /// Returns the operands as matrices of bits: a row for each bit of their dtype, a lane for each element.
    fn operands_in<W: World<S>>(&self, id: NodeId, values: &[Arc<Value<S>>]) -> Result<Vec<W::V>> {
        let node = self.work.graph.node(id);
        let one = |(value, &input): (&Arc<Value<S>>, &NodeId)| match &**value {
            Value::Public(Plain::Bits(bits)) => W::public(self.s, bits),
            Value::Public(Plain::Vector(v)) => {
                W::public(self.s, &v.to_bits(0..self.work.graph.node(input).dtype.bits()))
            }
            other => W::of_value(other).cloned().ok_or(KINDS),
        };
        values.iter().zip(&node.inputs).map(one).collect()
    }

    fn moved_in<W: World<S>>(&self, id: NodeId, operands: &[W::V]) -> Result<W::V> {
        let graph = self.work.graph;
        let node = graph.node(id);
        let source = graph.node(node.inputs[0]);
        let index = || match &node.op {
            Op::Gather(index) => index.expand(),
            Op::Broadcast if source.elements() > 1 => shape::broadcast_index(&source.shape, &node.shape).into(),
            _ => vec![0; node.elements()].into(),
        };
        match &node.op {
            Op::Concat => Ok(W::concat_lanes(self.s, &operands.iter().collect::<Vec<_>>())),
            Op::Reshape => Ok(operands[0].clone()),
            Op::Gather(_) | Op::Broadcast => {
                Ok(W::gather_lanes(self.s, &operands[0], Positions::later(node.elements(), &index)))
            }
            _ => Err(KINDS),
        }
    }

    /// Runs a circuit of the user's: the last axis of each operand is the wires of a group.
    async fn circuit_in<W: World<S>>(
        &self,
        ctx: &Ctx,
        id: NodeId,
        program: &Program,
        operands: &[W::V],
    ) -> Result<W::V> {
        let rows = |(bits, &width): (&W::V, &u32)| W::lanes_to_rows(self.s, bits, width as usize);
        let groups: Vec<W::V> = operands.iter().zip(program.inputs()).map(rows).collect();
        let inputs = match groups.is_empty() {
            true => {
                let runs = self.work.graph.node(id).elements() / program.output_slots().len().max(1);
                W::public(self.s, &if ctx.is_dry() { Bits::shape(0, runs) } else { Bits::zeros(0, runs) })?
            }
            false => W::concat_rows(self.s, &groups.iter().collect::<Vec<_>>()),
        };
        Ok(W::rows_to_lanes(self.s, &W::run(self.s, ctx, program, &inputs).await?))
    }

    /// Joins neighbours, the earlier one first, until one is left in each line. The lanes are columns, one after the
    /// other.
    async fn fold<W: World<S>>(&self, ctx: &Ctx, mut columns: W::V, axis: Axis, pair: &Program) -> Result<W::V> {
        let (s, lines) = (self.s, axis.outer * axis.inner);
        let mut count = axis.len;
        if count == 0 {
            let rows = pair.output_slots().len();
            return W::public(s, &if ctx.is_dry() { Bits::shape(rows, lines) } else { Bits::zeros(rows, lines) });
        }
        // Every `step`-th column from `first` on.
        let some = |columns: &W::V, first: usize, step: usize, count: usize| {
            let lanes = (0..count).flat_map(|i| (first + i * step) * lines..(first + i * step + 1) * lines);
            let lanes = || Cow::Owned(lanes.clone().map(|lane| lane as u32).collect());
            W::gather_lanes(s, columns, Positions::later(count * lines, &lanes))
        };
        while count > 1 {
            let half = count / 2;
            let (earlier, later) = (some(&columns, 0, 2, half), some(&columns, 1, 2, half));
            let joined = W::run(s, ctx, pair, &W::concat_rows(s, &[&earlier, &later])).await?;
            columns = match count % 2 {
                0 => joined,
                _ => {
                    let last = some(&columns, count - 1, 1, 1);
                    W::concat_lanes(s, &[&joined, &last])
                }
            };
            count -= half;
        }
        Ok(columns)
    }

    /// Returns the place of each line's extremum, in the bits of the node's dtype.
    async fn place<W: World<S>>(
        &self,
        ctx: &Ctx,
        id: NodeId,
        operand: &W::V,
        axis: Axis,
        pair: &Program,
        index_bits: u32,
    ) -> Result<W::V> {
        let (s, lines) = (self.s, axis.outer * axis.inner);
        let graph = self.work.graph;
        let (value_bits, result_bits) =
            (graph.node(graph.node(id).inputs[0]).dtype.bits(), graph.node(id).dtype.bits());
        let of_places = |width: u32, place: &dyn Fn(usize) -> usize, lanes: usize| {
            let bit = |row: u32, lane: usize| place(lane) >> row & 1 == 1;
            if ctx.is_dry() {
                return W::public(s, &Bits::shape(width as usize, lanes));
            }
            let bools: Vec<bool> = (0..width).flat_map(|row| (0..lanes).map(move |lane| bit(row, lane))).collect();
            W::public(s, &Bits::from_bools(width as usize, lanes, &bools))
        };
        let columns = columns_of::<S, W>(s, operand, axis);
        let places = of_places(index_bits, &|lane| lane / lines.max(1), W::shape(s, &columns).1)?;
        let best = self.fold::<W>(ctx, W::concat_rows(s, &[&columns, &places]), axis, pair).await?;
        let index: Vec<u32> = (value_bits..value_bits + index_bits).collect();
        let zeros = of_places(result_bits - index_bits, &|_| 0, lines)?;
        Ok(W::concat_rows(s, &[&W::gather_rows(s, &best, &index), &zeros]))
    }
}

/// Returns an array's elements, one column of an axis after the other.
fn columns_of<S: Computes, W: World<S>>(s: &S, x: &W::V, axis: Axis) -> W::V {
    let at = |j: usize, o: usize, i: usize| ((o * axis.len + j) * axis.inner + i) as u32;
    let all = || {
        let column = |j: usize| (0..axis.outer).flat_map(move |o| (0..axis.inner).map(move |i| at(j, o, i)));
        Cow::Owned((0..axis.len).flat_map(column).collect())
    };
    W::gather_lanes(s, x, Positions::later(axis.outer * axis.len * axis.inner, &all))
}
