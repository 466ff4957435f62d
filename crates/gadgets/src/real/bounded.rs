//! Functions that are flat or linear outside a bounded interval: sigmoid, tanh, GELU.
//!
//! The bits of x give segment and place on the interval. Outside it, the tail replaces the cubic before the only
//! truncation. Rounds: bit decomposition, 2 (one-hot), 4 (cubic), 1 (tail), exact truncation of Z_2^64.

use quorate_engine::{Ctx, Result};

use super::cubic::{Argument, Place, evaluate};
use super::local::{WIDE, not, plus, reduce, repeat_row, times};
use super::onehot::Number;
use super::tables::{GELU, SIGMOID, TANH, Table};
use super::{ONE_WORD, check, chunks};
use crate::equality::and_all;
use crate::prefix::rows;
use crate::{Gadgets, stream};

/// The values of a function outside its interval.
#[derive(Clone, Copy, PartialEq)]
enum Tail {
    /// 0 below, 1 above.
    Step,
    /// -1 below, 1 above.
    Sign,
    /// 0 below, x above.
    Identity,
}

/// Returns the logistic function 1 / (1 + e^-x) of every element, all with `frac` bits after the point; 0 below -16, 1
/// from 16 on.
///
/// Error: at most 1 unit of 2^-frac. Defined for every x; the result lies in [0, 1].
///
/// # Errors
/// [`quorate_engine::Misuse`] unless frac <= 16 and the ring has at least frac + 2 and at most 64 bits.
pub async fn sigmoid<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, frac: u32) -> Result<S::A> {
    on_interval(s, ctx, x, frac, &SIGMOID, Tail::Step).await
}

/// Returns tanh of every element, all with `frac` bits after the point; -1 below -8, 1 from 8 on.
///
/// Error: at most 1.5 units of 2^-frac. Defined for every x; the result lies in [-1, 1].
///
/// # Errors
/// Those of [`sigmoid`].
pub async fn tanh<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, frac: u32) -> Result<S::A> {
    on_interval(s, ctx, x, frac, &TANH, Tail::Sign).await
}

/// Returns GELU of every element, x Phi(x) with the normal distribution function Phi, all with `frac` bits after the
/// point; 0 below -8, x from 8 on.
///
/// Error: at most 1 unit of 2^-frac. Defined for every x; the result lies in [-0.17 - 2^-frac, max(x, 0) + 2^-frac].
///
/// # Errors
/// Those of [`sigmoid`].
pub async fn gelu<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, frac: u32) -> Result<S::A> {
    on_interval(s, ctx, x, frac, &GELU, Tail::Identity).await
}

async fn on_interval<S: Gadgets>(
    s: &S,
    ctx: &Ctx,
    x: &S::A,
    frac: u32,
    table: &'static Table,
    tail: Tail,
) -> Result<S::A> {
    let (ring, len) = s.shape(x);
    check(ring, frac, frac + 2, ONE_WORD)?;
    let work = async move |s: &S, ctx: &Ctx, x: S::A| chunk(s, ctx, &x, frac, table, tail).await;
    stream::to_vector(s, ctx, chunks(len), |range| stream::slice(s, x, range), work).await
}

async fn chunk<S: Gadgets>(s: &S, ctx: &Ctx, x: &S::A, frac: u32, table: &Table, tail: Tail) -> Result<S::A> {
    let ring = s.shape(x).0;
    let bits = s.bit_decompose(ctx, x).await?;
    let sign = rows(s, &bits, &[ring.bits() - 1]);
    let split = Split { cell: frac as i32 + table.segment, ring_bits: ring.bits() };
    let inside = async |ctx: Ctx| split.inside(s, &ctx, &bits, &sign).await;
    let cubic = async |ctx: Ctx| {
        let argument = split.argument(s, &ctx, x, &bits, frac).await?;
        evaluate(s, &ctx, table, &argument).await
    };
    let (inside, cubic) = ctx.join(inside, cubic).await?;
    let lifted_sign = cubic.others.ok_or(quorate_engine::Error::Bug { what: "a sign was not lifted" })?;
    let one = 1i128 << table.scale;
    let outside = match tail {
        Tail::Step => plus(s, &times(s, &lifted_sign, -one), one),
        Tail::Sign => plus(s, &times(s, &lifted_sign, -2 * one), one),
        Tail::Identity => times(s, &lifted_sign, 0),
    };
    let half = 1i128 << (table.scale - frac - 1);
    let Some(inside) = inside else {
        return Ok(reduce(s, &s.trunc_exact(ctx, &plus(s, &cubic.value, half), table.scale - frac).await?, ring));
    };
    let bounded = async |ctx: Ctx| {
        let value = s.mux(&ctx, &inside, &cubic.value, &outside).await?;
        s.trunc_exact(&ctx, &plus(s, &value, half), table.scale - frac).await
    };
    let above = async |ctx: Ctx| {
        if tail != Tail::Identity {
            return Ok(None);
        }
        let above = s.and(&ctx, &not(s, &inside), &not(s, &sign)).await?;
        Ok(Some(s.mask(&ctx, &above, x).await?))
    };
    let (bounded, above) = ctx.join(bounded, above).await?;
    let bounded = reduce(s, &bounded, ring);
    Ok(above.map_or(bounded.clone(), |above| s.add(&bounded, &above)))
}

/// The layout of the bits of x: `cell` of them (or none) within a segment, then six for the segment, then the copies of
/// the sign.
struct Split {
    cell: i32,
    ring_bits: u32,
}

impl Split {
    /// Returns row i of the bits, extended by the sign; rows below the point of the ring are 0.
    fn row<S: Gadgets>(&self, s: &S, bits: &S::B, i: i32) -> S::B {
        match u32::try_from(i) {
            Ok(i) => rows(s, bits, &[i.min(self.ring_bits - 1)]),
            Err(_) => super::local::row_sums(s, bits, &[Vec::new()]),
        }
    }

    async fn argument<S: Gadgets>(
        &self,
        s: &S,
        ctx: &Ctx,
        x: &S::A,
        bits: &S::B,
        frac: u32,
    ) -> Result<Argument<S::A, S::B>> {
        let segment: Vec<S::B> = (self.cell..self.cell + 6).map(|i| self.row(s, bits, i)).collect();
        let segment = s.concat_rows(&segment.iter().collect::<Vec<_>>());
        let segment = Number::of_bits(s, ctx, &segment).await?;
        let place = if s.shape(x).0 == WIDE {
            Place::Whole(times(s, x, 1 << (super::MAX_FRAC - frac)))
        } else {
            let inner: Vec<u32> = (0..self.cell.max(0) as u32).collect();
            Place::Bits { rows: rows(s, bits, &inner), after_point: inner.iter().map(|i| frac - i).collect() }
        };
        Ok(Argument { segment, place, others: Some(rows(s, bits, &[self.ring_bits - 1])) })
    }

    /// Returns whether x lies in the interval; `None` if every element of the ring does.
    async fn inside<S: Gadgets>(&self, s: &S, ctx: &Ctx, bits: &S::B, sign: &S::B) -> Result<Option<S::B>> {
        let above: Vec<u32> = ((self.cell + 5).max(0) as u32..self.ring_bits - 1).collect();
        if above.is_empty() {
            return Ok(None);
        }
        let equal = not(s, &s.xor(&rows(s, bits, &above), &repeat_row(s, sign, above.len())));
        Ok(Some(and_all(s, ctx, equal).await?))
    }
}
