//! Division of integers by secret ones: floor(x / y), and what it leaves, with the sign of y. Both are 0 where y is 0.
//!
//! **Source**: long division; for signs the identities floor(x / y) = floor(-x / -y) and, with one's complements,
//! floor(x / y) = ~floor(~x / y). **Model**: that of the sharing.
//!
//! [`digits`] finds the bits of a quotient of magnitudes one after the other. Rounds: a bit decomposition, where
//! divisors may be negative two more, those of [`digits`], and one; a remainder takes two more.

mod digits;
mod magnitudes;

use std::ops::Range as Span;

use quorate_engine::{Ctx, Linear, Misuse, Result};
use quorate_ring::Ring;

use crate::floor_div::{Range, signed_bits};
use crate::real::local::not;
use crate::{Gadgets, stream};
use magnitudes::Magnitudes;

/// What is known of a division.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// Where every dividend lies, as a number of its ring with or without a sign.
    pub x: Range,
    /// Where every divisor lies.
    pub y: Range,
    /// Magnitudes of quotients by what is not 0 are below 2^bits, whatever the ranges say. Where that does not hold, a
    /// result is any number.
    pub quotient_bits: u32,
}

impl Known {
    /// What follows from the ranges alone.
    pub fn of(x: Range, y: Range) -> Known {
        Known { x, y, quotient_bits: magnitude_bits(x) }
    }

    /// Bits of quotients, of which there is one at least.
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

/// Bits of the largest magnitude of a range, one at least.
fn magnitude_bits(range: Range) -> u32 {
    (128 - range.lo.unsigned_abs().max(range.hi.unsigned_abs()).leading_zeros()).max(1)
}

/// The elements in the smallest ring that holds a range, with a sign if that is asked for or the range has one.
fn narrowed<S: Gadgets>(s: &S, x: &S::A, range: Range, signed: bool) -> S::A {
    let bits = match signed || range.lo < 0 {
        true => signed_bits(range.lo, range.hi),
        false => magnitude_bits(range),
    };
    let ring = Ring::of(bits.min(s.shape(x).0.bits()));
    s.linear(x, &Linear::Reduce(ring))
}

/// floor(x / y) modulo 2^k; 0 where y is 0.
///
/// # Errors
/// [`Misuse`] where the operands differ in length or ring.
pub async fn quotient<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, y: &S::A, known: Known) -> Result<S::A> {
    let (ring, len) = s.shape(x);
    if s.shape(y).1 != len {
        return Err(Misuse::Length { what: "a division", left: len, right: s.shape(y).1 }.into());
    }
    if s.shape(y).0 != ring {
        return Err(Misuse::Other { what: "a division of operands over different rings" }.into());
    }
    let work = async |ctx: Ctx, range: Span<usize>| {
        let (x, y) = (stream::slice(s, x, range.clone()), stream::slice(s, y, range));
        let operands = Magnitudes::of(s, &ctx, &x, &y, known).await?;
        digits::quotient(s, &ctx, &operands, known.digits(), ring).await
    };
    stream::to_vector(s, ctx, stream::chunks(len, 8 * ring.bits()), work).await
}

/// x - q y for the quotients q of x by y: 0 where y is 0. Two rounds, one where no y can be 0.
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
