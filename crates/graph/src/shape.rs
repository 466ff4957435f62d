//! Numpy's rules for shapes, and the index lists that turn them into gathers. Indices count flattened elements in
//! row-major order.

use std::ops::Range;

use crate::error::{Fault, Shape};
use crate::index::{Index, walk};
use crate::units::Units;

/// An array seen as `outer` blocks of `len` rows of `inner` elements: element `(o, j, i)` lies at
/// `(o * len + j) * inner + i`, and a reduction runs over `j`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Product of the sizes before the axis.
    pub outer: usize,
    /// Size of the axis.
    pub len: usize,
    /// Product of the sizes after the axis.
    pub inner: usize,
}

/// The largest number of elements of an array.
const MOST_ELEMENTS: usize = 1 << 48;

/// Returns the number of elements of `shape`, which positions of 32 bits number; [`Fault::TooLong`] beyond 2^32 - 1.
pub fn numbered(shape: &[usize]) -> Result<usize, Fault> {
    let elements = elements(shape)?;
    if u32::try_from(full(shape).unwrap_or(usize::MAX)).is_err() {
        return Err(Fault::TooLong { shape: shape.into() });
    }
    Ok(elements)
}

/// Returns the number of elements of `shape`; [`Fault::TooLarge`] beyond 2^48.
pub fn elements(shape: &[usize]) -> Result<usize, Fault> {
    let too_large = || Fault::TooLarge { shape: shape.into() };
    match full(shape) {
        Some(n) if n <= MOST_ELEMENTS => Ok(if shape.contains(&0) { 0 } else { n }),
        _ => Err(too_large()),
    }
}

/// Returns the product of the sizes that are not zero. A zero makes the array empty, but its other sizes must still be
/// valid, since reductions turn them into non-empty shapes.
fn full(shape: &[usize]) -> Option<usize> {
    shape.iter().filter(|&&s| s != 0).try_fold(1usize, |n, &s| n.checked_mul(s))
}

/// Returns the shape that both operands broadcast to.
pub fn broadcast(left: &[usize], right: &[usize]) -> Result<Vec<usize>, Fault> {
    let dimensions = left.len().max(right.len());
    let size = |shape: &[usize], d: usize| (d + shape.len()).checked_sub(dimensions).map_or(1, |i| shape[i]);
    (0..dimensions)
        .map(|d| match (size(left, d), size(right, d)) {
            (a, b) if a == b => Ok(a),
            (1, b) => Ok(b),
            (a, 1) => Ok(a),
            _ => Err(Fault::Broadcast { left: left.into(), right: right.into() }),
        })
        .collect()
}

/// Checks that `from` broadcasts to exactly `to`.
pub fn broadcasts_to(from: &[usize], to: &[usize]) -> Result<(), Fault> {
    match broadcast(from, to) {
        Ok(shape) if shape == to => Ok(()),
        _ => Err(Fault::BroadcastTo { from: from.into(), to: to.into() }),
    }
}

/// Returns, for each element of `to`, the element of `from` that broadcasting puts there. `from` must broadcast to
/// `to`.
pub fn broadcast_index(from: &[usize], to: &[usize]) -> Vec<u32> {
    strided_index(to, &broadcast_strides(from, to))
}

/// Returns what [`broadcast_index`] returns, in little memory.
pub fn broadcast_steps(from: &[usize], to: &[usize]) -> Index {
    let strides = broadcast_strides(from, to);
    let levels: Vec<(u32, i64)> = to.iter().zip(strides).map(|(&size, stride)| (size as u32, stride as i64)).collect();
    Index::strided(0, &levels)
}

/// Returns the elements `range` of [`broadcast_index`].
pub fn broadcast_part(from: &[usize], to: &[usize], range: Range<usize>) -> Vec<u32> {
    let strides = broadcast_strides(from, to);
    let axes: Vec<(usize, i64)> = to.iter().zip(strides).map(|(&size, stride)| (size, stride as i64)).collect();
    walk(0, &axes, range).map(|position| position as u32).collect()
}

/// The elements of a broadcast array: those at some positions, each of which comes several times in a row, one after
/// another and then again from the first. Only repeats between other axes have positions of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Repeats {
    positions: Vec<u32>,
    /// The number of times in a row.
    pub each: usize,
}

impl Repeats {
    /// Returns the elements of `to`, to which `from` must broadcast.
    pub fn new(from: &[usize], to: &[usize]) -> Repeats {
        let missing = to.len() - from.len();
        let is_repeated = |d: &usize| d.checked_sub(missing).is_none_or(|d| from[d] == 1);
        let end = (0..to.len()).rev().find(|d| !is_repeated(d)).map_or(0, |last| last + 1);
        let start = (0..end).find(|d| !is_repeated(d)).unwrap_or(end);
        let each = to[end..].iter().product();
        let inner = if end > start { &from[start - missing..end - missing] } else { &[] };
        match to.contains(&0) {
            true => Repeats { positions: vec![], each: 1 },
            false => Repeats { positions: broadcast_index(inner, &to[start..end]), each },
        }
    }

    /// Returns the numbers that are repeated, of the numbers of the array.
    pub fn of<T: Copy>(&self, numbers: &[T]) -> Vec<T> {
        self.positions.iter().map(|&position| numbers[position as usize]).collect()
    }

    /// Returns numbers of which there is one for each element of the array, or one for all, as those of the broadcast.
    pub fn units(&self, values: &[i128]) -> Units {
        if values.len() == 1 { Units::from(values) } else { Units::repeated(&self.of(values), self.each) }
    }
}

/// Returns the distance in `from` of neighbours along each axis of `to`.
fn broadcast_strides(from: &[usize], to: &[usize]) -> Vec<usize> {
    let mut strides = vec![0; to.len() - from.len()];
    strides.extend(strides_of(from).into_iter().zip(from).map(|(stride, &size)| if size == 1 { 0 } else { stride }));
    strides
}

/// Returns the gather that permutes the axes: axis d of the result is axis `axes[d]` of the operand.
pub fn transpose_index(shape: &[usize], axes: &[usize]) -> Vec<u32> {
    let strides = strides_of(shape);
    let sizes: Vec<usize> = axes.iter().map(|&a| shape[a]).collect();
    let moved: Vec<usize> = axes.iter().map(|&a| strides[a]).collect();
    strided_index(&sizes, &moved)
}

/// Returns the gather that puts flattened arrays, written one after another, side by side along an axis: `outer`
/// blocks, of which each array has `rows[i]` rows of `inner` elements.
pub fn concat_index(outer: usize, rows: &[usize], inner: usize) -> Vec<u32> {
    let mut index = Vec::with_capacity(outer * rows.iter().sum::<usize>() * inner);
    for block in 0..outer {
        let mut start = 0;
        for &count in rows {
            let width = count * inner;
            index.extend((start + block * width..start + (block + 1) * width).map(|i| i as u32));
            start += outer * width;
        }
    }
    index
}

fn strides_of(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; shape.len()];
    for d in (0..shape.len().saturating_sub(1)).rev() {
        strides[d] = strides[d + 1] * shape[d + 1];
    }
    strides
}

fn strided_index(sizes: &[usize], strides: &[usize]) -> Vec<u32> {
    let mut index = vec![0u32];
    for (&size, &stride) in sizes.iter().zip(strides) {
        let mut next = Vec::with_capacity(index.len() * size);
        for &base in &index {
            next.extend((0..size as u32).map(|i| base + i * stride as u32));
        }
        index = next;
    }
    index
}

/// Returns an axis counted from the front; negative ones count from the back.
pub fn axis(axis: i64, dimensions: usize) -> Result<usize, Fault> {
    let fault = Fault::AxisOutOfRange { axis, dimensions };
    let from_front = if axis < 0 { axis + dimensions as i64 } else { axis };
    usize::try_from(from_front).ok().filter(|&a| a < dimensions).ok_or(fault)
}

/// Returns how a reduction along `axis` (all axes where `None`) walks the array, and the shape of its result.
pub fn reduction(shape: &[usize], along: Option<i64>, keepdims: bool) -> Result<(Axis, Vec<usize>), Fault> {
    let Some(along) = along else {
        let kept = if keepdims { vec![1; shape.len()] } else { vec![] };
        return Ok((Axis { outer: 1, len: elements(shape)?, inner: 1 }, kept));
    };
    let at = axis(along, shape.len())?;
    let split = Axis { outer: shape[..at].iter().product(), len: shape[at], inner: shape[at + 1..].iter().product() };
    let mut result = shape.to_vec();
    if keepdims {
        result[at] = 1;
    } else {
        result.remove(at);
    }
    Ok((split, result))
}

/// Returns the shape that `target` describes for `size` elements; one of its sizes may be -1.
pub fn reshaped(size: usize, target: &[i64]) -> Result<Vec<usize>, Fault> {
    let unknown = target.iter().filter(|&&s| s == -1).count();
    if unknown > 1 || target.iter().any(|&s| s < -1) {
        return Err(Fault::ReshapeUnknown { target: target.to_vec() });
    }
    let mismatch = || Fault::Reshape { size, target: target.to_vec() };
    let known = target.iter().filter(|&&s| s >= 0).try_fold(1usize, |n, &s| n.checked_mul(s as usize));
    let known = known.ok_or_else(mismatch)?;
    let missing = match unknown {
        0 if known == size => 0,
        1 if known != 0 && size.is_multiple_of(known) => size / known,
        _ => return Err(mismatch()),
    };
    let shape: Vec<usize> = target.iter().map(|&s| if s == -1 { missing } else { s as usize }).collect();
    elements(&shape)?;
    Ok(shape)
}

/// Returns the axes counted from the front, if they contain each axis of `dimensions` once.
pub fn permutation(axes: &[i64], dimensions: usize) -> Result<Vec<usize>, Fault> {
    let fault = || Fault::Permutation { given: axes.to_vec(), dimensions };
    let front = axes.iter().map(|&a| axis(a, dimensions)).collect::<Result<Vec<_>, _>>().map_err(|_| fault())?;
    let mut seen = vec![false; dimensions];
    front.iter().for_each(|&a| seen[a] = true);
    if front.len() == dimensions && seen.iter().all(|&s| s) { Ok(front) } else { Err(fault()) }
}

/// Checks that every index is that of one of `len` elements.
pub fn check_index(index: &[u32], len: usize) -> Result<(), Fault> {
    match index.iter().position(|&i| i as usize >= len) {
        Some(position) => Err(Fault::IndexOutOfRange { index: index[position] as usize, position, len }),
        None => Ok(()),
    }
}

/// Checks the number of values against a shape: one value for each element, or a single one.
pub fn check_count(given: usize, shape: &[usize]) -> Result<(), Fault> {
    let wanted = elements(shape)?;
    if given == wanted || given == 1 { Ok(()) } else { Err(Fault::Count { given, shape: Shape::from(shape), wanted }) }
}
