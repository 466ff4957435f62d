//! Softmax along an axis: e^(x - max) over its sum, with 30 bits after the point inside.

use quorate_engine::{Axis, Ctx, Form, Linear, Misuse, Result};

use super::cubic::evaluate;
use super::float::{Exponent, MANTISSA, SEGMENT_ROWS, denormalise, mantissa_argument, normalise};
use super::local::{WIDE, plus, reduce};
use super::onehot::Number;
use super::power::exp_below;
use super::tables::RECIPROCAL;
use super::{ONE_WORD, check, chunks};
use crate::extremum::{Best, extremum};
use crate::prefix::rows;
use crate::{Gadgets, Width, stream};

/// Bits after the point of the powers, of their sum, and of its reciprocal.
const INNER_FRAC: u32 = 30;
/// The most rows: their sum must stay below 2^62.
const MAX_ROWS: usize = 1 << 30;

/// Softmax of `rows` candidates lane by lane (row-major: `rows` x lanes), all with `frac` bits after the point.
///
/// Error: at most 1 unit of 2^-frac. Results lie in [0, 1]. `width` is what is proven about the difference of two
/// candidates of a lane.
///
/// # Errors
/// [`Misuse`] unless frac <= 16, the ring has at least frac + 2 and at most 64 bits, and the length is a multiple of
/// `rows`, which is from 1 to 2^30.
pub async fn softmax<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, frac: u32, rows: usize, width: Width) -> Result<S::A> {
    let (ring, len) = s.shape(x);
    check(ring, frac, frac + 2, ONE_WORD)?;
    if rows == 0 || rows > MAX_ROWS || !len.is_multiple_of(rows) {
        return Err(Misuse::Length { what: "a softmax over rows", left: rows, right: len }.into());
    }
    let lanes = len / rows;
    let largest = extremum(s, ctx, x, rows, Best::Largest, width).await?;
    let repeat = |v: &S::A| s.linear(v, &Linear::Repeat(rows));
    let below = plus(s, &s.sub(x, &repeat(&largest)), -1);
    let power = async |ctx: Ctx, range| exp_below(s, &ctx, &stream::slice(s, &below, range), frac, INNER_FRAC).await;
    let powers = stream::to_vector(s, ctx, chunks(len), power).await?;
    let sums = s.linear(&powers, &Linear::SumAxis(Axis { outer: 1, len: rows, inner: lanes }));
    let inverse = async |ctx: Ctx, range| inverse_chunk(s, &ctx, &stream::slice(s, &sums, range)).await;
    let inverses = stream::to_vector(s, ctx, chunks(lanes), inverse).await?;
    let products = s.bilinear(ctx, Form::Product, &powers, &repeat(&inverses)).await?;
    let cut = 2 * INNER_FRAC - frac;
    let rounded = s.trunc_exact(ctx, &plus(s, &products, 1 << (cut - 1)), cut).await?;
    Ok(reduce(s, &rounded, ring))
}

/// 1 / x for x >= 1, both with 30 bits after the point.
async fn inverse_chunk<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A) -> Result<S::A> {
    let bits = s.bit_decompose(ctx, x).await?;
    let bits = rows(s, &bits, &(0..WIDE.bits() - 1).collect::<Vec<_>>());
    let float = normalise(s, ctx, &bits, MANTISSA).await?;
    let argument = mantissa_argument(s, ctx, &float.mantissa, &SEGMENT_ROWS, None).await?;
    let value = evaluate(s, ctx, &RECIPROCAL, &argument).await?.value;
    let number = Number::of_one_hot(s, &float.position, |p| (2 * INNER_FRAC).checked_sub(p));
    let exponent = Exponent { number, over: None, most: INNER_FRAC };
    denormalise(s, ctx, &value, RECIPROCAL.scale, exponent, WIDE).await
}
