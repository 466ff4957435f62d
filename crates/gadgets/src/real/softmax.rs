//! Softmax along an axis: e^(x - max) over its sum, with 30 bits or more after the point inside.
//!
//! The powers are computed, or looked up if a table holds those of all differences whose power is not negligible.

use quorate_engine::{Axis, Ctx, Form, Linear, Misuse, Result};
use quorate_ring::Ring;

use super::cubic::evaluate;
use super::float::{Exponent, MANTISSA, SEGMENT_ROWS, denormalise, mantissa_argument, normalise};
use super::local::{WIDE, plus, reduce};
use super::onehot::Number;
use super::power::exp_below;
use super::tables::RECIPROCAL;
use super::{ONE_WORD, check, chunks};
use crate::extremum::{Best, extremum};
use crate::lookup::Lookup;
use crate::prefix::rows;
use crate::{Functions, Gadgets, Width, stream};

/// The ring of the powers.
pub const POWER_RING: Ring = WIDE;
/// The smallest and the largest number of bits after the point of powers.
const POWER_FRACS: (u32, u32) = (30, 36);
/// Bits after the point of a power times the reciprocal of their sum.
const PRODUCT_FRAC: u32 = 60;
/// The largest number of rows: the sum of their powers must stay below 2^62.
const MAX_ROWS: usize = 1 << 26;

/// The parameters of a softmax.
pub struct Softmax {
    /// Bits after the point of numbers and results.
    pub frac: u32,
    /// Candidates of a lane.
    pub rows: usize,
    /// The proven width of the difference of two candidates of a lane.
    pub width: Width,
    /// The table of the powers of differences to the largest candidate over [`POWER_RING`], if they are looked up. They
    /// are rounded to the nearest number with [`power_frac`](Softmax::power_frac) bits after the point.
    pub powers: Option<Lookup>,
}

impl Softmax {
    /// Returns the bits after the point of the powers. Each power is off by less than a unit, all in one direction: the
    /// errors of `rows` rows together must stay below half a unit of 2^-frac.
    pub fn power_frac(frac: u32, rows: usize) -> u32 {
        (frac + 1 + rows.next_power_of_two().ilog2()).clamp(POWER_FRACS.0, POWER_FRACS.1)
    }
}

/// Returns the softmax of the candidates in each lane (row-major: rows x lanes), all with `frac` bits after the point.
///
/// Error: at most 1 unit of 2^-frac for up to 2^(35-frac) rows, and a unit more for each 2^(36-frac) beyond. Results
/// lie in [0, 1].
///
/// # Errors
/// [`Misuse`] unless frac <= 16, the ring has at least frac + 2 and at most 64 bits, and the length is a multiple of
/// `rows`, which is from 1 to 2^26.
pub async fn softmax<S: Functions>(s: &S, ctx: &Ctx, x: &S::A, of: &Softmax) -> Result<S::A> {
    let (ring, len) = s.shape(x);
    let &Softmax { frac, rows, width, .. } = of;
    let power_frac = Softmax::power_frac(frac, rows);
    check(ring, frac, frac + 2, ONE_WORD)?;
    if rows == 0 || rows > MAX_ROWS || !len.is_multiple_of(rows) {
        return Err(Misuse::Length { what: "a softmax over rows", left: rows, right: len }.into());
    }
    let lanes = len / rows;
    let largest = extremum(s, ctx, x, rows, Best::Largest, width).await?;
    let repeat = |v: &S::A| s.linear(v, &Linear::Repeat(rows));
    let below = s.sub(x, &repeat(&largest));
    let powers = match &of.powers {
        Some(table) => s.lookup(ctx, &below, table).await?,
        None => {
            let below = plus(s, &below, -1);
            let power = async move |s: &S, ctx: &Ctx, x: S::A| exp_below(s, ctx, &x, frac, power_frac).await;
            stream::to_vector(s, ctx, chunks(len), |range| stream::slice(s, &below, range), power).await?
        }
    };
    let sums = s.linear(&powers, &Linear::SumAxis(Axis { outer: 1, len: rows, inner: lanes }));
    let inverse = async move |s: &S, ctx: &Ctx, x: S::A| inverse_chunk(s, ctx, &x, power_frac).await;
    let inverses = stream::to_vector(s, ctx, chunks(lanes), |range| stream::slice(s, &sums, range), inverse).await?;
    let products = s.bilinear(ctx, Form::Product, &powers, &repeat(&inverses)).await?;
    let cut = PRODUCT_FRAC - frac;
    let rounded = s.trunc_exact(ctx, &plus(s, &products, 1 << (cut - 1)), cut).await?;
    Ok(reduce(s, &rounded, ring))
}

/// Returns 1 / x for x >= 1 with `frac` bits after the point. The result has `PRODUCT_FRAC - frac` of them.
async fn inverse_chunk<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, frac: u32) -> Result<S::A> {
    let bits = s.bit_decompose(ctx, x).await?;
    let bits = rows(s, &bits, &(0..WIDE.bits() - 1).collect::<Vec<_>>());
    let float = normalise(s, ctx, &bits, MANTISSA).await?;
    let argument = mantissa_argument(s, ctx, &float.mantissa, &SEGMENT_ROWS, None).await?;
    let value = evaluate(s, ctx, &RECIPROCAL, &argument).await?.value;
    let number = Number::of_one_hot(s, &float.position, |p| PRODUCT_FRAC.checked_sub(p));
    let exponent = Exponent { number, over: None, most: PRODUCT_FRAC - frac };
    denormalise(s, ctx, &value, RECIPROCAL.scale, exponent, WIDE).await
}
