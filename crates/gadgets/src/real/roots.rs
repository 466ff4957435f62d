//! Square roots: sqrt(2^p m) is 2^floor(p/2) times sqrt(m) or sqrt(2m).

use quorate_engine::{Ctx, Result};

use super::cubic::evaluate;
use super::float::{Exponent, MANTISSA, denormalise, enough_for, mantissa_argument, normalise, positive_part};
use super::local::{not, row_sums};
use super::onehot::Number;
use super::tables::{RSQRT, SQRT, Table};
use super::{check, chunks};
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
    let root = Root { table: &SQRT, exponent: |p, frac| p + frac, zero_is_over: false, mantissa: |_| MANTISSA };
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
    let root = Root { table: &RSQRT, exponent: |p, frac| 3 * frac - p, zero_is_over: true, mantissa: enough_for };
    let work = async |ctx: Ctx, range| root.chunk(s, &ctx, &stream::slice(s, x, range), frac).await;
    stream::to_vector(s, ctx, chunks(len), work).await
}

struct Root {
    table: &'static Table,
    /// Twice the exponent of the result, in units of 2^-frac, for a leading bit at p.
    exponent: fn(i32, i32) -> i32,
    zero_is_over: bool,
    /// Rows of the mantissa that count.
    mantissa: fn(u32) -> u32,
}

impl Root {
    async fn chunk<S: Gadgets>(&self, s: &S, ctx: &Ctx, x: &S::A, frac: u32) -> Result<S::A> {
        let ring = s.shape(x).0;
        let twice = |p: u32| (self.exponent)(p as i32, frac as i32);
        let bits = positive_part(s, ctx, x).await?;
        let positions = 0..ring.bits() - 1;
        let float = normalise(s, ctx, &bits, (self.mantissa)(frac)).await?;
        let odd = positions.clone().filter(|&p| twice(p) & 1 == 1).collect();
        let parity = row_sums(s, &float.position, &[odd]);
        let argument = mantissa_argument(s, ctx, &float.mantissa, Some(&parity)).await?;
        let root = evaluate(s, ctx, self.table, &argument).await?;
        let fits = |u: i32| u <= ring.bits() as i32 - 1;
        let number =
            Number::of_one_hot(s, &float.position, |p| u32::try_from(twice(p) >> 1).ok().filter(|&u| fits(u as i32)));
        let too_large: Vec<u32> = positions.clone().filter(|&p| !fits(twice(p) >> 1)).collect();
        let most = positions.map(|p| twice(p) >> 1).filter(|&u| fits(u)).max().unwrap_or(0).max(0) as u32;
        let over = self.zero_is_over.then(|| {
            let large = row_sums(s, &float.position, &[too_large]);
            s.xor(&not(s, &float.nonzero), &large)
        });
        let exponent = Exponent { number, over, most };
        denormalise(s, ctx, &root.value, self.table.scale, exponent, ring).await
    }
}
