//! Local (linear) steps on rows of bits and on rows of elements.

use quorate_engine::{Ctx, Linear, LinearBits, Result, Sharing};
use quorate_ring::{Bits, Ring, Vector};

use crate::Gadgets;

/// The ring in which cubics are evaluated.
pub(super) const WIDE: Ring = Ring::of(64);

/// Returns one row for each list: the sum of the rows named in it.
pub(crate) fn row_sums<S: Sharing>(s: &S, x: &S::B, lists: &[Vec<u32>]) -> S::B {
    s.linear_bits(x, &LinearBits::SumRows(lists))
}

/// Returns the negation of every bit.
pub(crate) fn not<S: Sharing>(s: &S, x: &S::B) -> S::B {
    let (rows, lanes) = s.bit_shape(x);
    s.xor_public(x, &Bits::constant(true, rows, lanes))
}

/// Returns `count` copies of the only row.
pub(crate) fn repeat_row<S: Sharing>(s: &S, x: &S::B, count: usize) -> S::B {
    s.linear_bits(x, &LinearBits::RepeatRow(count))
}

/// Converts rows of bits to rows of elements 0 and 1 (row-major).
pub(super) async fn lift<S: Gadgets>(s: &S, ctx: &Ctx, rows: &S::B, ring: Ring) -> Result<S::A> {
    let flat = s.linear_bits(rows, &LinearBits::SideBySide);
    s.bit_to_ring(ctx, &flat, ring).await
}

/// Returns public linear combinations of rows of elements: a matrix, with a column for each row, times the rows.
pub(super) fn combine<S: Sharing>(s: &S, x: &S::A, matrix: &[Vec<i64>]) -> S::A {
    let columns = matrix[0].len();
    let (ring, len) = s.shape(x);
    let flat = Vector::from_i64s(ring, &matrix.concat());
    s.linear(x, &Linear::MatrixLeft(&flat, (matrix.len(), columns, len / columns)))
}

/// Returns x plus a public number.
pub(super) fn plus<S: Sharing>(s: &S, x: &S::A, value: i128) -> S::A {
    let (ring, len) = s.shape(x);
    let mut constant = Vector::zeros(ring, len);
    constant.add_scalar(value as u128);
    s.add_public(x, &constant)
}

/// Returns x times a public number.
pub(super) fn times<S: Sharing>(s: &S, x: &S::A, factor: i128) -> S::A {
    s.linear(x, &Linear::Scale(factor))
}

/// Reduces the elements to a ring that is not larger.
pub(super) fn reduce<S: Sharing>(s: &S, x: &S::A, ring: Ring) -> S::A {
    s.linear(x, &Linear::Reduce(ring))
}

/// Returns the rows `range` of rows of `len` elements each.
pub(super) fn element_rows<S: Sharing>(s: &S, x: &S::A, range: std::ops::Range<usize>, len: usize) -> S::A {
    crate::stream::slice(s, x, range.start * len..range.end * len)
}
