//! Non-restoring long division on shared bits: one bit of the quotient after the other, from the highest.
//!
//! R is the remainder of the part of x above the bits that are left, from -y to y - 1. Each step takes 2R + (the next
//! bit of x), less y where R is not negative, plus y where it is; the bit of the quotient is 1 where the result is not
//! negative. V - y is ~(~V + y), so one sum does both: its other operand and its result are complemented by a bit that
//! is shared already.
//!
//! | | rounds | ANDs |
//! |---|---|---|
//! | a bit, of a divisor of w bits | 1 + ceil(log2 w) | w and those of a prefix network over w |
//! | the lowest bit | the same | w and those of a tree over w |
//! | the quotient as an element | 1, and 1 where it may have a sign or y may be 0 | |
//!
//! y = 0 gives a quotient of ones, which is masked.

use quorate_engine::{Ctx, Linear, Result};
use quorate_ring::Ring;

use super::magnitudes::Magnitudes;
use crate::prefix::{self, Pairs, rows};
use crate::real::float::word;
use crate::real::local::{not, repeat_row, row_sums};
use crate::{Gadgets, adder};

/// Returns the quotient, as an element with its sign. The quotient of the magnitudes has at most `digits` bits.
pub(super) async fn quotient<S: Gadgets>(
    s: &S,
    ctx: &Ctx,
    operands: &Magnitudes<S::B>,
    digits: u32,
    ring: Ring,
) -> Result<S::A> {
    let digits = digits.min(s.bit_shape(&operands.x).0 as u32);
    let found = divide(s, ctx, &operands.x, &operands.y, digits).await?;
    signed(s, ctx, &found, operands, ring).await
}

/// Returns the bits of floor(x / y), below 2^digits, for y other than 0.
async fn divide<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::B, y: &S::B, digits: u32) -> Result<S::B> {
    let (of_x, width) = (s.bit_shape(x).0 as u32, s.bit_shape(y).0 + 1);
    let y = padded(s, y, width);
    let first: Vec<u32> = (digits..of_x).collect();
    let mut rest = padded(s, &rows(s, x, &first), width);
    let mut positive: Option<S::B> = None;
    let mut found = Vec::with_capacity(digits as usize);
    for digit in (0..digits).rev() {
        let below: Vec<u32> = (0..width as u32 - 1).collect();
        let doubled = s.concat_rows(&[&rows(s, x, &[digit]), &rows(s, &rest, &below)]);
        // The first step subtracts.
        let flipped = match &positive {
            None => not(s, &doubled),
            Some(positive) => s.xor(&doubled, &repeat_row(s, positive, width)),
        };
        let complement = |sum: &S::B, rows: usize| match &positive {
            None => not(s, sum),
            Some(positive) => s.xor(sum, &repeat_row(s, positive, rows)),
        };
        let sign = match digit {
            0 => complement(&top_of_sum(s, ctx, &flipped, &y).await?, 1),
            _ => {
                rest = complement(&adder::add(s, ctx, &flipped, &y, &[]).await?.bits, width);
                rows(s, &rest, &[width as u32 - 1])
            }
        };
        let bit = not(s, &sign);
        found.push(bit.clone());
        positive = Some(bit);
    }
    found.reverse();
    Ok(s.concat_rows(&found.iter().collect::<Vec<_>>()))
}

/// Returns the highest row of the sum of two numbers with equally many rows.
async fn top_of_sum<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::B, y: &S::B) -> Result<S::B> {
    let top = s.bit_shape(x).0 as u32 - 1;
    let sum = s.xor(x, y);
    let low: Vec<u32> = (0..top).collect();
    let generate = s.and(ctx, &rows(s, x, &low), &rows(s, y, &low)).await?;
    let carry = prefix::group(s, ctx, Pairs { generate, propagate: rows(s, &sum, &low) }).await?;
    Ok(s.xor(&rows(s, &sum, &[top]), &carry))
}

/// Adds rows of zeros above, or drops rows, so that there are `width`.
fn padded<S: Gadgets>(s: &S, x: &S::B, width: usize) -> S::B {
    let present = s.bit_shape(x).0;
    let list = |row: usize| if row < present { vec![row as u32] } else { Vec::new() };
    row_sums(s, x, &(0..width).map(list).collect::<Vec<_>>())
}

/// Turns the bits of a quotient of magnitudes into the quotient: complemented where `flip` is set, 0 where y is 0.
async fn signed<S: Gadgets>(s: &S, ctx: &Ctx, found: &S::B, operands: &Magnitudes<S::B>, ring: Ring) -> Result<S::A> {
    let count = s.bit_shape(found).0;
    let mut bits = match &operands.flip {
        Some(flip) => s.concat_rows(&[&s.xor(found, &repeat_row(s, flip, count)), flip]),
        None => found.clone(),
    };
    if let Some(divides) = &operands.divides {
        bits = s.and(ctx, &repeat_row(s, divides, s.bit_shape(&bits).0), &bits).await?;
    }
    let kept = count.min(ring.bits() as usize);
    let magnitude = rows(s, &bits, &(0..kept as u32).collect::<Vec<_>>());
    let above = ring.bits() - kept as u32;
    if operands.flip.is_none() || above == 0 {
        return word(s, ctx, &magnitude, ring).await;
    }
    // All rows above are copies of the sign's row: together they weigh -2^count.
    let sign = rows(s, &bits, &[count as u32]);
    let low = async |ctx: Ctx| word(s, &ctx, &magnitude, ring).await;
    let high = async |ctx: Ctx| s.bit_to_ring(&ctx, &sign, Ring::of(above)).await;
    let (low, high) = ctx.join(low, high).await?;
    let high = s.linear(&high, &Linear::Raise(ring, kept as u32));
    Ok(s.sub(&low, &high))
}
