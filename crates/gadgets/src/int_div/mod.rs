//! Division of integers by secret ones: floor(x / y), and the remainder, which has the sign of y. Both are 0 where y
//! is 0.
//!
//! **Source**: long division; for signs the identities floor(x / y) = floor(-x / -y) and, with one's complements,
//! floor(x / y) = ~floor(~x / y). **Model**: that of the sharing.
//!
//! [`digits`] finds the bits of a quotient of magnitudes one after the other. Rounds: those of a bit decomposition, two
//! more if divisors may be negative, those of [`digits`], and one; a remainder takes two more.

mod digits;
mod magnitudes;

use std::ops::Range as Span;

use quorate_engine::{Ctx, Linear, Misuse, Result};
use quorate_ring::Ring;

use crate::floor_div::{Range, signed_bits};
use crate::real::local::not;
use crate::{Gadgets, stream};
use magnitudes::Magnitudes;

/// The proven bounds on the operands and the result of a division.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// The range of dividends, as numbers of their ring with or without a sign.
    pub x: Range,
    /// The range of divisors.
    pub y: Range,
    /// The magnitudes of quotients by divisors other than 0 are below 2^quotient_bits, whatever the ranges imply. If
    /// this does not hold, a result is arbitrary.
    pub quotient_bits: u32,
}

impl Known {
    /// Returns the bounds that follow from the ranges alone.
    pub fn of(x: Range, y: Range) -> Known {
        Known { x, y, quotient_bits: magnitude_bits(x) }
    }

    /// Returns the number of bits of quotients, at least one.
    fn digits(&self) -> u32 {
        let nearest = self.y.lo.unsigned_abs().min(self.y.hi.unsigned_abs()).max(1);
        let nearest = if self.divides_by_zero() { 1 } else { nearest };
        let most = self.x.lo.unsigned_abs().max(self.x.hi.unsigned_abs()) / nearest;
        (128 - most.leading_zeros()).min(self.quotient_bits).max(1)
    }

    fn divides_by_zero(&self) -> bool {
        self.y.lo <= 0 && self.y.hi >= 0
    }
}

/// Returns the bits of the largest magnitude of a range, at least one.
fn magnitude_bits(range: Range) -> u32 {
    (128 - range.lo.unsigned_abs().max(range.hi.unsigned_abs()).leading_zeros()).max(1)
}

/// Reduces x to the smallest ring that holds a range, with room for a sign if `signed` or the range has negative
/// numbers.
fn narrowed<S: Gadgets>(s: &S, x: &S::A, range: Range, signed: bool) -> S::A {
    let bits = match signed || range.lo < 0 {
        true => signed_bits(range.lo, range.hi),
        false => magnitude_bits(range),
    };
    let ring = Ring::of(bits.min(s.shape(x).0.bits()));
    s.linear(x, &Linear::Reduce(ring))
}

/// Returns floor(x / y) modulo 2^k; 0 where y is 0.
///
/// # Errors
/// [`Misuse`] if the operands differ in length or ring.
pub async fn quotient<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, y: &S::A, known: Known) -> Result<S::A> {
    let (ring, len) = s.shape(x);
    if s.shape(y).1 != len {
        return Err(Misuse::Length { what: "a division", left: len, right: s.shape(y).1 }.into());
    }
    if s.shape(y).0 != ring {
        return Err(Misuse::Other { what: "a division of operands over different rings" }.into());
    }
    let operands = |range: Span<usize>| (stream::slice(s, x, range.clone()), stream::slice(s, y, range));
    let work = async move |s: &S, ctx: &Ctx, (x, y): (S::A, S::A)| {
        let operands = Magnitudes::of(s, ctx, &x, &y, known).await?;
        digits::quotient(s, ctx, &operands, known.digits(), ring).await
    };
    stream::to_vector(s, ctx, stream::chunks(len, 8 * ring.bits()), operands, work).await
}

/// Returns x - q y for the quotients q of x by y; 0 where y is 0. Two rounds, or one if no y can be 0.
pub async fn remainder<S: Gadgets>(
    s: &S,
    ctx: &Ctx,
    x: &S::A,
    y: &S::A,
    quotient: &S::A,
    known: Known,
) -> Result<S::A> {
    if !known.divides_by_zero() {
        return Ok(s.sub(x, &s.mul(ctx, quotient, y).await?));
    }
    let rest = async |ctx: Ctx| Ok(s.sub(x, &s.mul(&ctx, quotient, y).await?));
    let zero = async |ctx: Ctx| s.eqz(&ctx, &narrowed(s, y, known.y, false)).await;
    let (rest, zero) = ctx.join(rest, zero).await?;
    s.mask(ctx, &not(s, &zero), &rest).await
}
