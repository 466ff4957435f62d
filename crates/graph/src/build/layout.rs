//! Operations that only move elements.

use super::{Builder, Operand, coerce};
use crate::dtype::Dtype;
use crate::error::{Fault, Shape};
use crate::index::{Index, Layer, Side};
use crate::node::{NodeId, Op};
use crate::shape;

/// The exclusive limit on the elements of a shuffled array: protocols number all elements and a copy of each in words
/// of 32 bits.
const SHUFFLED_ELEMENTS: usize = 1 << 31;

impl Builder<'_> {
    pub(super) fn build_gather(&mut self, a: NodeId, index: Vec<u32>, to: &[usize]) -> Result<NodeId, Fault> {
        let node = self.graph.get(a)?;
        let wanted = shape::numbered(to)?;
        if index.len() != wanted {
            return Err(Fault::Count { given: index.len(), shape: to.into(), wanted });
        }
        shape::check_index(&index, node.elements())?;
        let dtype = node.dtype;
        if index.len() == node.elements() && index.iter().enumerate().all(|(i, &j)| i == j as usize) {
            return self.reshape_node(a, to.to_vec());
        }
        self.graph.push(Op::Gather(index.into()), vec![a], to.to_vec(), dtype, &self.at)
    }

    /// Builds the elements at nested steps from `start`, outermost first.
    pub(super) fn build_strided(
        &mut self,
        a: NodeId,
        (start, levels): (u32, &[(u32, i64)]),
        to: &[usize],
    ) -> Result<NodeId, Fault> {
        let node = self.graph.get(a)?;
        let (dtype, len, wanted) = (node.dtype, shape::numbered(&node.shape)?, shape::numbered(to)?);
        let given = levels.iter().map(|&(count, _)| count as usize).product();
        if given != wanted {
            return Err(Fault::Count { given, shape: to.into(), wanted });
        }
        let reach = |is_up: bool| {
            let far = levels.iter().map(|&(count, step)| (i128::from(count) - 1) * i128::from(step));
            far.filter(|far| (*far > 0) == is_up).sum::<i128>() + i128::from(start)
        };
        if wanted == 0 || reach(false) < 0 || reach(true) >= len as i128 {
            return self.build_gather(a, Index::strided(start, levels).expand().into_owned(), to);
        }
        let index = Index::strided(start, levels);
        if wanted == len && matches!(&index, Index::Steps { start: 0, steps } if matches!(**steps, [] | [(_, 1)])) {
            return self.reshape_node(a, to.to_vec());
        }
        self.graph.push(Op::Gather(index), vec![a], to.to_vec(), dtype, &self.at)
    }

    pub(super) fn build_exchange(&mut self, a: NodeId, layer: Layer, side: Side) -> Result<NodeId, Fault> {
        let node = self.graph.get(a)?;
        shape::numbered(&node.shape)?;
        let (dtype, mut to) = (node.dtype, node.shape.clone());
        let rows = to.first().copied().unwrap_or(0);
        if to.is_empty() || rows != layer.count as usize {
            return Err(Fault::Count { given: layer.count as usize, shape: to.as_slice().into(), wanted: rows });
        }
        let width = to[1..].iter().product::<usize>() as u32; // of at most 2^32 - 1 elements
        to[0] = layer.count_of(side);
        self.graph.push(Op::Gather(Index::Exchange { layer, side, width }), vec![a], to, dtype, &self.at)
    }

    pub(super) fn build_reshape(&mut self, a: NodeId, target: &[i64]) -> Result<NodeId, Fault> {
        let to = shape::reshaped(self.graph.get(a)?.elements(), target)?;
        self.reshape_node(a, to)
    }

    fn reshape_node(&mut self, a: NodeId, to: Vec<usize>) -> Result<NodeId, Fault> {
        let node = self.graph.get(a)?;
        if node.shape == to {
            return Ok(a);
        }
        let dtype = node.dtype;
        self.graph.push(Op::Reshape, vec![a], to, dtype, &self.at)
    }

    pub(super) fn broadcast_node(&mut self, a: NodeId, to: &[usize]) -> Result<NodeId, Fault> {
        let node = self.graph.get(a)?;
        shape::broadcasts_to(&node.shape, to)?;
        if node.elements() == shape::elements(to)? {
            return self.reshape_node(a, to.to_vec()); // only sizes of 1 were added
        }
        let dtype = node.dtype;
        self.graph.push(Op::Broadcast, vec![a], to.to_vec(), dtype, &self.at)
    }

    pub(super) fn build_transpose(&mut self, a: NodeId, axes: Option<&[i64]>) -> Result<NodeId, Fault> {
        let shape = self.graph.get(a)?.shape.clone();
        shape::numbered(&shape)?;
        let axes = match axes {
            Some(axes) => shape::permutation(axes, shape.len())?,
            None => (0..shape.len()).rev().collect(),
        };
        let to: Vec<usize> = axes.iter().map(|&d| shape[d]).collect();
        let mut strides = vec![1; shape.len()];
        (1..shape.len()).rev().for_each(|d| strides[d - 1] = strides[d] * shape[d] as i64);
        let levels: Vec<(u32, i64)> = axes.iter().map(|&d| (shape[d] as u32, strides[d])).collect();
        self.build_strided(a, (0, &levels), &to)
    }

    pub(super) fn build_concat(&mut self, arrays: &[Operand<'_>], along: i64) -> Result<NodeId, Fault> {
        let op = "concatenate";
        let shapes = arrays.iter().map(|&a| self.shape_of(a)).collect::<Result<Vec<_>, _>>()?;
        let Some(first) = shapes.first() else { return Err(Fault::NothingToJoin { op }) };
        let at = shape::axis(along, first.len())?;
        let same = |s: &[usize]| {
            s.len() == first.len() && s.iter().zip(first).enumerate().all(|(d, (a, b))| d == at || a == b)
        };
        if let Some(position) = shapes.iter().position(|s| !same(s)) {
            let (shape, first) = (Shape::from(shapes[position].as_slice()), Shape::from(first.as_slice()));
            return Err(Fault::JoinShapes { op, position, shape, first, axis: Some(at) });
        }
        self.join_along(op, arrays, &shapes, at)
    }

    pub(super) fn build_stack(&mut self, arrays: &[Operand<'_>], along: i64) -> Result<NodeId, Fault> {
        let op = "stack";
        let shapes = arrays.iter().map(|&a| self.shape_of(a)).collect::<Result<Vec<_>, _>>()?;
        let Some(first) = shapes.first() else { return Err(Fault::NothingToJoin { op }) };
        let at = shape::axis(along, first.len() + 1)?;
        if let Some(position) = shapes.iter().position(|s| s != first) {
            let (shape, first) = (Shape::from(shapes[position].as_slice()), Shape::from(first.as_slice()));
            return Err(Fault::JoinShapes { op, position, shape, first, axis: None });
        }
        // Each array has one row of the new axis.
        let mut rows = first.clone();
        rows.insert(at, 1);
        let as_rows = vec![rows; arrays.len()];
        self.join_along(op, arrays, &as_rows, at)
    }

    /// Joins arrays along axis `at`; their shapes differ in that axis alone.
    fn join_along(
        &mut self,
        op: &'static str,
        arrays: &[Operand<'_>],
        shapes: &[Vec<usize>],
        at: usize,
    ) -> Result<NodeId, Fault> {
        let mut to = shapes[0].clone();
        to[at] = shapes.iter().map(|s| s[at]).sum();
        shape::numbered(&to)?;
        let arrays = self.levelled(arrays)?;
        let dtype = coerce::joined(op, &self.all_types(&arrays)?)?;
        let mut ids = Vec::with_capacity(arrays.len());
        for array in arrays {
            let own = self.shape_of(array)?;
            ids.push(self.place(array, dtype, &own)?);
        }
        let outer: usize = to[..at].iter().product();
        if outer == 1 {
            return self.graph.push(Op::Concat, ids, to, dtype, &self.at);
        }
        let rows: Vec<usize> = shapes.iter().map(|s| s[at]).collect();
        let inner: usize = to[at + 1..].iter().product();
        let flat = self.graph.push(Op::Concat, ids, vec![to.iter().product()], dtype, &self.at)?;
        if rows.iter().all(|&count| count == rows[0]) {
            let (width, count) = (rows[0] * inner, rows.len());
            let steps = [(outer, width), (count, outer * width), (width, 1)];
            return self.build_strided(flat, (0, &steps.map(|(count, step)| (count as u32, step as i64))), &to);
        }
        self.build_gather(flat, shape::concat_index(outer, &rows, inner), &to)
    }

    pub(super) fn build_set_at(
        &mut self,
        a: NodeId,
        positions: &[u32],
        selection: &[usize],
        value: Operand<'_>,
    ) -> Result<NodeId, Fault> {
        let shape = self.graph.get(a)?.shape.clone();
        let size = shape::numbered(&shape)?;
        let wanted = shape::numbered(selection)?;
        if positions.len() != wanted {
            return Err(Fault::Count { given: positions.len(), shape: selection.into(), wanted });
        }
        shape::check_index(positions, size)?;
        let (a, value) = self.level_both(Operand::Node(a), value)?;
        let dtype = coerce::joined("set", &self.types([a, value])?)?;
        let old = self.place(a, dtype, &shape)?;
        let new = self.place(value, dtype, selection)?;
        let mut index: Vec<u32> = (0..size as u32).collect();
        shape::numbered(&[size + wanted])?;
        for (i, &position) in positions.iter().enumerate() {
            index[position as usize] = (size + i) as u32; // the last one wins, as in numpy
        }
        let both = self.graph.push(Op::Concat, vec![old, new], vec![size + wanted], dtype, &self.at)?;
        self.build_gather(both, index, &shape)
    }

    pub(super) fn build_shuffle(&mut self, arrays: &[NodeId]) -> Result<NodeId, Fault> {
        let (rows, total, widest) = self.together(arrays)?;
        self.graph.push(Op::Shuffle { rows }, arrays.to_vec(), vec![total], widest, &self.at)
    }

    /// Returns the number of rows of arrays whose rows move together, their elements in all, and the widest dtype.
    pub(super) fn together(&self, arrays: &[NodeId]) -> Result<(usize, usize, Dtype), Fault> {
        let nodes = arrays.iter().map(|&id| self.graph.get(id)).collect::<Result<Vec<_>, _>>()?;
        let Some(first) = nodes.first() else { return Err(Fault::NothingToJoin { op: "shuffle" }) };
        let rows = first.shape.first().copied();
        if let Some(other) = nodes.iter().find(|node| rows.is_none() || node.shape.first().copied() != rows) {
            let (first, shape) = (first.shape.as_slice().into(), other.shape.as_slice().into());
            return Err(Fault::ShuffleShapes { first, shape });
        }
        if let Some(long) = nodes.iter().find(|node| node.elements() >= SHUFFLED_ELEMENTS) {
            return Err(Fault::ShuffleLength { shape: long.shape.as_slice().into() });
        }
        let total = nodes.iter().map(|node| node.elements()).sum();
        let widest = nodes.iter().map(|node| node.dtype).max_by_key(|dtype| dtype.bits()).unwrap_or(first.dtype);
        Ok((rows.unwrap_or(0), total, widest))
    }

    pub(super) fn build_part(&mut self, shuffled: NodeId, index: usize) -> Result<NodeId, Fault> {
        let all = self.graph.get(shuffled)?;
        let key = usize::from(matches!(all.op, Op::Order { .. })); // comes last, and is no part
        let arrays = &all.inputs[..all.inputs.len() - key];
        let Some(&array) = arrays.get(index) else {
            return Err(Fault::IndexOutOfRange { index, position: 0, len: arrays.len() });
        };
        let before = arrays[..index].iter().map(|&id| self.graph.node(id).elements()).sum();
        let part = self.graph.node(array).like(Op::Part { index, before }, vec![shuffled], &self.at);
        self.graph.append(part)
    }
}
