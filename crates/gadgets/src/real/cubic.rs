//! Piecewise cubics, evaluated exactly in Z_2^64.
//!
//! One-hot bits choose the segment. Lifted to the ring, 8 low and 8 or 16 high ones select each coefficient as a
//! bilinear form, so the table has 64 or 128 segments for 14 or 22 conversions. The place in the segment also comes
//! from bits. Each power takes only as many of its bits as keep the product within the ring, so nothing is truncated.
//!
//! Rounds: 4 (conversion; coefficients together with t^2; two products). Elements multiplied: 4 + 1, 3, 1.

use quorate_engine::{Axis, Ctx, Form, Linear, Result, Sharing};
use quorate_ring::Vector;

use super::local::{WIDE, combine, element_rows, lift, plus, times};
use super::onehot::Number;
use super::tables::Table;
use crate::Gadgets;
use crate::prefix::rows;

/// An argument: its segment, as bits, and its place in the segment.
pub(super) struct Argument<A, B> {
    pub segment: Number<B>,
    pub place: Place<A, B>,
    /// Other rows to be lifted in the same round.
    pub others: Option<B>,
}

/// The place of an argument in its segment.
pub(super) enum Place<A, B> {
    /// Bits of the distance from the segment's left end: row i weighs 2^-after_point[i].
    Bits { rows: B, after_point: Vec<u32> },
    /// The argument itself over Z_2^64, with as many bits after the point as the table uses. 0 lies at the left end of
    /// segment 0, and segments are numbered in two's complement.
    Whole(A),
}

/// The value of the cubic with `table.scale` bits after the point, and the rows lifted on the way, over Z_2^64.
pub(super) struct Value<A> {
    pub value: A,
    pub others: Option<A>,
    pub lifted: Lifted<A>,
}

/// An argument over Z_2^64: the one-hot rows of its segment, and the rows of its place.
pub(super) struct Lifted<A> {
    pub high: A,
    pub low: A,
    pub places: A,
}

/// Evaluates the table at the argument.
pub(super) async fn evaluate<S: Gadgets>(
    s: &S,
    ctx: &Ctx,
    table: &Table,
    argument: &Argument<S::A, S::B>,
) -> Result<Value<S::A>> {
    let segment = &argument.segment;
    let (highs, len) = s.bit_shape(&segment.high);
    // One-hot rows add up to 1: the first row of each part needs no conversion.
    let rest = |x: &S::B, count: usize| rows(s, x, &(1..count as u32).collect::<Vec<_>>());
    let (high, low) = (rest(&segment.high, highs), rest(&segment.low, 8));
    let mut bits = vec![&high, &low];
    let place_rows = match &argument.place {
        Place::Bits { rows, after_point } => {
            bits.push(rows);
            after_point.len()
        }
        Place::Whole(_) => 0,
    };
    bits.extend(&argument.others);
    let lifted = lift(s, ctx, &s.concat_rows(&bits), WIDE).await?;
    let part = |from: usize, count: usize| element_rows(s, &lifted, from..from + count, len);
    let high = complete(s, &part(0, highs - 1), len);
    let low = complete(s, &part(highs - 1, 7), len);
    let places = part(highs + 6, place_rows);
    let others = argument.others.as_ref().map(|rows| part(highs + 6 + place_rows, s.bit_shape(rows).0));
    let t = table.after_point.map(|seen| match &argument.place {
        Place::Bits { after_point, .. } => from_bits(s, ctx, table, seen, &places, after_point, len),
        Place::Whole(x) => from_whole(s, table, seen, x, &s.concat(&[&high, &low])),
    });
    let lifted = Lifted { high, low, places };
    let columns: Vec<Vec<i64>> = (0..4).map(|c| table.rows.iter().map(|row| row[c]).collect()).collect();
    let coefficients = async |ctx: Ctx| select(s, &ctx, &columns, &lifted, len).await;
    let (c, t3_squared) = ctx.join(coefficients, async |ctx: Ctx| s.mul(&ctx, &t[2], &t[2]).await).await?;
    Ok(Value { value: sum(s, ctx, &c, &t, &t3_squared, len).await?, others, lifted })
}

/// Puts before the rows the one that makes their sum 1.
fn complete<S: Sharing>(s: &S, rest: &S::A, len: usize) -> S::A {
    let sum = s.linear(rest, &Linear::SumAxis(Axis { outer: 1, len: s.shape(rest).1 / len.max(1), inner: len }));
    s.concat(&[&plus(s, &times(s, &sum, -1), 1), rest])
}

/// Returns the entries of each column for the chosen segment, one row for each column. One round.
pub(super) async fn select<S: Gadgets>(
    s: &S,
    ctx: &Ctx,
    columns: &[Vec<i64>],
    segment: &Lifted<S::A>,
    len: usize,
) -> Result<S::A> {
    let highs = columns[0].len() / 8;
    let matrix: Vec<Vec<i64>> = columns.iter().flat_map(|column| column.chunks(8).map(<[i64]>::to_vec)).collect();
    let high = s.concat(&vec![&segment.high; columns.len()]);
    let form = Form::Dot { outer: columns.len(), axis: highs, inner: len };
    s.bilinear(ctx, form, &high, &combine(s, &segment.low, &matrix)).await
}

/// Returns half a segment, with `seen` bits after the point.
fn half(table: &Table, seen: u32) -> i128 {
    1 << (seen as i32 + table.segment - 1)
}

/// Returns the distance from the segment's middle, with `seen` bits after the point, from bits of the place.
pub(super) fn from_bits<S: Sharing>(
    s: &S,
    ctx: &Ctx,
    table: &Table,
    seen: u32,
    bits: &S::A,
    after_point: &[u32],
    len: usize,
) -> S::A {
    if after_point.is_empty() {
        let zeros = if ctx.is_dry() { Vector::shape(WIDE, len) } else { Vector::zeros(WIDE, len) };
        return plus(s, &s.public(&zeros), -half(table, seen));
    }
    let weight = |&place: &u32| if place <= seen { 1i64 << (seen - place) } else { 0 };
    plus(s, &combine(s, bits, &[after_point.iter().map(weight).collect()]), -half(table, seen))
}

/// Returns the distance from the segment's middle from the argument itself: it subtracts the left end of the segment
/// that the one-hot rows (high, low) select.
fn from_whole<S: Sharing>(s: &S, table: &Table, seen: u32, x: &S::A, one_hot: &S::A) -> S::A {
    let width = 2 * half(table, seen) as i64;
    let signed = |h: i64| if h < 4 { h } else { h - 8 };
    let ends = (0..8).map(|h| -8 * signed(h) * width).chain((0..8).map(|l| -l * width));
    plus(s, &s.add(x, &combine(s, one_hot, &[ends.collect()])), -half(table, seen))
}

/// Returns c0 + c1 t1 + (c2 t2) t2 + (c3 t3) t3^2.
async fn sum<S: Gadgets>(s: &S, ctx: &Ctx, c: &S::A, t: &[S::A; 3], t3_squared: &S::A, len: usize) -> Result<S::A> {
    let upper = element_rows(s, c, 1..4, len);
    let products = s.mul(ctx, &upper, &s.concat(&[&t[0], &t[1], &t[2]])).await?;
    let linear = s.add(&element_rows(s, c, 0..1, len), &element_rows(s, &products, 0..1, len));
    let form = Form::Dot { outer: 1, axis: 2, inner: len };
    let powers = s.bilinear(ctx, form, &element_rows(s, &products, 1..3, len), &s.concat(&[&t[1], t3_squared])).await?;
    Ok(s.add(&linear, &powers))
}
