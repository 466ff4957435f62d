//! Products of matrices, and reductions along an axis.

use std::sync::Arc;

use super::conv::Lies;
use super::{Builder, Operand, coerce};
use crate::dtype::Dtype;
use crate::error::{Fault, Shape};
use crate::node::{NodeId, Op};
use crate::scale::Scale;
use crate::shape;

/// The operation of a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reduce {
    Sum,
    Max,
    Min,
    ArgMax,
    ArgMin,
}

/// The layout of a product's operands and of its result.
struct Product {
    batch: Vec<usize>,
    m: usize,
    k: usize,
    n: usize,
    shape: Vec<usize>,
}

/// Applies numpy's rules for `@`: vectors are rows on the left and columns on the right, leading axes broadcast.
fn product(left: &[usize], right: &[usize]) -> Result<Product, Fault> {
    if left.is_empty() || right.is_empty() {
        return Err(Fault::Scalar { op: "matmul" });
    }
    let outer = &left[..left.len().saturating_sub(2)];
    let (m, k_left) = if left.len() == 1 { (1, left[0]) } else { (left[left.len() - 2], left[left.len() - 1]) };
    let (k_right, n) = if right.len() == 1 { (right[0], 1) } else { (right[right.len() - 2], right[right.len() - 1]) };
    if k_left != k_right {
        let (left, right) = (Shape::from(left), Shape::from(right));
        return Err(Fault::Inner { op: "matmul", left, right, k_left, k_right });
    }
    let batch = shape::broadcast(outer, &right[..right.len().saturating_sub(2)])?;
    let mut result = batch.clone();
    result.extend((left.len() > 1).then_some(m));
    result.extend((right.len() > 1).then_some(n));
    Ok(Product { batch, m, k: k_left, n, shape: result })
}

impl Builder<'_> {
    pub(super) fn build_matmul(&mut self, a: Operand<'_>, b: Operand<'_>) -> Result<NodeId, Fault> {
        let (left, right) = (self.shape_of(a)?, self.shape_of(b)?);
        let Product { batch, mut m, k, n, shape } = product(&left, &right)?;
        // A whole batch on the left with one matrix on the right is a single, taller product.
        let mut count = batch.iter().product();
        let places = if right.len() <= 2 {
            m *= count;
            count = 1;
            [left, right]
        } else {
            let to = |core: &[usize]| [&batch, core].concat();
            let a_core = if left.len() == 1 { vec![k] } else { vec![m, k] };
            [to(&a_core), to(&[k, n])]
        };
        self.build_sums(Op::MatMul { batch: count, m, k, n }, [a, b], places, k, shape)
    }

    pub(super) fn build_conv(
        &mut self,
        images: Operand<'_>,
        filters: Operand<'_>,
        lies: Lies,
    ) -> Result<NodeId, Fault> {
        let shapes = [self.shape_of(images)?, self.shape_of(filters)?];
        let conv = lies.on(&shapes[0], &shapes[1])?;
        let [rows, columns] = conv.out();
        let shape = vec![conv.batch, conv.groups * conv.filters, rows, columns];
        shape::elements(&shape)?;
        self.build_sums(Op::Conv(Arc::new(conv)), [images, filters], shapes, conv.patch(), shape)
    }

    /// Builds sums of `terms` products of elements of both operands, which are broadcast to these shapes.
    fn build_sums(
        &mut self,
        product: Op,
        [a, b]: [Operand<'_>; 2],
        places: [Vec<usize>; 2],
        terms: usize,
        shape: Vec<usize>,
    ) -> Result<NodeId, Fault> {
        let (mut a, mut b) = (self.real_factor(a, b)?, self.real_factor(b, a)?);
        let (left, right) = (self.shape_of(a)?, self.shape_of(b)?);
        let finer = self.finer(a, b, terms)?;
        if finer.is_none()
            && let Some([da, db]) = self.fine_factors(&product, a, b)?
        {
            let factors = [self.place(a, da, &places[0])?, self.place(b, db, &places[1])?];
            return self.fine_product(product, factors, shape);
        }
        let types = coerce::multiplied(product.name(), self.types([a, b])?, self.whole())?;
        let [mut da, mut db] = if types == [Dtype::Bit; 2] { [self.whole(); 2] } else { types };
        let mut dtype = if da.is_fixed() { da } else { db };
        if let Some(finer) = &finer {
            let units = Operand::Ints { shape: if finer.is_left { &left } else { &right }, values: &finer.units };
            dtype = dtype.with_bits(finer.bits);
            let whole = Dtype::Int { bits: finer.bits };
            match finer.is_left {
                true => (a, da, db) = (units, whole, dtype),
                false => (b, db, da) = (units, whole, dtype),
            }
        }
        let (a, b) = (self.place(a, da, &places[0])?, self.place(b, db, &places[1])?);
        let Some(finer) = finer else { return self.grown(product, vec![a, b], shape, dtype) };
        let product = self.graph.push(product, vec![a, b], shape.clone(), dtype, &self.at)?;
        self.graph.warn(product, finer.lost)?;
        let values = self.graph.node(product).range();
        let (shift, dtype) = self.finer_result(product, finer.shift);
        let scale = Scale::shifted(shift, values, dtype);
        let scaled = self.graph.push(Op::Scale(Arc::new(scale)), vec![product], shape, dtype, &self.at)?;
        self.kept(scaled)
    }

    pub(super) fn build_dot(&mut self, a: Operand<'_>, b: Operand<'_>) -> Result<NodeId, Fault> {
        let (left, right) = (self.shape_of(a)?, self.shape_of(b)?);
        if left.is_empty() || right.is_empty() {
            return self.build_binary(super::BinaryOp::Mul, a, b);
        }
        if left.len() > 1 && right.len() > 2 {
            return Err(Fault::DotDimensions { left: Shape(left), right: Shape(right) });
        }
        self.build_matmul(a, b)
    }

    pub(super) fn build_reduce(
        &mut self,
        reduce: Reduce,
        a: NodeId,
        along: Option<i64>,
        keepdims: bool,
    ) -> Result<NodeId, Fault> {
        let id = self.number(a)?;
        let node = self.graph.node(id);
        let (axis, shape) = shape::reduction(&node.shape, along, keepdims)?;
        let (op, name) = match reduce {
            Reduce::Sum => (Op::Sum(axis), "sum"),
            Reduce::Max => (Op::Max(axis), "max"),
            Reduce::Min => (Op::Min(axis), "min"),
            Reduce::ArgMax => (Op::ArgMax(axis), "argmax"),
            Reduce::ArgMin => (Op::ArgMin(axis), "argmin"),
        };
        if axis.len == 0 && reduce != Reduce::Sum {
            return Err(Fault::EmptyReduction { op: name, shape: node.shape.as_slice().into() });
        }
        let dtype = if matches!(op, Op::ArgMax(_) | Op::ArgMin(_)) { self.whole() } else { node.dtype };
        self.grown(op, vec![id], shape, dtype)
    }
}
