//! Local (linear) steps on rows of bits and on rows of elements.

use quorate_engine::{Ctx, Result, Sharing};
use quorate_ring::{Bits, Ring, Vector};

use crate::Gadgets;

/// The ring in which cubics are evaluated.
pub(super) const WIDE: Ring = Ring::of(64);

/// One row for each list: the sum of the rows named in it.
pub(crate) fn row_sums<S: Sharing>(s: &S, x: &S::B, lists: &[Vec<u32>]) -> S::B {
    s.linear_bits(x, &|share: &Bits| {
        if share.is_shape() {
            return Bits::shape(lists.len(), share.lanes());
        }
        let sum = |list: &Vec<u32>| {
            let mut sum = Bits::zeros(1, share.lanes());
            list.iter().for_each(|&row| sum.xor_assign(&share.row(row as usize)));
            sum
        };
        let sums: Vec<Bits> = lists.iter().map(sum).collect();
        Bits::concat_rows(&sums.iter().collect::<Vec<_>>())
    })
}

/// The negation of every bit.
pub(crate) fn not<S: Sharing>(s: &S, x: &S::B) -> S::B {
    let (rows, lanes) = s.bit_shape(x);
    s.xor_public(x, &Bits::constant(true, rows, lanes))
}

/// `count` copies of the only row.
pub(crate) fn repeat_row<S: Sharing>(s: &S, x: &S::B, count: usize) -> S::B {
    s.linear_bits(x, &|share: &Bits| share.broadcast_row(count))
}

/// Rows of bits as rows of elements 0 and 1 (row-major).
pub(super) async fn lift<S: Gadgets>(s: &S, ctx: &Ctx, rows: &S::B, ring: Ring) -> Result<S::A> {
    let flat = s.linear_bits(rows, &|share: &Bits| {
        let rows: Vec<Bits> = (0..share.rows()).map(|row| share.row(row)).collect();
        Bits::concat_lanes(&rows.iter().collect::<Vec<_>>())
    });
    s.bit_to_ring(ctx, &flat, ring).await
}

/// Public linear combinations of rows of elements: the matrix (of as many columns as rows) times them.
pub(super) fn combine<S: Sharing>(s: &S, x: &S::A, matrix: &[Vec<i64>]) -> S::A {
    let columns = matrix[0].len();
    let ring = s.shape(x).0;
    let flat = Vector::from_i64s(ring, &matrix.concat());
    s.linear(x, &|share: &Vector| Vector::matmul(&flat, share, (matrix.len(), columns, share.len() / columns)))
}

/// x plus a public number.
pub(super) fn plus<S: Sharing>(s: &S, x: &S::A, value: i128) -> S::A {
    let (ring, len) = s.shape(x);
    let mut constant = Vector::zeros(ring, len);
    constant.add_scalar(value as u128);
    s.add_public(x, &constant)
}

/// x times a public number.
pub(super) fn times<S: Sharing>(s: &S, x: &S::A, factor: i128) -> S::A {
    s.linear(x, &|share: &Vector| {
        let mut share = share.clone();
        share.scale(factor as u128);
        share
    })
}

/// The elements, reduced to a ring that is not larger.
pub(super) fn reduce<S: Sharing>(s: &S, x: &S::A, ring: Ring) -> S::A {
    s.linear(x, &|share: &Vector| share.convert(ring))
}

/// The rows `range` of rows of `len` elements each.
pub(super) fn element_rows<S: Sharing>(s: &S, x: &S::A, range: std::ops::Range<usize>, len: usize) -> S::A {
    crate::stream::slice(s, x, range.start * len..range.end * len)
}
