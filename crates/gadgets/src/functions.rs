//! Real functions as methods, so that a family may look them up instead.

use quorate_engine::{Ctx, Result};

use crate::lookup::Lookup;
use crate::real::Softmax;
use crate::{Gadgets, lookup, real};

/// Real functions on fixed point with `frac` bits after the point. The default bodies are [`real`]'s, whose errors,
/// domains and costs are stated there.
#[allow(async_fn_in_trait)] // futures are single-threaded on purpose
pub trait Functions: Gadgets {
    /// The most entries of a table in which a function is looked up, correctly rounded, instead of being computed as
    /// follows; 0 where it never is.
    fn most_entries(&self) -> usize {
        0
    }

    /// The same of quotients of integers, which take less to compute than real functions do.
    fn most_quotients(&self) -> usize {
        self.most_entries()
    }

    /// 1 / (1 + exp(-x)).
    async fn sigmoid(&self, ctx: &Ctx, x: &Self::A, frac: u32) -> Result<Self::A> {
        real::sigmoid(self, ctx, x, frac).await
    }

    /// The hyperbolic tangent.
    async fn tanh(&self, ctx: &Ctx, x: &Self::A, frac: u32) -> Result<Self::A> {
        real::tanh(self, ctx, x, frac).await
    }

    /// x Phi(x), with the normal distribution function Phi.
    async fn gelu(&self, ctx: &Ctx, x: &Self::A, frac: u32) -> Result<Self::A> {
        real::gelu(self, ctx, x, frac).await
    }

    /// e^x.
    async fn exp(&self, ctx: &Ctx, x: &Self::A, frac: u32) -> Result<Self::A> {
        real::exp(self, ctx, x, frac).await
    }

    /// The natural logarithm, of an argument and with a result of so many bits after the point.
    async fn log(&self, ctx: &Ctx, x: &Self::A, fracs: (u32, u32)) -> Result<Self::A> {
        real::log(self, ctx, x, fracs).await
    }

    /// The square root, with so many bits after the point of the argument, which has at most `argument_bits`, and of
    /// the result.
    async fn sqrt(&self, ctx: &Ctx, x: &Self::A, fracs: (u32, u32), argument_bits: u32) -> Result<Self::A> {
        real::sqrt(self, ctx, x, fracs, argument_bits).await
    }

    /// 1 / sqrt(x), of an argument and with a result of so many bits after the point.
    async fn rsqrt(&self, ctx: &Ctx, x: &Self::A, fracs: (u32, u32)) -> Result<Self::A> {
        real::rsqrt(self, ctx, x, fracs).await
    }

    /// 1 / x, of an argument and with a result of so many bits after the point.
    async fn reciprocal(&self, ctx: &Ctx, x: &Self::A, fracs: (u32, u32)) -> Result<Self::A> {
        real::reciprocal(self, ctx, x, fracs).await
    }

    /// x 2^up / y, a quotient of at most so many bits.
    async fn divide(&self, ctx: &Ctx, x: &Self::A, y: &Self::A, up: u32, quotient_bits: u32) -> Result<Self::A> {
        real::divide(self, ctx, x, y, up, quotient_bits).await
    }

    /// The softmax of each lane of a matrix.
    async fn softmax(&self, ctx: &Ctx, x: &Self::A, of: &Softmax<'_>) -> Result<Self::A> {
        real::softmax(self, ctx, x, of).await
    }

    /// The entries of a public table that numbers stand for, in its ring.
    async fn lookup(&self, ctx: &Ctx, x: &Self::A, table: &Lookup<'_>) -> Result<Self::A> {
        lookup::lookup(self, ctx, x, table).await
    }

    /// The lowest bits of these entries, one row.
    async fn lookup_bit(&self, ctx: &Ctx, x: &Self::A, table: &Lookup<'_>) -> Result<Self::B> {
        lookup::lookup_bit(self, ctx, x, table).await
    }
}
