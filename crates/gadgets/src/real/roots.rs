//! Square roots: sqrt(2^p m) is 2^floor(p/2) times sqrt(m) or sqrt(2m).

use quorate_engine::{Ctx, Result};
use quorate_ring::Ring;

use super::cubic::evaluate;
use super::float::{Exponent, Float, MANTISSA, below_sign, denormalise, enough_for, mantissa_argument, normalise};
use super::local::{not, repeat_row, row_sums};
use super::onehot::Number;
use super::tables::{RSQRT, SQRT, Table};
use super::{check, chunks};
use crate::prefix::rows;
use crate::{Gadgets, stream};

/// The square root of every element, all with `frac` bits after the point; 0 where x is negative.
///
/// Error: at most 2 units of 2^-frac where the result is below 2^(31 - frac), relative 2^-29 above. Exact squares whose
/// root is below 2^(28 - frac) have exact roots. The result lies in [0, 2^((k - 1 - frac) / 2)].
///
/// # Errors
/// [`quorate_engine::Misuse`] unless frac <= 16 and the ring has at least frac + 2 and at most 64 bits.
pub async fn sqrt<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, frac: u32) -> Result<S::A> {
    let (ring, len) = s.shape(x);
    check(ring, frac, frac + 2)?;
    let root = Root { table: &SQRT, twice: |p, frac| p + frac, zero_is_over: false, mantissa: |_| MANTISSA };
    let work = async |ctx: Ctx, range| root.chunk(s, &ctx, &stream::slice(s, x, range), frac).await;
    stream::to_vector(s, ctx, chunks(len), work).await
}

/// 1 / sqrt(x) of every element, all with `frac` bits after the point; the largest element, 2^(k-1) - 1, where x is not
/// positive and where the result does not fit.
///
/// Error: at most 2 units of 2^-frac for every positive x whose result fits. That lies in (0, 2^(frac / 2)].
///
/// # Errors
/// Those of [`sqrt`].
pub async fn rsqrt<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, frac: u32) -> Result<S::A> {
    let (ring, len) = s.shape(x);
    check(ring, frac, frac + 2)?;
    let root = Root { table: &RSQRT, twice: |p, frac| 3 * frac - p, zero_is_over: true, mantissa: enough_for };
    let work = async |ctx: Ctx, range| root.chunk(s, &ctx, &stream::slice(s, x, range), frac).await;
    stream::to_vector(s, ctx, chunks(len), work).await
}

struct Root {
    table: &'static Table,
    /// Twice the exponent of the result: of the leading bit's place and frac.
    twice: fn(i32, i32) -> i32,
    zero_is_over: bool,
    /// Rows of the mantissa that count.
    mantissa: fn(u32) -> u32,
}

impl Root {
    async fn chunk<S: Gadgets>(&self, s: &S, ctx: &Ctx, x: &S::A, frac: u32) -> Result<S::A> {
        let ring = s.shape(x).0;
        let (bits, not_negative) = below_sign(s, ctx, x).await?;
        let float = normalise(s, ctx, &bits, (self.mantissa)(frac)).await?;
        let odd = (0..ring.bits() - 1).filter(|&p| self.twice(p, frac) & 1 == 1).collect();
        let parity = row_sums(s, &float.position, &[odd]);
        let root = async |ctx: Ctx| {
            let argument = mantissa_argument(s, &ctx, &float.mantissa, Some(&parity)).await?;
            evaluate(s, &ctx, self.table, &argument).await
        };
        let exponent = async |ctx: Ctx| self.exponent(s, &ctx, &float, &not_negative, ring, frac).await;
        let (root, exponent) = ctx.join(root, exponent).await?;
        denormalise(s, ctx, &root.value, self.table.scale, exponent, ring).await
    }

    /// Twice the exponent of the result, in units of 2^-frac, for a leading bit at p.
    fn twice(&self, p: u32, frac: u32) -> i32 {
        (self.twice)(p as i32, frac as i32)
    }

    /// Where the root goes: nowhere for negative numbers.
    async fn exponent<S: Gadgets>(
        &self,
        s: &S,
        ctx: &Ctx,
        float: &Float<S::B>,
        not_negative: &S::B,
        ring: Ring,
        frac: u32,
    ) -> Result<Exponent<S::B>> {
        let of = |p: u32| self.twice(p, frac) >> 1;
        let last = ring.bits() as i32 - 1;
        let positions = 0..ring.bits() - 1;
        let number = Number::of_one_hot(s, &float.position, |p| u32::try_from(of(p)).ok().filter(|_| of(p) <= last));
        let too_large: Vec<u32> = positions.clone().filter(|&p| of(p) > last).collect();
        let too_large = row_sums(s, &float.position, &[too_large]);
        let all = s.concat_rows(&[&number.high, &float.nonzero, &too_large]);
        let all = s.and(ctx, &repeat_row(s, not_negative, 10), &all).await?;
        let high = rows(s, &all, &[0, 1, 2, 3, 4, 5, 6, 7]);
        let over = self.zero_is_over.then(|| not(s, &row_sums(s, &all, &[vec![8, 9]])));
        let most = positions.map(of).filter(|&u| u <= last).max().unwrap_or(0).max(0) as u32;
        Ok(Exponent { number: Number { low: number.low, high }, over, most })
    }
}
