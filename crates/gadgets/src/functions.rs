//! Real functions as methods, which a family may override by look-ups.

use quorate_engine::{Ctx, Result};

use crate::lookup::Lookup;
use crate::real::Softmax;
use crate::{Gadgets, lookup, real};

/// Real functions on fixed point with `frac` bits after the point. The default bodies are those of [`real`], which
/// states their errors, domains and costs.
#[allow(async_fn_in_trait)] // futures are single-threaded on purpose
pub trait Functions: Gadgets {
    /// Returns the largest number of entries of a table in which a function is looked up, correctly rounded, instead of
    /// being computed; 0 if none is.
    fn most_entries(&self) -> usize {
        0
    }

    /// Returns the largest number of entries of a table in which a quotient of integers is looked up. It may be smaller
    /// than [`Functions::most_entries`], since quotients take less to compute than real functions do.
    fn most_quotients(&self) -> usize {
        self.most_entries()
    }

    /// Returns 1 / (1 + exp(-x)).
    async fn sigmoid(&self, ctx: &Ctx, x: &Self::A, frac: u32) -> Result<Self::A> {
        real::sigmoid(self, ctx, x, frac).await
    }

    /// Returns the hyperbolic tangent.
    async fn tanh(&self, ctx: &Ctx, x: &Self::A, frac: u32) -> Result<Self::A> {
        real::tanh(self, ctx, x, frac).await
    }

    /// Returns x Phi(x), with the normal distribution function Phi.
    async fn gelu(&self, ctx: &Ctx, x: &Self::A, frac: u32) -> Result<Self::A> {
        real::gelu(self, ctx, x, frac).await
    }

    /// Returns e^x.
    async fn exp(&self, ctx: &Ctx, x: &Self::A, frac: u32) -> Result<Self::A> {
        real::exp(self, ctx, x, frac).await
    }

    /// Returns the natural logarithm; `fracs` has the bits after the point of the argument and of the result.
    async fn log(&self, ctx: &Ctx, x: &Self::A, fracs: (u32, u32)) -> Result<Self::A> {
        real::log(self, ctx, x, fracs).await
    }

    /// Returns the square root; `fracs` has the bits after the point of the argument and of the result. The argument
    /// has at most `argument_bits` bits.
    async fn sqrt(&self, ctx: &Ctx, x: &Self::A, fracs: (u32, u32), argument_bits: u32) -> Result<Self::A> {
        real::sqrt(self, ctx, x, fracs, argument_bits).await
    }

    /// Returns 1 / sqrt(x); `fracs` has the bits after the point of the argument and of the result.
    async fn rsqrt(&self, ctx: &Ctx, x: &Self::A, fracs: (u32, u32)) -> Result<Self::A> {
        real::rsqrt(self, ctx, x, fracs).await
    }

    /// Returns 1 / x; `fracs` has the bits after the point of the argument and of the result.
    async fn reciprocal(&self, ctx: &Ctx, x: &Self::A, fracs: (u32, u32)) -> Result<Self::A> {
        real::reciprocal(self, ctx, x, fracs).await
    }

    /// Returns x 2^up / y, a quotient of at most `quotient_bits` bits.
    async fn divide(&self, ctx: &Ctx, x: &Self::A, y: &Self::A, up: u32, quotient_bits: u32) -> Result<Self::A> {
        real::divide(self, ctx, x, y, up, quotient_bits).await
    }

    /// Returns the softmax of each lane of a matrix.
    async fn softmax(&self, ctx: &Ctx, x: &Self::A, of: &Softmax) -> Result<Self::A> {
        real::softmax(self, ctx, x, of).await
    }

    /// Returns the entries of a public table for these numbers, in the table's ring.
    async fn lookup(&self, ctx: &Ctx, x: &Self::A, table: &Lookup) -> Result<Self::A> {
        lookup::lookup(self, ctx, x, table).await
    }

    /// Returns the lowest bits of the entries of a public table for these numbers, one row.
    async fn lookup_bit(&self, ctx: &Ctx, x: &Self::A, table: &Lookup) -> Result<Self::B> {
        lookup::lookup_bit(self, ctx, x, table).await
    }
}
