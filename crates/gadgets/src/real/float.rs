//! Floating-point form: leading bits and mantissas of numbers, and the way back to fixed point.
//!
//! x = 2^p m with m in [1, 2): p as one-hot rows, m as the rows after its leading bit. On the way back, the rows of a
//! mantissa move to the place that a secret exponent gives. A result that does not fit becomes the largest element.

use std::ops::Range;

use quorate_engine::{Axis, Ctx, Linear, Result, Sharing};
use quorate_ring::Ring;

use super::cubic::{Argument, Place};
use super::local::{combine, element_rows, lift, not, repeat_row, row_sums};
use super::onehot::{Number, leading, shift};
use crate::prefix::rows;
use crate::{Gadgets, stream};

/// The most rows of a mantissa after its leading bit.
pub(super) const MANTISSA: u32 = 32;

/// Rows whose bits are converted together.
const GROUP: u32 = 4;

/// Returns the rows of a mantissa that are enough for a result of `frac` bits after the point that falls as its
/// argument grows. Up to an argument of that many bits nothing is cut, and beyond it the error is below 2^-3 units.
pub(super) fn enough_for(frac: u32) -> u32 {
    (frac + 2).clamp(6, MANTISSA)
}

/// Numbers in floating-point form. 0 has no leading bit: all its rows are 0.
pub(super) struct Float<B> {
    /// Row p is 1 where the leading bit is bit p.
    pub position: B,
    /// Row i weighs 2^-(i + 1).
    pub mantissa: B,
    /// Whether the number is not 0.
    pub nonzero: B,
}

impl<B> Float<B> {
    /// Returns the numbers of a range of lanes.
    pub fn lanes<S: Sharing<B = B>>(&self, s: &S, range: Range<usize>) -> Float<B> {
        let part = |rows: &B| stream::slice_lanes(s, rows, range.clone());
        Float { position: part(&self.position), mantissa: part(&self.mantissa), nonzero: part(&self.nonzero) }
    }
}

/// Returns the numbers given by rows of bits, lowest first, with `mantissa_rows` rows of mantissas. There are fewer if
/// the numbers have no more bits, but at least seven. Rounds: ceil(log2 rows) + 2.
pub(super) async fn normalise<S: Gadgets>(s: &S, ctx: &Ctx, bits: &S::B, mantissa_rows: u32) -> Result<Float<S::B>> {
    let width = s.bit_shape(bits).0 as u32;
    let mantissa_rows = mantissa_rows.min((width - 1).max(7));
    let position = leading(s, ctx, bits).await?;
    let number = Number::of_one_hot(s, &position, Some);
    let mantissa = shift(s, ctx, bits, &number, true, mantissa_rows as usize, |j| -1 - j).await?;
    let nonzero = row_sums(s, &position, &[(0..width).collect()]);
    Ok(Float { position, mantissa, nonzero })
}

/// The rows of a mantissa whose bits number the 64 segments of a table on [1, 2), lowest first.
pub(super) const SEGMENT_ROWS: [u32; 6] = [5, 4, 3, 2, 1, 0];

/// Returns the mantissa as the argument of a table on [1, 2). Its first rows number the segments; `segment` lists
/// these, from the last on. If `parity` is given and 1, the argument is one of the second half of the table. Two
/// rounds.
pub(super) async fn mantissa_argument<S: Gadgets>(
    s: &S,
    ctx: &Ctx,
    mantissa: &S::B,
    segment: &[u32],
    parity: Option<&S::B>,
) -> Result<Argument<S::A, S::B>> {
    let leading = rows(s, mantissa, segment);
    let rest: Vec<u32> = (segment.len() as u32..s.bit_shape(mantissa).0 as u32).collect();
    let mut segment = vec![&leading];
    segment.extend(parity);
    let segment = Number::of_bits(s, ctx, &s.concat_rows(&segment)).await?;
    let after_point = rest.iter().map(|row| row + 1).collect();
    Ok(Argument { segment, place: Place::Bits { rows: rows(s, mantissa, &rest), after_point }, others: None })
}

/// Returns the bits of |x|, which is 2^(k-1) for the lowest element, and the sign of x. Rounds: a bit decomposition and
/// one.
pub(super) async fn magnitude<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A) -> Result<(S::B, S::B)> {
    let (ring, len) = s.shape(x);
    let k = ring.bits();
    let minus = s.linear(x, &Linear::Neg);
    let both = s.bit_decompose(ctx, &s.concat(&[x, &minus])).await?;
    let (plus, minus) = (stream::slice_lanes(s, &both, 0..len), stream::slice_lanes(s, &both, len..2 * len));
    let sign = rows(s, &plus, &[k - 1]);
    let changed = s.and(ctx, &repeat_row(s, &sign, k as usize), &s.xor(&plus, &minus)).await?;
    Ok((s.xor(&plus, &changed), sign))
}

/// Returns the bits of x below the sign's, and whether x is not negative. Multiplied together, they are the bits of
/// max(x, 0).
pub(super) async fn below_sign<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A) -> Result<(S::B, S::B)> {
    let k = s.shape(x).0.bits();
    let bits = s.bit_decompose(ctx, x).await?;
    let low: Vec<u32> = (0..k - 1).collect();
    Ok((rows(s, &bits, &low), not(s, &rows(s, &bits, &[k - 1]))))
}

/// The place to which a mantissa moves.
pub(super) struct Exponent<B> {
    /// The exponent u; all rows are 0 where the result is 0 or saturated.
    pub number: Number<B>,
    /// Whether the result is the largest element.
    pub over: Option<B>,
    /// The largest u that occurs.
    pub most: u32,
}

/// Returns floor(x 2^(u - point)) for unsigned x of 64 bits below 2^(point + 2), as non-negative numbers of the ring.
/// Results of k bits or more become the largest element, 2^(k-1) - 1. Rounds: a bit decomposition, 2, 1 where results
/// may be too large, 1.
pub(super) async fn denormalise<S: Gadgets>(
    s: &S,
    ctx: &Ctx,
    x: &S::A,
    point: u32,
    exponent: Exponent<S::B>,
    ring: Ring,
) -> Result<S::A> {
    word(s, ctx, &denormalised_bits(s, ctx, x, point, exponent, ring).await?, ring).await
}

/// Returns the bits of the result of [`denormalise`] below the sign's, up to the highest that can be set.
pub(super) async fn denormalised_bits<S: Gadgets>(
    s: &S,
    ctx: &Ctx,
    x: &S::A,
    point: u32,
    exponent: Exponent<S::B>,
    ring: Ring,
) -> Result<S::B> {
    let k = ring.bits();
    let bits = s.bit_decompose(ctx, x).await?;
    let count = (exponent.most + 2).min(k + 1);
    let moved = shift(s, ctx, &bits, &exponent.number, false, count as usize, |i| i + i64::from(point)).await?;
    let mut over = exponent.over;
    let mut result = rows(s, &moved, &(0..count.min(k - 1)).collect::<Vec<_>>());
    if count > k - 1 {
        // At most one of the two rows that do not fit counts: the lower one may be any bit where the upper one is set.
        let beyond = match count == k {
            true => rows(s, &moved, &[k - 1]),
            false => either(s, ctx, &rows(s, &moved, &[k - 1]), &rows(s, &moved, &[k])).await?,
        };
        let kept = repeat_row(s, &not(s, &beyond), (k - 1) as usize);
        result = s.and(ctx, &kept, &result).await?;
        over = Some(over.map_or(beyond.clone(), |over| s.xor(&over, &beyond)));
    }
    if let Some(over) = over {
        let missing = (k - 1) as usize - s.bit_shape(&result).0;
        if missing > 0 {
            result = row_sums(s, &result, &pad(s.bit_shape(&result).0, missing));
        }
        result = s.xor(&result, &repeat_row(s, &over, (k - 1) as usize));
    }
    Ok(result)
}

fn pad(present: usize, missing: usize) -> Vec<Vec<u32>> {
    let kept = (0..present as u32).map(|row| vec![row]);
    kept.chain(std::iter::repeat_n(Vec::new(), missing)).collect()
}

async fn either<S: Sharing>(s: &S, ctx: &Ctx, x: &S::B, y: &S::B) -> Result<S::B> {
    Ok(s.xor(&s.xor(x, y), &s.and(ctx, x, y).await?))
}

/// Converts rows of bits, lowest first, to elements. Bit i counts only modulo 2^(k-i): its conversion is over a ring of
/// k - i bits, in groups of four rows. One round.
pub(crate) async fn word<S: Gadgets>(s: &S, ctx: &Ctx, bits: &S::B, ring: Ring) -> Result<S::A> {
    let (count, len) = s.bit_shape(bits);
    let groups = count.div_ceil(GROUP as usize);
    let group = async |ctx: Ctx, g: usize| {
        let from = GROUP * g as u32;
        let own: Vec<u32> = (from..(from + GROUP).min(count as u32)).collect();
        let small = Ring::of(ring.bits() - from);
        let lifted = lift(s, &ctx, &rows(s, bits, &own), small).await?;
        let sum = combine(s, &lifted, &[own.iter().map(|i| 1 << (i - from)).collect()]);
        Ok(s.linear(&sum, &Linear::Raise(ring, from)))
    };
    let parts = ctx.join_all(groups, group).await?;
    let parts = s.concat(&parts.iter().collect::<Vec<_>>());
    Ok(s.linear(&parts, &Linear::SumAxis(Axis { outer: 1, len: groups, inner: len })))
}

/// Combines the rows of lifted bits to one number: row i weighs 2^weights[i].
pub(super) fn weighted<S: Sharing>(s: &S, lifted: &S::A, weights: &[u32], len: usize) -> S::A {
    let from_rows = element_rows(s, lifted, 0..weights.len(), len);
    combine(s, &from_rows, &[weights.iter().map(|w| (1u64 << w) as i64).collect()])
}
