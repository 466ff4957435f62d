//! The magnitudes of the operands of a division.
//!
//! If y is negative, x and y are negated: the quotient stays the same. If x is negative after that, x becomes its one's
//! complement, -x - 1, and so does the quotient.

use quorate_engine::{Ctx, Linear, Result};

use super::{Known, magnitude_bits, narrowed};
use crate::equality::and_all;
use crate::floor_div::Range;
use crate::prefix::rows;
use crate::real::local::{not, repeat_row};
use crate::{Gadgets, stream};

/// The magnitudes as rows of bits, lowest first.
pub(super) struct Magnitudes<B> {
    pub x: B,
    pub y: B,
    /// Whether the quotient is to be complemented; `None` if it never is.
    pub flip: Option<B>,
    /// Whether y is not 0; `None` if it never is 0.
    pub divides: Option<B>,
}

impl<B: Clone> Magnitudes<B> {
    pub async fn of<S: Gadgets<B = B>>(s: &S, ctx: &Ctx, x: &S::A, y: &S::A, known: Known) -> Result<Magnitudes<B>> {
        let mut operands = match (known.x.lo < 0, known.y.lo < 0) {
            (_, true) => both_signed(s, ctx, x, y, known).await?,
            (true, false) => dividend_signed(s, ctx, x, y, known).await?,
            (false, false) => {
                let (x, y) =
                    bits_of_both(s, ctx, &narrowed(s, x, known.x, false), &narrowed(s, y, known.y, false)).await?;
                Magnitudes { x, y, flip: None, divides: None }
            }
        };
        if known.divides_by_zero() {
            // NOT of the AND of all negations, in log2 rounds.
            operands.divides = Some(not(s, &and_all(s, ctx, not(s, &operands.y)).await?));
        }
        Ok(operands)
    }
}

async fn bits_of_both<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, y: &S::A) -> Result<(S::B, S::B)> {
    ctx.join(async |ctx: Ctx| s.bit_decompose(&ctx, x).await, async |ctx: Ctx| s.bit_decompose(&ctx, y).await).await
}

/// Returns the lowest rows of x: those of magnitudes up to those of `range`.
fn up_to<S: Gadgets>(s: &S, x: &S::B, range: Range) -> S::B {
    let count = magnitude_bits(range).min(s.bit_shape(x).0 as u32);
    rows(s, x, &(0..count).collect::<Vec<_>>())
}

fn top_row<S: Gadgets>(s: &S, x: &S::B) -> S::B {
    rows(s, x, &[s.bit_shape(x).0 as u32 - 1])
}

/// Returns the magnitudes if no divisor is negative.
async fn dividend_signed<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, y: &S::A, known: Known) -> Result<Magnitudes<S::B>> {
    let (x, y) = bits_of_both(s, ctx, &narrowed(s, x, known.x, true), &narrowed(s, y, known.y, false)).await?;
    let sign = top_row(s, &x);
    let x = s.xor(&x, &repeat_row(s, &sign, s.bit_shape(&x).0));
    let complements = Range { lo: known.x.lo + 1, hi: known.x.hi };
    Ok(Magnitudes { x: up_to(s, &x, complements), y, flip: Some(sign), divides: None })
}

/// Returns the rows of x and of -x.
async fn both_ways<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A) -> Result<(S::B, S::B)> {
    let len = s.shape(x).1;
    let minus = s.linear(x, &Linear::Neg);
    let both = s.bit_decompose(ctx, &s.concat(&[x, &minus])).await?;
    Ok((stream::slice_lanes(s, &both, 0..len), stream::slice_lanes(s, &both, len..2 * len)))
}

/// Returns the magnitudes of operands of either sign.
async fn both_signed<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, y: &S::A, known: Known) -> Result<Magnitudes<S::B>> {
    let (x, y) = (narrowed(s, x, known.x, true), narrowed(s, y, known.y, true));
    let (x, y) =
        ctx.join(async |ctx: Ctx| both_ways(s, &ctx, &x).await, async |ctx: Ctx| both_ways(s, &ctx, &y).await).await?;
    let ((x, minus_x), (y, minus_y)) = (x, y);
    let (of_x, of_y) = (s.bit_shape(&x).0, s.bit_shape(&y).0);
    let (negative, below) = (top_row(s, &y), top_row(s, &x));
    // -x is negative for x > 0; its sign row is also set for the lowest x, whose negative does not fit.
    let left = s.concat_rows(&[&repeat_row(s, &negative, of_x + of_y), &top_row(s, &minus_x)]);
    let right = s.concat_rows(&[&s.xor(&x, &minus_x), &s.xor(&y, &minus_y), &not(s, &below)]);
    let products = s.and(ctx, &left, &right).await?;
    let part = |from: usize, to: usize| rows(s, &products, &(from as u32..to as u32).collect::<Vec<_>>());
    let turned = s.xor(&x, &part(0, of_x));
    let y = s.xor(&y, &part(of_x, of_x + of_y));
    let above = part(of_x + of_y, of_x + of_y + 1);
    let changed = s.and(ctx, &negative, &s.xor(&below, &above)).await?;
    let flip = s.xor(&below, &changed);
    let x = s.xor(&turned, &repeat_row(s, &flip, of_x));
    Ok(Magnitudes { x: up_to(s, &x, known.x), y: up_to(s, &y, known.y), flip: Some(flip), divides: None })
}
