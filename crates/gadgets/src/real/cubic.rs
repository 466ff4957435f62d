//! A cubic for each segment of an argument, evaluated exactly in Z_2^64.
//!
//! The segment is chosen by one-hot bits: lifted to the ring, 8 low and 8 or 16 high ones select each coefficient as a
//! bilinear form, so the table has 64 or 128 segments for 16 or 24 conversions. The place in the segment comes from bits
//! too, so that each power takes only as many of its bits as keep the product within the ring; nothing is truncated.
//!
//! Rounds: 4 (conversion; coefficients beside t^2; two products). Elements multiplied: 4 + 1, 3, 1.

use quorate_engine::{Ctx, Form, Result, Sharing};
use quorate_ring::Vector;

use super::local::{WIDE, combine, element_rows, lift, plus};
use super::onehot::Number;
use super::tables::Table;
use crate::Gadgets;

/// An argument, as bits: its segment, and its place in it.
pub(super) struct Argument<B> {
    pub segment: Number<B>,
    /// Bits of the distance from the segment's left end.
    pub offset: B,
    /// For each row of `offset`, its place after the point: row i weighs 2^-places[i].
    pub places: Vec<u32>,
    /// Rows that are only to be lifted in the same round.
    pub others: Option<B>,
}

/// The cubic with `table.scale` bits after the point, and the other rows, over Z_2^64.
pub(super) struct Value<A> {
    pub value: A,
    pub others: Option<A>,
}

/// Evaluates the table at the argument. Where its one-hot rows are 0, the value is 0.
pub(super) async fn evaluate<S: Gadgets>(
    s: &S,
    ctx: &Ctx,
    table: &Table,
    argument: &Argument<S::B>,
) -> Result<Value<S::A>> {
    let segment = &argument.segment;
    let (high_rows, len) = s.bit_shape(&segment.high);
    let mut bits = vec![&segment.high, &segment.low, &argument.offset];
    bits.extend(&argument.others);
    let lifted = lift(s, ctx, &s.concat_rows(&bits), WIDE).await?;
    let high = element_rows(s, &lifted, 0..high_rows, len);
    let low = element_rows(s, &lifted, high_rows..high_rows + 8, len);
    let offset_rows = argument.places.len();
    let bits = element_rows(s, &lifted, high_rows + 8..high_rows + 8 + offset_rows, len);
    let others = argument.others.as_ref().map(|rows| {
        let from = high_rows + 8 + offset_rows;
        element_rows(s, &lifted, from..from + s.bit_shape(rows).0, len)
    });
    let t = [0, 1, 2].map(|power| offset(s, ctx, table, power, &bits, &argument.places, len));
    let coefficients = async |ctx: Ctx| select(s, &ctx, table, &high, &low, len).await;
    let (c, t3_squared) = ctx.join(coefficients, async |ctx: Ctx| s.mul(&ctx, &t[2], &t[2]).await).await?;
    Ok(Value { value: sum(s, ctx, &c, &t, &t3_squared, len).await?, others })
}

/// The coefficients of the chosen segment, one row each.
async fn select<S: Gadgets>(s: &S, ctx: &Ctx, table: &Table, high: &S::A, low: &S::A, len: usize) -> Result<S::A> {
    let highs = table.rows.len() / 8;
    let of = |c: usize, h: usize| (0..8).map(move |l| table.rows[8 * h + l][c]).collect::<Vec<i64>>();
    let matrix: Vec<Vec<i64>> = (0..4).flat_map(|c| (0..highs).map(move |h| of(c, h))).collect();
    let high = s.concat(&[high; 4]);
    let form = Form::Dot { outer: 4, axis: highs, inner: len };
    s.bilinear(ctx, form, &high, &combine(s, low, &matrix)).await
}

/// The distance from the segment's middle, of which the given power sees so many bits after the point.
fn offset<S: Sharing>(s: &S, ctx: &Ctx, table: &Table, power: usize, bits: &S::A, places: &[u32], len: usize) -> S::A {
    let after_point = table.after_point[power];
    let half = 1i128 << (after_point as i32 + table.segment - 1);
    if places.is_empty() {
        let zeros = if ctx.is_dry() { Vector::shape(WIDE, len) } else { Vector::zeros(WIDE, len) };
        return plus(s, &s.public(&zeros), -half);
    }
    let weight = |&place: &u32| if place <= after_point { 1i64 << (after_point - place) } else { 0 };
    plus(s, &combine(s, bits, &[places.iter().map(weight).collect()]), -half)
}

/// c0 + c1 t1 + (c2 t2) t2 + (c3 t3) t3^2.
async fn sum<S: Gadgets>(s: &S, ctx: &Ctx, c: &S::A, t: &[S::A; 3], t3_squared: &S::A, len: usize) -> Result<S::A> {
    let upper = element_rows(s, c, 1..4, len);
    let products = s.mul(ctx, &upper, &s.concat(&[&t[0], &t[1], &t[2]])).await?;
    let linear = s.add(&element_rows(s, c, 0..1, len), &element_rows(s, &products, 0..1, len));
    let form = Form::Dot { outer: 1, axis: 2, inner: len };
    let powers = s.bilinear(ctx, form, &element_rows(s, &products, 1..3, len), &s.concat(&[&t[1], t3_squared])).await?;
    Ok(s.add(&linear, &powers))
}
